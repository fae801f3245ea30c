package state_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/testkit"
	"tercet/state"
	"tercet/state/statefile"
)

const head = "{\n  \"version\": \"1\",\n  \"lineage\": \"l\",\n  \"serial\": 4,\n" +
	"  \"next_number\": 9,\n  \"tasks\": ["

func file(tasks string) string {
	return head + tasks + "]\n}\n"
}

// TestInvalidState holds that a file that is not valid is refused with its place, is left as it is,
// is copied once, and that the message names the way out.
func TestInvalidState(t *testing.T) {
	t.Parallel()
	ok := `{"number": 1, "title": "a", "status": "not_started"}`
	for _, tt := range []struct{ name, src, want string }{
		{"empty", "", "1:1: "},
		{"no JSON", "{\n  \"version\": 1,,\n", "2:16: "},
		{"trailing comma", file(ok + ","), "trailing comma"},
		{"array", "[]", "1:1: expected an object, got array (INVALID_STATE)"},
		{"no keys", "{}", `expected key "tasks"`},
		{
			"version",
			strings.Replace(file(""), `"1"`, `"0"`, 1),
			`2:14: expected version "1", got "0" (INVALID_STATE)`,
		},
		{
			"serial",
			strings.Replace(file(""), `4`, `4.5`, 1),
			"serial: expected integer from 0, got 4.5",
		},
		{
			"negative serial",
			strings.Replace(file(""), `4`, `-4`, 1),
			"serial: expected integer from 0, got -4",
		},
		{
			"key in another case",
			strings.Replace(file(""), `"serial"`, `"Serial"`, 1),
			`expected key "serial", got "Serial"`,
		},
		{
			"duplicate key",
			strings.Replace(file(""), `"lineage"`, `"serial": 1, "lineage"`, 1),
			`duplicate key "serial", first at 3:3`,
		},
		{"other shape", `{"active_projects": []}`, "the shape with active_projects"},
		{
			"status",
			file(`{"number": 1, "title": "a", "status": "planing"}`),
			`task 1: status: expected task status, got "planing"`,
		},
		{
			"status key",
			file(`{"number": 1, "title": "a", "Status": "planned"}`),
			`expected key "status", got "Status"`,
		},
		{
			"no number",
			file(`{"title": "a", "status": "planned"}`),
			`tasks[0]: expected key "number"`,
		},
		{
			"number zero",
			file(`{"number": 0, "title": "a", "status": "planned"}`),
			"expected integer from 1",
		},
		{
			"number as text",
			file(`{"number": "1", "title": "a", "status": "planned"}`),
			"expected integer, got string",
		},
		{
			"huge number",
			file(`{"number": 90071992547409930, "title": "a", "status": "planned"}`),
			"expected integer from 0, got 90071992547409930",
		},
		{"twice", file(ok + ", " + ok), "task 1 stands twice, first at 6:13"},
		{
			"slug",
			file(`{"number": 1, "title": "a", "status": "planned", "slug": "../x"}`),
			"slug: expected only",
		},
		{
			"dependencies",
			file(`{"number": 1, "title": "a", "status": "planned", "dependencies": [1.5]}`),
			"expected integer from 0, got 1.5",
		},
		{
			"artifact",
			file(
				`{"number": 1, "title": "a", "status": "planned", "artifacts": [{"type": "plan"}]}`,
			),
			`artifacts: expected key "path"`,
		},
		{
			"lease",
			file(`{"number": 1, "title": "a", "status": "planned", "lease": 3}`),
			"lease: expected object or null, got number",
		},
		{"deep", file(strings.Repeat("[", 99) + strings.Repeat("]", 99)), "deep"},
		{
			"not UTF-8",
			file(`{"number": 1, "title": "` + "\xff" + `", "status": "planned"}`),
			"UTF-8",
		},
		{
			"merge",
			file("\n<<<<<<< HEAD\n" + ok + "\n=======\n>>>>>>> other\n"),
			"7:1: merge conflict marker (INVALID_STATE)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.add("kept")
			w.add("gone")
			w.write("state.json", tt.src)
			for range 2 {
				_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}})
				bad, ok := errors.AsType[*statefile.SyntaxError](err)
				if !ok || !strings.Contains(err.Error(), tt.want) ||
					!strings.HasPrefix(err.Error(), ".tercet/state.json:") {
					t.Fatalf("Apply = %v, want *SyntaxError with %q", err, tt.want)
				}
				if formats.CodeOf(err) != formats.CodeInvalidState {
					t.Errorf("code = %s, want INVALID_STATE", formats.CodeOf(err))
				}
				help := formats.HelpOf(err)
				if !strings.Contains(help, "tercet state restore 2") ||
					!strings.Contains(help, bad.Copy) {
					t.Errorf("help = %q, want the command that restores serial 2 and the copy",
						help)
				}
				if bad.Conflict != (tt.name == "merge") {
					t.Errorf("Conflict = %v", bad.Conflict)
				}
				copied, err := os.ReadFile(filepath.Join(w.dir, bad.Copy))
				if err != nil || string(copied) != tt.src {
					t.Errorf("copy = %q, %v; want the file", copied, err)
				}
			}

			if got := w.read("state.json"); got != tt.src {
				t.Errorf("the broken file was changed:\n%s", got)
			}
			if copies, _ := filepath.Glob(w.path("backups/*corrupt*")); len(copies) != 1 {
				t.Errorf("copies = %q, want one", copies)
			}
			_, _, err := w.r.Snapshot(t.Context())
			if formats.CodeOf(err) != formats.CodeInvalidState {
				t.Errorf("Snapshot = %v, want INVALID_STATE", err)
			}
			if _, err := w.m.Restore(t.Context(), 1); err != nil {
				t.Fatalf("Restore(1) = %v", err)
			}
			if got := w.stored(1).Title; got != "kept" || w.serial() != 3 {
				t.Errorf("restored task %q with serial %d, want kept with 3", got, w.serial())
			}
			if n := w.add("next"); n[0] != 3 {
				t.Errorf("number after a restore = %d, want 3: numbers are not given twice", n[0])
			}
			w.healthy()
		})
	}
}

