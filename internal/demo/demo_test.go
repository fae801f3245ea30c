package demo_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/demo"
	"tercet/internal/proc"
	"tercet/internal/style"
)

var update = flag.Bool("update", false, "write the golden files")

// made is the folder of a demo in a temporary folder of the test.
func made(t *testing.T) (tmp, dir string) {
	t.Helper()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	dir, err = demo.NewFolder("")
	if err != nil {
		t.Fatal(err)
	}
	return tmp, dir
}

// TestClean: nothing is removed but folders that demos made, where they made them, and never
// through a link.
func TestClean(t *testing.T) {
	tmp, dir := made(t)
	other := filepath.Join(tmp, "tercet-demo-other")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// a copy
	must(os.CopyFS(other, os.DirFS(dir)))
	// a link to one
	must(os.Symlink(dir, filepath.Join(tmp, "tercet-demo-link")))
	// no mark
	must(os.Mkdir(filepath.Join(tmp, "tercet-demo-none"), 0o755))
	// no folder
	must(os.WriteFile(filepath.Join(tmp, "tercet-demo-file"), nil, 0o600))
	// a mark behind a link
	must(os.Mkdir(filepath.Join(tmp, "tercet-demo-git"), 0o755))
	must(os.Symlink(
		filepath.Join(dir, ".git"),
		filepath.Join(tmp, "tercet-demo-git", ".git"),
	)) //
	// a mark that is a link
	must(os.MkdirAll(filepath.Join(tmp, "tercet-demo-mark", ".git"), 0o755))
	must(os.Symlink(
		dir+"/.git/tercet-demo",
		filepath.Join(tmp, "tercet-demo-mark/.git/tercet-demo"),
	)) //
	running, err := demo.NewFolder("")
	must(err)
	mark, err := os.ReadFile(filepath.Join(running, ".git/tercet-demo"))
	must(err)
	parent, err := proc.Identify(os.Getppid())
	must(err)
	self, err := proc.Identify(os.Getpid())
	must(err)
	of := func(p proc.Proc) string {
		text, err := json.Marshal(p)
		must(err)
		return string(text)
	}
	// another process is at it
	must(os.WriteFile(
		filepath.Join(running, ".git/tercet-demo"),
		[]byte(strings.Replace(string(mark), of(self), of(parent), 1)),
		0o600,
	))
	outside := filepath.Join(t.TempDir(), "precious")
	must(os.WriteFile(outside, []byte("x"), 0o600))
	must(os.Symlink(filepath.Dir(outside), filepath.Join(dir, "way-out")))
	for _, name := range []string{
		"tercet-demo-link", "tercet-demo-none", "tercet-demo-git", "nowhere",
	} {
		_, err := demo.Clean(filepath.Join(tmp, name))
		if formats.CodeOf(err) != formats.CodeUsage {
			t.Errorf("Clean(%s) = %v, want it refused", name, err)
		}
	}

	if _, err := demo.Clean(""); formats.CodeOf(err) != formats.CodeUsage ||
		!strings.Contains(formats.HelpOf(err), dir) {
		t.Errorf("Clean outside of a demo = %v, want it refused, and %s named", err, dir)
	}
	t.Chdir(dir)
	if removed, err := demo.Clean(""); err != nil || removed != dir {
		t.Errorf("Clean in a demo = %q, %v, want %s", removed, err, dir)
	}
	left, err := filepath.Glob(tmp + "/*")
	if err != nil || len(left) != 7 {
		t.Errorf("left are %q, %v, want the seven others", left, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("a file behind a link out of the folder: %v, want it kept", err)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "one")
	got, err := demo.NewFolder(dir)
	if err != nil || filepath.Base(got) != "one" {
		t.Fatalf("Folder = %q, %v", got, err)
	}
	_, err = demo.NewFolder(dir)
	if err == nil || !strings.Contains(err.Error(), "expected an empty folder") {
		t.Errorf("Folder of one that is not empty: %v, want it refused", err)
	}
}

func TestParseFixture(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "expected a file commits.txt in the fixture " +
			"f.txtar, got none",
		"-- commits.txt --\na\n": "expected a file task.md in the fixture " +
			"f.txtar, got none",
		"-- commits.txt --\na\n-- task.md --\nx": "<nil>",
		"-- --": "f.txtar:1:1: expected the name of a file, " +
			"got none",
	} {
		if _, err := demo.ParseFixture("f.txtar", []byte(text)); fmt.Sprint(err) != want {
			t.Errorf("ParseFixture(%q) = %v, want %s", text, err, want)
		}
	}
}

