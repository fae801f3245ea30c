#!/bin/sh
# Runs every fuzz target of the tree for the time given (default 5s a target).
set -eu
time=${1:-5s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
    dir=$(dirname "$file")
    for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
        echo "fuzz $dir $target"
        go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 200x >"$log" 2>&1 && continue
        # go test also fails when the time is over in the middle of an input that takes long; a finding names the input it wrote.
        grep -q '^ *context deadline exceeded$' "$log" && ! grep -qE 'Failing input|panic|--- FAIL: .*/' "$log" && continue
        cat "$log"
        exit 1
    done
done
