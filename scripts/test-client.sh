#!/usr/bin/env bash
# The TypeScript client: its types against the contract, its build, and its tests in Node against the server's binary.
# The last line says how many tests ran. Without npm, and a network the first time, it fails, and skips nothing.
#
#   scripts/test-client.sh [flags of node --test]      such as --test-name-pattern=disconnects
#   SEED=n scripts/test-client.sh                      the disconnects of an earlier run
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/steps.sh
client=$PWD/clients/typescript

# npm installs the compiler.
provide() { command -v npm >/dev/null || packages npm; }

# The client wants Node 20, and a distribution may have an older one. Then npm brings the one of the agents' tests along.
node_20() {
  [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] && return 0
  local folder=$client/node_modules/.node
  [ -d "$folder/node_modules" ] || { mkdir -p "$folder" && cp test/agents/npm/node/package*.json "$folder" && npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund; } || return 1
  PATH=$(echo "$folder"/node_modules/node-linux-*/bin):$PATH
  node --version
}

# What is installed is kept as long as the lock file says the same.
install() {
  cmp -s "$client/package-lock.json" "$client/node_modules/.installed" && return 0
  npm ci --prefix "$client" --ignore-scripts --no-audit --no-fund || return 1
  cp "$client/package-lock.json" "$client/node_modules/.installed"
}

# The generated types are committed, so that a reader of the repository has them; here they are held against the document.
generated() {
  "$client/node_modules/.bin/openapi-typescript" api/openapi.yaml --default-non-nullable=false --output "$tool/schema.ts" >"$tool/generated" 2>&1 || { cat "$tool/generated"; return 1; }
  diff -u "$client/src/schema.ts" "$tool/schema.ts" >"$tool/diff" && return 0
  head -n 20 "$tool/diff"
  echo "   clients/typescript/src/schema.ts is not what api/openapi.yaml says. Type: npm --prefix clients/typescript run generate"
  return 1
}

# From nothing: a test that was deleted or renamed would still run where its build lies around.
build() {
  rm -rf "$client/dist" "$client/build"
  npm --prefix "$client" run --silent build:test
}

step provide provide
step install install
step node node_20
step generated generated
step build build
step server env CGO_ENABLED=0 go build -o "$tool/signoff" ./cmd/server

echo "== tests"
status=0
(cd "$client" && SIGNOFF_TEST_BINARY=$tool/signoff node --test --test-timeout=180000 \
  --test-reporter=spec --test-reporter-destination=stdout --test-reporter=tap --test-reporter-destination="$tool/tap" \
  "$@" build/test/*.test.js) || status=1

[ ${#broken[@]} -eq 0 ] || printf '\nFailed besides the tests, see above: %s\n' "${broken[*]}"
count() { awk -v name="$1" '$1 == "#" && $2 == name { n = $3 } END { print n + 0 }' "$tool/tap" 2>/dev/null || echo 0; }
passed=$(count pass) failed=$(($(count fail) + $(count cancelled))) skipped=$(($(count skipped) + $(count todo)))
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$status" = 0 ] && [ ${#broken[@]} -eq 0 ] && [ "$passed" -gt 0 ]
