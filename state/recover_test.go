package state_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/state"
)

// TestKilledBeforeRename is a write whose audit line is durable while its rename never came: the
// next write says so in the log, removes what was left, and does the transaction when it is asked
// for again.
func TestKilledBeforeRename(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.add("a")
	before := w.read("state.json")
	view := w.read("TODO.md")
	tx := state.Tx{
		ID:      "killed",
		Session: session,
		Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}}},
	}
	if _, err := w.m.Apply(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	w.write("state.json", before)
	for _, name := range []string{
		"state.json", "state.json.bak", "backups/state-9.json", "state.lock.info",
	} {
		w.write(name+".tmp-99-0123456789abcdef", "torn")
	}

	w.write("mine.tmp-99-0123456789abcdef", "not ours")

	log := w.read("audit.jsonl")
	w.write("audit.jsonl", log+`{"serial":3,"txn":"to`) // torn

	m, err := state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err := m.Apply(t.Context(), tx)
	if err != nil || res.Replayed || res.Serial != 2 || !cmp.Equal(res.Numbers, []int{2}) {
		t.Fatalf("Apply again = %+v, %v; want it done", res, err)
	}

	got := strings.Split(strings.TrimPrefix(w.read("audit.jsonl"), log), "\n")
	if len(got) != 3 || !strings.Contains(got[0], `"txn":"killed","kind":"aborted"`) ||
		!strings.Contains(got[1], `"txn":"killed","kind":"write"`) {
		t.Errorf("audit lines after the kill:\n%s", strings.Join(got, "\n"))
	}

	left, err := filepath.Glob(w.path("*.tmp-*"))
	deeper, err2 := filepath.Glob(w.path("backups/*.tmp-*"))
	if err := errors.Join(err, err2); err != nil || len(left)+len(deeper) != 1 {
		t.Errorf("left over: %q %q, %v; want only what is not ours", left, deeper, err)
	}
	w.healthy()

	// Killed behind the rename: the answer out of the log brings the view up to date.
	now := w.read("TODO.md")
	w.write("TODO.md", view)
	w.write("TODO.md.tmp-99-0123456789abcdef", "torn")

	m, err = state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	res, err = m.Apply(t.Context(), tx)
	if err != nil || !res.Replayed || w.read("TODO.md") != now || view == now {
		t.Errorf("Apply once more = %+v, %v; want the answer of then and TODO.md\n%sgot\n%s",
			res, err, now, w.read("TODO.md"))
	}
}

// TestFailedWrite holds that a write which cannot be finished leaves the old state and an audit log
// that says so.
func TestFailedWrite(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("a")
	before := w.read("state.json")

	if err := os.Remove(w.path("state.json.bak")); err != nil {
		t.Fatal(err)
	}

	w.write("state.json.bak/in the way", "") // no file can be renamed over a folder with content

	tx := state.Tx{
		ID:      "t",
		Session: session,
		Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}}},
	}

	_, err := w.m.Apply(t.Context(), tx)
	if formats.CodeOf(err) != formats.CodeIO || !strings.Contains(err.Error(), "state.json") {
		t.Fatalf("Apply = %v, want IO that names the file", err)
	}

	if w.read("state.json") != before {
		t.Error("state.json changed")
	}

	if left, _ := filepath.Glob(w.path("*.tmp-*")); len(left) != 0 {
		t.Errorf("left over: %q", left)
	}

	if !strings.Contains(w.read("audit.jsonl"), `"txn":"t","kind":"aborted"`) {
		t.Errorf("audit log without the abort:\n%s", w.read("audit.jsonl"))
	}

	if err := os.RemoveAll(w.path("state.json.bak")); err != nil {
		t.Fatal(err)
	}

	if res, err := w.m.Apply(t.Context(), tx); err != nil || res.Replayed || res.Serial != 2 {
		t.Errorf("Apply again = %+v, %v; want it done with serial 2", res, err)
	}

	w.healthy()
}

