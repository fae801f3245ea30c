package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/subagents"
)

// packTest is a file tests/*.json of a pack. The returns of a subagent are used in order, the last one repeats.
type packTest struct {
	Line    string
	Yes     bool
	Files   map[string]string
	Returns map[string][]map[string]any
	Expect  struct {
		Exit      int
		Summary   string
		Rollbacks int
		Sequence  []string // sorted before it is compared: subagents side by side start in any order
		Files     map[string][]string
	}
}

// TestPacks lints the commands and subagents of each pack, and runs its tests with scripted workers.
func TestPacks(t *testing.T) {
	t.Parallel()
	const packs = "../../templates/packs"
	tests, err := filepath.Glob(packs + "/review/tests/*.json")
	if err != nil || len(tests) == 0 {
		t.Fatalf("Glob = %q, %v, want tests", tests, err)
	}
	for _, file := range tests {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var test packTest
			d := json.NewDecoder(bytes.NewReader(src))
			d.DisallowUnknownFields()
			if err := d.Decode(&test); err != nil {
				t.Fatal(err)
			}
			w := packWorld{t: t, dir: t.TempDir(), home: t.TempDir()}
			w.answers = filepath.Join(w.dir, ".tercet/answers") // which git ignores
			w.must("git", "init", "-q", "-b", "main")
			w.must("tercet", "init")
			w.add(os.DirFS(filepath.Dir(filepath.Dir(file))))
			w.must("tercet", "lint", "--strict", ".tercet/commands", ".tercet/subagents")
			w.play(test)
		})
	}
}

type packWorld struct {
	t                  *testing.T
	dir, answers, home string
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
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, &out, &bad
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "LANG=C", "TERCET_TRUST=1", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost",
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

// scriptedWorker does what the test says for its next call, and the last again when there is no more. It cannot write where
// calls could be counted; the journal tells how often it was started.
const scriptedWorker = `here=$(dirname "$0")
n=$(grep -c "\"type\":\"delegation_started\".*\"agent\":\"$1\"" "$TERCET_ROOT"/.tercet/runs/*/journal.jsonl)
while [ "$n" -gt 1 ] && [ ! -d "$here/$1-$n" ]; do n=$((n - 1)); done
if [ -d "$here/$1-$n/tree" ]; then cp -R "$here/$1-$n/tree/." .; fi
if [ -d "$here/$1-$n/out" ]; then cp -R "$here/$1-$n/out/." "$TERCET_OUT"; fi
cp "$here/$1-$n/return" "$TERCET_RETURN"
`

// scripted makes a subagent, the pack's or the library's, answer as the test says.
func (w packWorld) scripted(name string, returns []map[string]any) {
	w.t.Helper()
	file := filepath.Join(w.dir, ".tercet/subagents", name+".md")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = fs.ReadFile(subagents.Library(), name+".md")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	line := fmt.Sprintf("\nrunner: exec\nargv: [sh, %s, %s]\ndescription:", filepath.Join(w.answers, "worker"), name)
	w.put(file, strings.Replace(string(text), "\ndescription:", line, 1))
	for i, ret := range returns {
		dir := filepath.Join(w.answers, fmt.Sprintf("%s-%d", name, i+1))
		writes, _ := ret["writes"].(map[string]any)
		delete(ret, "writes")
		data, err := json.Marshal(ret)
		if err != nil {
			w.t.Fatal(err)
		}
		w.put(filepath.Join(dir, "return"), string(data))
		for path, text := range writes {
			into := "tree"
			if strings.Contains(string(data), `"path":"`+path+`","type":"review"`) {
				into = "out"
			}
			w.put(filepath.Join(dir, into, path), fmt.Sprint(text))
		}
	}
}

// play runs the line of a test and compares what came of it.
func (w packWorld) play(test packTest) {
	w.t.Helper()
	w.put(filepath.Join(w.answers, "worker"), scriptedWorker)
	for _, name := range slices.Sorted(maps.Keys(test.Returns)) {
		w.scripted(name, test.Returns[name])
	}
	for name, text := range test.Files {
		w.put(filepath.Join(w.dir, name), text)
	}
	w.must("git", "add", "-A")
	w.must("git", "commit", "-q", "-m", "first")
	args := []string{"--json", "run", test.Line}
	if test.Yes {
		args = append([]string{"--yes"}, args...)
	}
	code, out, bad := w.run("tercet", args...)
	var ret struct{ Summary string }
	if err := json.Unmarshal([]byte(out), &ret); err != nil {
		w.t.Fatalf("%v in\n%s%s", err, out, bad)
	}
	if code != test.Expect.Exit || test.Expect.Summary != "" && ret.Summary != test.Expect.Summary {
		w.t.Errorf("%s = %d, %q, want %d, %q\n%s%s",
			test.Line, code, ret.Summary, test.Expect.Exit, test.Expect.Summary, out, bad)
	}
	for name, parts := range test.Expect.Files {
		text := readIn(w.t, os.DirFS(w.dir), name)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				w.t.Errorf("%s = %q, want %q in it", name, text, part)
			}
		}
	}
	journals, err := filepath.Glob(filepath.Join(w.dir, ".tercet/runs/*/journal.jsonl"))
	if err != nil || len(journals) != 1 {
		w.t.Fatalf("Glob = %q, %v, want one journal", journals, err)
	}
	journal, err := os.ReadFile(journals[0])
	if err != nil {
		w.t.Fatal(err)
	}
	if got, want := strings.Count(string(journal), `"type":"rollback"`), test.Expect.Rollbacks; got != want {
		w.t.Errorf("%d rollbacks, want %d", got, want)
	}
	var started []string
	for _, m := range regexp.MustCompile(`"type":"delegation_started".*"agent":"([^"]+)"`).FindAllSubmatch(journal, -1) {
		if test.Returns[string(m[1])] != nil {
			started = append(started, string(m[1]))
		}
	}
	slices.Sort(started)
	slices.Sort(test.Expect.Sequence)
	if diff := cmp.Diff(test.Expect.Sequence, started); test.Expect.Sequence != nil && diff != "" {
		w.t.Errorf("the workers that were started differ (-want +got):\n%s", diff)
	}
}
