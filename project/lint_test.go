package project_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/project"
)

// TestUnsavedText: a text that no file holds is checked, formatted and listed as if it were the
// file.
func TestUnsavedText(t *testing.T) {
	t.Parallel()
	p := openShip(t)
	const name = ".tercet/commands/ship.md"
	before, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{name, ship, ""},
		{name, strings.Replace(ship, "gate:", "gaet:", 1), name + ":12:1: E108: "},
		{filepath.Join(p.Dir, name), strings.Replace(ship, "gate:", "gaet:", 1), p.Dir},
		{".tercet/commands/new.md", ship, ".tercet/commands/new.md"},
		{".tercet/specs/001_x/plans/implementation-001.md", "# Plan\n", ".tercet/specs/001_x"},
		{".tercet/subagents/sleeper.md", sleeper, ""},
		{
			".tercet/subagents/sleeper.md",
			strings.Replace(sleeper, "utility", "wizard", 1),
			"wizard",
		},
	} {
		list, err := p.Lint(t.Context(), tt.name, []byte(tt.text))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		switch {
		case tt.want == "" && len(list) > 0:
			t.Errorf("Lint(%s) = %v, want no finding", tt.name, list)
		case tt.want != "" && (len(list) == 0 || !strings.Contains(list[0].Error(), tt.want)):
			t.Errorf("Lint(%s) = %v, want %q", tt.name, list, tt.want)
		}
	}

	loose := strings.Replace(ship, "id: go", "id:   go", 1)
	if out, err := p.Format(t.Context(), name, []byte(loose)); err != nil || string(out) != ship {
		t.Errorf("Format = %q, %v, want the standard form", out, err)
	}
	_, err = p.Format(t.Context(), name, []byte("---\ncommand: [\n"))
	if !errors.As(err, new(*formats.Diagnostics)) {
		t.Errorf("Format of a broken text = %v, want findings", err)
	}
	const prompt = "fix   $1\n"
	out, err := p.Format(t.Context(), ".claude/commands/a.md", []byte(prompt))
	if err != nil || string(out) != prompt {
		t.Errorf("Format of another tool's file = %q, %v, want it as it is", out, err)
	}

	after, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(name)))
	if err != nil || string(after) != string(before) {
		t.Errorf("the file is %q, %v, want it as it was", after, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Lint(ctx, name, []byte(ship)); err == nil {
		t.Error("Lint goes on after the end of its context")
	}
}

// TestSymbols: the steps of a command lie below its headings, also of one that cannot be compiled.
func TestSymbols(t *testing.T) {
	t.Parallel()
	p := openShip(t)

	const group = "\n### Step 3: Both\n\n```yaml step\nid: both\ndo:\n" +
		"  - set: {a: 1}\n  - id: tell\n    gaet: x\n```\n\n## Notes\n"

	list := p.Symbols(".tercet/commands/ship.md", []byte(ship+group))
	if got := outlineOf(list); got != "Workflow Execution(6-30) [Step 1: Ask/go(8-14) "+
		"Step 2: Say so(15-20) Step 3: Both/both(21-30) [set(26-26) tell/tell(27-30)]] Notes(31-32)" {
		t.Errorf("Symbols = %s", got)
	}

	if list := p.Symbols("x.md", []byte("no heading\n")); len(list) > 0 {
		t.Errorf("Symbols of a text without headings = %v", list)
	}
}

// outlineOf writes symbols as name/id(from-to) [children].
func outlineOf(list []formats.Symbol) string {
	var out []string
	for _, s := range list {
		one := s.Name + formats.Prefixed("/", s.Detail) +
			"(" + strings.Join(
			[]string{strconv.Itoa(s.Pos.Line), strconv.Itoa(s.EndLine)}, "-",
		) + ")"
		if len(s.Children) > 0 {
			one += " [" + outlineOf(s.Children) + "]"
		}
		out = append(out, one)
	}
	return strings.Join(out, " ")
}

// TestCheckGuessesTheProfile: a document is checked by the profile that its path says, and one of
// no profile is refused.
func TestCheckGuessesTheProfile(t *testing.T) {
	t.Parallel()
	p := open(t, project.Unattended{})

	s, err := p.Session(project.Options{})
	if err != nil {
		t.Fatal(err)
	}

	profile, bad, err := s.Check(
		"plans/implementation-001.md", []byte("x\n"), project.CheckOptions{},
	)
	if profile != "plan" || !bad.HasErrors() || err != nil {
		t.Errorf("Check of a plan = %s, %v, %v", profile, bad, err)
	}

	_, _, err = s.Check("a.md", nil, project.CheckOptions{Profile: "novel"})
	if formats.CodeOf(err) != formats.CodeUsage {
		t.Errorf("Check of a profile that is none = %v, want USAGE", err)
	}
}
