#!/usr/bin/env bash
# Fuzzing beyond the seeds, which run with the tests: what it finds lands in testdata, and is a seed from then on. The last line says
# how many targets ran.
#
#   FUZZ_RUNS=100000 scripts/fuzz.sh       runs of each target, instead of 2000
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# SQLite is C that was translated to Go. To count its branches takes longer to compile than all targets take to run.
export GOFLAGS="${GOFLAGS:-} -gcflags=modernc.org/sqlite/lib=-d=libfuzzer=0"

# Counted in runs and not in time: at the end of a time Go now and then calls its own deadline a failure.
fuzz() { # fuzz <package> <target>
  echo "== $1 $2"
  (cd "$1" && "$folder/fuzz.test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "${FUZZ_RUNS:-2000}x" -test.fuzzminimizetime 100x \
    -test.fuzzcachedir "$corpus/$1")
}

corpus=$(go env GOCACHE)/fuzz/$(go list -m)
passed=0 failed=0
for package in $(grep -rlE --include='*_test.go' '^func Fuzz' internal | xargs -n 1 dirname | sort -u); do
  # Compiled and linked once for all targets of the package.
  go test -c -vet=off -fuzz . -o "$folder/fuzz.test" "./$package" || rm -f "$folder/fuzz.test"
  for target in $(grep -hoE '^func Fuzz[A-Za-z0-9]+' "$package"/*_test.go | cut -d ' ' -f 2); do
    if fuzz "$package" "$target"; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
    fi
  done
done

printf '\n%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
