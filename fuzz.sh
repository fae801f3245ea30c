#!/bin/sh
# Runs every fuzz target of the tree for the time given (default 5s a target), one on each core.
set -eu
cores=$(getconf _NPROCESSORS_ONLN)
grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
    for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
        echo "$(dirname "$file") $target"
    done
done | xargs -n 2 -P "$cores" sh -c '
    log=$(mktemp)
    trap "rm -f $log" EXIT
    echo "fuzz $1 $2"
    go test "$1" -run "^\$" -fuzz "^$2\$" -fuzztime "$0" -fuzzminimizetime 200x -parallel 1 >"$log" 2>&1 && exit 0
    # go test also fails when the time is over in the middle of an input that takes long; a finding names the input it wrote.
    grep -q "^ *context deadline exceeded\$" "$log" && ! grep -qE "Failing input|panic|--- FAIL: .*/" "$log" && exit 0
    cat "$log"
    exit 255 # xargs starts no further one
' "${1:-5s}"
