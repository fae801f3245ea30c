package dialect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/dialect"
)

// place gives the project's place of a tool.
func place(tb testing.TB, d dialect.Dialect) dialect.Place {
	tb.Helper()
	for _, p := range dialect.Commands(dialect.Homes{}) {
		if p.Dialect == d && !p.Skills {
			return p
		}
	}
	tb.Fatalf("no place of %s", d)
	return dialect.Place{}
}

// file gives the name of a command file of a tool.
func file(d dialect.Dialect) string {
	if d == dialect.Gemini {
		return "x.toml"
	}
	if d == dialect.Copilot {
		return "x.prompt.md"
	}
	return "x.md"
}

func parse(tb testing.TB, d dialect.Dialect, src string) *dialect.Command {
	tb.Helper()
	c, err := dialect.Parse(place(tb, d), file(d), []byte(src))
	if err != nil {
		tb.Fatalf("Parse(%q) = %v, want a command", src, err)
	}
	return c
}

// render shows an expansion as one text: scripts as !(...)[values], files as @(path).
func render(tb testing.TB, list []dialect.Output) string {
	tb.Helper()
	var b strings.Builder
	for _, o := range list {
		switch {
		case o.Script != nil && o.Script.Refused != "":
			b.WriteString("!refused(" + o.Script.Refused + ")")
		case o.Script != nil:
			b.WriteString("!(" + o.Script.Text + ")")
			if len(o.Script.Env) > 0 {
				b.WriteString("[" + strings.Join(o.Script.Env, "|") + "]")
			}
		case o.Include != nil:
			b.WriteString("@(" + o.Include.Path + ")")
		default:
			b.WriteString(o.Text)
		}
	}
	return b.String()
}

