package state_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/state"
	"tercet/state/exchange"
)

// run applies transactions of a run, each of its own, whatever the table says.
func (w *workspace) run(id string, ops ...state.Op) state.Result {
	w.t.Helper()

	var last state.Result
	for _, op := range ops {
		var err error

		w.clock.advance(time.Minute)
		last, err = w.m.Apply(w.t.Context(), state.Tx{
			Session: session,
			Run:     id,
			Force:   true,
			Ops:     []state.Op{op},
		})
		if err != nil {
			w.t.Fatalf("Apply(%+v) = %v", op, err)
		}
	}

	return last
}

func (w *workspace) takeBack(id string) (state.Result, error) {
	w.clock.advance(time.Minute)

	if _, _, err := w.m.Undo(w.t.Context(), id, other, true); err != nil {
		return state.Result{}, err
	}
	if _, _, err := w.m.Undo(w.t.Context(), id, other, false); err != nil {
		return state.Result{}, err
	}

	return w.m.Apply(w.t.Context(), state.Tx{
		ID:      "undo-" + id,
		Session: other,
		Ops:     []state.Op{state.RestoreTasks{Run: id}},
	})
}

// tasks gives the active tasks, and those of the archive.
func (w *workspace) tasks() (active, archived []formats.Task) {
	w.t.Helper()
	doc, err := w.r.Doc(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	m := exchange.Read("archive", []byte(w.archive()), exchange.Options{})
	return doc.Tasks, m.Tasks()
}

func (w *workspace) archive() string {
	if text, ok := w.files()[".tercet/archive/state.json"]; ok {
		return text
	}
	return `{"tasks": []}`
}

// TestRestoreTasks: what a run changed is as it was before, in the state, the archive and the
// plans; the log says undo, and the same transaction again is answered.
func TestRestoreTasks(t *testing.T) {
	t.Parallel()
	const file = "specs/001_one/plans/implementation-001.md"

	w := newWorkspace(t)
	w.add("one", "two", "three", "four")
	w.force(3, formats.Completed)
	a := w.document(formats.ArtifactPlan, "specs/001_one/plans/implementation-001.md", plan)
	w.do(state.LinkArtifacts{Task: 1, Artifacts: []formats.Artifact{a}})

	w.write("state.json", strings.Replace(
		w.read("state.json"),
		`"title": "one"`,
		`"x_own": {"n": 1.0}, "title": "one"`,
		1,
	))

	w.do(state.UpdateMetadata{Task: 2, Fields: map[string]any{"effort": "1h"}})
	before, putAway := w.tasks()

	made := w.run(
		"r5", state.UpdateStatus{Tasks: []int{1}, To: formats.Implementing}, state.SetPhase{
			Task:   1,
			Phase:  2,
			Status: documents.PhaseInProgress,
		},
		state.SetPhase{
			Task:   1,
			Phase:  2,
			Status: documents.PhaseCompleted,
		}, state.ArchiveTasks{Tasks: []int{3}},
		state.UpdateMetadata{
			Task:   4,
			Fields: map[string]any{"title": "renamed", "dependencies": []int{1}},
		},
		state.UpdateStatus{Tasks: []int{1}, To: formats.Completed},
		state.CreateTasks{Tasks: []state.NewTask{{Title: "made"}}},
	).Numbers[0]

	w.do(state.UpdateMetadata{Task: 2, Fields: map[string]any{"effort": "2h"}}) // not the run's

	try, err := w.m.Try(t.Context(), state.Tx{
		Session: other,
		Ops:     []state.Op{state.RestoreTasks{Run: "r5"}},
	})
	if err != nil || len(try.Verdicts) != 4 {
		t.Fatalf("Try = %+v, %v, want four tasks", try.Verdicts, err)
	}

	lines, plans, err := w.m.Undo(t.Context(), "r5", other, true)
	want := []string{
		"put back the marks of phases in .tercet/" + file,
		"task 1: completed -> not_started",
		"task 3: as it was before, completed",
		"task 4: as it was before, not_started",
		"task 5: removed",
	}

	if diff := cmp.Diff(want, lines); diff != "" || len(plans) != 1 || err != nil {
		t.Errorf("dry Undo = %v, %v (-want +got):\n%s", plans, err, diff)
	}

	res, err := w.takeBack("r5")
	if err != nil || !res.Changed {
		t.Fatalf("RestoreTasks = %+v, %v", res, err)
	}

	lines, plans, err = w.m.Undo(t.Context(), "r5", other, true)
	if len(lines)+len(plans) > 0 || err != nil {
		t.Errorf("Undo again = %q, %q, %v, want nothing to do", lines, plans, err)
	}

	after, archived := w.tasks()
	before[1].Effort = "2h"
	before[1].Updated = after[1].Updated

	byNumber := func(list []formats.Task) map[int]formats.Task {
		out := map[int]formats.Task{}
		for _, one := range list {
			out[one.Number] = one
		}
		return out
	}

	if diff := cmp.Diff(byNumber(before), byNumber(after)); diff != "" {
		t.Errorf("tasks (-before +after):\n%s", diff)
	}

	if diff := cmp.Diff(putAway, archived); diff != "" {
		t.Errorf("archive (-before +after):\n%s", diff)
	}

	if got := w.read("specs/001_one/plans/implementation-001.md"); got != plan {
		t.Errorf("the plan is\n%s", got)
	}

	if !strings.Contains(w.read("state.json"), `"x_own": {"n": 1.0}`) ||
		!strings.Contains(w.read("audit.jsonl"), `"kind":"undo"`) {
		t.Error("a member of others is lost, or the log says no undo")
	}

	if again, err := w.takeBack("r5"); err != nil || !again.Replayed || again.Serial != res.Serial {
		t.Errorf("the same again = %+v, %v, want it answered", again, err)
	}

	if n := w.add("next")[0]; n <= made {
		t.Errorf("the next number = %d, want one above %d", n, made)
	}

	w.healthy()
}

// TestRestoreRefuses: what somebody changed since refuses all of it, and nothing is written.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()

	const file = "specs/001_one/plans/implementation-001.md"

	for name, tt := range map[string]struct {
		since func(w *workspace)
		want  string
	}{
		"another transaction": {
			func(w *workspace) {
				w.do(state.UpdateMetadata{Task: 1, Fields: map[string]any{"effort": "9h"}})
			},
			"task 1 was changed since the run, by the write of serial",
		},
		"another run": {func(w *workspace) {
			w.run("r9", state.UpdateStatus{
				Tasks:  []int{1},
				To:     formats.Abandoned,
				Reason: "x",
			})
		}, ", of run r9"},
		"a person": {func(w *workspace) {
			w.write(
				"state.json",
				strings.Replace(w.read("state.json"), `"title": "one"`, `"title": "uno"`, 1),
			)
		}, "task 1 was changed since the run, by hand"},
		"archived": {
			func(w *workspace) {
				w.run("r9", state.ArchiveTasks{Tasks: []int{1}})
			},
			"task 1 was changed since the run",
		},
		"a reference": {func(w *workspace) {
			w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "x", Dependencies: []int{3}}}})
		}, "task 4 refers to task 3, which the run made"},
		"the plan": {
			func(w *workspace) { w.write(file, w.read(file)+"\nmore\n") },
			file + " was changed since the run",
		},
		"another phase": {func(w *workspace) {
			w.run("r9", state.SetPhase{
				Task:   1,
				Phase:  1,
				Status: documents.PhaseBlocked,
			})
		}, file + " was changed since the run"},
		"no run": {func(w *workspace) {}, ""},
	} {
		w := newWorkspace(t)
		w.add("one", "two")

		a := w.document(formats.ArtifactPlan, file, plan)
		w.do(state.LinkArtifacts{Task: 1, Artifacts: []formats.Artifact{a}})
		w.run(
			"r5", state.UpdateStatus{Tasks: []int{1}, To: formats.Implementing}, state.SetPhase{
				Task:   1,
				Phase:  2,
				Status: documents.PhaseCompleted,
			},
			state.UpdateStatus{Tasks: []int{1}, To: formats.Completed},
			state.CreateTasks{Tasks: []state.NewTask{{Title: "made"}}},
		)

		tt.since(w)

		// an edit by hand is taken over
		if _, err := w.try(state.UpdateMetadata{
			Task:   2,
			Fields: map[string]any{"effort": "1h"},
		}); err != nil {
			t.Fatal(err)
		}

		want := w.read("state.json") + w.read(file)

		run := "r5"
		if tt.want == "" {
			run = "r404"
		}

		res, err := w.takeBack(run)
		if tt.want == "" {
			if err != nil || res.Changed {
				t.Errorf("%s: RestoreTasks = %+v, %v, want nothing to do", name, res, err)
			}
			continue
		}

		if err == nil || formats.CodeOf(err) != formats.CodePrecondition ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: RestoreTasks = %v, want %q", name, err, tt.want)
		}

		if got := w.read("state.json") + w.read(file); got != want {
			t.Errorf("%s: something was written", name)
		}
	}
}

// TestRestoreOutOfTheArchive: a task that the run took out of the archive is put back as it came
// out.
func TestRestoreOutOfTheArchive(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("one")
	w.force(1, formats.Completed)
	w.do(state.ArchiveTasks{Tasks: []int{1}})

	w.run("r5", state.UnarchiveTasks{Tasks: []int{1}}, state.UpdateStatus{
		Tasks:   []int{1},
		To:      formats.NotStarted,
		Recover: true,
		Reason:  "again",
	})

	lines, _, err := w.m.Undo(t.Context(), "r5", other, false)
	if err != nil || w.stored(1).Status != formats.Completed ||
		!strings.Contains(fmt.Sprint(lines), "tercet task archive 1 puts it away again") {
		t.Errorf("Undo = %v, %v, task %s, want it completed and told",
			lines, err, w.stored(1).Status)
	}

	w.healthy()
}
