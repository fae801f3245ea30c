package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/dialect"
)

// sample is one file in a shape that occurs in the wild.
type sample struct {
	tool     dialect.Dialect
	file     string
	src      string
	mustSay  bool // something in it is not taken as it stands, so there must be a finding
	noLoad   bool // it is no command, and the refusal says so
	keepText []string
}

// corpus makes files of every tool: heads of the shapes that real files have, times bodies, times
// the bytes around them.
func corpus() []sample {
	heads := []struct {
		text string
		say  bool
	}{
		{"", false},
		{"---\n---\n", false},
		{"---\ndescription: Reviews the change\n---\n", false},
		{"---\ndescription: \"Quoted: with a colon\"\n---\n", false},
		{"---\ndescription: Unquoted: with a colon\n---\n", true},
		{"---\ndescription: d\nargument-hint: [file] [line]\n---\n", true},
		{"---\ndescription: d\nargument-hint: [file]\n---\n", false},
		{"---\ndescription: d\nargument-hint: <file> | all\n---\n", false},
		{
			"---\ndescription: d\nallowed-tools: Bash(git add:*), Bash(git status:*), Read\n" +
				"model: opus\n---\n",
			false,
		},
		{"---\ndescription: d\nallowed-tools: [Read, Bash]\n---\n", false},
		{"---\ndescription: @team reads this\n---\n", true},
		{"---\ndescription: `code` first\n---\n", true},
		{"---\ndescription: |\n  several\n  lines\n---\n", false},
		{"---\ndescription: >-\n  folded\n  lines\n...\n", false},
		{"---\ndescription: d\nfiles: *.ts\n---\n", true},
		{"---\ndescription: d\ndescription: e\n---\n", true},
		{"---\ndescription: d\nmetadata:\n\tauthor: x\n---\n", true},
		{"---\ndescription: d\nscripts:\n  sh: scripts/x.sh\n  ps: scripts/x.ps1\n---\n", true},
		{"---\ndescription: d\nsome-other-key: 1\n---\n", true},
		{"<!-- a comment -->\n---\ndescription: d\n---\n", false},
		{"---\ndescription: never closed\n", true},
		{"---\njust a rule around words\n---\n", true},
		{"---\ndescription: it's \"both\": quotes\n---\n", true},
		{"---\ndescription: d # comment\nmodel: 'a'\n---\n", false},
	}
	bodies := []string{
		"Fix issue #$ARGUMENTS.\n",
		"# Title\n\nCompare $1 with $2, then report. It costs $5.00.\n",
		"Status: !`git status --short`\nSee @README.md and mail me@example.org.\n",
		"```bash\nawk '{print $1}' $FILE | head\n```\n\n---\n\nMore.\n",
	}
	wraps := []func(string) string{
		func(s string) string { return s },
		func(s string) string { return "\xef\xbb\xbf" + s },
		func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	}
	tools := []dialect.Dialect{
		dialect.Claude, dialect.OpenCode, dialect.Codex, dialect.Copilot, dialect.Cursor,
	}
	var out []sample
	for i, h := range heads {
		for j, body := range bodies {
			for k, wrap := range wraps {
				d := tools[(i+j+k)%len(tools)]
				out = append(out, sample{
					tool:     d,
					file:     file(d),
					src:      wrap(h.text + body),
					mustSay:  h.say,
					keepText: []string{strings.Fields(body)[0]},
				})
			}
		}
	}

	for i, prompt := range []string{
		`"Fix {{args}}"`, "\"\"\"\nFix it.\n!{git diff {{args}}}\n@{README.md}\n\"\"\"",
		"'''\nC:\\dir {{args}}\n'''", `"a\nb"`,
	} {
		for _, extra := range []string{
			"", "description = \"d\"\n", "# comment\n\n", "description = 'd'\n\n",
		} {
			out = append(out, sample{
				tool: dialect.Gemini,
				file: fmt.Sprintf("x%d.toml", i),
				src:  extra + "prompt = " + prompt + "\n",
			})
		}
	}

	out = append(out,
		sample{
			tool:   dialect.Gemini,
			file:   "policy.toml",
			src:    "[[rule]]\ntool = \"x\"\npattern = \"\\d+\"\n",
			noLoad: true,
		},
	)
	return out
}

