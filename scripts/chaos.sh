#!/usr/bin/env bash
# The campaign of faults; test/chaos/doc.go tells what it does.
#
#   scripts/chaos.sh [flags of test/chaos]
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Without cgo the program also runs inside the sandbox of a machine that is unlike ours: it is the command there.
CGO_ENABLED=0 go build -o "$folder/chaos" ./test/chaos
"$folder/chaos" "$@"