func TestNoState(t *testing.T) {
	t.Parallel()

	w, err := openWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.t = t
	defer w.root.Close()

	if err := os.Mkdir(w.path(""), 0o755); err != nil {
		t.Fatal(err)
	}

	_, _, err = w.r.Snapshot(t.Context())
	if formats.CodeOf(err) != formats.CodeNoWorkspace || formats.HelpOf(err) == "" {
		t.Errorf("Snapshot = %v, want NO_WORKSPACE with help", err)
	}

	_, err = w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}})
	if formats.CodeOf(err) != formats.CodeNoWorkspace {
		t.Errorf("Apply = %v, want NO_WORKSPACE", err)
	}

	if err := w.m.Init(t.Context(), state.InitOptions{NextNumber: 196}); err != nil {
		t.Fatal(err)
	}

	if err := w.m.Init(t.Context(), state.InitOptions{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("second Init = %v, want fs.ErrExist", err)
	}

	if n := w.add("a"); n[0] != 196 {
		t.Errorf("first number = %d, want 196", n[0])
	}

	w.healthy()
}

func TestReadingCreatesNothing(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	w, err := openWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	w.t = t
	defer w.root.Close()

	w.write("state.json", file(`{"number": 1, "title": "a", "status": "not_started"}`))

	if ok, err := w.r.HasTask(t.Context(), 1); !ok || err != nil {
		t.Errorf("HasTask(1) = %v, %v", ok, err)
	}

	_, err = w.r.Task(t.Context(), 2)
	if formats.CodeOf(err) != formats.CodeNotFound || err.Error() != "task 2 does not exist" {
		t.Errorf("Task(2) = %v, want NOT_FOUND with its number", err)
	}

	if _, err := w.r.Verify(t.Context()); err != nil {
		t.Error(err)
	}

	if raw, err := w.r.Bytes(t.Context()); err != nil || string(raw) != w.read("state.json") {
		t.Errorf("Bytes = %q, %v", raw, err)
	}

	entries, err := os.ReadDir(w.path(""))
	if err != nil || len(entries) != 1 {
		t.Errorf("reading left %v, %v; want state.json only", entries, err)
	}
}

// odd is a valid file that no writer of ours would make: unknown keys, odd numbers, mixed layout.
const odd = `{
    "version": "1",   "x_first": 1.0,
  "lineage":"l", "serial": 4,
	"next_number": 9, "big": 123456789012345678901234567890, "tasks": [
  {"zeta": {"b": 1e400, "a": [1, 2,3]}, "number": 7, "title": "seven \u00e9\/", "status": "not_started", "Extra": null},
    {
        "number": 8,
        "status": "not_started",
        "title": "eight", "custom": -0.0,
        "artifacts": [{"path": "x.go", "type": "implementation", "note": "mine", "created": "then"}]
    }
  ],
  "tail": {"k": [ ]}
}`

