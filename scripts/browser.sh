#!/bin/sh
# Tries the page of 'tercet serve' in Debian's Chromium, which it installs where apt-get can. Without it, it says so and does nothing.
# Usage: scripts/browser.sh [-pictures DIR] | scripts/browser.sh -goals
# -goals measures how fast the page is and prints that; it takes a minute on a quiet machine.
set -eu
cd "$(dirname "$0")/.."
browser=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$browser" ] && command -v apt-get >/dev/null; then
	{ apt-get update && apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 || true
	browser=$(command -v chromium || true)
fi
[ -n "$browser" ] || { echo "expected chromium on PATH or to be installed by apt-get, got neither: the page was not tried" >&2; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -ldflags=-s -o "$dir/tercet" ./cmd/tercet
what=
case " $* " in *" -goals "*) what="-v -run TestGoals" ;; esac # without -v the figures of a test that passes are not printed
# shellcheck disable=SC2086 # words of their own
go test ./internal/browser -count 1 -timeout 60m $what -args -tercet "$dir/tercet" -chromium "$browser" "$@"
