#!/usr/bin/env bash
# Fuzzing beyond the seeds, which run with the tests: what it finds lands in testdata, and is a seed from then on. The last line says
# how many targets ran.
#
#   FUZZ_RUNS=100000 scripts/fuzz.sh       runs of each target, instead of 2000
set -euo pipefail
cd "$(dirname "$0")/.."

passed=0 failed=0
# Counted in runs and not in time: at the end of a time Go now and then calls its own deadline a failure.
while read -r package target; do
  if go test -vet=off -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ_RUNS:-2000}x" -fuzzminimizetime 100x "./$package"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done < <(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' internal | sed -E 's|^(.*)/[^/]+_test.go:[0-9]+:func (Fuzz.*)$|\1 \2|')

printf '\n%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