// TestBytesSurvive holds that a change touches only what it changes.
func TestBytesSurvive(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write("state.json", odd)

	if err := os.Remove(w.path("audit.jsonl")); err != nil { // as in a fresh clone
		t.Fatal(err)
	}

	w.do(state.UpdateStatus{
		Tasks:     []int{8},
		To:        formats.Implementing,
		Artifacts: []formats.Artifact{{Type: formats.ArtifactImplementation, Path: "y.go"}},
	})

	want := strings.Replace(odd, `"serial": 4`, `"serial": 5`, 1)
	want = strings.Replace(want, `"number": 8,
        "status": "not_started"`, `"number": 8,
        "status": "implementing"`, 1)
	got := w.read("state.json")

	// What stands before the changed task is the same but for the serial, and so is what follows.
	at := strings.Index(got, `"artifacts"`)
	wantAt := strings.Index(want, `"artifacts"`)
	if got[:at] != want[:wantAt] {
		t.Errorf("before the artifacts (-want +got):\n%s", cmp.Diff(want[:wantAt], got[:at]))
	}

	tail := want[strings.Index(want, "\n    }\n  ],"):]
	if !strings.HasSuffix(got, tail) {
		t.Errorf("the end is\n%s\nwant it to end with\n%s", got, tail)
	}

	if !strings.Contains(
		got,
		`{"path": "x.go", "type": "implementation", "note": "mine", "created": "then"}, `+
			`{"type": "implementation", "path": "y.go",`,
	) {
		t.Errorf("the artifacts are\n%s", got[at:])
	}

	w.do(state.UpdateMetadata{Task: 7, Fields: map[string]any{"title": "sept"}})
	got = w.read("state.json")
	if !strings.Contains(
		got,
		`{"zeta": {"b": 1e400, "a": [1, 2,3]}, "number": 7, "title": "sept", `+
			`"status": "not_started", "Extra": null, "slug": "seven_e", "updated": `,
	) {
		t.Errorf("the line of task 7:\n%s", got)
	}

	w.healthy()
}

func TestLayouts(t *testing.T) {
	t.Parallel()

	lines := "{\n\"version\": \"1\",\n\"lineage\": \"l\",\n\"serial\": 0,\n\"next_number\": 4,\n" +
		"\"tasks\": [\n" +
		"{\"number\": 1, \"title\": \"a\", \"status\": \"completed\", \"updated\": \"u\", " +
		"\"dependencies\": [2]},\n" +
		"{\"number\": 2, \"title\": \"b\", \"status\": \"abandoned\", \"updated\": \"u\"},\n" +
		"{\"number\": 3, \"title\": \"c\", \"status\": \"planned\", \"updated\": \"u\", \"x\": " +
		"1.50}\n]\n}\n"

	for name, src := range map[string]string{
		"lines":         lines,
		"compact lines": strings.NewReplacer(": ", ":", ", ", ",").Replace(lines),
		"CRLF":          strings.ReplaceAll(lines, "\n", "\r\n"),
		"byte order":    "\xef\xbb\xbf" + lines,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWorkspace(t)
			w.write("state.json", src)
			if err := os.Remove(w.path("audit.jsonl")); err != nil {
				t.Fatal(err)
			}

			w.do(state.ArchiveTasks{Tasks: []int{1, 2}})
			w.add("new")
			w.do(state.UnarchiveTasks{Tasks: []int{2}})

			got := w.read("state.json")
			list := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			if len(list) != 11 || strings.Contains(got, "\xef\xbb\xbf") {
				t.Fatalf("got %d lines, want 11:\n%s", len(list), got)
			}

			before := strings.Split(src, "\n")
			if list[6] != strings.TrimSuffix(before[7], "\r")+cr(name) ||
				strings.TrimSuffix(list[7], cr(name)) != strings.TrimSuffix(before[8], "\r")+"," {
				t.Errorf("lines of tasks 2 and 3 are\n%s\n%s\nwant them as they were",
					list[6], list[7])
			}

			if !strings.HasPrefix(list[8], `{"number"`) ||
				strings.Contains(list[8], `": `) == (name == "compact lines") {
				t.Errorf("the new task is %s", list[8])
			}

			if name == "CRLF" && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
				t.Errorf("mixed line breaks:\n%q", got)
			}

			w.do(state.UpdateMetadata{Task: 4, Fields: map[string]any{"dependencies": []int{2, 3}}})
			if strings.Count(w.read("state.json"), "\n") != strings.Count(got, "\n") {
				t.Errorf("a list took lines of its own:\n%s", w.read("state.json"))
			}

			w.healthy()
		})
	}
}