// TestExplain: what a prompt would run and read is told with the values of the line, and by its
// marks without one.
func TestExplain(t *testing.T) {
	t.Parallel()
	c, err := dialect.Parse(
		dialect.Place{Dialect: dialect.Claude, Label: ".claude/commands"},
		"fix.md",
		[]byte("---\nmodel: a\n---\nfix $1 !`ls $1` @main.go $ARGUMENTS"),
	)
	if err != nil {
		t.Fatal(err)
	}
	for bare, want := range map[bool][]string{
		true: {
			"a prompt of claude: ", "model a is passed on to claude", "runs line 4: !`ls $1`",
			"reads, if it is there, line 4: @main.go",
		},
		false: {
			"a prompt of claude: ", "model a is passed on to claude",
			"runs line 4: ls ", `=\"x y\"`,
			"reads, if it is there, line 4: main.go",
		},
	} {
		got, err := c.Explain(dialect.Args{Raw: `"x y"`}, bare)
		text := strings.ReplaceAll(strings.Join(got, "\n"), `"`, `\"`)
		for _, part := range want {
			if !strings.Contains(text, part) || err != nil {
				t.Errorf("Explain(bare %v) = %v, %s; want %q in it", bare, err, text, part)
			}
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	const c = dialect.Claude
	const o = dialect.OpenCode
	const g = dialect.Gemini
	const x = dialect.Codex
	const v = dialect.Copilot
	const u = dialect.Cursor
	tests := []struct {
		name string
		tool dialect.Dialect
		src  string
		raw  string
		want string
	}{
		{"arguments as typed", c, "fix $ARGUMENTS now", `a  "b c"`, `fix a  "b c" now`},
		{
			"one-based without $0", c, "fix $1 of $2", `12 "b c"`,
			"fix 12 of b c",
		},
		{"no value to take", c, "fix $2 at \\$1", "12", "fix $2 at $1\n\nARGUMENTS: 12"},
		{"zero-based by $0", c, "fix $0 of $1 $ARGUMENTS", "a b", "fix a of b a b"},
		{"zero-based by an index", c, "fix $ARGUMENTS[0] of $ARGUMENTS[1]", "a b", "fix a of b"},
		{
			"names are zero-based", c,
			"---\narguments: [issue, branch]\n---\nfix $issue on $branch $1 $ARGUMENTS", "a b",
			"fix a on b b a b",
		},
		{
			"base by key", c, "---\npositional-base: 1\narguments: issue\n---\n$1 $ARGUMENTS",
			"a b", "a a b",
		},
		{"missing stays", c, "fix $1 of $2 $ARGUMENTS", "12", "fix 12 of $2 12"},
		{"nothing given", c, "fix $1 $ARGUMENTS.", "", "fix $1 ."},
		{"appended", c, "review it", "main.go", "review it\n\nARGUMENTS: main.go"},
		{"nothing to append", c, "review it", "", "review it"},
		{
			"prices are text", c, "it costs $1.50, $2,000 or $100 $ARGUMENTS", "a b c",
			"it costs $1.50, $2,000 or $100 a b c",
		},
		{"not a longer word", c, "$ARGUMENTS_X $ARGUMENTS", "a", "$ARGUMENTS_X a"},
		{"in code too", c, "```\nrun $ARGUMENTS\n```", "a", "```\nrun a\n```"},
		{
			"not filled in again", c, "$ARGUMENTS", "$1 $ARGUMENTS !`id` @a.md",
			"$1 $ARGUMENTS !`id` @a.md",
		},
		{"escaped", c, `\$1 $ARGUMENTS`, "a", `$1 a`},
		{
			"variables", c, "${CLAUDE_PROJECT_DIR} ${CLAUDE_EFFORT} ${HOME} $ARGUMENTS", "",
			"/p ${CLAUDE_EFFORT} ${HOME} ",
		},
		{
			"command", c, "a !`git log $1` b $ARGUMENTS", "x;y",
			"a !(git log \"${TERCET_ARG_1}\")[TERCET_ARG_1=x;y] b x;y",
		},
		{
			"block of commands", c, "```!\ngit log\ngit diff $ARGUMENTS\n```\nend", "a b",
			"!(git log\ngit diff \"${TERCET_ARG_1}\" \"${TERCET_ARG_2}\"\n" +
				")[TERCET_ARG_1=a|TERCET_ARG_2=b]\nend",
		},
		{"command in a code block", c, "```md\n!`id`\n```\n$ARGUMENTS", "", "```md\n!`id`\n```\n"},
		{"no command after a word", c, "wow!`id` $ARGUMENTS", "", "wow!`id` "},
		{
			"file", c, "see @src/a.go, and @$1. $ARGUMENTS", "b/c.md",
			"see @(src/a.go), and @(b/c.md). b/c.md",
		},
		{"mail is no file", c, "me@example.org `@x` $ARGUMENTS", "", "me@example.org `@x` "},

		{"highest takes the rest", o, "$1: $2", "a b c d", "a: b c d"},
		{"missing is empty", o, "[$1][$2]", "a", "[a][]"},
		{"appended after a blank line", o, "do it", "a b", "do it\n\na b"},
		{"arguments as typed, opencode", o, "do $ARGUMENTS", `"a b"`, `do "a b"`},
		{"quotes are one word", o, "[$1][$2]", `"a b" 'c d' [Image 2]`, "[a b][c d [Image 2]]"},
		{"$50 is a price", o, "$1 costs $50", "a b", "a b costs $50"},
		{
			"rest in a command", o, "!`ls $1`", "a b",
			"!(ls \"${TERCET_ARG_1}\" \"${TERCET_ARG_2}\")[TERCET_ARG_1=a|TERCET_ARG_2=b]",
		},

		{"args", g, `prompt = "fix {{args}}"`, `a "b"`, `fix a "b"`},
		{"the whole line is appended", g, `prompt = "fix it"`, "a b", "fix it\n\n/x a b"},
		{"nothing appended", g, `prompt = "fix it"`, "", "fix it"},
		{
			"command with braces", g, "prompt = '''a !{git log --format={x} {{args}}} b'''", "c d",
			"a !(git log --format={x} \"${TERCET_ARG_1}\")[TERCET_ARG_1=c d] b",
		},
		{"file in place", g, `prompt = "see @{docs/a b.md} {{args}}"`, "", "see @(docs/a b.md) "},
		{
			"args in a path are not filled in", g, `prompt = "see @{{{args}}}"`, "",
			"see @({{args}})",
		},
		{"braces not closed", g, `prompt = "a !{b {{args}}"`, "c", "a !{b c"},

		{"words", x, "$1-$2-$3 $ARGUMENTS $$1", "a b", "a-b-$3 a b $1"},
		{"named", x, "fix $FILE in $HOME", `FILE="a b"`, "fix a b in $HOME"},
		{"nothing runs", x, "!`id` @a.md $ARGUMENTS", "", "!`id` @a.md "},

		{"inputs by order", v, "${input:a}, ${input:b:the rest}", "1 2 3", "1, 2 3"},
		{"inputs by name", v, "${input:a}, ${input:b}", "b=2 1", "1, 2"},
		{"surplus behind", v, "${input:a}", "a=1 more text", "1\n\nmore text"},
		{"what only an editor knows", v, "${selection} ${workspaceFolder}", "", "${selection} /p"},
		{"appended, copilot", v, "do it", "x", "do it\n\nx"},

		{"plain text", u, "do $1 $ARGUMENTS", "x", "do $1 $ARGUMENTS\n\nx"},
	}
	for _, tt := range tests {
		t.Run(string(tt.tool)+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, tt.tool, tt.src).Expand(dialect.Args{
				Raw:  tt.raw,
				Vars: map[string]string{"CLAUDE_PROJECT_DIR": "/p", "workspaceFolder": "/p"},
			})
			if err != nil {
				t.Fatalf("Expand(%q) = %v, want no error", tt.raw, err)
			}
			if diff := cmp.Diff(tt.want, render(t, got)); diff != "" {
				t.Errorf("Expand(%q) of %q differs (-want +got):\n%s", tt.raw, tt.src, diff)
			}
		})
	}
}
