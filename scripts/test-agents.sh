#!/usr/bin/env bash
# Real agents, driven through the server's binary; see test/agents/doc.go. The first run installs about two gigabytes.
# The last line says how many tests ran. Without npm and a network it fails, and skips nothing.
#
#   scripts/test-agents.sh [flags of go test]      such as -run 'TestSignoff/claude$', or -short=false for all of TestRaw
set -euo pipefail
cd "$(dirname "$0")/.."

tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT

# npm installs the agents, and the Node that runs them. Root on Debian gets it; everybody else is told.
provide() {
  command -v npm >/dev/null && return 0
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends npm; } >"$tool/apt" 2>&1 && return 0
    tail -n 20 "$tool/apt"
  fi
  echo "   npm, which these tests install the agents with, is missing; type: sudo apt-get install -y npm"
  return 1
}

broken=()
echo "== provide"
provide || broken+=(provide)
echo "== vet"
go vet -tags agents ./test/agents || broken+=(vet)

echo "== real agents"
go build -o "$tool/testreport" ./scripts/testreport
go test -json -tags agents -vet=off -count=1 -timeout 25m -short "$@" ./test/agents 2>&1 |
  "$tool/testreport" ${broken[@]+"${broken[@]}"}