func cr(name string) string {
	if name == "CRLF" {
		return "\r"
	}
	return ""
}

func TestSymlink(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	if err := os.Rename(w.path("state.json"), filepath.Join(w.dir, "real.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../real.json", w.path("state.json")); err != nil {
		t.Fatal(err)
	}

	w.add("a")
	if info, err := os.Lstat(w.path("state.json")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info.Mode(), err)
	}

	w.healthy()

	outside := filepath.Join(t.TempDir(), "state.json")
	if err := os.Rename(filepath.Join(w.dir, "real.json"), outside); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{
		outside,
		"../../" + filepath.Base(filepath.Dir(outside)) + "/state.json",
	} {
		if err := os.Remove(w.path("state.json")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, w.path("state.json")); err != nil {
			t.Fatal(err)
		}

		_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}})
		if formats.CodeOf(err) != formats.CodeDenied {
			t.Errorf("Apply through a link to %s = %v, want DENIED", to, err)
		}
	}
}

func TestTodo(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.do(state.CreateTasks{Tasks: []state.NewTask{
		{Title: "first <b>", Language: "go"},
		{Title: "second", Dependencies: []int{1}, Parent: 1},
	}})
	w.do(state.UpdateStatus{
		Tasks:  []int{2},
		To:     formats.Blocked,
		Reason: "no\nkey",
	})
	got := w.read("TODO.md")
	line, body, _ := strings.Cut(got, "\n")
	want := `# Tasks

## Not started

- [ ] 1. first \<b> (go, medium)

## Blocked

- [ ] 2. second (medium), part of 1, after 1
  - blocked: no key
`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("TODO.md (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(line, "<!-- tercet: serial 2 sha256 ") ||
		!strings.HasSuffix(line, " -->") {
		t.Errorf("first line = %s", line)
	}

	w.write("TODO.md", got+"- [ ] by hand\n")
	res := w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "third"}}})
	diff := cmp.Diff(
		[]string{"TODO.md was not written: it was edited; run tercet task sync"},
		res.Warnings,
	)
	if diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	if !strings.HasSuffix(w.read("TODO.md"), "by hand\n") {
		t.Error("the hand edit is lost")
	}

	if err := os.Remove(w.path("TODO.md")); err != nil {
		t.Fatal(err)
	}
	w.add("fourth")
	if got := w.read("TODO.md"); !strings.Contains(got, "fourth") {
		t.Errorf("TODO.md was not made anew:\n%s", got)
	}

	// A view of a later serial is newer than what this write knows.
	later := strings.Replace(w.read("TODO.md"), "serial 4 ", "serial 99 ", 1)
	w.write("TODO.md", later)
	w.add("fifth")
	if w.read("TODO.md") != later {
		t.Error("a newer view was overwritten")
	}
}

func TestBackups(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for i := range 14 {
		before := w.read("state.json")
		w.add(fmt.Sprint(i))
		if w.read("state.json.bak") != before ||
			w.read(fmt.Sprintf("backups/state-%d.json", i)) != before {
			t.Fatalf("write %d: the backups are not the state before it", i)
		}
	}

	list, err := filepath.Glob(w.path("backups/*"))
	if err != nil || len(list) != 10 {
		t.Errorf("backups = %q, %v; want ten", list, err)
	}
	if _, err := w.m.Restore(t.Context(), 99); formats.CodeOf(err) != formats.CodeNotFound {
		t.Errorf("Restore(99) = %v, want NOT_FOUND", err)
	}
	res, err := w.m.Restore(t.Context(), 7)
	if err != nil || res.Serial != 15 {
		t.Fatalf("Restore(7) = %+v, %v; want serial 15", res, err)
	}
	if doc, err := w.r.Doc(t.Context()); err != nil || len(doc.Tasks) != 7 || doc.Serial != 15 {
		t.Errorf("after Restore(7): %d tasks, serial %d, %v", len(doc.Tasks), doc.Serial, err)
	}
	if n := w.add("next"); n[0] != 15 {
		t.Errorf("number after a restore = %d, want 15", n[0])
	}
	// No backup reaches back to serial 1, but the log leads there.
	res, err = w.m.Restore(t.Context(), 1)
	if err != nil || res.Serial != 17 || w.stored(1).Title != "0" {
		t.Errorf("Restore(1) = %+v, %v; want the first task again", res, err)
	}
	w.healthy()
}

