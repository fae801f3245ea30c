package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tercet/internal/testkit"
)

// TestPackReview runs the tests of the pack review, and holds its files to the strict linter where
// they are installed.
func TestPackReview(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "runs every test of a pack")

	w := packWorld{
		t:    t,
		dir:  t.TempDir(),
		home: t.TempDir(),
	}

	w.must("tercet", "init")
	w.must("tercet", "pack", "test", "review")
	w.must("tercet", "pack", "add", "review")
	w.must("tercet", "lint", "--strict", ".tercet/commands", ".tercet/subagents")
}

// packWorld is a workspace with a pack.
type packWorld struct {
	t         *testing.T
	dir, home string
}

// add copies the commands and subagents of a pack to where a workspace has them.
func (w packWorld) add(pack fs.FS) {
	w.t.Helper()
	files, err := fs.Glob(pack, "*/*.md")
	if err != nil || len(files) == 0 {
		w.t.Fatalf("Glob = %q, %v, want commands and subagents", files, err)
	}
	for _, name := range files {
		w.put(filepath.Join(w.dir, ".tercet", name), readIn(w.t, pack, name))
	}
}

func readIn(t *testing.T, from fs.FS, name string) string {
	t.Helper()
	data, err := fs.ReadFile(from, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (w packWorld) put(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// run runs a program in the workspace.
func (w packWorld) run(name string, args ...string) (code int, stdout, stderr string) {
	w.t.Helper()

	var out, bad bytes.Buffer
	cmd := exec.CommandContext(w.t.Context(), name, args...)
	if name == "tercet" {
		self, err := os.Executable()
		if err != nil {
			w.t.Fatal(err)
		}
		cmd = exec.CommandContext(w.t.Context(), self, args...)
		cmd.Args[0] = name // TestMain looks at the name
	}

	cmd.Dir = w.dir
	cmd.Stdout = &out
	cmd.Stderr = &bad
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + w.home,
		"LANG=C",
		"TERCET_TRUST=1",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t",
		"GIT_AUTHOR_EMAIL=t@localhost",
		"GIT_COMMITTER_NAME=t",
		"GIT_COMMITTER_EMAIL=t@localhost",
	}

	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), bad.String()
}

func (w packWorld) must(name string, args ...string) {
	w.t.Helper()
	if code, out, bad := w.run(name, args...); code != 0 {
		w.t.Fatalf("%s %q = %d\n%s%s", name, args, code, out, bad)
	}
}
