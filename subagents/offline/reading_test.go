package offline_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tercet/formats/documents"
	"tercet/subagents/offline"
)

// text turns ' marks into backticks.
func text(lines ...string) string {
	return strings.ReplaceAll(strings.Join(lines, "\n"), "'", "`") + "\n"
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want offline.Reading
	}{
		"empty":                  {"", offline.Reading{}},
		"inline code is not run": {text("Run 'rm -rf x' and then 'go test'."), offline.Reading{}},
		"named by heading": {
			text("# Task", "", "## Change the loop", "", "'''sh", "one", "two", "'''"),
			offline.Reading{Names: []string{"Change the loop"}, Blocks: []string{"one\ntwo\n"}},
		},
		"named by sentence": {
			text(
				"## Change", "", "It is wrong. Version 2 mends the loop, e.g. here:", "", "'''sh",
				"one", "'''", "'''sh", "two", "'''",
			),
			offline.Reading{
				Names: []string{
					"Version 2 mends the loop, e.g. here",
					"Version 2 mends the loop, e.g. here",
				},
				Blocks: []string{"one\n", "two\n"},
			},
		},
		"named by nothing": {
			text("'''sh", "one", "'''"),
			offline.Reading{Names: []string{"Run the commands"}, Blocks: []string{"one\n"}},
		},
		"no brackets in a name": {
			text("# Set [COMPLETED] *now*.", "'''sh", "one", "'''"),
			offline.Reading{Names: []string{"Set (COMPLETED) now"}, Blocks: []string{"one\n"}},
		},
		"verification after": {
			text(
				"Do it:", "'''sh", "one", "'''", "## Verification", "Run this:", "'''sh", "check",
				"'''", "### More", "'''sh", "more", "'''",
			),
			offline.Reading{
				Names:  []string{"Do it"},
				Blocks: []string{"one\n"},
				Last:   []string{"check\n", "more\n"},
			},
		},
		"verification before": {
			text(
				"## Verification steps", "'''sh", "check", "'''", "## Change", "'''sh", "one",
				"'''",
			),
			offline.Reading{
				Names:  []string{"Change"},
				Blocks: []string{"one\n"},
				Every:  []string{"check\n"},
			},
		},
		"scope ends at a heading of its level": {
			text(
				"## Verification", "### Inner", "'''sh", "check", "'''", "## Change", "'''sh",
				"one", "'''",
			),
			offline.Reading{
				Names:  []string{"Change"},
				Blocks: []string{"one\n"},
				Every:  []string{"check\n"},
			},
		},
		"label": {
			text(
				"'''sh", "one", "'''", "", "Verification:", "", "Run the tests:", "", "'''sh",
				"check", "'''", "", "Then tidy up:", "", "'''sh", "two", "'''",
			),
			offline.Reading{
				Names:  []string{"Run the commands", "Then tidy up"},
				Blocks: []string{"one\n", "two\n"},
				Last:   []string{"check\n"},
			},
		},
		"strong label": {
			text(
				"**Acceptance criteria**", "", "- it works", "- [x] it is fast", "", "Change it.",
				"", "'''sh", "one", "'''",
			),
			offline.Reading{
				Names:  []string{"Change it"},
				Blocks: []string{"one\n"},
				Checks: []string{"[ ] it works", "[x] it is fast"},
			},
		},
		"label with the rest of its line": {
			text("Acceptance: it works.", "", "- [ ] more"),
			offline.Reading{Checks: []string{"[ ] it works.", "[ ] more"}},
		},
		"label in an item": {
			text(
				"- Verification:", "  '''sh", "  check", "  '''", "- change", "  '''sh", "  one",
				"  '''",
			),
			offline.Reading{
				Names:  []string{"change"},
				Blocks: []string{"one\n"},
				Every:  []string{"check\n"},
			},
		},
		"label after the last item": {
			text("- [ ] one", "Verification:", "'''sh", "check", "'''"),
			offline.Reading{Items: []string{"one"}, Last: []string{"check\n"}},
		},
		"label after a sentence": {
			text(
				"Do *it*.", "**Acceptance** criteria: it is", "right", "- and fast", "", "Now.",
				"'''sh", "one", "'''",
			),
			offline.Reading{
				Names:  []string{"Now"},
				Blocks: []string{"one\n"},
				Checks: []string{"[ ] it is right", "[ ] and fast"},
			},
		},
		"label in the text of an item": {
			text("- [ ] one", "  Verification:", "  '''sh", "  check", "  '''", "- [ ] two"),
			offline.Reading{Items: []string{"one", "two"}, Last: []string{"check\n"}},
		},
		"a sentence is no label": {
			text("Verification of the input is missing: add it.", "'''sh", "one", "'''"),
			offline.Reading{
				Names:  []string{"Verification of the input is missing: add it"},
				Blocks: []string{"one\n"},
			},
		},
		"items": {
			text("- [ ] first", "- [x] done", "- no box", "", "## Acceptance", "- [ ] right"),
			offline.Reading{Items: []string{"first"}, Checks: []string{"[ ] right"}},
		},
		"verification of items": {
			text(
				"Verification:", "'''sh", "all", "'''", "", "To do.", "- [ ] first", "",
				"## Verification", "'''sh", "last", "'''",
			),
			offline.Reading{
				Items: []string{"first"},
				Every: []string{"all\n"},
				Last:  []string{"last\n"},
			},
		},
		"what is not run is said": {
			text(
				"'''bash", "one", "'''", "## Acceptance", "'''sh", "two", "'''", "## Rest",
				"> '''sh", "> three", "> '''", "", "'''python", "four", "'''", "'''sh", "", "'''",
			),
			offline.Reading{Notes: []string{
				"line 1: a fence marked bash is not run, only sh fences are",
				"line 5: an sh fence under Acceptance is not run, one under Verification is",
				"line 9: an sh fence inside a quote is not run",
			}},
		},
		"open fence": {
			text("'''sh", "one"),
			offline.Reading{
				Names:  []string{"Run the commands"},
				Blocks: []string{"one\n"},
				Notes:  []string{"line 1: fence is not closed"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, offline.Read(tc.text), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("read(%q) (-want +got):\n%s", tc.text, diff)
			}
		})
	}
}

