package agentcli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/sandbox"
)

// Confine puts an agent CLI's command into a sandbox, or says which limits the CLI enforces itself,
// and names the tier.
type Confine func(
	ctx context.Context, r formats.Request, c proc.Command, room sandbox.Room,
) (proc.Command, string, error)

// Store is a folder or file in which an agent CLI stores its own data. It is Path below the folder
// in the variable Var, or below Home in the home folder if Var is not set. Keep lists, with blanks
// between, what in it decides what the CLI does or runs.
type Store struct {
	Var, Home, Path string
	File            bool
	Keep            string
}

// adapters to the Agent Client Protocol keep what the program keeps that they stand before.
var adapters = map[string]string{
	"claude-agent-acp": "claude",
	"claude-code-acp":  "claude",
	"codex-acp":        "codex",
}

// stores is what each agent CLI writes outside of the tree that it works in: sessions, logs, a
// login that it renews.
var stores = map[string][]Store{
	"claude": {
		{
			"CLAUDE_CONFIG_DIR",
			".claude",
			"",
			false,
			"settings.json settings.local.json CLAUDE.md commands agents skills " +
				"hooks plugins output-styles rules",
		},
		{Home: ".claude.json", File: true},
	},
	"codex": {
		{
			"CODEX_HOME",
			".codex",
			"",
			false,
			"config.toml AGENTS.md AGENTS.override.md prompts rules skills hooks " +
				"hooks.json plugins",
		},
	},
	"opencode": {
		{Var: "XDG_DATA_HOME", Home: ".local/share", Path: "opencode"},
		{Var: "XDG_STATE_HOME", Home: ".local/state", Path: "opencode"},
		{Var: "XDG_CACHE_HOME", Home: ".cache", Path: "opencode"},
		{
			"XDG_CONFIG_HOME",
			".config",
			"opencode",
			false,
			"opencode.json opencode.jsonc config.json AGENTS.md agent " +
				"agents command commands plugin plugins mode modes skill skills tool tools",
		},
	},
	"gemini": {
		{
			"GEMINI_CLI_HOME",
			"",
			".gemini",
			false,
			"settings.json trustedFolders.json GEMINI.md extensions commands " +
				"policies skills hooks agents .env",
		},
	},
	"copilot": {}, // its folder is one of the call
}

// room of a call: with a private home everything stands in its folder.
func (c *CLI) room(call Call) sandbox.Room {
	list, known := stores[cmp.Or(adapters[c.Driver.Name], c.Driver.Name)]
	room := sandbox.Room{
		Tree:  call.Grant.Write || call.Grant.Shell,
		Net:   call.Grant.Net,
		Nest:  strings.HasPrefix(c.Driver.Name, "codex"),
		Known: known || call.Home != "",
	}
	// the bounds that codex makes for its commands begin with this folder, wherever TMPDIR is
	if room.Nest {
		room.Make = []string{"/tmp/codex-daemon-" + strconv.Itoa(os.Getuid())}
	}
	if call.Home != "" {
		return room
	}

	for _, s := range list {
		dir := call.Lookup(s.Var)
		if s.Var == "" || dir == "" {
			dir = filepath.Join(call.Lookup("HOME"), filepath.FromSlash(s.Home))
		}
		dir = filepath.Join(dir, filepath.FromSlash(s.Path))
		if !filepath.IsAbs(dir) || slices.Contains(room.Write, dir) {
			continue
		}
		room.Write = append(room.Write, dir)
		if !s.File {
			room.Make = append(room.Make, dir)
		}
		for k := range strings.FieldsSeq(s.Keep) {
			room.Keep = append(room.Keep, filepath.Join(dir, k))
		}
	}

	return room
}
