package dialect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/testkit"
)

// codes lists "CODE:line" of findings.
func codes(list []formats.Diagnostic) []string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s:%d", d.Code, d.Pos.Line))
	}
	return out
}

func refusal(t *testing.T, err error) *formats.Diagnostics {
	t.Helper()
	var d *formats.Diagnostics
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want diagnostics", err)
	}
	return d
}

// bomb is ten lines of aliases that would be a thousand million values if they were followed.
func bomb() string {
	var b strings.Builder
	b.WriteString("---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n",
			i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String() + "description: bomb\n---\nbody"
}

func TestFrontmatterInTheWild(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, src   string
		description string
		hint        string
		body        string
		want        []string
	}{
		{"none", "do it", "do it", "", "do it", nil},
		{"plain", "---\ndescription: says\n---\nbody", "says", "", "body", nil},
		{"empty block", "---\n---\nbody", "body", "", "body", nil},
		{
			"byte order mark", "\xef\xbb\xbf---\ndescription: says\n---\nbody", "says", "", "body",
			nil,
		},
		{"crlf", "---\r\ndescription: says\r\n---\r\nbody\r\n", "says", "", "body\n", nil},
		{"cr only", "---\rdescription: says\r---\rbody", "says", "", "body", nil},
		{"leading blank lines", "\n\n---\ndescription: says\n---\nbody", "says", "", "body", nil},
		{
			"leading comment", "<!-- made by\n hand -->\n---\ndescription: says\n---\nbody", "says",
			"", "body", nil,
		},
		{"closed by dots", "---\ndescription: says\n...\nbody", "says", "", "body", nil},
		{
			"spaces behind the delimiters", "---  \ndescription: says\n--- \t\nbody", "says", "",
			"body", nil,
		},
		{
			"not closed",
			"---\ndescription: says\nbody",
			"description: says",
			"",
			"---\ndescription: says\nbody",
			[]string{"W032:1"},
		},
		{
			"rule around text",
			"---\nonly words\n---\nbody",
			"only words",
			"",
			"---\nonly words\n---\nbody",
			[]string{"W032:1"},
		},
		{"four dashes", "----\nbody", "body", "", "----\nbody", nil},
		{
			"four dashes around keys",
			"----\ndescription: says\n----\nbody",
			"description: says",
			"",
			"----\ndescription: says\n----\nbody",
			[]string{"W032:1"},
		},
		{
			"TOML",
			"+++\ndescription = 'says'\n+++\nbody",
			"+++",
			"",
			"+++\ndescription = 'says'\n+++\nbody",
			[]string{"W032:1"},
		},
		{
			"JSON",
			"---json\n{\"description\": \"says\"}\n---\nbody",
			"json",
			"",
			"---json\n{\"description\": \"says\"}\n---\nbody",
			[]string{"W032:1"},
		},
		{
			"indented delimiter in a text",
			"---\ndescription: |\n  says\n  ---\n  more\nmodel: m\n---\nbody", "says", "", "body",
			nil,
		},
		{
			"colon in a value",
			"---\ndescription: Usage: do this: now\n---\nbody",
			"Usage: do this: now",
			"",
			"body",
			[]string{"W030:2"},
		},
		{
			"brackets",
			"---\ndescription: d\nargument-hint: [a] [b]\n---\nbody",
			"d",
			"[a] [b]",
			"body",
			[]string{"W030:3"},
		},
		{
			"one bracket is a list for YAML", "---\nargument-hint: [file]\n---\nbody", "body",
			"[file]", "body", nil,
		},
		{
			"backtick",
			"---\ndescription: `x` runs\n---\nbody",
			"`x` runs",
			"",
			"body",
			[]string{"W030:2"},
		},
		{
			"at sign",
			"---\ndescription: @x runs\n---\nbody",
			"@x runs",
			"",
			"body",
			[]string{"W030:2"},
		},
		{
			"star",
			"---\ndescription: d\nmodel: *.ts\n---\nbody",
			"d",
			"",
			"body",
			[]string{"W030:3"},
		},
		{
			"tag",
			"---\ndescription: !foo bar\n---\nbody",
			"!foo bar",
			"",
			"body",
			[]string{"W030:2"},
		},
		{
			"tab",
			"---\ndescription: d\nhooks:\n\ta: b\n---\nbody",
			"d",
			"",
			"body",
			[]string{"W030:4"},
		},
		{
			"two slips",
			"---\ndescription: a: b\nargument-hint: [a] [b]\n---\nbody",
			"a: b",
			"[a] [b]",
			"body",
			[]string{"W030:2", "W030:3"},
		},
		{
			"key twice",
			"---\ndescription: one\ndescription: two\n---\nbody",
			"two",
			"",
			"body",
			[]string{"W033:3"},
		},
		{"anchors are YAML", "---\ndescription: d\nmodel: &m x\n---\nbody", "d", "", "body", nil},
		{"unknown key", "---\ndescriptions: d\n---\nbody", "body", "", "body", []string{"W031:2"}},
		{"numbers as written", "---\ndescription: 1.10\n---\nbody", "1.10", "", "body", nil},
		{
			"bytes that are not UTF-8",
			"---\ndescription: caf\xe9\n---\nbody",
			"caf\ufffd",
			"",
			"body",
			[]string{"W039:2"},
		},
		{
			"control character",
			"---\ndescription: a\x1b]52;b\n---\nbody",
			"a\x1b]52;b",
			"",
			"body",
			[]string{"W030:2"},
		},
		{
			"folded over lines",
			"---\ndescription: a: b\n  c\nmodel: m\n---\nbody",
			"a: b",
			"",
			"body",
			[]string{"W030:2"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := dialect.Parse(place(t, dialect.Claude), "x.md", []byte(tt.src))
			if err != nil {
				t.Fatalf("Parse = %v, want a command", err)
			}
			out, err := c.Expand(dialect.Args{})
			if err != nil {
				t.Fatal(err)
			}
			got := []string{c.Description, c.Hint, render(t, out)}
			if diff := cmp.Diff([]string{tt.description, tt.hint, tt.body}, got); diff != "" {
				t.Errorf("description, hint, body of %q differ (-want +got):\n%s", tt.src, diff)
			}
			if diff := cmp.Diff(tt.want, codes(c.Warnings)); diff != "" {
				t.Errorf("findings of %q differ (-want +got):\n%s\n%v", tt.src, diff, c.Warnings)
			}
		})
	}
}

