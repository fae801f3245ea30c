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
		{"identity is the name", dialect.Claude, "x/y.md", "---\nname: code-reviewer\ndescription: d\ntools: Read, Grep, Bash(git diff:*)\nmodel: inherit\n---\nReview.", "code-reviewer", []string{"read", "search", "shell"}, nil},
		{"no tools named", dialect.Claude, "a.md", "---\nname: a\ndescription: d\n---\nDo.", "a", all, nil},
		{"tools taken away", dialect.Claude, "a.md", "---\nname: a\ndescription: d\ndisallowedTools: Bash, WebFetch\n---\nDo.", "a", []string{"read", "search", "write"}, nil},
		{"a name in another form", dialect.Claude, "a.md", "---\nname: UI Designer_2\ndescription: d\n---\nDo.", "ui-designer-2", all, []string{"W036:2"}},
		{"not YAML", dialect.Claude, "a.md", "---\nname: a\ndescription: Use this: when\ntools: Read\n---\nDo.", "a", []string{"read"}, []string{"W030:3"}},
		{"no frontmatter", dialect.Claude, "helper.md", "You help.", "helper", all, []string{"W037:1"}},
		{"unknown tool", dialect.Claude, "a.md", "---\nname: a\ndescription: d\ntools: [Read, Teleport, mcp__x__read]\n---\nDo.", "a", []string{"read"}, []string{"W038:4"}},
		{"no tools at all", dialect.Claude, "a.md", "---\nname: a\ndescription: d\ntools: []\n---\nDo.", "a", []string{}, nil},
		{"a map of tools", dialect.OpenCode, "build.md", "---\ndescription: d\nmode: subagent\ntools:\n  write: false\n  bash: false\n---\nDo.", "build", []string{"read", "search", "net"}, nil},
		{"permissions", dialect.OpenCode, "b.md", "---\ndescription: d\npermission:\n  bash: deny\n  edit: ask\n---\nDo.", "b", []string{"read", "search", "write", "net"}, nil},
		{"permissions by pattern", dialect.OpenCode, "b.md", "---\ndescription: d\npermission:\n  bash: {\"*\": deny}\n---\nDo.", "b", []string{"read", "search", "write", "net"}, nil},
		{"permissions of a part", dialect.OpenCode, "b.md", "---\ndescription: d\npermission:\n  bash: {\"*\": allow, \"rm *\": deny}\n---\nDo.", "b", []string{"read", "search", "write", "net"}, []string{"W038:3"}},
		{"no permission but one", dialect.OpenCode, "b.md", "---\ndescription: d\npermission: {\"*\": deny, read: allow}\n---\nDo.", "b", []string{"read"}, nil},
		{"no permission", dialect.OpenCode, "b.md", "---\ndescription: d\npermission: deny\n---\nDo.", "b", []string{}, nil},
		{"an agent that plans", dialect.Claude, "a.md", "---\nname: a\ndescription: d\npermissionMode: plan\n---\nDo.", "a", []string{"read", "search", "net"}, nil},
		{"gemini", dialect.Gemini, "g.md", "---\nname: g\ndescription: d\nkind: local\ntools:\n  - read_file\n  - run_shell_command\nmax_turns: 5\n---\nDo.", "g", []string{"read", "shell"}, nil},
		{"copilot", dialect.Copilot, "g.agent.md", "---\ndescription: d\ntools: ['search/codebase', 'edit/editFiles', 'runCommands']\n---\nDo.", "g", []string{"search", "write", "shell"}, nil},
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
	if _, err := dialect.ParseAgent(agentPlace(t, dialect.Claude), "a.md", []byte("---\nname: a\n---\n")); len(refusal(t, err).List) == 0 {
		t.Error("an agent without text was read, want a refusal")
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
		{dialect.Gemini, "a234567890b234567890c234567890d234567890e234567890f.toml", "a234567890b234567890c234567890d234567890e234567..."},
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
