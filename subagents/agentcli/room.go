package agentcli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/subagents/sandbox"
)

// Confine puts the program of a call within bounds, or says which bounds it keeps itself, and names the tier.
type Confine func(
	ctx context.Context, r formats.Request, c proc.Command, room sandbox.Room,
) (proc.Command, string, error)

// Store is a folder or a file that a program keeps of itself: Path below the folder that Var names, or below Home in
// the home folder where Var is not set. Keep are files and folders in it that tell the program what to do or to run.
type Store struct {
	Var, Home, Path string
	File            bool
	Keep            []string
}

// stores is what each agent CLI writes outside of the tree that it works in: sessions, logs, a login that it renews.
// Adapters to the Agent Client Protocol keep what the program keeps that they stand before.
func stores(name string) []Store {
	switch name {
	case "claude", "claude-agent-acp", "claude-code-acp":
		keep := []string{
			"settings.json", "settings.local.json", "CLAUDE.md", "commands", "agents", "skills", "hooks", "plugins",
			"output-styles", "rules",
		}
		return []Store{{Var: "CLAUDE_CONFIG_DIR", Home: ".claude", Keep: keep}, {Home: ".claude.json", File: true}}
	case "codex", "codex-acp":
		return []Store{{Var: "CODEX_HOME", Home: ".codex", Keep: []string{
			"config.toml", "AGENTS.md", "AGENTS.override.md", "prompts", "rules", "skills", "hooks", "hooks.json", "plugins",
		}}}
	case "opencode":
		return []Store{
			{Var: "XDG_DATA_HOME", Home: ".local/share", Path: "opencode"},
			{Var: "XDG_STATE_HOME", Home: ".local/state", Path: "opencode"},
			{Var: "XDG_CACHE_HOME", Home: ".cache", Path: "opencode"},
			{
				Var: "XDG_CONFIG_HOME", Home: ".config", Path: "opencode",
				Keep: []string{
					"opencode.json", "opencode.jsonc", "config.json", "AGENTS.md", "agent", "agents", "command", "commands",
					"plugin", "plugins", "mode", "modes", "skill", "skills", "tool", "tools",
				},
			},
		}
	case "gemini":
		keep := []string{
			"settings.json", "trustedFolders.json", "GEMINI.md", "extensions", "commands", "policies", "skills", "hooks",
			"agents", ".env",
		}
		return []Store{{Var: "GEMINI_CLI_HOME", Path: ".gemini", Keep: keep}}
	}
	return nil
}

// room of a call: with a private home everything stands in its folder.
func (c *CLI) room(call Call) sandbox.Room {
	list := stores(c.Driver.Name)
	room := sandbox.Room{
		Tree: call.Grant.Write || call.Grant.Shell, Nest: strings.HasPrefix(c.Driver.Name, "codex"),
		Known: len(list) > 0 || call.Home != "",
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
		for _, k := range s.Keep {
			room.Keep = append(room.Keep, filepath.Join(dir, k))
		}
	}
	return room
}