func TestFixIsYAML(t *testing.T) {
	t.Parallel()
	c := parse(
		t,
		dialect.Claude,
		"---\ndescription: it's: this\nargument-hint: [a] [b]\nmodel: a: "+strings.Repeat("b", 160)+
			"\n---\nbody",
	)
	want := []string{
		`quote the value: description: "it's: this"`,
		"quote the value: argument-hint: '[a] [b]'",
		"put the value of model in quotes",
	}
	var got []string
	for _, d := range c.Warnings {
		got = append(got, d.Help)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("advice differs (-want +got):\n%s", diff)
	}
	fixed := parse(
		t,
		dialect.Claude,
		"---\ndescription: \"it's: this\"\nargument-hint: '[a] [b]'\n---\nbody",
	)
	if len(fixed.Warnings) > 0 || fixed.Description != c.Description || fixed.Hint != c.Hint {
		t.Errorf("with the advice taken: %q %q %v, want the same values and no finding",
			fixed.Description, fixed.Hint, fixed.Warnings)
	}
}

func TestHostileFiles(t *testing.T) {
	t.Parallel()
	many := 40_000
	if !testkit.Deep() {
		many = 4_000 // the race detector makes deep calls 30 times as slow
	}
	tests := []struct {
		name string
		src  string
		want string // code of the refusal; empty: it loads
	}{
		{"alias bomb", bomb(), ""},
		{"100 MB", strings.Repeat("a", 100<<20), "E002"},
		{"utf-16", "\xff\xfe-\x00-\x00", "E003"},
		{"a NUL byte", "---\nname: x\n---\nab\x00", "E003"},
		{"nothing", "", "E032"},
		{"only frontmatter", "---\ndescription: d\n---\n", "E032"},
		{"many lines without a colon", "---\n" + strings.Repeat("a: [\n", many) + "---\nbody", ""},
		{"deep lists", "---\na: " + strings.Repeat("[", 2*many) + "\n---\nbody", ""},
		{"many marks", strings.Repeat("!`@$1${@{", many/2), ""},
		{"many fences", strings.Repeat("```!\n", many), ""},
		{"a long key line", "---\n" + strings.Repeat("x", 5*many) + ": y\n---\nbody", ""},
	}
	for _, tt := range tests {
		for _, d := range []dialect.Dialect{dialect.Claude, dialect.OpenCode, dialect.Copilot} {
			t.Run(tt.name+"/"+string(d), func(t *testing.T) {
				t.Parallel()
				src := []byte(tt.src)
				start := time.Now()
				c, err := dialect.Parse(place(t, d), "x.md", src)
				if took := time.Since(start); took > time.Second {
					t.Logf("Parse took %s, a quiet machine needs less than a second", took)
				}
				if tt.want == "" {
					if err != nil {
						t.Fatalf("Parse = %v, want a command", err)
					}
					if _, err := c.Expand(dialect.Args{Raw: "a b"}); err != nil {
						t.Errorf("Expand = %v, want no error", err)
					}
					return
				}
				list := refusal(t, err).List
				if len(list) == 0 || list[len(list)-1].Code != tt.want && list[0].Code != tt.want {
					t.Errorf("Parse = %v, want %s", err, tt.want)
				}
				for _, one := range list {
					if one.Help == "" || one.Pos.Line == 0 {
						t.Errorf("%v has no place or no advice", one)
					}
				}
			})
		}
	}

	if c := parse(t, dialect.Claude, bomb()); c.Description != "bomb" || !c.Lenient {
		t.Errorf("alias bomb: description %q, lenient %v; want what stands beside it",
			c.Description, c.Lenient)
	}
}