func TestExternalEdit(t *testing.T) {
	t.Parallel()
	t.Run("adopted", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t)

		w.add("a", "b")
		w.write(
			"state.json",
			strings.Replace(w.read("state.json"), `"title": "a"`, `"title": "by hand"`, 1),
		)

		found, err := w.r.Verify(t.Context())
		if err != nil || len(found) != 1 ||
			!strings.Contains(found[0].Message, "changed from outside") {
			t.Errorf("Verify = %v, %v; want a warning about the change", found, err)
		}

		res := w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "c"}}})
		if res.Serial != 3 || len(res.Warnings) != 1 ||
			!strings.Contains(res.Warnings[0], "changed from outside; taken over as serial 2") {
			t.Errorf("Apply = %+v, want serial 3 and a warning", res)
		}

		if !strings.Contains(w.read("audit.jsonl"), `"serial":2,"txn":"","kind":"external"`) ||
			w.stored(1).Title != "by hand" {
			t.Error("the change was not taken over")
		}

		w.healthy()
	})
	t.Run("adopted without a write of ours", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t)

		w.add("a")
		edited := strings.Replace(w.read("state.json"), `"title": "a"`, `"title": "x"`, 1)
		w.write("state.json", edited)

		for i := range 2 {
			res := w.do(state.UpdateMetadata{Task: 1, Fields: map[string]any{"title": "x"}})
			if res.Changed || res.Serial != 2 || (len(res.Warnings) == 1) != (i == 0) {
				t.Errorf("no change after an edit, time %d = %+v", i, res)
			}
		}

		if w.read("state.json") != edited {
			t.Error("state.json was written")
		}
	})
	t.Run("tasks lost", func(t *testing.T) {
		t.Parallel()

		w := newWorkspace(t)
		one := w.read("state.json")
		w.add("a", "b")
		w.add("c")

		// as after a checkout of an old commit
		lost := strings.Replace(one, `"next_number": 1`, `"next_number": 3`, 1)
		w.write("state.json", lost)

		_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "d"}}})
		if formats.CodeOf(err) != formats.CodeInvalidState ||
			!strings.HasSuffix(err.Error(), "lost tasks 1, 2, 3") {
			t.Fatalf("Apply = %v, want a refusal that names 1, 2 and 3", err)
		}

		if w.read("state.json") != lost {
			t.Error("state.json changed")
		}

		if _, err := w.m.Adopt(t.Context()); err != nil {
			t.Fatal(err)
		}

		if n := w.add("d"); n[0] != 3 {
			t.Errorf("number = %d, want 3", n[0])
		}

		w.healthy()
	})
	t.Run("another lineage", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t)

		w.add("a")
		w.write("state.json", file(`{"number": 1, "title": "a", "status": "not_started"}`))

		_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "d"}}})
		if err == nil || !strings.Contains(err.Error(), "lineage") {
			t.Errorf("Apply = %v, want a refusal that names the lineage", err)
		}
	})
	t.Run("fresh clone", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t)

		w.add("a")
		err := errors.Join(os.Remove(w.path("audit.jsonl")), os.RemoveAll(w.path("backups")))
		if err != nil {
			t.Fatal(err)
		}

		w.write("state.json", file(`{"number": 1, "title": "a", "status": "not_started"}`))

		res := w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "d"}}})
		if res.Serial != 5 || len(res.Warnings) != 0 {
			t.Errorf("Apply = %+v, want serial 5 and no warning", res)
		}

		w.healthy()
	})
	t.Run("next number too low", func(t *testing.T) {
		t.Parallel()
		w := newWorkspace(t)

		w.add("a")
		w.write(
			"state.json",
			strings.Replace(w.read("state.json"), `"next_number": 2`, `"next_number": 1`, 1),
		)

		res := w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}})
		if !cmp.Equal(res.Numbers, []int{2}) || len(res.Warnings) != 2 {
			t.Errorf("Apply = %+v, want number 2 and a warning", res)
		}

		w.healthy()
	})
}

