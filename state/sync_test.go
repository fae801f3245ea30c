package state_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tercet/formats"
	"tercet/state"
	"tercet/state/todo"
)

// edit replaces text in TODO.md.
func (w *workspace) edit(pairs ...string) {
	w.t.Helper()

	text := w.read("TODO.md")
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			w.t.Fatalf("TODO.md does not hold %q:\n%s", pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	w.write("TODO.md", text)
}

func (w *workspace) proposals() []string {
	w.t.Helper()

	e, err := w.r.Edits(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}

	var out []string
	for i := range e.Proposals {
		line := e.Proposals[i].String()
		if p := e.Proposals[i].Problem; p != "" {
			line += " (" + p + ")"
		}
		out = append(out, line)
	}

	return out
}

func TestSync(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	w.do(state.CreateTasks{Tasks: []state.NewTask{
		{Title: "Fix the <parser> (again)", Language: "go", Effort: "2h"},
		{Title: "Write docs", Dependencies: []int{1}},
		{Title: "Third"},
		{Title: "Fourth"},
	}})

	w.document(formats.ArtifactReport, "r.md", "x")
	w.edit(
		"Fix the \\<parser> (again) (go, medium, 2h)", "Fix \\<both> (go, high, 3h)",
		"- [ ] 2. Write docs (medium), after 1\n",
		"- [ ] 2. Write docs (medium), part of 1\n  - report: .tercet/r.md\n  a remark of mine\n",
		"- [ ] 3. Third (medium)\n", "", "# Tasks\n", "# Tasks\n\nRead this first.\n",
	)
	w.write(
		"TODO.md",
		w.read("TODO.md")+
			"- [ ] New one (low), after 2\n\n## Blocked\n\n- [ ] 3. Third (medium)\n"+
			"  - blocked: no key\n\n## Ideas\n\n- [ ] no task\n\n```\n- [ ] 9. not this\n```\n",
	)

	want := []string{
		"line 8: task 1: title: Fix the <parser> (again) -> Fix <both>",
		"line 8: task 1: priority: medium -> high",
		"line 8: task 1: effort: 2h -> 3h",
		"line 9: task 2: dependencies: 1 -> ",
		"line 9: task 2: parent: 1",
		"line 9: task 2: artifact: report: .tercet/r.md",
		"line 13: new task: New one",
		"line 17: task 3: status: not_started -> blocked",
	}
	if diff := cmp.Diff(want, w.proposals()); diff != "" {
		t.Errorf("proposals (-want +got):\n%s\n%s", diff, w.read("TODO.md"))
	}

	res := w.do(state.SyncTasks{})
	if len(res.Numbers) != 1 || res.Numbers[0] != 5 || len(res.Warnings) != 0 {
		t.Errorf("Apply = %+v, want task 5", res)
	}

	got := w.stored(1)
	if got.Title != "Fix <both>" || got.Priority != "high" || got.Effort != "3h" ||
		got.Language != "go" {
		t.Errorf("task 1 = %+v", got)
	}

	got = w.stored(2)
	if len(got.Dependencies) != 0 || *got.Parent != 1 || len(got.Artifacts) != 1 {
		t.Errorf("task 2 = %+v", got)
	}

	if got := w.stored(3); got.Status != formats.Blocked || got.BlockedReason != "no key" {
		t.Errorf("task 3 = %+v", got)
	}

	got = w.stored(5)
	if got.Title != "New one" || got.Priority != "low" || got.Dependencies[0] != 2 {
		t.Errorf("task 5 = %+v", got)
	}

	_, body, _ := strings.Cut(w.read("TODO.md"), "\n")
	diff := cmp.Diff(`# Tasks

Read this first.

## Not started

- [ ] 1. Fix \<both> (go, high, 3h)
- [ ] 2. Write docs (medium), part of 1
  - report: .tercet/r.md
  a remark of mine
- [ ] 4. Fourth (medium)
- [ ] 5. New one (low), after 2

## Blocked

- [ ] 3. Third (medium)
  - blocked: no key

## Ideas

- [ ] no task

`+"```\n- [ ] 9. not this\n```\n", body)
	if diff != "" {
		t.Errorf("TODO.md (-want +got):\n%s", diff)
	}
	if res := w.do(state.SyncTasks{}); res.Changed || len(w.proposals()) != 0 {
		t.Errorf("a second sync = %+v, %v; want nothing to do", res, w.proposals())
	}
	w.add("sixth") // notes outlive the writes of the engine
	if got := w.read("TODO.md"); !strings.Contains(got, "6. sixth") ||
		!strings.Contains(got, "a remark of mine") || !strings.Contains(got, "## Ideas") {
		t.Errorf("TODO.md after a write:\n%s", got)
	}
	w.healthy()
}

// TestSyncBoxes ticks and clears boxes.
func TestSyncBoxes(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("a", "b")
	w.force(2, formats.Abandoned)

	w.edit("- [x] 2.", "- [ ] 2.")
	w.do(state.SyncTasks{})
	if got := w.stored(2).Status; got != formats.NotStarted {
		t.Errorf("status of 2 = %s, want not_started", got)
	}

	w.edit("- [ ] 1.", "- [X] 1.")
	_, err := w.try(state.SyncTasks{})
	if formats.CodeOf(err) != formats.CodeIllegalTransition ||
		!strings.Contains(err.Error(), "TODO.md:6") {
		t.Errorf("Apply = %v, want ILLEGAL_TRANSITION with the line", err)
	}

	if !strings.Contains(w.read("TODO.md"), "- [X] 1.") {
		t.Error("the hand edit is lost")
	}

	_, err = w.m.Apply(t.Context(), state.Tx{
		Session: session,
		Force:   true,
		Ops:     []state.Op{state.SyncTasks{}},
	})
	if err != nil || w.stored(1).Status != formats.Completed {
		t.Errorf("Apply with force = %v, status %s; want completed", err, w.stored(1).Status)
	}
}

// TestSyncMeanwhile has the state change behind the back of who edits.
func TestSyncMeanwhile(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("a", "b", "c", "d")
	w.edit("1. a", "1. A", "2. b", "2. B", "4. d", "4. D")

	w.do(state.UpdateStatus{Tasks: []int{3}, To: formats.Planning})
	w.do(
		state.UpdateMetadata{Task: 2, Fields: map[string]any{"title": "other"}},
		state.UpdateMetadata{Task: 4, Fields: map[string]any{"title": "D"}},
	)

	want := []string{
		"line 6: task 1: title: a -> A",
		`line 7: task 2: title: B (medium) (title is changed to "B" here and to "other" in ` +
			`the state, from "b")`,
	}
	if diff := cmp.Diff(want, w.proposals()); diff != "" {
		t.Errorf("proposals (-want +got):\n%s", diff)
	}

	before := w.read("TODO.md")
	_, err := w.try(state.SyncTasks{})
	if formats.CodeOf(err) != formats.CodeValidationFailed || w.read("TODO.md") != before {
		t.Errorf("Apply = %v, want VALIDATION_FAILED and the file as it was", err)
	}

	w.edit("2. B", "2. b")
	w.do(state.SyncTasks{})

	if w.stored(1).Title != "A" || w.stored(2).Title != "other" ||
		w.stored(3).Status != formats.Planning {
		t.Errorf("tasks = %+v, %+v, %+v", w.stored(1), w.stored(2), w.stored(3))
	}

	// Without its first line nobody knows what the file was written from.
	_, body, _ := strings.Cut(w.read("TODO.md"), "\n")
	w.write("TODO.md", body)
	if _, err := w.try(state.SyncTasks{}); formats.CodeOf(err) != formats.CodePrecondition {
		t.Errorf("Apply without the first line = %v, want PRECONDITION", err)
	}

	_, err = w.m.Apply(t.Context(), state.Tx{Force: true, Ops: []state.Op{state.SyncTasks{}}})
	if err != nil || len(w.proposals()) != 0 {
		t.Errorf("Apply with force = %v, then %v", err, w.proposals())
	}
}

// TestSyncBreaks has TODO.md in the hands of programs with other line breaks: that is no edit, and
// notes keep their words.
func TestSyncBreaks(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.add("a")
	windows := strings.ReplaceAll(w.read("TODO.md"), "\n", "\r\n")
	for i, text := range []string{windows, "\xef\xbb\xbf" + windows} {
		w.write("TODO.md", text)
		if e, err := w.r.Edits(t.Context()); err != nil || e.Edited {
			t.Errorf("Edits of %q = %+v, %v; want none", text, e, err)
		}
		res := w.do(state.UpdateMetadata{
			Task:   1,
			Fields: map[string]any{"effort": fmt.Sprint(i, "h")},
		})
		if len(res.Warnings) != 0 || strings.Contains(w.read("TODO.md"), "\r") {
			t.Errorf("Apply = %q, TODO.md %q; want it written anew",
				res.Warnings, w.read("TODO.md"))
		}
	}

	w.write("TODO.md", windows+"- [ ] b\r\n\r\nmine\r\nand\rmore\r\r\n\r")
	w.do(state.SyncTasks{})
	got := w.read("TODO.md")
	if !strings.Contains(got, "\nmine\nand\rmore\n") || strings.Count(got, "\r") != 1 {
		t.Errorf("TODO.md = %q, want the note with plain line breaks", got)
	}
	if res := w.do(state.SyncTasks{}); res.Changed {
		t.Errorf("a second sync = %+v, want nothing to do", res)
	}
}

// TestSyncRoundTrip edits a rendered file into the rendering of another state: a sync makes the one
// into the other.
func TestSyncRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := quickWorkspace(rt)
		titles := rapid.SampledFrom([]string{
			"a", "Fix (the) thing", "b (c)", "x, after y", "<b> & \\", "Ünïcode \U0001f600",
			"ends, part of it",
		})
		make := func() state.NewTask {
			return state.NewTask{
				Title:    titles.Draw(rt, "title"),
				Language: rapid.SampledFrom([]string{"", "go", "rust"}).Draw(rt, "language"),
				Priority: rapid.SampledFrom([]string{"low", "high"}).Draw(rt, "priority"),
				Effort:   rapid.SampledFrom([]string{"", "2h", "1.5 days"}).Draw(rt, "effort"),
			}
		}
		count := rapid.IntRange(1, 5).Draw(rt, "tasks")
		var list []state.NewTask
		for range count {
			list = append(list, make())
		}

		w.do(state.CreateTasks{Tasks: list})
		doc, err := w.r.Doc(rt.Context())
		if err != nil {
			rt.Fatal(err)
		}
		for i := range doc.Tasks {
			t := make()
			doc.Tasks[i].Title = t.Title
			doc.Tasks[i].Language = t.Language
			doc.Tasks[i].Priority = t.Priority
			doc.Tasks[i].Effort = t.Effort
			if i > 0 && rapid.Bool().Draw(rt, "depends") {
				doc.Tasks[i].Dependencies = []int{i}
				doc.Tasks[i].Parent = &doc.Tasks[0].Number
			}
			if rapid.Bool().Draw(rt, "hold") {
				doc.Tasks[i].Status = formats.OnHold
				doc.Tasks[i].Prior = formats.NotStarted
			}
		}

		head, _, _ := strings.Cut(w.read("TODO.md"), "\n")
		_, body, _ := strings.Cut(string(todo.Render(&doc, nil)), "\n")
		w.write("TODO.md", head+"\n"+body)
		w.do(state.SyncTasks{})
		after, err := w.r.Doc(rt.Context())
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(doc.Tasks, after.Tasks); diff != "" {
			rt.Fatalf("tasks (-want +got):\n%s\n%s", diff, body)
		}
	})
}

