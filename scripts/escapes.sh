#!/usr/bin/env bash
# Tries to break out of the sandbox: each way, in each kind of environment, by each method, as root and as an ordinary user. The last lines say how many
# ways were tried where.
set -uo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
begun=$SECONDS
status=0
SIGNOFF_TEST_ESCAPES=all go test -vet=off -count=1 -timeout 10m -v ./internal/sandbox -run '^Test(Probe|Escapes|EscapesAreSeen|SecretFilesAreHidden|OrdinaryUser)$' >"$log" 2>&1 || status=1
if [ "$status" != 0 ]; then
  grep -a -e '--- FAIL' -e 'the output holds' -e 'has changed' -e 'have survived' -e 'was not tried' -e 'NOT TESTED' "$log" | head -n 100
  tail -n 20 "$log"
fi
grep -ao '[a-zA-Z]*: [0-9]* attacks in .*' "$log" | sort | awk '{ runs[$0]++; total += $2 } END { for (line in runs) print line " (" runs[line] " times)"; print total " attacks" }' | sort
skipped=$(grep -ac '^ *--- SKIP' "$log")
echo "$skipped skipped, exit $status after $((SECONDS - begun)) s"
grep -aq ' attacks in ' "$log" || status=1
exit $status
