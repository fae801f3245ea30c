//go:build unix

package proc_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/internal/proc"
)

func TestLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	tool := put("bin/tool", 0o755)
	put("bin/text", 0o644)
	put("first/tool2", 0o644)
	second := put("bin/tool2", 0o755)
	if err := os.Mkdir(filepath.Join(dir, "first/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := starter(t, func(s *proc.Starter) {
		s.Env = []string{"PATH=:.:relative:" + filepath.Join(dir, "first") + ":" +
			filepath.Join(dir, "bin")}
	})
	tests := []struct{ name, want string }{
		{"tool", tool},
		{"tool2", second},
		{tool, tool},
		{"text", ""},
		{"none", ""},
		{"", ""},
		{"errors.go", ""}, // a file of the working folder
		{"a\x00b", ""},
	}
	for _, tt := range tests {
		got, err := s.LookPath(tt.name)
		var nf *proc.NotFoundError
		if got != tt.want || (tt.want == "") != errors.As(err, &nf) {
			t.Errorf("Look(%q) = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestParsePurpose(t *testing.T) {
	t.Parallel()
	for _, p := range []proc.Purpose{
		proc.PurposeGit, proc.PurposeCheck, proc.PurposeScript, proc.PurposeAgent,
		proc.PurposeProbe, proc.PurposeQuery,
	} {
		if got, err := proc.ParsePurpose(p.String()); got != p || err != nil {
			t.Errorf("ParsePurpose(%q) = %q, %v, want %q", p, got, err, p)
		}
	}
	_, err := proc.ParsePurpose("party")
	if err == nil || !strings.Contains(err.Error(), `expected a purpose`) {
		t.Errorf("ParsePurpose(party) = %v, want that no purpose has this name", err)
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) {
		return "is " + name, name != "ABSENT"
	}
	got := strings.Join(proc.LookupVars(lookup, "ONE", "ABSENT", "TWO"), ",")
	if got != "ONE=is ONE,TWO=is TWO" {
		t.Errorf("Set = %s, want the two that are set", got)
	}
	secret := func(name string) bool {
		return strings.Contains(name, "TOKEN") || strings.Contains(name, "SOCK")
	}
	if i := slices.IndexFunc(proc.InheritedVars(), secret); i >= 0 {
		t.Errorf("every child inherits %s, want that only of what pushes", proc.InheritedVars()[i])
	}
}
