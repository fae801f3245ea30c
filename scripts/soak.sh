#!/bin/sh
# Tries the promises about faults as often as they say, in at most 90 minutes on two cores: the bounds of what runs after another add up
# to that, beside the time to compile. With the name of a test it tries that one of the state alone. To look at the script
# itself, make it small: KEYS=10s STEP=40 STATE=TestPlanted CALLS=1.
set -u
export TEST_DEEP=1
cd "$(dirname "$0")/.."
left=
part() { # bound, package, tests, flags
    most=$1 package=$2 tests=$3
    shift 3
    # shellcheck disable=SC2086 # a package, perhaps with a flag
    go test $package -run "$tests" -timeout "$most" -v -args "$@" || left="$left $package"
}
if [ -n "${1:-}" ]; then
    part 25m ./state/crash "$1" -full
    exit ${left:+1}
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Random keys at a prompt wait more than they compute: they run beside the others.
(part 40m ./cmd/tercet '^TestPromptSurvives$' -promptfor "${KEYS:-30m}"; exit ${left:+1}) >"$log" 2>&1 &
keys=$!
part 2m ./commands/interp '^TestEveryLine' -both
part 2m ./internal/proc '^TestSoak' -full
part 3m ./subagents/worktree . -kills "${STEP:-1}"
part 10m ./state/crash "${STATE:-.}" -full
# A workflow waits more than it computes.
part 73m './cmd/tercet -parallel 16' '^(TestEveryJournalLine|TestKilled)' \
    -points "${STEP:-1}" -lines "${STEP:-1}" -calls "${CALLS:-200}" -seed 0
# 200 tasks over four workers of a team, which die 20 times meanwhile.
# Workers die at every line of the journals of the shipped commands and at every other call to their home, and the hub at its writes.
(cd engine/nats && go test . -run '^(TestManyTasks|TestKilledAtEveryLine|TestTheHubDiesAtAWrite)$' -parallel 8 -timeout 60m -v \
    -args -tasks "${TASKS:-200}" -kills "${KILLS:-20}" -every "${STEP:-1}") || left="$left ./engine/nats"
wait "$keys" || left="$left ./cmd/tercet:keys"
cat "$log"
[ -z "$left" ] || { echo "failed:$left"; exit 1; }
