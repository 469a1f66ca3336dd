#!/usr/bin/env bash
# The benchmark; bench/doc.go tells what it does.
#
#   scripts/bench.sh [flags of bench]
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
make -s build BIN="$folder/signoff"
CGO_ENABLED=0 go build -trimpath -o "$folder/bench" ./bench
"$folder/bench" -signoff "$folder/signoff" "$@"