// TestChangedDuringWrite has an editor save the file between the read and the rename: the write
// begins again on what the editor saved.
func TestChangedDuringWrite(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("a", "b")
	w.do(state.UpdateStatus{Tasks: []int{1}, To: formats.Planning})

	saved := false
	w.cfg.Alive = func(formats.Lease) bool {
		if !saved {
			saved = true
			w.write(
				"state.json",
				strings.Replace(w.read("state.json"), `"title": "b"`, `"title": "by hand"`, 1),
			)
		}
		return false
	}

	m, err := state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}

	res, err := m.Apply(t.Context(), state.Tx{
		Session: other,
		Ops:     []state.Op{state.UpdateStatus{Tasks: []int{1}, To: formats.Researching}},
	})
	if err != nil || !saved {
		t.Fatalf("Apply = %+v, %v", res, err)
	}

	if w.stored(2).Title != "by hand" || w.stored(1).Status != formats.Researching {
		t.Errorf("tasks %+v, want both changes", []formats.Task{w.stored(1), w.stored(2)})
	}

	w.healthy()

	w.cfg.Alive = func(formats.Lease) bool {
		w.write("state.json", w.read("state.json")+" ") // again and again
		return false
	}

	m, err = state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}

	_, err = m.Apply(t.Context(), state.Tx{
		Session: session,
		Ops:     []state.Op{state.UpdateStatus{Tasks: []int{1}, To: formats.Planning}},
	})

	if formats.CodeOf(err) != formats.CodeTransient {
		t.Errorf("Apply against an editor that saves all the time = %v, want TRANSIENT", err)
	}
}

