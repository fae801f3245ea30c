#!/bin/sh
# Runs every fuzz target of the tree for the time given (default 5s a target), one on each core. With -blind before the time nothing
# is compiled apart for it: inputs are drawn without regard to what they reach, which is all that a second could use.
set -eu
cd "$(dirname "$0")/.."
guided=yes
[ "${1:-}" != -blind ] || { guided=; shift; }
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
module=$(go list -m)
cache=$(go env GOCACHE)/fuzz
dirs=$(grep -rl --include='*_test.go' --exclude-dir=engine '^func Fuzz' . | xargs -n 1 dirname | sort -u)

# One program for each package; go compiles those that are guided only one by one.
if [ -n "$guided" ]; then
    for dir in $dirs; do go test -c -vet=off -fuzz . -o "$built/" "$dir"; done
else
    # shellcheck disable=SC2086 # a list of folders
    go test -c -vet=off -ldflags='-s -w' -o "$built/" $dirs
fi
for dir in $dirs; do
    sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$dir"/*_test.go | while read -r target; do
        echo "$dir $target $built/$(basename "$dir").test"
    done
done >"$built/targets"

xargs -n 3 -P "$(getconf _NPROCESSORS_ONLN)" sh -c '
    log=$(mktemp)
    trap "rm -f $log" EXIT
    echo "fuzz $1 $2"
    cd "$1"
    "$3" -test.run "^\$" -test.fuzz "^$2\$" -test.fuzztime "${0%% *}" -test.fuzzminimizetime 200x -test.parallel 1 -test.fuzzcachedir "${0##* }/$1" >"$log" 2>&1 && exit 0
    # A run also fails when the time is over in the middle of an input that takes long; a finding names the input it wrote.
    grep -q "^ *context deadline exceeded\$" "$log" && ! grep -qE "Failing input|panic|--- FAIL: .*/" "$log" && exit 0
    cat "$log"
    exit 255 # xargs starts no further one
' "${1:-5s} $cache/$module" <"$built/targets"
