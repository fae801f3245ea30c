package agentcli_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/subagents/agentcli"
	"tercet/subagents/sandbox"
)

// TestRoom: what a sandbox leaves open to an agent CLI for its own data.
func TestRoom(t *testing.T) {
	t.Parallel()

	daemon := fmt.Sprintf("/tmp/codex-daemon-%d", os.Getuid())
	codex := "writes /u/.codex; keeps config.toml AGENTS.md AGENTS.override.md prompts rules " +
		"skills hooks hooks.json plugins; makes " + daemon + " /u/.codex; nests; known"
	claude := "writes /u/.claude /u/.claude.json; keeps settings.json settings.local.json " +
		"CLAUDE.md commands agents skills hooks plugins output-styles rules; " +
		"makes /u/.claude; known"

	tests := []struct {
		program string
		home    string            // private home
		env     map[string]string // besides HOME
		want    string
	}{
		{program: "codex", want: codex},
		{program: "codex-acp", want: codex},
		{program: "/opt/bin/codex-acp", want: codex},
		{program: "claude", want: claude},
		{program: "claude-agent-acp", want: claude},
		{program: "./node_modules/.bin/claude-code-acp", want: claude},
		{program: "copilot", want: "known"},
		{
			program: "gemini",
			want: "writes /u/.gemini; keeps settings.json trustedFolders.json GEMINI.md " +
				"extensions commands policies skills hooks agents .env; makes /u/.gemini; known",
		},
		{
			program: "opencode",
			env:     map[string]string{"XDG_STATE_HOME": "/s"},
			want: "writes /u/.local/share/opencode /s/opencode /u/.cache/opencode " +
				"/u/.config/opencode; keeps opencode.json opencode.jsonc config.json AGENTS.md " +
				"agent agents command commands plugin plugins mode modes skill skills tool " +
				"tools; makes /u/.local/share/opencode /s/opencode /u/.cache/opencode " +
				"/u/.config/opencode; known",
		},
		{program: "codex-nightly", want: "makes " + daemon + "; nests"},
		{program: "other", want: ""},
		{program: "other", home: "/private", want: "known"},
		{program: "codex", home: "/private", want: "makes " + daemon + "; nests; known"},
		{
			program: "claude",
			env:     map[string]string{"CLAUDE_CONFIG_DIR": "relative"},
			want:    "writes /u/.claude.json; known",
		},
	}

	for _, tt := range tests {
		env := map[string]string{"HOME": "/u"}
		maps.Copy(env, tt.env)

		room := agentcli.RoomOf(tt.program, agentcli.Call{
			Home:   tt.home,
			Lookup: func(name string) string { return env[name] },
		})

		if got := inWords(room); got != tt.want {
			t.Errorf("%s %v %s\n got %s\nwant %s", tt.program, tt.env, tt.home, got, tt.want)
		}
	}
}

// inWords names what a room has.
func inWords(r sandbox.Room) string {
	var kept []string
	for _, file := range r.Keep {
		kept = append(kept, filepath.Base(file))
	}

	var out []string

	add := func(verb string, names []string) {
		if len(names) > 0 {
			out = append(out, verb+" "+strings.Join(names, " "))
		}
	}

	add("writes", r.Write)
	add("keeps", kept)
	add("makes", r.Make)
	if r.Nest {
		out = append(out, "nests")
	}
	if r.Known {
		out = append(out, "known")
	}

	return strings.Join(out, "; ")
}

// TestPrivateHome: no CLI, nor one that it starts, finds the folder of the user.
func TestPrivateHome(t *testing.T) {
	t.Parallel()
	want := []string{
		"HOME=/h", "XDG_CONFIG_HOME=/h/.config", "XDG_DATA_HOME=/h/.local/share",
		"XDG_STATE_HOME=/h/.local/state", "XDG_CACHE_HOME=/h/.cache",
		"CLAUDE_CONFIG_DIR=/h/.claude", "CODEX_HOME=/h/.codex",
	}
	if d := cmp.Diff(want, agentcli.HomeEnv("/h")); d != "" {
		t.Errorf("variables (-want +got):\n%s", d)
	}
}
