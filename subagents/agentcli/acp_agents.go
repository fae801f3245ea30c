package agentcli

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/nearest"
)

// Speaker is one agent of the Agent Client Protocol, as data and pure functions. It starts nothing.
// From its Driver it uses program, arguments, environment, files and logins; its output is the
// protocol.
type Speaker struct {
	Name   string // its name in a configuration
	Driver Driver
	// Mode is the agent's mode that asks for permission before actions; empty: it has none.
	Mode string
	// Meta is agent-specific metadata for opening a session; nil: none.
	Meta func(Call) map[string]any
}

// Speakers lists the agents that tercet knows by name, in order.
func Speakers() []Speaker {
	claude := Claude()
	codex := Codex()
	openCode := OpenCode()
	gemini := Gemini()
	return []Speaker{
		// It reads the project's settings, which may name hooks and a mode that asks nothing,
		// unless it is told not to. An error of the model's server is an error of the protocol.
		{
			Name: claude.Name,
			Mode: "default",
			Meta: claudeMeta,
			Driver: Driver{
				Name:      "claude-agent-acp",
				Package:   "@agentclientprotocol/claude-agent-acp",
				Tested:    "0.49.0",
				Logins:    claude.Logins,
				Accounts:  claude.Accounts,
				Keys:      claude.Keys,
				Footprint: claude.Footprint,
				Env:       claude.Env,
				Argv:      func(Call) []string { return nil },
			},
		},
		// It reads by running commands in a sandbox of its own, as codex does, and asks for what
		// that sandbox refuses. It stays when its input is closed, and is ended by a signal.
		{
			Name: codex.Name,
			Driver: Driver{
				Name:      "codex-acp",
				Package:   "@zed-industries/codex-acp",
				Tested:    "0.16.0",
				Logins:    codex.Logins,
				Accounts:  codex.Accounts,
				Keys:      codex.Keys,
				Footprint: codex.Footprint,
				Argv:      codexSpeakerArgv,
			},
		},
		// It allows everything unless its settings say that it asks.
		{
			Name: openCode.Name,
			Driver: Driver{
				Name:      openCode.Name,
				Package:   openCode.Package,
				Tested:    openCode.Tested,
				Logins:    openCode.Logins,
				Accounts:  openCode.Accounts,
				Keys:      openCode.Keys,
				Footprint: openCode.Footprint,
				Argv: func(Call) []string {
					return []string{"acp", "--pure"}
				},
				Env: func(c Call) []string {
					return openCodeVariables(c, openCodeAsks(c))
				},
			},
		},
		// It cannot make a new file by the client's file system, which is not offered.
		{
			Name: gemini.Name,
			Mode: "default",
			Driver: Driver{
				Name:      gemini.Name,
				Package:   gemini.Package,
				Tested:    gemini.Tested,
				Logins:    gemini.Logins,
				Accounts:  gemini.Accounts,
				Keys:      gemini.Keys,
				Footprint: gemini.Footprint,
				Argv:      geminiSpeakerArgv,
				Env:       gemini.Env,
				Files: func(c Call) map[string][]byte {
					files := geminiFiles(c)
					delete(files, geminiPolicy) // it asks instead
					return files
				},
			},
		},
	}
}

// SpeakerNames lists the names of Speakers, in order.
func SpeakerNames() []string {
	var out []string
	for _, s := range Speakers() {
		out = append(out, s.Name)
	}
	return out
}

// SpeakerByName finds a known agent. The error is a *formats.Failure with code CONFIG.
func SpeakerByName(name string) (Speaker, error) {
	for _, s := range Speakers() {
		if s.Name == name {
			return s, nil
		}
	}
	help := nearest.Help(name, SpeakerNames())
	help = cmp.Or(help, "any other agent is written as a list of its program and arguments")
	return Speaker{}, formats.Fail(formats.CodeConfig, help,
		"expected an agent of the Agent Client Protocol (%s), got %q",
		strings.Join(SpeakerNames(), ", "), name)
}

// SpeakerOf makes a Speaker from a command line. argv must not be empty.
func SpeakerOf(argv []string) Speaker {
	args := slices.Clone(argv[1:])
	return Speaker{
		Name: filepath.Base(argv[0]),
		Driver: Driver{
			Name: argv[0],
			Argv: func(Call) []string {
				return args
			},
			Footprint: footprintOf(filepath.Base(argv[0])),
		},
	}
}

// Program is the program to start: a name to look up, or a path. A path with a slash is below the
// project root.
func (s Speaker) Program(root string) string {
	name := s.Driver.Name
	if strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		return filepath.Join(root, filepath.FromSlash(name))
	}
	return name
}

// claudeMeta says what the arguments of the CLI say. Nothing that writes or runs is allowed
// beforehand, so that it is asked for.
func claudeMeta(c Call) map[string]any {
	tools, _, deny, folders := claudeRules(c)
	return map[string]any{"claudeCode": map[string]any{"options": map[string]any{
		"settingSources":        []string{"user"},
		"strictMcpConfig":       true,
		"tools":                 tools,
		"additionalDirectories": folders,
		"persistSession":        false,
		"settings": map[string]any{
			"permissions":                map[string]any{"deny": deny},
			"includeCoAuthoredBy":        false,
			"enableAllProjectMcpServers": false,
		},
	}}}
}

// codexSpeakerArgv gives the settings of the CLI, but for the approvals, which are asked for.
func codexSpeakerArgv(c Call) []string {
	if c.Out == "" {
		return nil
	}
	var args []string
	all := codexArgv(c)
	for i, arg := range all {
		if i > 0 && all[i-1] == "-c" && !strings.HasPrefix(arg, "approval_policy=") {
			args = append(args, "-c", arg)
		}
	}
	return append(args, "-c", `approval_policy="on-request"`)
}

// openCodeAsks is the configuration in which it asks leave.
func openCodeAsks(c Call) string {
	outside := map[string]string{"*": "deny"}
	for _, dir := range []string{c.Out, c.Private, c.Root} {
		outside[filepath.ToSlash(dir)+"/*"] = "allow"
	}
	return string(toJSON(map[string]any{
		"autoupdate": false,
		"share":      "disabled",
		"snapshot":   false,
		// else what is refused ends its turn
		"experimental": map[string]any{"continue_loop_on_deny": true},
		"permission": map[string]any{
			"edit":               "ask",
			"bash":               "ask",
			"webfetch":           "ask",
			"websearch":          "ask",
			"external_directory": outside,
			"task":               "deny",
			"question":           "deny",
			"skill":              "deny",
			"doom_loop":          "deny",
		},
	}))
}

func geminiSpeakerArgv(c Call) []string {
	args := []string{
		"--acp", "--approval-mode", "default", "--allowed-mcp-server-names", "none", "-e", "none",
	}
	if c.Out != "" {
		args = append(args, "--include-directories", strings.Join([]string{c.Out, c.Private}, ","))
	}
	return args
}
