#!/usr/bin/env bash
# The campaign of faults; test/chaos/doc.go tells what it does.
#
#   scripts/chaos.sh [flags of test/chaos]
set -euo pipefail
cd "$(dirname "$0")/.."

# Slow disks are made with strace. Where it cannot be had, the campaign says so and leaves them out.
if ! command -v strace >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends strace; } >/dev/null 2>&1 || true
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Without cgo the program also runs inside the sandbox of a machine that is unlike ours: it is the command there.
CGO_ENABLED=0 go build -trimpath -o "$folder/chaos" ./test/chaos
"$folder/chaos" "$@"
