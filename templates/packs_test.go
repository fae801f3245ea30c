package templates_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tercet/templates"
)

var update = flag.Bool("update", false, "write the archive of the packs")

// TestPackArchive compares the archive in the program with the folders that it is made of.
func TestPackArchive(t *testing.T) {
	t.Parallel()
	want := shippedFiles(t, os.DirFS("packs"))
	if *update {
		if err := os.WriteFile("packs.txtar.gz", archiveOf(t, want), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Skip("written; the next run embeds it")
	}
	archive, err := templates.Packs()
	if err != nil {
		t.Fatal(err)
	}
	got := shippedFiles(t, archive)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf(
			"packs.txtar.gz is stale, run go test ./templates -update (-folders +archive):\n%s",
			diff,
		)
	}
}

// shippedFiles are the files of packs that an archive holds, by their paths.
func shippedFiles(t *testing.T, packs fs.FS) map[string]string {
	t.Helper()
	files := map[string]string{}
	add := func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !isShipped(name) {
			return err
		}
		text, err := fs.ReadFile(packs, name)
		files[name] = string(text)
		return err
	}
	if err := fs.WalkDir(packs, ".", add); err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no files of packs")
	}
	return files
}

// isShipped: what belongs to a pack. The profiles of the flows are a package of their own.
func isShipped(name string) bool {
	if path.Base(name) == "pack.yaml" {
		return true
	}
	_, rest, _ := strings.Cut(name, "/")
	folder, _, _ := strings.Cut(rest, "/")
	return slices.Contains([]string{"commands", "subagents", "tests", "templates"}, folder)
}

// archiveOf has the files in the order of their names.
func archiveOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var archive txtar.Archive
	for _, name := range slices.Sorted(maps.Keys(files)) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(files[name])})
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(txtar.Format(&archive)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
