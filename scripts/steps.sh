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
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >"$tool/apt" 2>&1 && return 0
    tail -n 20 "$tool/apt"
  fi
  echo "   type: sudo apt-get install -y $*"
  return 1
}
