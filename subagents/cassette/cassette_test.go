package cassette_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/subagents"
	"tercet/subagents/cassette"
)

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// place is a project with a tree and a folder for documents.
func place(t *testing.T, run string) (string, formats.Request) {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "old.go"), "old")
	put(t, filepath.Join(dir, "gone.go"), "gone")
	put(t, filepath.Join(dir, ".tercet", "state.json"), "{}")
	out := filepath.Join(t.TempDir(), "out")
	if err := os.MkdirAll(out, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, formats.Request{
		Agent:   "worker",
		Step:    "phases[0]/do",
		Visit:   1,
		Attempt: 1,
		Run:     run,
		Session: "sess_1_" + run,
		Dir:     dir,
		Out:     out,
		Path:    []string{"router", "/x", "worker"},
		Input:   map[string]any{"where": dir, "at": "2026-01-02T03:04:05Z"},
		Task:    &formats.Task{Number: 7, Title: "T"},
	}
}

func tape(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func TestPlaysWhatWasRecorded(t *testing.T) {
	t.Parallel()
	to := tape(t)
	dir, r := place(t, "r1")
	calls := 0
	worker := subagents.Func(func(_ context.Context, r formats.Request) (formats.Return, error) {
		calls++
		if len(r.Repair) == 0 {
			return formats.Return{}, &subagents.ReturnError{
				Agent:    r.Agent,
				Raw:      []byte("{"),
				Problems: []string{"expected an object", "s3cret"},
			}
		}
		put(t, filepath.Join(r.Out, "deep", "plan.md"), "# Plan s3cret")
		put(t, filepath.Join(r.Dir, "pkg", "new.go"), "new")
		put(t, filepath.Join(r.Dir, "old.go"), "changed")
		put(t, filepath.Join(r.Dir, ".tercet", "state.json"), "mine")
		return formats.Return{
			Status:    formats.StatusCompleted,
			Said:      formats.OutcomeSkipped,
			Summary:   "done",
			Fields:    map[string]any{"N": 3.5},
			Artifacts: []formats.Artifact{{Type: formats.ArtifactPlan, Path: "deep/plan.md"}},
			Errors:    []formats.ReturnError{},
			Metadata:  formats.Metadata{Runner: "x"},
		}, os.Remove(filepath.Join(r.Dir, "gone.go"))
	})
	mask := func(s string) string {
		return strings.ReplaceAll(s, "s3cret", "[masked]")
	}
	rec := &cassette.Recorder{
		Agent: worker,
		To:    to,
		Root:  dir,
		Mask:  mask,
	}
	if _, err := rec.Run(t.Context(), r); formats.CodeOf(err) != formats.CodeInvalidReturn {
		t.Fatalf("Run = %v, want the error of the worker", err)
	}
	r.Repair = []string{"expected an object"}
	want, err := rec.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want.Metadata = formats.Metadata{}

	dir, r = place(t, "r2")
	play := &cassette.Player{From: to, Root: dir}
	_, err = play.Run(t.Context(), r)
	broken, ok := errors.AsType[*subagents.ReturnError](err)
	if !ok || string(broken.Raw) != "{" || len(broken.Problems) != 2 ||
		broken.Problems[1] != "[masked]" {
		t.Fatalf("Run = %v, want the recorded violations", err)
	}
	r.Repair = []string{"expected an object"}
	got, used, err := play.RunMetered(t.Context(), r)
	if err != nil || used.Runner != cassette.Runner || used.Tokens.Total() != 0 ||
		len(used.Prompt) != 64 {
		t.Fatalf("RunMetered = %+v, %v", used, err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("return (-want +got):\n%s", d)
	}
	for name, text := range map[string]string{
		filepath.Join(r.Out, "deep", "plan.md"):     "# Plan [masked]",
		filepath.Join(dir, "pkg", "new.go"):         "new",
		filepath.Join(dir, "old.go"):                "changed",
		filepath.Join(dir, ".tercet", "state.json"): "{}",
	} {
		if data, err := os.ReadFile(name); err != nil || string(data) != text {
			t.Errorf("%s = %q, %v, want %q", name, data, err, text)
		}
	}

	_, err = os.Stat(filepath.Join(dir, "gone.go"))
	if !errors.Is(err, os.ErrNotExist) || calls != 2 {
		t.Errorf("gone.go: %v after %d calls, want it gone after two", err, calls)
	}

	r.Task = &formats.Task{Number: 7, Title: "Another"}
	_, err = play.Run(t.Context(), r)
	if formats.CodeOf(err) != formats.CodeUsage ||
		!strings.Contains(err.Error(), `+   "title": "Another"`) {
		t.Errorf("Run of another prompt = %v, want the difference", err)
	}
	r.Visit = 2
	_, err = play.Run(t.Context(), r)
	if formats.CodeOf(err) != formats.CodeUsage || formats.HelpOf(err) == "" {
		t.Errorf("Run of another visit = %v, want that it is not recorded", err)
	}
}

// TestRecordingsAreHeldToTheirFolders: a recording that somebody edited writes nothing outside the
// two folders.
func TestRecordingsAreHeldToTheirFolders(t *testing.T) {
	t.Parallel()
	to := tape(t)
	dir, r := place(t, "r1")
	done := subagents.Func(func(context.Context, formats.Request) (formats.Return, error) {
		return formats.Return{Status: formats.StatusCompleted, Summary: "x"}, nil
	})
	if _, err := (&cassette.Recorder{Agent: done, To: to, Root: dir}).Run(
		t.Context(), r,
	); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(to.Name(), "*.json"))
	if err != nil || len(names) != 1 {
		t.Fatalf("recordings = %v, %v, want one", names, err)
	}
	src, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"../out.txt", "/tmp/out.txt", ".git/config", "sub/.git/hooks/x", ".tercet/state.json",
	} {
		var doc map[string]any
		if err := json.Unmarshal(src, &doc); err != nil {
			t.Fatal(err)
		}
		doc["tree"] = map[string]string{bad: "hostile"}
		doc["removed"] = []string{"../" + filepath.Base(dir) + "/old.go"}
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		put(t, names[0], string(data))
		if _, err := (&cassette.Player{From: to, Root: dir}).Run(t.Context(), r); err != nil {
			t.Errorf("Run with %s = %v", bad, err)
		}
		data, err = os.ReadFile(filepath.Join(dir, bad))
		if err == nil && string(data) == "hostile" {
			t.Errorf("%s was written", bad)
		}
	}

	if _, err := os.Stat(filepath.Join(dir, "old.go")); err != nil {
		t.Errorf("old.go: %v", err)
	}
	// One that a newer version made is neither played nor replaced.
	put(t, names[0], `{"schema": "tercet.cassette/2"}`)
	_, err = (&cassette.Player{From: to, Root: dir}).Run(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "has version 2") {
		t.Errorf("Run of a newer recording = %v, want it refused", err)
	}
	_, err = (&cassette.Recorder{
		Agent: done,
		To:    to,
		Root:  dir,
	}).Run(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "has version 2") {
		t.Errorf("recording over a newer one = %v, want it refused", err)
	}
	put(t, names[0], "{}")
	_, err = (&cassette.Player{From: to, Root: dir}).Run(t.Context(), r)
	if formats.CodeOf(err) != formats.CodeIO {
		t.Errorf("Run of a broken recording = %v, want IO", err)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, old, now, want string }{
		{"one line", "a\nb\nc", "a\nB\nc", "  a\n- b\n+ B\n  c"},
		{"added", "a\nc", "a\nb\nc", "  a\n+ b\n  c"},
		{"removed at the end", "a\nb", "a", "  a\n- b"},
		{"all", "a", "b", "- a\n+ b"},
		{
			"long",
			strings.Repeat("x\n", 30),
			"",
			"- x\n" + strings.Repeat("- x\n", 19) + "- … and 10 more lines\n  ",
		},
	} {
		got := cassette.Diff(tt.old, tt.now)
		if strings.TrimRight(got, " \n") != strings.TrimRight(tt.want, " \n") {
			t.Errorf("Diff(%s) =\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