func TestTOML(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, src, prompt, description string
		want                           []string // codes; a refusal starts with E
	}{
		{
			"basic", "description = \"d\"\nprompt = \"a \\\"b\\\" \\u00e9\\n\"", "a \"b\" é\n", "d",
			nil,
		},
		{"literal", `prompt = 'C:\new'`, `C:\new`, `C:\new`, nil},
		{
			"lines", "prompt = \"\"\"\nfirst\nsecond \\\n   joined \"\"quoted\"\"\"\"\"",
			"first\nsecond joined \"\"quoted\"\"", "first", nil,
		},
		{"literal lines", "prompt = '''\na\\b\n'''", "a\\b\n", `a\b`, nil},
		{
			"comments and others",
			"# c\nprompt = \"p\" # c\nn = 1_000\nf = 1.5\nd = 2024-01-01\nl = [1, 'a',\n # c\n" +
				" [2]]\nt = {a = 1, \"b c\" = true}\n[more]\nx = true\n[[list]]\ny = 1\n" +
				"[[list]]\ny = 2",
			"p",
			"p",
			[]string{"W031:3"},
		},
		{
			"byte order mark and crlf", "\xef\xbb\xbfprompt = \"\"\"\r\na\r\n\"\"\"\r\n", "a\n",
			"a", nil,
		},
		{"no prompt", "[rule]\nx = 1", "", "", []string{"E031:1"}},
		{"prompt in a table", "[a]\nprompt = 'x'", "", "", []string{"E031:1"}},
		{"prompt is a number", "prompt = 3", "", "", []string{"E031:1"}},
		{"bad escape", "prompt = \"a\\d\"", "", "", []string{"E030:1"}},
		{"not closed", "description = \"d\"\nprompt = \"\"\"a", "", "", []string{"E030:2"}},
		{"quote over the line", "prompt = \"a\nb\"", "", "", []string{"E030:1"}},
		{"no quotes", "prompt = fix it", "", "", []string{"E030:1"}},
		{"no equals", "prompt", "", "", []string{"E030:1"}},
		{"twice", "prompt = 'a'\nprompt = 'b'", "", "", []string{"E030:2"}},
		{"text behind", "prompt = 'a' b", "", "", []string{"E030:1"}},
		{
			"nested too deeply",
			"prompt = 'a'\nx = " + strings.Repeat("[", 1000),
			"",
			"",
			[]string{"E030:2"},
		},
		{
			"tables nested too deeply",
			"prompt = 'a'\nx = " + strings.Repeat("{a=", 80_000),
			"",
			"",
			[]string{"E030:2"},
		},
		{
			"names nested too deeply",
			"prompt = 'a'\n[" + strings.Repeat("a.", 100_000) + "a]\n",
			"",
			"",
			[]string{"E030:2"},
		},
		{
			"places",
			"d = 1\n\n  prompt = \"\"\"\na\n!{x\"\"\"\n",
			"a\n!{x",
			"a",
			[]string{"W031:1", "W034:5"},
		},
		{"empty", "prompt = ''", "", "", []string{"E032:1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := dialect.Parse(place(t, dialect.Gemini), "x.toml", []byte(tt.src))
			if err != nil {
				if diff := cmp.Diff(tt.want, codes(refusal(t, err).List)); diff != "" {
					t.Errorf("findings of %q differ (-want +got):\n%s\n%v", tt.src, diff, err)
				}
				return
			}
			out, err := c.Expand(dialect.Args{})
			if err != nil {
				t.Fatal(err)
			}
			diff := cmp.Diff(
				[]string{tt.prompt, tt.description},
				[]string{render(t, out), c.Description},
			)
			if diff != "" {
				t.Errorf("prompt, description of %q differ (-want +got):\n%s", tt.src, diff)
			}
			if diff := cmp.Diff(tt.want, codes(c.Warnings)); diff != "" {
				t.Errorf("findings of %q differ (-want +got):\n%s", tt.src, diff)
			}
		})
	}
}

// TestManyUnknownKeys: a file with very many keys that mean nothing has one finding that can be
// read.
func TestManyUnknownKeys(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "key%d = 1\n", i)
	}
	b.WriteString("prompt = \"p\"\n")
	c := parse(t, dialect.Gemini, b.String())
	const want = `keys key0, key1, key2, key3, key4, key5, key6, key7 and 492 more ` +
		`mean nothing to gemini; they are kept`
	if len(c.Warnings) != 1 || c.Warnings[0].Message != want {
		t.Errorf("got %v, want %q", c.Warnings, want)
	}
}
