package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGallery lints the commands of the gallery as a workspace has them, and runs their tests; each step of each command is started by
// one of them, and the guide names each command.
func TestGallery(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the program in many processes")
	}
	const pack = "../../templates/packs/gallery"
	guide, err := os.ReadFile("../../docs/guide/8-gallery.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob(pack + "/tests/*.json")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := filepath.Glob(pack + "/commands/*.md")
	if err != nil || len(commands) != 10 {
		t.Fatalf("the gallery has %q, %v, want ten commands", commands, err)
	}
	w := packWorld{t: t, dir: t.TempDir(), home: t.TempDir()}
	w.must("git", "init", "-q", "-b", "main")
	w.must("tercet", "init")
	w.add(os.DirFS(pack))
	args := []string{"test"}
	for _, file := range tests {
		name := filepath.Base(file)
		w.put(filepath.Join(w.dir, name), readIn(t, os.DirFS(pack+"/tests"), name))
		args = append(args, name)
	}
	w.must("tercet", "lint", "--strict", ".tercet/commands", ".tercet/subagents")
	w.must("tercet", "fmt", "--check", ".tercet/commands", ".tercet/subagents")
	code, out, bad := w.run("tercet", args...)
	if code != 0 {
		t.Fatalf("tercet test = %d\n%s%s", code, out, bad)
	}
	for _, file := range commands {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if m := regexp.MustCompile(`(?m)^coverage: /` + name + ` started (\d+) of (\d+) steps`).FindStringSubmatch(out); m == nil || m[1] != m[2] {
			t.Errorf("the tests of /%s leave steps out:\n%s", name, out)
		}
		if !strings.Contains(string(guide), "`/"+name) {
			t.Errorf("docs/guide/8-gallery.md does not name /%s", name)
		}
	}
}
