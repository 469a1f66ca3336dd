#!/usr/bin/env bash
# Real agents, driven through the server's binary; see test/agents/doc.go. The first run installs about two gigabytes.
# The last line says how many tests ran. Without npm and a network it fails, and skips nothing.
#
#   scripts/test-agents.sh [flags of go test]      such as -run 'TestSignoff/claude$'; without any, all but TestRaw
#   FORM=long scripts/test-agents.sh               all scenarios with each agent, and restarts of the scripted one, which takes minutes more
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/steps.sh

# npm installs the agents, and the Node that runs them.
provide() { command -v npm >/dev/null || packages npm; }

step provide provide
step vet go vet -tags agents ./test/agents
[ "${FORM:-}" != long ] || step restarts env SIGNOFF_TEST_CROSSED=1 go test -vet=off -count=1 -timeout 10m -run '^TestAgentsAndRestarts$' ./test/e2e

[ $# -gt 0 ] || set -- -skip '^TestRaw$'
go_tests -tags agents -vet=off -count=1 -timeout 25m "$@" ./test/agents
