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
step install npm_packages "$client"
step node node_20 "$client"
step generated generated
step build build
step server env CGO_ENABLED=0 go build -o "$tool/signoff" ./cmd/server

export SIGNOFF_TEST_BINARY=$tool/signoff
node_tests "$client" --test-timeout=420000 "$@" "$client"/build/test/*.test.js
