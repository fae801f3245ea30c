#!/bin/sh
# Runs the tests that do more with TEST_DEEP=1, and only these: kills at every place, corpora, every script and page, every line of a
# journal. These are the tests that ask testkit, and all tests of a file in which a helper does. The module in engine has its own call.
# Usage: scripts/deep.sh [-not] [FOLDER...]; without a folder in all of them, with -not in all others.
set -eu
cd "$(dirname "$0")/.."
not=
[ "${1:-}" != -not ] || { not=-v; shift; }
files=$(grep -rlE --include='*_test.go' --exclude-dir=engine 'testkit\.(OnlyDeep|Deep)\(' .)
if [ $# -gt 0 ]; then
	wanted=$(for dir; do echo "^./${dir#./}/"; done)
	# shellcheck disable=SC2086 # -v or nothing
	files=$(echo "$files" | grep $not -e "$wanted")
fi
# shellcheck disable=SC2086 # names of files
tests=$(awk '
	FNR == 1 { all = "" }
	/^func / {
		name = ""
		if ($2 ~ /^Test/) {
			name = $2
			sub(/\(.*/, "", name)
			all = all name "\n"
			of[FILENAME] = all
		}
	}
	/testkit\.(OnlyDeep|Deep)\(/ {
		if (name != "") print name
		else helper[FILENAME]
	}
	END { for (file in helper) printf "%s", of[file] }' $files | sort -u | paste -s -d '|' -)
export TEST_DEEP=1
# shellcheck disable=SC2046,SC2086 # names of folders
go test -timeout 60m -run "^($tests)\$" $(dirname $files | sort -u)
