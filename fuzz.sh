#!/bin/sh
# Runs every fuzz target of the tree for the time given (default 5s a target).
set -eu
time=${1:-5s}
for file in $(grep -rl --include='*_test.go' '^func Fuzz' .); do
    dir=$(dirname "$file")
    for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
        echo "fuzz $dir $target"
        go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 200x >/tmp/tercet-fuzz.$$ 2>&1 || { cat /tmp/tercet-fuzz.$$; rm -f /tmp/tercet-fuzz.$$; exit 1; }
    done
done
rm -f /tmp/tercet-fuzz.$$
