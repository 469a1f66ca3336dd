#!/usr/bin/env bash
# The whole check: formatting, lint (go vet is one of the linters), and every test under the race detector; fuzz targets run with
# their seeds, and scripts/fuzz.sh goes beyond. All of it runs even when a part fails, so that one run tells everything; the last
# line says how many tests ran.
#
#   scripts/test.sh [--short | --race] [flags and packages of go test]
#
# The programs that tests start are built as users get them. With --race they are under the race detector, too, which takes longer.
set -euo pipefail
cd "$(dirname "$0")/.."

short='' whole=''
case ${1:-} in
--short) short=1 && shift ;;
--race) whole=1 && shift ;;
esac

. scripts/steps.sh

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
# others keep, git, bubblewrap, which is one of the two ways to confine a command, and PostgreSQL.
provide() {
  local missing=()
  command -v gcc >/dev/null || missing+=(gcc libc6-dev)
  command -v npm >/dev/null || missing+=(npm)
  command -v curl >/dev/null || missing+=(curl)
  command -v git >/dev/null || missing+=(git)
  [ "$(uname)" != Linux ] || command -v bwrap >/dev/null || missing+=(bubblewrap)
  packages ${missing[@]+"${missing[@]}"} && go run ./scripts/postgres >/dev/null
}

# Compiles all packages and their tests, and links nothing.
compile() { go list -export -deps -test ${race[@]+"${race[@]}"} ./... >"$tool/packages"; }

# The linters read the export data that the tests are compiled to. With flags of its own, lint would compile everything once more. It runs
# before the tests: beside them it found no processor, and its own time limits ended it.
lint() {
  local linter
  linter=$(GOFLAGS=$given go tool -modfile=tools.mod -n golangci-lint) || return 1
  GOFLAGS="${GOFLAGS:-} ${race[*]-}" "$linter" run || return 1
  # On macOS the server runs, and refuses commands.
  GOFLAGS=$given GOOS=darwin CGO_ENABLED=0 go vet ./...
}

# The server of test/e2e, the stages of commands, and the program that attacks the sandbox, without the race detector: with it, the start of a program takes
# longer, and starts are most of what these tests do. What is tested in the process of the tests is watched.
programs() {
  chmod 755 "$tool" # some servers run as nobody
  export TEST_SERVER=$tool/signoff TEST_ATTACK=$tool/attack
  CGO_ENABLED=0 GOFLAGS="$given -trimpath" go build "-ldflags=-s -w" -o "$TEST_SERVER" ./cmd/server || return 1
  CGO_ENABLED=0 GOFLAGS="$given -trimpath" go test -vet=off -c -o "$TEST_ATTACK" ./internal/sandbox || return 1
  GOFLAGS="$GOFLAGS -ldflags=-X=signoff/internal/sandbox.program=$TEST_SERVER"
}

# A test that hangs must end before the whole run does.
flags=(-timeout "$([ -n "$whole" ] && echo 60m || echo 25m)")
race=()
given=${GOFLAGS:-}
if [ -n "$short" ]; then
  flags+=(-short)
else
  step provide provide
  step generated generated
  # Cached results would be wrong here: many tests start programs and servers that Go's cache knows nothing of.
  flags+=(-count=1)
  # The race detector needs a C compiler. Go itself turns cgo off where there is none.
  if [ "$(go env CGO_ENABLED)" = 1 ]; then
    race=(-race)
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
  # TestRollingUpgrade builds an earlier commit in a folder that is another one each time. Without paths in the object files Go has it
  # in its cache, and with the same flags as the tests also all that it depends on.
  export GOFLAGS="${GOFLAGS:-} -trimpath"
  # Everything is compiled once, before lint and the tests ask for it.
  step compile compile
  step lint lint
  step failpoints go test -vet=off -tags failpoints ${race[@]+"${race[@]}"} ./internal/failpoint
  [ ${#race[@]} = 0 ] || [ -n "$whole" ] || step programs programs
fi

# go vet is among the linters.
flags+=(-vet=off ${race[@]+"${race[@]}"})
# Packages begin in this order. Those that take longest come first, so that none of them runs alone at the end.
[ $# -gt 0 ] || set -- ./internal/sandbox ./test/e2e ./internal/sessions ./internal/acp ./internal/http ./...
go_tests "${flags[@]}" "$@"
