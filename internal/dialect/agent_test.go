package dialect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/dialect"
)

func agentPlace(tb testing.TB, d dialect.Dialect) dialect.Place {
	tb.Helper()
	for _, p := range dialect.AgentPlaces(dialect.Homes{}) {
		if p.Dialect == d {
			return p
		}
	}
	tb.Fatalf("no place of agents of %s", d)
	return dialect.Place{}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	all := []string{"read", "search", "write", "shell", "net"}
	tests := []struct {
		name  string
		tool  dialect.Dialect
		file  string
		src   string
		want  string
		tools []string
		codes []string
	}{
		{
			"identity is the name",
			dialect.Claude,
			"x/y.md",
			"---\nname: code-reviewer\ndescription: d\ntools: Read, Grep, Bash(git diff:*)\n" +
				"model: inherit\n---\nReview.",
			"code-reviewer",
			[]string{"read", "search", "shell"},
			nil,
		},
		{
			"no tools named", dialect.Claude, "a.md", "---\nname: a\ndescription: d\n---\nDo.", "a",
			all, nil,
		},
		{
			"tools taken away",
			dialect.Claude,
			"a.md",
			"---\nname: a\ndescription: d\ndisallowedTools: Bash, WebFetch\n---\nDo.",
			"a",
			[]string{"read", "search", "write"},
			nil,
		},
		{
			"a name in another form",
			dialect.Claude,
			"a.md",
			"---\nname: UI Designer_2\ndescription: d\n---\nDo.",
			"ui-designer-2",
			all,
			[]string{"W036:2"},
		},
		{
			"not YAML",
			dialect.Claude,
			"a.md",
			"---\nname: a\ndescription: Use this: when\ntools: Read\n---\nDo.",
			"a",
			[]string{"read"},
			[]string{"W030:3"},
		},
		{
			"no frontmatter",
			dialect.Claude,
			"helper.md",
			"You help.",
			"helper",
			all,
			[]string{"W037:1"},
		},
		{
			"unknown tool",
			dialect.Claude,
			"a.md",
			"---\nname: a\ndescription: d\ntools: [Read, Teleport, mcp__x__read]\n---\nDo.",
			"a",
			[]string{"read"},
			[]string{"W038:4"},
		},
		{
			"no tools at all",
			dialect.Claude,
			"a.md",
			"---\nname: a\ndescription: d\ntools: []\n---\nDo.",
			"a",
			[]string{},
			nil,
		},
		{
			"a map of tools",
			dialect.OpenCode,
			"build.md",
			"---\ndescription: d\nmode: subagent\ntools:\n  write: false\n  bash: false\n---\nDo.",
			"build",
			[]string{"read", "search", "net"},
			nil,
		},
		{
			"permissions",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\npermission:\n  bash: deny\n  edit: ask\n---\nDo.",
			"b",
			[]string{"read", "search", "net"},
			nil,
		},
		{
			"permissions by pattern",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\npermission:\n  bash: {\"*\": deny}\n---\nDo.",
			"b",
			[]string{"read", "search", "write", "net"},
			nil,
		},
		{
			"permissions of a part",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\npermission:\n  bash: {\"*\": allow, \"rm *\": deny}\n---\nDo.",
			"b",
			[]string{"read", "search", "write", "net"},
			[]string{"W038:3"},
		},
		{
			"no permission but one",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\npermission: {\"*\": deny, read: allow}\n---\nDo.",
			"b",
			[]string{"read"},
			nil,
		},
		{
			"no permission",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\npermission: deny\n---\nDo.",
			"b",
			[]string{},
			nil,
		},
		{
			"an agent that plans",
			dialect.Claude,
			"a.md",
			"---\nname: a\ndescription: d\npermissionMode: plan\n---\nDo.",
			"a",
			[]string{"read", "search", "net"},
			nil,
		},
		{
			"gemini",
			dialect.Gemini,
			"g.md",
			"---\nname: g\ndescription: d\nkind: local\ntools:\n  - read_file\n" +
				"  - run_shell_command\nmax_turns: 5\n---\nDo.",
			"g",
			[]string{"read", "shell"},
			nil,
		},
		{
			"copilot",
			dialect.Copilot,
			"g.agent.md",
			"---\ndescription: d\ntools: ['search/codebase', 'edit/editFiles', 'runCommands']\n" +
				"---\nDo.",
			"g",
			[]string{"search", "write", "shell"},
			nil,
		},
		{
			"a server's tools",
			dialect.Copilot,
			"g.agent.md",
			"---\ndescription: d\ntools: ['read', 'playwright/*', 'db/execute', 'files/write', " +
				"'files.write']\n---\nDo.",
			"g",
			[]string{"read"},
			[]string{"W038:3"},
		},
		{
			"prefixes of another tool",
			dialect.Claude,
			"a.md",
			"---\nname: a\ndescription: d\n" +
				"tools: search/codebase, edit/editFiles, plugin:server/*, mcp__s__bash\n---\nDo.",
			"a",
			[]string{},
			[]string{"W038:4"},
		},
		{
			"own prefixes",
			dialect.Copilot,
			"g.agent.md",
			"---\ndescription: d\ntools: ['read/readFile', 'execute/runInTerminal', 'web/fetch', " +
				"'vscode/openSimpleBrowser', 'todo']\n---\nDo.",
			"g",
			[]string{"read", "shell", "net"},
			[]string{"W038:3"},
		},
		{
			"own prefixes of other tools",
			dialect.Copilot,
			"g.agent.md",
			"---\ndescription: d\ntools: ['read/write', 'search/*', 'agent/bash', " +
				"'todo/execute', 'vscode/execute']\n---\nDo.",
			"g",
			[]string{},
			[]string{"W038:3"},
		},
		{
			"patterns of a server",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\ntools: {\"*\": false, \"run*\": true, \"web*\": true}\n---\nDo.",
			"b",
			[]string{"net"},
			[]string{"W038:3"},
		},
		{
			"a pattern takes away",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\ntools: {\"*ed*\": false, \"web*\": false}\n---\nDo.",
			"b",
			[]string{"read", "search", "shell"},
			nil,
		},
		{
			"switches as words",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\ntools: {bash: \"false\", \"*\": deny, read: on}\n---\nDo.",
			"b",
			[]string{"read"},
			nil,
		},
		{
			"no switch",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\ntools: {bash: maybe}\n---\nDo.",
			"b",
			[]string{"read", "search", "write", "net"},
			[]string{"W038:3"},
		},
		{
			"some files",
			dialect.Claude,
			"a.md",
			"---\nname: a\ndescription: d\n" +
				"tools: Read(src/**), Write(docs/**), WebFetch(domain:x.org), Edit(**)\n---\nDo.",
			"a",
			[]string{"read", "write"},
			nil,
		},
		{
			"deny wins",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\npermission: {\"*\": deny, edit: deny, write: allow, read: " +
				"allow}\n---\nDo.",
			"b",
			[]string{"read"},
			nil,
		},
		{
			"deny wins over a pattern",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\npermission: {bash: {\"*\": deny, \"git *\": allow}, shell: " +
				"deny}\n---\nDo.",
			"b",
			[]string{"read", "search", "write", "net"},
			nil,
		},
		{
			"no permission word",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\npermission: {bash: never, edit: false}\n---\nDo.",
			"b",
			[]string{"read", "search", "net"},
			[]string{"W038:3"},
		},
		{
			"an alias",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\nx: &p {\"*\": deny}\npermission: *p\n---\nDo.",
			"b",
			[]string{},
			[]string{"W031:3"},
		},
		{
			"a merge key",
			dialect.OpenCode,
			"b.md",
			"---\ndescription: d\nx: &p {\"*\": deny, read: deny}\npermission:\n  <<: *p\n" +
				"  read: allow\n---\nDo.",
			"b",
			[]string{"read"},
			[]string{"W031:3"},
		},
	}
	for _, tt := range tests {
		t.Run(string(tt.tool)+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			a, err := dialect.ParseAgent(agentPlace(t, tt.tool), tt.file, []byte(tt.src))
			if err != nil {
				t.Fatalf("ParseAgent = %v, want an agent", err)
			}
			if a.Name != tt.want {
				t.Errorf("name = %q, want %q", a.Name, tt.want)
			}
			if diff := cmp.Diff(tt.tools, a.Tools); diff != "" {
				t.Errorf("tools differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.codes, codes(a.Warnings)); diff != "" {
				t.Errorf("findings differ (-want +got):\n%s\n%v", diff, a.Warnings)
			}
		})
	}

	_, err := dialect.ParseAgent(
		agentPlace(t, dialect.Claude),
		"a.md",
		[]byte("---\nname: a\n---\n"),
	)
	if len(refusal(t, err).List) == 0 {
		t.Error("an agent without text was read, want a refusal")
	}
}

// TestAgentWishes: rights become only narrower, and what is not followed is said, a line each.
func TestAgentWishes(t *testing.T) {
	t.Parallel()
	const some = "only some commands of the shell are granted: claude and opencode enforce them, " +
		"other runners get no shell"
	tests := []struct {
		name                        string
		tool                        dialect.Dialect
		head                        string
		tools, commands, unfollowed []string
	}{
		{
			"some commands",
			dialect.Claude,
			"tools: Read, Bash(git diff:*), Bash(npm test), Bash(ls *)",
			[]string{"read", "shell"},
			[]string{"git diff *", "npm test", "ls *"},
			[]string{some},
		},
		{
			"all beside some",
			dialect.Claude,
			"tools: Bash(git diff:*), Bash",
			[]string{"shell"},
			nil,
			[]string{some},
		},
		{"all as a pattern", dialect.Claude, "tools: Bash(*)", []string{"shell"}, nil, nil},
		{
			"a pattern inside",
			dialect.Claude,
			"tools: Read, Bash(git * main)",
			[]string{"read"},
			nil,
			[]string{"the commands git * main are not granted: no runner can enforce that pattern"},
		},
		{
			"taken away after all",
			dialect.Claude,
			"tools: Bash(git diff:*)\ndisallowedTools: Bash",
			[]string{},
			nil,
			[]string{some},
		},
		{
			"gemini",
			dialect.Gemini,
			"tools: [read_file, run_shell_command(git status)]",
			[]string{"read", "shell"},
			[]string{"git status"},
			[]string{some},
		},
		{
			"patterns",
			dialect.OpenCode,
			"permission: {bash: {\"*\": deny, \"git *\": allow}, webfetch: deny, edit: deny}",
			[]string{"read", "search", "shell"},
			[]string{"git *"},
			[]string{some},
		},
		{
			"patterns that ask",
			dialect.OpenCode,
			"permission: {bash: {\"*\": ask, \"git log*\": allow}}",
			[]string{"read", "search", "write", "shell", "net"},
			[]string{"git log *"},
			[]string{some},
		},
		{
			"a part of a part",
			dialect.OpenCode,
			"permission: {bash: {\"*\": deny, \"git *\": allow, \"git push *\": deny}}",
			[]string{"read", "search", "write", "net"},
			nil,
			nil,
		},
		{
			"all is asked",
			dialect.OpenCode,
			"permission: ask",
			[]string{"read", "search"},
			nil,
			[]string{
				"permission asks about *, and tercet does not ask while an agent works: write, " +
					"shell, net is not granted",
			},
		},
		{
			"a right that it gives itself",
			dialect.Claude,
			"tools: Read\npermissionMode: bypassPermissions",
			[]string{"read"},
			nil,
			[]string{
				"permissionMode bypassPermissions grants nothing: the agent has its tools only",
			},
		},
		{
			"hooks and servers",
			dialect.Claude,
			"tools: Read\nhooks: {PreToolUse: [x]}\nmcpServers: [slack]\nmemory: user\n" +
				"isolation: worktree",
			[]string{"read"},
			nil,
			[]string{
				"hooks are never run", "no server of tools is started",
				"no memory is kept between runs",
				"isolation is not followed: the step and the runner decide",
			},
		},
		{
			"nothing",
			dialect.Claude,
			"tools: Read\npermissionMode: default\nmodel: opus\ncolor: red",
			[]string{"read"},
			nil,
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := "a.md"
			a, err := dialect.ParseAgent(
				agentPlace(t, tt.tool),
				file,
				[]byte("---\nname: a\ndescription: d\n"+tt.head+"\n---\nDo."),
			)
			if err != nil {
				t.Fatal(err)
			}
			d := cmp.Diff(
				[][]string{tt.tools, tt.commands, tt.unfollowed},
				[][]string{a.Tools, a.Commands, a.Unfollowed},
			)
			if d != "" {
				t.Errorf("tools, commands and wishes differ (-want +got)\n%s", d)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tool dialect.Dialect
		file string
		want string // empty: no command
	}{
		{dialect.Claude, "git/commit.md", "git:commit"},
		{dialect.Claude, "Fix_Issue.md", "Fix_Issue"},
		{dialect.Claude, "fix bug.md", "fix-bug"},
		{dialect.Claude, "notes.txt", ""},
		{dialect.Claude, ".md", ""},
		{dialect.OpenCode, "team/review.md", "team:review"},
		{dialect.Gemini, "git/fix it!.toml", "git:fix_it_"},
		{
			dialect.Gemini,
			"a234567890b234567890c234567890d234567890e234567890f.toml",
			"a234567890b234567890c234567890d234567890e234567...",
		},
		{dialect.Gemini, "x.md", ""},
		{dialect.Codex, "draft.md", "prompts:draft"},
		{dialect.Codex, "sub/draft.md", ""},
		{dialect.Copilot, "explain.prompt.md", "explain"},
		{dialect.Copilot, "readme.md", ""},
		{dialect.Cursor, "x.md", "x"},
	}
	for _, tt := range tests {
		got, ok := place(t, tt.tool).Name(tt.file)
		if !ok {
			got = ""
		}
		if got != tt.want {
			t.Errorf("Name(%s, %q) = %q, want %q", tt.tool, tt.file, got, tt.want)
		}
	}

	skills := dialect.Commands(dialect.Homes{})[0]
	if name, ok := skills.Name("pdf/SKILL.md"); !ok || name != "pdf" {
		t.Errorf("Name(pdf/SKILL.md) = %q, %v, want pdf", name, ok)
	}
	if _, ok := skills.Name("pdf/other.md"); ok {
		t.Error("pdf/other.md is a command, want none")
	}
}

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"x/.claude/commands/git/a.md":         "claude git/a.md",
		".gemini/commands/a.toml":             "gemini a.toml",
		"/u/me/.config/opencode/command/a.md": "opencode a.md",
		"/u/me/.codex/prompts/a.md":           "codex a.md",
		".claude/agents/a.md":                 "claude a.md",
		".github/prompts/a.prompt.md":         "copilot a.prompt.md",
		".tercet/commands/a.md":               "",
		".claude/commands/a.txt":              "",
		"claude/commands/a.md":                "",
	} {
		p, inside, ok := dialect.PlaceOf(path)
		got := ""
		if ok {
			got = p.Dialect.String() + " " + inside
		}
		if got != want {
			t.Errorf("PlaceOf(%q) = %q, want %q", path, got, want)
		}
	}
}
