#!/usr/bin/env bash
# The whole check: formatting, vet, lint, and every test under the race detector. All of it runs even when a part
# fails, so that one run tells everything; the last line says how many tests ran.
#
#   scripts/test.sh [--short] [flags and packages of go test]
set -euo pipefail
cd "$(dirname "$0")/.."

short=
if [ "${1:-}" = --short ]; then
  short=1
  shift
fi

. scripts/steps.sh

# Each fuzz target runs for some seconds beyond its seeds, which run with the tests; what it finds lands in testdata.
# Counted in runs and not in time: at the end of a time Go now and then calls its own deadline a failure.
fuzz() {
  local target package
  grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' internal |
    sed -E 's|^(.*)/[^/]+_test.go:[0-9]+:func (Fuzz.*)$|\1 \2|' |
    while read -r package target; do
      go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZ_RUNS:-2000}x" -fuzzminimizetime 100x "./$package" || return 1
    done
}

# The generated code is committed, so that building needs nothing but Go; here it is held against its document.
generated() {
  sed "s|^output:.*|output: $tool/api.gen.go|" api/codegen.yaml >"$tool/codegen.yaml"
  (cd api && go tool -modfile=../tools.mod oapi-codegen -config "$tool/codegen.yaml" openapi.yaml) || return 1
  diff -u api/api.gen.go "$tool/api.gen.go" >"$tool/diff" && return 0
  head -n 20 "$tool/diff"
  echo "   api/api.gen.go is not what api/openapi.yaml says. Type: make generate"
  return 1
}

# A new machine may lack what the tests run beside Go: a C compiler for the race detector, npm for the model server that
# others keep, bubblewrap, which is one of the two ways to confine a command. Postgres is looked after by the tests themselves.
provide() {
  local missing=()
  command -v gcc >/dev/null || missing+=(gcc libc6-dev)
  command -v npm >/dev/null || missing+=(npm)
  [ "$(uname)" != Linux ] || command -v bwrap >/dev/null || missing+=(bubblewrap)
  packages ${missing[@]+"${missing[@]}"}
}

flags=()
if [ -n "$short" ]; then
  flags+=(-short)
else
  step provide provide
  step vet go vet ./...
  step generated generated
  step failpoints go test -tags failpoints ./internal/failpoint
  step fuzz fuzz
  step lint go tool -modfile=tools.mod golangci-lint run
  # Cached results would be wrong here: many tests start programs and servers that Go's cache knows nothing of.
  flags+=(-count=1)
  # The race detector needs a C compiler. Go itself turns cgo off where there is none.
  if [ "$(go env CGO_ENABLED)" = 1 ]; then
    flags+=(-race)
    # Or every test binary, and every program of ours that one starts, sleeps for a second at its end.
    export GORACE="atexit_sleep_ms=0 ${GORACE:-}"
    # SQLite is C that was translated to Go. It keeps its data outside of Go's heap, where the race detector sees nothing, and
    # is several times slower with it. What calls it is watched. As GOFLAGS, since tests build programs of ours themselves.
    for package in modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory; do
      GOFLAGS="${GOFLAGS:-} '-gcflags=$package=-race=false -d=checkptr=0'"
    done
    export GOFLAGS
  else
    echo "!! no C compiler here, so the tests run WITHOUT the race detector (Debian: apt-get install -y gcc libc6-dev)"
  fi
fi

# vet has run, or is not wanted.
flags+=(-vet=off -timeout 25m)
[ $# -gt 0 ] || set -- ./...

echo "== tests"
go build -o "$tool/testreport" ./scripts/testreport
go test -json "${flags[@]}" "$@" 2>&1 | "$tool/testreport" ${broken[@]+"${broken[@]}"}