// Another process restores after the file was broken: it knows the numbers that were given only
// from the log.
func TestNumbersAreNotReusedAfterRestore(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	w.add("one")
	w.add("two")
	w.write("state.json", "{")

	m, err := state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}

	serial, ok := m.NewestBackup()
	if !ok || serial != 2 {
		t.Fatalf("NewestBackup() = %d, %t, want 2", serial, ok)
	}

	if _, err := m.Restore(t.Context(), 1); err != nil {
		t.Fatal(err)
	}

	if n := w.add("next"); n[0] != 3 {
		t.Errorf("number after a restore = %d, want 3", n[0])
	}

	w.healthy()
}

func TestModeIsKept(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	if err := os.Chmod(w.path("state.json"), 0o664); err != nil {
		t.Fatal(err)
	}
	w.add("a")
	if info, err := os.Stat(w.path("state.json")); err != nil || info.Mode().Perm() != 0o664 {
		t.Errorf("mode = %v, %v; want 0664", info.Mode(), err)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}

	w := newWorkspace(t)
	w.add("a")

	if err := os.Chmod(w.path(""), 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(w.path(""), 0o755)

	_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}})
	if formats.CodeOf(err) != formats.CodeIO {
		t.Errorf("Apply = %v, want IO", err)
	}

	if _, _, err := w.r.Snapshot(t.Context()); err != nil {
		t.Errorf("Snapshot = %v", err)
	}
}

// TestHardLink: the other name of a file keeps the old content, and that is said.
func TestHardLink(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	before := w.read("state.json")
	if err := os.Link(w.path("state.json"), w.path("mine.json")); err != nil {
		t.Skip(err)
	}

	res := w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}})
	if len(res.Warnings) != 1 ||
		!strings.Contains(res.Warnings[0], "another name by a hard link") ||
		w.read("mine.json") != before {
		t.Errorf("Apply = %q, the other name has %q; want a warning and the old content",
			res.Warnings, w.read("mine.json"))
	}

	res = w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}})
	if len(res.Warnings) != 0 {
		t.Errorf("Apply again = %q, want the warning once", res.Warnings)
	}
}

// TestTooLarge: a file over the limit is not read, and none is written that could not be read
// again.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 64 << 20
	w := newWorkspace(t)
	before := w.read("state.json")
	if err := os.Truncate(w.path("state.json"), limit+1); err != nil {
		t.Fatal(err)
	}
	_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}})
	_, _, reading := w.r.Snapshot(t.Context())
	for _, err := range []error{err, reading} {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(limit)) ||
			!strings.Contains(err.Error(), fmt.Sprint(limit+1)) {
			t.Errorf("a file over the limit = %v, want an error with the limit and the size", err)
		}
	}

	if !testkit.Deep() {
		return
	}
	w.write("state.json", before)
	huge := strings.Repeat("x", limit/2)
	for i, want := range []formats.Code{"", formats.CodeValidationFailed} {
		_, err := w.m.Apply(t.Context(), state.Tx{
			Session: session,
			Ops: []state.Op{state.CreateTasks{Tasks: []state.NewTask{{
				Title:       "a",
				Description: huge,
			}}}},
		})
		if err == nil && want != "" ||
			err != nil &&
				(formats.CodeOf(err) != want || !strings.Contains(err.Error(), fmt.Sprint(limit))) {
			t.Errorf("task %d of half the limit = %v, want %q", i, err, want)
		}
	}

	if doc, err := w.r.Doc(t.Context()); err != nil || len(doc.Tasks) != 1 {
		t.Errorf("%d tasks, %v; want the one that fits", len(doc.Tasks), err)
	}
}

// TestClockJumps: the time orders nothing, so that a clock that is set back loses nothing; serials
// rise on.
func TestClockJumps(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("a")
	w.clock.advance(-20 * 365 * 24 * time.Hour)
	w.add("b")
	w.clock.advance(200 * 365 * 24 * time.Hour)
	w.add("c")

	doc, err := w.r.Doc(t.Context())
	if err != nil || doc.Serial != 3 || len(doc.Tasks) != 3 ||
		doc.Tasks[1].Updated > doc.Tasks[0].Updated {
		t.Errorf("serial %d, %d tasks, %v", doc.Serial, len(doc.Tasks), err)
	}

	then, err := w.r.At(t.Context(), 2)
	if err != nil || !strings.Contains(string(then), `"serial": 2`) {
		t.Errorf("At(2) = %s, %v", then, err)
	}

	w.healthy()
}
