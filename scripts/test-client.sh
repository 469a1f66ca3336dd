#!/usr/bin/env bash
# What speaks with us from Node. The TypeScript client: its types from the contract, its package, and its tests against the server's binary. And the SDKs of
# the vendors of models against our mocks of those vendors.
# The last line says how many tests ran. Without npm, and a network the first time, it fails, and skips nothing.
#
#   scripts/test-client.sh [flags of node --test]      such as --test-name-pattern=disconnects
#   SEED=n scripts/test-client.sh                      the disconnects of an earlier run
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/steps.sh
client=$PWD/clients/typescript
sdk=$PWD/test/sdk

# npm installs the compiler.
provide() { command -v npm >/dev/null || packages npm; }

# From nothing: a test that was deleted or renamed would still run where its build lies around. The package is built by packing it, so
# that whoever installs it gets the generated types: they are not committed.
build() {
  rm -rf "$client/dist" "$client/build" "$client/src/schema.ts"
  (cd "$client" && npm pack --silent --pack-destination "$tool") || return 1
  tar -tzf "$tool"/signoff-client-*.tgz >"$tool/packed" && grep -qx package/dist/schema.d.ts "$tool/packed" ||
    { echo "   npm pack leaves dist/schema.d.ts out"; return 1; }
  "$client/node_modules/.bin/tsc" -p "$client/tsconfig.test.json"
}

step provide provide
step install npm_packages "$client"
step sdks npm_packages "$sdk"
step node node_20 "$client"
step build build
step server make -s build BIN="$tool/signoff"
step mocks env CGO_ENABLED=0 go build -trimpath -o "$tool/mockvendor" ./test/sdk/mockvendor

export SIGNOFF_TEST_BINARY=$tool/signoff SIGNOFF_MOCK_VENDOR=$tool/mockvendor
node_tests "$client" --test-timeout=420000 "$@" "$client"/build/test/*.test.js "$sdk"/*.test.js
