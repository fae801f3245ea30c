#!/bin/sh
# Installs agent CLIs at pinned versions from npm and drives them against the model server of internal/testkit/modelserver: every
# scenario of a driver, then /plan and /implement of the demo's repository, and commands of tercet typed in the agent CLI.
# Usage: scripts/agents.sh [-short] [claude codex opencode gemini copilot claude-acp codex-acp opencode-acp gemini-acp]; without a name all of them. With
# -acp behind its name an agent is driven by the Agent Client Protocol, for which claude and codex have programs of their own. -short leaves
# out what surrounds the work: homes, settings of a project, floods, budgets, rights, hosts.
set -eu
cd "$(dirname "$0")/.."
TEST_DEEP=1
[ "${1:-}" != -short ] || { TEST_DEEP=; shift; }
export TEST_DEEP
[ $# -gt 0 ] || set -- claude codex opencode gemini copilot claude-acp codex-acp opencode-acp gemini-acp
cache=${TERCET_AGENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/tercet/agents}

command -v npm >/dev/null || { apt-get update && apt-get install -y nodejs npm; } >/dev/null
command -v npm >/dev/null || { echo "expected npm on PATH, got nothing: install node 20 or later" >&2; exit 1; }

package() {
	case $1 in
	claude) echo @anthropic-ai/claude-code@2.1.329 ;;
	codex) echo @openai/codex@0.169.0 ;;
	opencode | opencode-acp) echo opencode-ai@1.18.33 ;;
	gemini | gemini-acp) echo @google/gemini-cli@0.61.0 ;;
	copilot) echo @github/copilot@1.0.102 ;;
	claude-acp) echo @agentclientprotocol/claude-agent-acp@0.49.0 ;;
	codex-acp) echo @zed-industries/codex-acp@0.16.0 ;;
	*) echo "expected claude, codex, opencode, gemini, copilot, claude-acp, codex-acp, opencode-acp or gemini-acp, got '$1'" >&2; return 1 ;;
	esac
}

names=
pids=
dirs=' '
for name; do
	spec=$(package "$name")
	names=${names:+$names,}$name
	program=${name%-acp}
	dir=$cache/$program
	case $name in
	claude-acp) dir=$cache/$name program=claude-agent-acp ;;
	codex-acp) dir=$cache/$name program=$name ;;
	esac
	case $dirs in *" $dir "*) continue ;; esac
	dirs="$dirs$dir "
	[ -x "$dir/node_modules/.bin/$program" ] && [ "$(cat "$dir/installed" 2>/dev/null)" = "$spec" ] && continue
	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && echo '{"private": true}' >package.json && npm install --no-audit --no-fund --loglevel=error "$spec" >npm.log 2>&1 && echo "$spec" >installed || { cat npm.log >&2; exit 1; }) &
	pids="$pids $!"
done
for pid in $pids; do wait "$pid"; done

whole() { go test ./cmd/tercet -run '^TestAgents' -count 1 -timeout 60m -args -agents "$names" -agents-dir "$cache"; }
others=
[ -n "$TEST_DEEP" ] || { whole & others=$!; } # the programs wait more than they compute

scenes() { go test ./subagents/agentcli -run '^TestConformance$' -count 1 -timeout 60m -args -agents "$names" -agents-dir "$cache" "$@"; }
# Within bounds, where bubblewrap makes a container here, one scene leaves its tree. -short leaves out those without bounds then.
if bwrap --unshare-pid --ro-bind / / --dev /dev --proc /proc true 2>/dev/null; then
	[ -z "$TEST_DEEP" ] || scenes
	scenes -box bubblewrap
else
	scenes
fi
if [ -n "$others" ]; then wait "$others"; else whole; fi