// done makes tasks that are completed.
func (w *workspace) done(n int) {
	w.t.Helper()
	for i := range n {
		w.force(w.add(fmt.Sprint("task ", i))[0], formats.Completed)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.done(3)
	open := w.do(state.CreateTasks{Tasks: []state.NewTask{{
		Title:        "open",
		Dependencies: []int{2},
	}}}).Numbers[0]

	tx := state.Tx{
		ID:      "move",
		Session: session,
		Ops:     []state.Op{state.ArchiveTasks{Tasks: []int{1, 2}}},
	}

	before := w.stored(2)
	if _, err := w.m.Apply(t.Context(), tx); err != nil {
		t.Fatal(err)
	}

	_, err := w.r.Task(t.Context(), 2)
	archived, _ := w.r.ArchivedTask(t.Context(), 2)
	if !archived || err == nil || err.Error() != "task 2 is archived" {
		t.Errorf("Task(2) = %v, want it archived", err)
	}

	_, err = w.try(state.UpdateStatus{Tasks: []int{2}, To: formats.Planning})
	if err == nil || !strings.Contains(err.Error(), "archived") {
		t.Errorf("changing an archived task = %v, want a refusal that says so", err)
	}

	if got := strings.Count(w.read("audit.jsonl"), `"txn":"move"`); got != 2 {
		t.Errorf("audit lines of the move = %d, want two", got)
	}

	w.do(state.UpdateMetadata{Task: open, Fields: map[string]any{"dependencies": []int{1, 2}}})
	if res, err := w.m.Apply(t.Context(), tx); err != nil || !res.Replayed {
		t.Errorf("the move again = %+v, %v; want an answer from the audit log", res, err)
	}

	if res := w.do(tx.Ops...); res.Changed {
		t.Errorf("archiving what is archived = %+v, want no change", res)
	}

	w.healthy()

	w.do(state.UnarchiveTasks{Tasks: []int{2}})
	if diff := cmp.Diff(before, w.stored(2)); diff != "" {
		t.Errorf("task that came back (-want +got):\n%s", diff)
	}

	if archived, _ := w.r.ArchivedTask(t.Context(), 2); archived {
		t.Error("task 2 is still in the archive")
	}

	if res := w.do(state.UnarchiveTasks{Tasks: []int{2}}); res.Changed {
		t.Errorf("unarchiving what is active = %+v, want no change", res)
	}

	w.do(state.ArchiveTasks{Tasks: []int{2, 3}})
	if n := w.add("last"); n[0] != open+1 {
		t.Errorf("number = %d, want %d: archived numbers are not given again", n[0], open+1)
	}

	w.healthy()
}

// TestHalfArchived stops a move after each of its steps and holds that the next write ends it the
// right way.
func TestHalfArchived(t *testing.T) {
	t.Parallel()
	archive := state.Tx{
		ID:      "move",
		Session: session,
		Ops:     []state.Op{state.ArchiveTasks{Tasks: []int{1, 2}}},
	}
	back := state.Tx{
		ID:      "move",
		Session: session,
		Ops:     []state.Op{state.UnarchiveTasks{Tasks: []int{1, 2}}},
	}
	for _, tt := range []struct {
		name     string
		prepared bool // tasks 1 and 2 are archived before
		tx       state.Tx
		lines    int                               // audit lines of the move that were written
		undo     func(w *workspace, old [2]string) // puts files back that were not renamed
		replayed bool
	}{
		{"archive: announced", false, archive, 1, func(w *workspace, old [2]string) {
			w.write("state.json", old[0])
			os.Remove(w.path("archive/state.json"))
		}, false},
		{
			"archive: first file",
			false,
			archive,
			1,
			func(w *workspace, old [2]string) { w.write("state.json", old[0]) },
			true,
		},
		{
			"archive: second announced",
			false,
			archive,
			2,
			func(w *workspace, old [2]string) { w.write("state.json", old[0]) },
			true,
		},
		{"unarchive: announced", true, back, 1, func(w *workspace, old [2]string) {
			w.write("state.json", old[0])
			w.write("archive/state.json", old[1])
		}, false},
		{
			"unarchive: first file",
			true,
			back,
			1,
			func(w *workspace, old [2]string) {
				w.write("archive/state.json", old[1])
			},
			true,
		},
		{
			"unarchive: second announced",
			true,
			back,
			2,
			func(w *workspace, old [2]string) {
				w.write("archive/state.json", old[1])
			},
			true,
		},
		{"no log", false, archive, 0, func(w *workspace, old [2]string) {
			w.write("state.json", old[0])
			os.Remove(w.path("audit.jsonl"))
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.done(3)
			if tt.prepared {
				w.do(state.ArchiveTasks{Tasks: []int{1, 2}})
			}

			old := [2]string{w.read("state.json"), ""}
			if tt.prepared {
				old[1] = w.read("archive/state.json")
			}

			log := w.read("audit.jsonl")
			if _, err := w.m.Apply(t.Context(), tt.tx); err != nil {
				t.Fatal(err)
			}

			lines := strings.SplitAfter(strings.TrimPrefix(w.read("audit.jsonl"), log), "\n")
			w.write("audit.jsonl", log+strings.Join(lines[:tt.lines], ""))
			tt.undo(w, old)

			m, err := state.NewManager(w.cfg)
			if err != nil {
				t.Fatal(err)
			}
			res, err := m.Apply(t.Context(), tt.tx)
			if err != nil || res.Replayed != tt.replayed {
				t.Fatalf("Apply again = %+v, %v; want replayed: %v", res, err, tt.replayed)
			}

			for n := 1; n <= 2; n++ {
				active, err := w.r.HasTask(t.Context(), n)
				archived, err2 := w.r.ArchivedTask(t.Context(), n)
				if err := errors.Join(err, err2); err != nil || active != tt.prepared ||
					archived == tt.prepared {
					t.Errorf("task %d: active %v, archived %v, %v", n, active, archived, err)
				}
			}

			w.add("next")
			w.healthy()
		})
	}
}

func TestActiveAndArchivedDiffer(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.done(2)
	before := w.read("state.json")
	w.do(state.ArchiveTasks{Tasks: []int{1}})

	both := strings.Replace(
		before,
		`"updated": "2026-01-05T10:46:40Z"`,
		`"updated": "2026-02-01T00:00:00Z"`,
		1,
	)
	w.write("state.json", both)

	_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "x"}}})
	if formats.CodeOf(err) != formats.CodeInvalidState ||
		!strings.Contains(err.Error(), "task 1 is active here and archived") {
		t.Errorf("Apply = %v, want INVALID_STATE that names task 1", err)
	}

	if w.read("state.json") != both {
		t.Error("state.json changed")
	}
}

func TestAuditChain(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("a")
	w.add("b")
	w.add("c")

	log := w.read("audit.jsonl")
	w.write("audit.jsonl", strings.Replace(log, `"titles":["b"]`, `"titles":["B"]`, 1))

	found, err := w.r.Verify(t.Context())
	if err != nil || len(found) != 1 || found[0].Pos.Line != 4 ||
		!strings.HasSuffix(found[0].File, "audit.jsonl") {
		t.Errorf("Verify of a forged line = %v, %v; want a finding at line 4", found, err)
	}
}
