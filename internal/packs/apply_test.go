package packs_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/packs"
)

// TestNamesOfFiles: a name that no workspace can have is refused when the pack is read.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		`commands/a\b.md`:    "a name with a backslash or a colon",
		"commands/a:b.md":    "a name with a backslash or a colon",
		"commands/a\nb.md":   "a name with control characters",
		"templates/a\xff.md": "a name with control characters, or that is no UTF-8",
		"commands/" + strings.Repeat("n", 252) + ".md": "a name of 255 bytes",
		"commands/" + strings.Repeat("n", 198) + ".md": "a name of 201 bytes",
		"commands/" + strings.Repeat("n", 197) + ".md": "",
	} {
		tree := fstest.MapFS{
			"pack.yaml": {Data: []byte("name: mini\nversion: 1.0.0\ndescription: Small\n")},
			name:        {Data: []byte("---\ncommand: a\n---\n")},
		}
		_, err := packs.Read("mini", tree)
		if want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Read of %.40q = %v, want %q", name, err, want)
		}
	}
}

// TestTakenBack: a change that cannot be finished is taken back, and told once.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, formats.Workspace), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	key := []byte("key")
	project := atomicfile.FS(root)
	install := func(files ...packs.File) error {
		record, err := packs.Load(project)
		if err != nil {
			t.Fatal(err)
		}
		from := packs.Pack{
			Name:    "mini",
			Version: "1.0.0",
			Files:   files,
		}
		plan, err := packs.Add(project, record, from, packs.Builtin, "")
		if _, there := record.Find("mini"); there {
			plan, err = packs.Update(project, record, from, "", true)
		}
		if err != nil {
			t.Fatal(err)
		}
		return plan.Apply(root, key)
	}
	const good = "commands/good.md"
	tooLong := packs.File{Path: "templates/" + strings.Repeat("n", 250), Data: []byte("x")}
	for _, before := range []map[string]string{
		{},
		{".tercet/commands/good.md": "one", ".tercet/packs/mini/base/commands/good.md": "one"},
	} {
		if len(before) > 0 {
			if err := install(packs.File{Path: good, Data: []byte("one")}); err != nil {
				t.Fatal(err)
			}
		}
		had := content(t, project)
		err := install(packs.File{Path: good, Data: []byte("two")}, tooLong)
		if err == nil || !strings.Contains(err.Error(), "the change of pack mini was taken back") {
			t.Errorf("Apply = %v, want that it was taken back", err)
		}
		if code := formats.CodeOf(err); code != formats.CodeIO {
			t.Errorf("code = %s, want IO", code)
		}
		if got := content(t, project); !maps.Equal(got, had) {
			t.Errorf("files = %q, want as before: %q",
				slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(had)))
		}
		if name, err := packs.Finish(root, key); name != "" || err != nil {
			t.Errorf("Finish = %q, %v, want nothing left", name, err)
		}
	}
}

// content reads all files of a project.
func content(t *testing.T, project fs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(project, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(project, name)
		out[name] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}