const patch = `diff --git a/pages/pages.go b/pages/pages.go
index 1..2 100644
--- a/pages/pages.go
+++ b/pages/pages.go
@@ -28,5 +28,5 @@ func Expand(list string) ([]int, error) {
-		for page := first; page < last; page++ {
+		for page := first; page <= last; page++ { // to the last page of the range, which was lost before
 			out = append(out, "` + "\x1b[31mred" + `")
`

// TestScene holds what is shown at three widths, and that nothing of a stranger's reaches the
// terminal.
func TestScene(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		".tercet/state.json": `{"tasks": [{"project_number": 7, "number": 7, "title": "Count \u001b[2J the words of a rather long title of a task", "status": "planned",
			"artifacts": [{"type": "plan", "path": "plan.md"}]}]}`,
		"plan.md": "# Plan\n\n## Implementation Phases\n\n" +
			"### Phase 1: Change [NOT STARTED]\n\n- **Goal**: mend it\n\n**Tasks**:\n\n```sh\n" +
			"printf 'one two three four five six seven eight nine ten' > words.txt\n```\n\n" +
			"**Verification**:\n\n```sh\ntest -s words.txt\n```\n",
		".tercet/runs/r1/trace.jsonl": `{"time":"2026-01-02T03:04:05Z","kind":"delegate","name":"planner","from_depth":1,"to_depth":2,"outcome":"completed","duration_seconds":0.25}` +
			"\n",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, columns := range []int{0, 40, 80, 200} {
		var b bytes.Buffer
		s := demo.Scene{
			Out:     &b,
			Columns: columns,
			Dir:     dir,
			Sheet:   style.Sheet{Colour: columns == 80},
		}
		s.Title("A fresh repository in %s", "/tmp/tercet-demo-0123456789")
		s.Test(
			"before",
			"--- FAIL: TestExpand\n    pages_test.go:22: Expand(\"1,3-5\") = [1 3 4], <nil>, "+
				"want [1 3 4 5]\nFAIL\texample.org/booklet/pages\t0.003s\n",
			false,
		)
		s.State("after")
		s.Commands()
		s.Artifacts()
		s.Trace()
		s.Diff(patch)
		s.Diff("")
		s.Test("after", "ok\tpages\n", true)
		demo.Scene{
			Out:     &b,
			Columns: columns,
			Dir:     "/tmp/tercet-demo-0123456789",
		}.End([]string{"codex"})
		golden := filepath.Join("testdata", fmt.Sprintf("scene-%d.golden", columns))
		if *update {
			if err := os.WriteFile(golden, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || b.String() != string(want) {
			t.Errorf("%s differs (%v), got:\n%s", golden, err, b.String())
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			// one word alone may be wider, and a command that one copies is not broken
			if columns == 40 && style.Width(line) > 50 {
				t.Errorf("at 40 columns a line takes %d: %q", style.Width(line), line)
			}
		}
	}
}

func FuzzFixture(f *testing.F) {
	f.Add([]byte("-- commits.txt --\na\nb\n-- commit-1/go.mod --\nmodule a\n-- task.md --\n# T\n"))
	f.Add([]byte("-- task.md --\n-- commits.txt --\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := demo.ParseFixture("f", data)
		whole := bytes.Contains(data, []byte("task.md")) &&
			bytes.Contains(data, []byte("commits.txt"))
		if err == nil && !whole {
			t.Errorf("ParseFixture(%q) takes what has no task or no commits", data)
		}
	})
}
