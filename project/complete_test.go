package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/project"
)

// TestHintOfForeignCommand: the hint of a command of another tool is what its file says about its
// arguments, without what a terminal would obey.
func TestHintOfForeignCommand(t *testing.T) {
	t.Parallel()
	f := &quiet{}
	p := open(t, f)
	file := filepath.Join(p.Dir, ".claude", "commands", "fix.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "---\ndescription: Fix an issue\nargument-hint: \"[issue] \\e[31m[branch]\"\n---\n" +
		"\nFix $1.\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project.Open(t.Context(), p.Dir, true, host(t, p.Dir, f)) // which looks for files
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Session(project.Options{})
	if err != nil {
		t.Fatal(err)
	}

	var c project.Completer
	c.Use(s)
	var parts []string
	for _, part := range c.At(t.Context(), "/fix ", len("/fix ")).Hint {
		parts = append(parts, part.Text)
	}
	hint := strings.Join(parts, " ")
	if !strings.HasPrefix(hint, "/fix [issue]") || !strings.Contains(hint, "[branch]") {
		t.Errorf("the hint is %q, want /fix and the text of argument-hint", hint)
	}
	if strings.Contains(hint, "\x1b") {
		t.Errorf("the hint %q has a control character", hint)
	}
}
