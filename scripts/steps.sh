# What the test scripts share: steps that all run even when one fails, so that one run tells everything. To be sourced in the
# repository's root; $tool is a folder that goes away with the script, and broken the names of the steps that failed.

tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT

broken=()
step() { # step <name> <command …>
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  if "$@"; then
    echo "   ok ($((SECONDS - start)) s)"
  else
    echo "   FAILED ($((SECONDS - start)) s)"
    broken+=("$name")
  fi
}

# Root on Debian gets the packages that are missing; everybody else is told.
packages() { # packages [package …]
  [ $# -gt 0 ] || return 0
  echo "   missing here: $*"
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >"$tool/apt" 2>&1 && return 0
    tail -n 20 "$tool/apt"
  fi
  echo "   type: sudo apt-get install -y $*"
  return 1
}

# None of the packages runs a script while it is installed. The registry is asked for hundreds of files, and once did not answer
# for one of them: that is no fault of ours, a second time is.
npm_ci() { # npm_ci <folder>
  npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund || { sleep 5 && npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund; }
}

# npm packages are kept as long as the lock file of their folder says the same.
npm_packages() { # npm_packages <folder>
  local folder=$1
  cmp -s "$folder/package-lock.json" "$folder/node_modules/.installed" && return 0
  npm_ci "$folder" || return 1
  cp "$folder/package-lock.json" "$folder/node_modules/.installed"
}

# What runs in Node wants 20, and a distribution may have an older one. Then npm brings the one of the agents' tests along.
node_20() { # node_20 <folder whose node_modules may hold it>
  [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] && return 0
  local folder=$1/node_modules/.node
  [ -d "$folder/node_modules" ] || { mkdir -p "$folder" && cp test/agents/npm/node/package*.json "$folder" && npm_ci "$folder"; } || return 1
  PATH=$(echo "$folder"/node_modules/node-linux-*/bin):$PATH
  node --version
}

# Runs tests of Go: prints each failure as it comes, then the slowest tests, and on the last line how many ran. A package that does
# not build or whose TestMain fails, and a test that never ends, count as failures. Broken steps and no test at all are failures, too.
go_tests() { # go_tests [flag or package of go test …]
  local status=0 passed failed=0 skipped=0
  echo "== tests"
  go tool -modfile=tools.mod gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped \
    --jsonfile-timing-events "$tool/times" --post-run-command "sh -c 'echo \$TESTS_FAILED \$TESTS_SKIPPED >$tool/counts'" -- "$@" || status=1
  go tool -modfile=tools.mod gotestsum tool slowest --num 10 --jsonfile "$tool/times" | sed '1i\\nSlowest tests:'
  [ ${#broken[@]} -eq 0 ] || printf '\nFailed besides the tests, see above: %s\n' "${broken[*]}"
  passed=$(grep -c '"Action":"pass".*"Test":' "$tool/times") || true
  [ ! -s "$tool/counts" ] || read -r failed skipped <"$tool/counts"
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$status" = 0 ] && [ ${#broken[@]} -eq 0 ] && [ "$passed" -gt 0 ]
}

# Runs tests of Node in a folder; the last line says how many. Broken steps before it, and no test at all, are failures, too.
node_tests() { # node_tests <folder> [flag or file …]
  local folder=$1 status=0 passed failed skipped
  shift
  echo "== tests"
  (cd "$folder" && node --test --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=tap --test-reporter-destination="$tool/tap" "$@") || status=1
  [ ${#broken[@]} -eq 0 ] || printf '\nFailed besides the tests, see above: %s\n' "${broken[*]}"
  passed=$(tap pass) failed=$(($(tap fail) + $(tap cancelled))) skipped=$(($(tap skipped) + $(tap todo)))
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$status" = 0 ] && [ ${#broken[@]} -eq 0 ] && [ "$passed" -gt 0 ]
}

tap() { awk -v name="$1" '$1 == "#" && $2 == name { n = $3 } END { print n + 0 }' "$tool/tap" 2>/dev/null || echo 0; }
