#!/usr/bin/env bash
# MCP servers, driven through the server's binary, and the conformance kit of the protocol's makers; see test/mcp/doc.go. npm installs the kit and
# the servers at the first run.
# The last line says how many tests ran. Without npm and a network the first time, it fails, and skips nothing.
#
#   scripts/test-mcp.sh [flags of go test]      such as -run 'TestConformance/2026-07-28', or -v for the counts
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/steps.sh

# npm installs the kit, the servers and their Node; the tests with two replicas need Postgres.
provide() {
  local missing=()
  command -v npm >/dev/null || missing+=(npm)
  command -v bwrap >/dev/null || missing+=(bubblewrap)
  packages ${missing[@]+"${missing[@]}"} && go run ./scripts/postgres >/dev/null
}

step provide provide
step vet go vet -tags mcp ./test/mcp/...

# Most of it waits: for leases that run out, and for servers that never answer.
go_tests -tags mcp -vet=off -count=1 -timeout 9m -parallel 8 "$@" ./test/mcp
