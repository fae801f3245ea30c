package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/state/files"

	"github.com/google/go-cmp/cmp"
)

func TestDocs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{
		"a.md", "docs/b.md", "docs/deep/c.md", "docs/d.txt", ".git/e.md",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	d := files.NewDocs(root)
	if got, err := d.Open(t.Context(), "docs/b.md"); err != nil || string(got) != "docs/b.md" {
		t.Errorf("Open = %q, %v", got, err)
	}
	_, err = d.Open(t.Context(), "none.md")
	if !errors.Is(err, fs.ErrNotExist) || formats.CodeOf(err) != formats.CodeFileNotFound {
		t.Errorf("Open of nothing = %v, want FILE_NOT_FOUND that is fs.ErrNotExist", err)
	}
	for _, bad := range []string{
		"",
		"/etc/passwd",
		"../x",
		"docs/../../x",
		"a\x00b",
		"a\\b",
		"C:x",
		"nul",
		"docs/con.md",
		"x.",
		"a//b",
		"./a.md",
		strings.Repeat("a", 300),
	} {
		if _, err := d.Open(t.Context(), bad); formats.CodeOf(err) != formats.CodeDenied {
			t.Errorf("Open(%q) = %v, want DENIED", bad, err)
		}
	}

	for _, bad := range []string{"link.md", "docs"} {
		if data, err := d.Open(t.Context(), bad); err == nil {
			t.Errorf("Open(%q) = %q, want an error", bad, data)
		}
	}

	for pattern, want := range map[string][]string{
		"*.md":        {"a.md"},
		"**/*.md":     {"a.md", "docs/b.md", "docs/deep/c.md"},
		"docs/**":     {"docs/b.md", "docs/d.txt", "docs/deep/c.md"},
		"docs/*/c.md": {"docs/deep/c.md"},
		"none/*":      nil,
		"a.md":        {"a.md"},
	} {
		got, err := d.Glob(t.Context(), []string{pattern, pattern})
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("Glob(%q) = %q, %v; want %q", pattern, got, err, want)
		}
	}

	for _, bad := range []string{"../*", "/etc/*", "[a"} {
		if got, err := d.Glob(t.Context(), []string{bad}); err == nil {
			t.Errorf("Glob(%q) = %q, want an error", bad, got)
		}
	}

	for name, want := range map[string]bool{"a.md": true, "docs": false, "none": false} {
		if got, err := d.Exists(t.Context(), name); got != want || err != nil {
			t.Errorf("Exists(%q) = %v, %v; want %v", name, got, err, want)
		}
	}
}
