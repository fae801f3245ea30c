#!/bin/sh
# Installs agent CLIs at pinned versions from npm and drives them against the model server of internal/modelserver: every
# scenario of a driver, then /plan and /implement of the demo's repository.
# Usage: ./agents.sh [claude codex opencode gemini]; without a name all four.
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- claude codex opencode gemini
cache=${TERCET_AGENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/tercet/agents}

command -v npm >/dev/null || { apt-get update && apt-get install -y nodejs npm; } >/dev/null
command -v npm >/dev/null || { echo "expected npm on PATH, got nothing: install node 20 or later" >&2; exit 1; }

package() {
	case $1 in
	claude) echo @anthropic-ai/claude-code@2.1.329 ;;
	codex) echo @openai/codex@0.169.0 ;;
	opencode) echo opencode-ai@1.18.33 ;;
	gemini) echo @google/gemini-cli@0.61.0 ;;
	*) echo "expected claude, codex, opencode or gemini, got '$1'" >&2; return 1 ;;
	esac
}

names=
pids=
for name; do
	spec=$(package "$name")
	names=${names:+$names,}$name
	dir=$cache/$name
	[ -x "$dir/node_modules/.bin/$name" ] && [ "$(cat "$dir/installed" 2>/dev/null)" = "$spec" ] && continue
	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && echo '{"private": true}' >package.json && npm install --no-audit --no-fund --loglevel=error "$spec" >npm.log 2>&1 && echo "$spec" >installed || { cat npm.log >&2; exit 1; }) &
	pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done

go test ./subagents/agentcli -run '^TestConformance$' -count 1 -timeout 40m -args -agents "$names" -agents-dir "$cache"
# The same scenes within bounds, where bubblewrap makes a container here, and one that leaves its tree.
if bwrap --unshare-pid --ro-bind / / --dev /dev --proc /proc true 2>/dev/null; then
	go test ./subagents/agentcli -run '^TestConformance$' -count 1 -timeout 40m -args -agents "$names" -agents-dir "$cache" -box bubblewrap
fi
go test ./cmd/tercet -run '^TestAgents' -count 1 -timeout 20m -args -agents "$names" -agents-dir "$cache"
