#!/usr/bin/env bash
# The console in a browser: its pure modules in Node, then the whole of it in Chromium against the server's binary, and the client's example page. Screenshots are left in
# test/console/shots. The last line says how many tests ran. Without npm, Chromium, and a network the first time, it fails, and skips nothing.
#
#   scripts/test-console.sh [flags of node --test]      such as --test-name-pattern=phone
#   SIGNOFF_CHROMIUM=/opt/chrome scripts/test-console.sh   another browser than Debian's
#   FILES='race demo' scripts/test-console.sh           these files of test/console alone
#   FORM=long scripts/test-console.sh                   every width, and each device in light and dark, which takes minutes more
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/steps.sh
tests=$PWD/test/console
client=$PWD/clients/typescript
browser=${SIGNOFF_CHROMIUM:-chromium}

# playwright-core drives whatever browser is there; it downloads none.
provide() {
  local missing=()
  command -v npm >/dev/null || missing+=(npm)
  command -v "$browser" >/dev/null || missing+=(chromium)
  packages ${missing[@]+"${missing[@]}"} || return 1
  command -v "$browser" >/dev/null || { echo "   there is no browser at SIGNOFF_CHROMIUM=$browser"; return 1; }
}

# What has been asked for, or all of it.
files() {
  local name
  [ -n "${FILES:-}" ] || { ls "$tests"/unit/*.test.js "$tests"/*.test.js; return; }
  for name in $FILES; do ls "$tests/$name.test.js"; done
}

# Pictures of an earlier run would show what is not so any more; a run of some files makes no new ones.
clear_shots() { [ -n "${FILES:-}" ] || { rm -rf "$tests/shots" && mkdir -p "$tests/shots"; }; }

step provide provide
step install npm_packages "$tests"
step node node_20 "$tests"
step client npm_packages "$client"
step example npm run --silent --prefix "$client" build:test
step server make -s build BIN="$tool/signoff"
step agent env CGO_ENABLED=0 go build -trimpath -o "$tool/agent" ./internal/acp/acptest/agent
step shots clear_shots

SIGNOFF_CHROMIUM=$(command -v "$browser" || echo "$browser")
export SIGNOFF_CHROMIUM SIGNOFF_TEST_BINARY=$tool/signoff SIGNOFF_TEST_AGENT=$tool/agent
mapfile -t chosen < <(files)
node_tests "$tests" --test-concurrency=2 --test-timeout=720000 "$@" "${chosen[@]}"