// TestCorpus: of the files in the wild at least 999 of 1,000 load, and none is dropped or changed
// in silence.
func TestCorpus(t *testing.T) {
	t.Parallel()
	list := corpus()
	if len(list) < 200 {
		t.Fatalf("%d files, want at least 200", len(list))
	}
	loaded := 0
	commands := 0
	for _, s := range list {
		c, err := dialect.Parse(place(t, s.tool), s.file, []byte(s.src))
		if !s.noLoad {
			commands++
		}
		if err != nil {
			if !s.noLoad {
				t.Errorf("%s %q: %v", s.tool, s.src, err)
			}
			if len(refusal(t, err).List) == 0 {
				t.Errorf("%s %q was dropped in silence", s.tool, s.src)
			}
			continue
		}
		loaded++
		if s.mustSay && len(c.Warnings) == 0 {
			t.Errorf("%s %q was read in silence, want a finding", s.tool, s.src)
		}
		if !s.mustSay {
			if bad := unusual(s, c.Warnings); len(bad) > 0 {
				t.Errorf("%s %q has findings %v, want none", s.tool, s.src, bad)
			}
		}
		out, err := c.Expand(dialect.Args{
			Raw:   "FILE=a x=b c",
			Words: []string{"FILE=a", "x=b", "c"},
		})
		if err != nil {
			t.Errorf("%s %q: Expand = %v", s.tool, s.src, err)
		}
		text := render(t, out)
		for _, keep := range s.keepText {
			if !strings.Contains(text, keep) {
				t.Errorf("%s %q lost %q: %q", s.tool, s.src, keep, text)
			}
		}
	}

	if loaded*1000 < commands*999 {
		t.Errorf("%d of %d files load, want 99.9 %%", loaded, commands)
	}
	t.Logf("%d of %d command files load, %d files in all", loaded, commands, len(list))
}

// unusual leaves out that a key of one tool means nothing to another, which depends on the pairing.
func unusual(s sample, list []formats.Diagnostic) []formats.Diagnostic {
	var out []formats.Diagnostic
	for _, d := range list {
		if d.Code != "W031" || s.tool == dialect.Claude {
			out = append(out, d)
		}
	}
	return out
}

func FuzzParse(f *testing.F) {
	for i, s := range corpus() {
		if i%7 == 0 {
			f.Add([]byte(s.src), "a \"b c\" d=e")
		}
	}

	f.Add([]byte("```!\necho $1 \"$2\" '$ARGUMENTS'\n```\n!`x $(y \"$1\")`@$1"), "'")
	f.Add([]byte(bomb()), "")
	f.Fuzz(func(t *testing.T, src []byte, raw string) {
		for _, d := range []dialect.Dialect{
			dialect.Claude, dialect.OpenCode, dialect.Codex, dialect.Copilot, dialect.Cursor,
			dialect.Gemini,
		} {
			c, err := dialect.Parse(place(t, d), file(d), src)
			if err != nil {
				if len(refusal(t, err).List) == 0 {
					t.Fatalf("%s: refused without a finding", d)
				}
				continue
			}
			out, err := c.Expand(dialect.Args{Raw: raw})
			if err != nil {
				continue
			}
			same, err := c.Expand(dialect.Args{Raw: raw})
			if err != nil || render(t, out) != render(t, same) {
				t.Fatalf("%s: two expansions differ", d)
			}
			for _, o := range out {
				if o.Script == nil || o.Script.Refused != "" {
					continue
				}
				// The script is the one of the file, with references only.
				for _, kv := range o.Script.Env {
					name, _, _ := strings.Cut(kv, "=")
					if !strings.Contains(o.Script.Text, "${"+name+"}") {
						t.Fatalf("%s: variable %s is not used in %q", d, name, o.Script.Text)
					}
				}
			}
		}
	})
}

func FuzzAgent(f *testing.F) {
	f.Add([]byte("---\nname: a\ndescription: d\ntools: Read, Bash(x:*)\n---\nDo."))
	f.Add([]byte("---\ntools:\n  bash: false\npermission:\n  edit: deny\n---\nDo."))
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, d := range []dialect.Dialect{
			dialect.Claude, dialect.OpenCode, dialect.Gemini, dialect.Copilot,
		} {
			a, err := dialect.ParseAgent(agentPlace(t, d), "x.md", src)
			if err != nil {
				if len(refusal(t, err).List) == 0 {
					t.Fatalf("%s: refused without a finding", d)
				}
				continue
			}
			if a.Name == "" || strings.ToLower(a.Name) != a.Name || a.Text == "" {
				t.Fatalf("%s: agent %q with text %q", d, a.Name, a.Text)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	src := []byte(
		"---\ndescription: Reviews a change\nargument-hint: '[file]'\n" +
			"allowed-tools: Read, Bash(git diff:*)\n---\n" +
			strings.Repeat(
				"Look at $ARGUMENTS and say what !`git diff` shows in @README.md.\n",
				30,
			),
	)
	p := place(b, dialect.Claude)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dialect.Parse(p, "x.md", src); err != nil {
			b.Fatal(err)
		}
	}
}