// outline shows phases as lines "name: commands | verification | checks".
func outline(list []documents.Phase) []string {
	var out []string
	for _, p := range list {
		var checks []string
		for _, c := range p.Checks {
			checks = append(checks, c.Text)
		}
		flat := func(s []string) string {
			return strings.ReplaceAll(strings.Join(s, ","), "\n", "")
		}
		out = append(
			out,
			p.Name+": "+flat(p.Commands)+" | "+flat(p.Verification)+" | "+flat(checks),
		)
	}
	return out
}

func TestPhases(t *testing.T) {
	t.Parallel()
	two := text(
		"A:", "'''sh", "one", "'''", "B:", "'''sh", "two", "'''", "## Acceptance", "- right",
		"## Verification", "'''sh", "check", "'''",
	)
	before := text(
		"## Verification", "- right", "'''sh", "check", "'''", "## A", "'''sh", "one", "'''", "B:",
		"'''sh", "two", "'''",
	)
	for name, tc := range map[string]struct {
		done  []documents.Phase
		texts []string
		want  []string
	}{
		"nothing": {nil, []string{"Text."}, nil},
		"of the last": {
			nil,
			[]string{two},
			[]string{"A: one |  | ", "B: two | check | right"},
		},
		"of all": {
			nil,
			[]string{before},
			[]string{"A: one | check | right", "B: two | check | right"},
		},
		"without commands": {
			nil,
			[]string{"- [ ] a\n- [ ] b\n## Acceptance\n- c\n"},
			[]string{"a:  |  | ", "b:  |  | c"},
		},
		"revised": {
			nil,
			[]string{two, "C:\n```sh\nthree\n```\n"},
			[]string{"A: one |  | ", "B: two |  | ", "C: three | check | right"},
		},
		"item added": {
			nil,
			[]string{two, "- [ ] more"},
			[]string{"A: one |  | ", "B: two |  | ", "more:  | check | right"},
		},
		"done left out": {
			[]documents.Phase{{Name: "A", Commands: []string{"one\n"}}, {Name: "c"}},
			[]string{two, "- [ ] c\n- [ ] d"},
			[]string{"B: two |  | ", "d:  | check | right"},
		},
		"same commands twice": {
			nil,
			[]string{"A:\n```sh\none\n```\nB:\n```sh\none\n```"},
			[]string{"A: one |  | ", "B: one |  | "},
		},
		"one of two done": {
			[]documents.Phase{{Name: "A", Commands: []string{"one\n"}}},
			[]string{"A:\n```sh\none\n```\nB:\n```sh\none\n```"},
			[]string{"B: one |  | "},
		},
		"repeated": {nil, []string{two, two}, []string{"A: one |  | ", "B: two | check | right"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			diff := cmp.Diff(tc.want, outline(offline.Phases(tc.done, tc.texts...)))
			if diff != "" {
				t.Errorf("phases(%q) (-want +got):\n%s", tc.texts, diff)
			}
		})
	}
}

func TestRevised(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ description, text, want string }{
		{"", "new", "new"},
		{"old\n", "new", "old\n\n## Revision\n\nnew"},
		{"# A\nold", "new", "# A\nold\n\n# Revision\n\nnew"},
		{"### Verification", "new", "### Verification\n\n## Revision\n\nnew"},
		{"```sh\none\n```", "new", "```sh\none\n```\n\n## Revision\n\nnew"},
		{"```sh\none", "new", "```sh\none\n```\n\n## Revision\n\nnew"},
		{"```sh\n```go\n```", "new", "```sh\n```go\n```\n\n## Revision\n\nnew"},
		{"~~~~sh", "new", "~~~~sh\n~~~~\n\n## Revision\n\nnew"},
	} {
		if got := offline.Revised(tc.description, tc.text); got != tc.want {
			t.Errorf("revised(%q, %q) = %q, want %q", tc.description, tc.text, got, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "```sh\na\n```", "## Verification\n```sh\na\n```\n> - [ ] b",
		"- Acceptance: x\n  - [ ] y", "**Verification**\n\n~~~sh\n", "a. Ä",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := offline.Read(text)
		for _, name := range got.Names {
			if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "[]\n") {
				t.Errorf("read(%q) names a phase %q", text, name)
			}
		}
		body := strings.ReplaceAll(text, "\r\n", "\n")
		for _, b := range got.Blocks {
			for line := range strings.Lines(b) {
				if !strings.Contains(body, strings.TrimSpace(line)) {
					t.Errorf("read(%q) runs %q, which does not stand there", text, line)
				}
			}
		}
	})
}
