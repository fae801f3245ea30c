package syntax_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/commands/syntax"
)

// FuzzReader reads two files after each other in the same memory: what was read of the first stays as it is without the second,
// and the second is read as in new memory.
func FuzzReader(f *testing.F) {
	files, err := filepath.Glob("../library/*.md")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	before := []byte("---\ncommand: x\n---\n\n## Workflow Execution\n\n### Step 1: a\n\n```yaml step\nreturn: $1\n```\n")
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(before, src)
		f.Add(src, bytes.ReplaceAll(src, []byte("delegate"), []byte("delgate\t")))
		before = src
	}
	f.Add([]byte("x\x00"), before)
	f.Add(before, []byte("- ```yaml step\n  id: x\n  ```\n"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var r syntax.Reader
		one := r.Read("x.md", first)
		two := r.Read("y.md", second)
		if diff := cmp.Diff(syntax.Read("x.md", bytes.Clone(first)), one); diff != "" {
			t.Errorf("the first file is (-alone +before another):\n%s", diff)
		}
		if diff := cmp.Diff(syntax.Read("y.md", bytes.Clone(second)), two); diff != "" {
			t.Errorf("the second file is (-alone +after another):\n%s", diff)
		}
	})
}

// TestReaders reads files side by side.
func TestReaders(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../library/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	var readers syntax.Readers
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, name := range files {
				src, err := os.ReadFile(name)
				if err != nil {
					t.Error(err)
					return
				}
				if diff := cmp.Diff(syntax.Read(name, src), readers.Read(name, src)); diff != "" {
					t.Errorf("%s (-alone +side by side):\n%s", name, diff)
				}
			}
		})
	}
	all.Wait()
	if f := (*syntax.Readers)(nil).Read(files[0], []byte("x")); len(f.Found) == 0 {
		t.Error("a file without frontmatter has no finding")
	}
}
