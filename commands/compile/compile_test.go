package compile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/subagents"
)

// shipped is the set of subagents that come with the program, for the checker only.
func shipped(tb testing.TB) *subagents.Set {
	tb.Helper()
	defs, err := subagents.Load(subagents.Source{Name: "subagents", FS: subagents.Library(), Builtin: true})
	if err != nil {
		tb.Fatal(err)
	}
	set := subagents.NewSet()
	for _, d := range defs {
		if err := set.Add(d, subagents.Func(nil)); err != nil {
			tb.Fatal(err)
		}
	}
	return set
}

func TestLibraryCompiles(t *testing.T) {
	t.Parallel()
	set := shipped(t)
	files, err := filepath.Glob("../library/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob = %v, %v", files, err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := syntax.Parse(name, src)
		if err != nil {
			t.Errorf("Parse(%s) = %v", name, err)
			continue
		}
		p, err := compile.Compile(f, set)
		if err != nil {
			t.Errorf("Compile(%s) = %v", name, err)
			continue
		}
		if len(p.Warnings) > 0 {
			t.Errorf("Compile(%s) warns: %v", name, &formats.Diagnostics{List: p.Warnings})
		}
	}
}

var _ = errors.Is