// FuzzTodo holds that no text of TODO.md is lost or breaks a sync, and that one sync leaves nothing
// to do for a second.
func FuzzTodo(f *testing.F) {
	f.Add("- [ ] New\n  note\n\ttab\n\n# Other\n- [x] 1. a\n")
	f.Add(
		"## Blocked\n\n- [ ] 1. one (go, high, 2h), part of 2, after 2\n  - blocked: why\n```\n" +
			"- [ ] 2. two\n",
	)
	f.Add("<!-- tercet: serial 1 sha256 x -->\n## Done\n* [x] 2. two\r\n\r\n")
	f.Add("- [ ] 1. one (, )\n- [ ] 1. one\n- [ ] 77777777777777777777. x")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") {
			t.Skip("a file with zeros is one that a loss of power left")
		}
		w := quickWorkspace(t)
		w.add("one", "two")
		head, _, _ := strings.Cut(w.read("TODO.md"), "\n")
		w.write("TODO.md", head+"\n"+text)
		_, err := w.m.Apply(t.Context(), state.Tx{
			Session: session,
			Force:   true,
			Ops:     []state.Op{state.SyncTasks{}},
		})
		if err != nil {
			if got := w.read("TODO.md"); got != head+"\n"+text {
				t.Errorf("refused with %v, but the file changed to %q", err, got)
			}
			if c := formats.CodeOf(err); c == formats.CodeBug || c == formats.CodeUnknown {
				t.Errorf("sync of %q = %v", text, err)
			}
			return
		}

		got := w.read("TODO.md")
		for word := range strings.FieldsSeq(text) {
			// Words of lines that the engine understands come back in its own form; letters and
			// digits of all others stay.
			if strings.HasPrefix(word, "keep") && !strings.Contains(got, word) {
				t.Errorf("%q is lost:\n%s\n%s", word, text, got)
			}
		}

		if res := w.do(state.SyncTasks{}); res.Changed {
			t.Errorf("a second sync of %q = %+v, want nothing to do:\n%s", text, res, got)
		}
		if again := w.read("TODO.md"); again != got {
			t.Errorf("a second rendering differs:\n%s\n%s", got, again)
		}
		w.do(state.UpdateMetadata{
			Task:   1,
			Fields: map[string]any{"effort": fmt.Sprint(len(text), "h")},
		})
		w.healthy()
	})
}
