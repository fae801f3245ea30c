package state_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/state"
	"tercet/state/statefile"
)

// TestAt goes back to every serial of a history with everything in it, also where no backup is
// left.
func TestAt(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.cfg.AuditLimit = 6000
	m, err := state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.m = m
	was := map[uint64]string{0: w.read("state.json")}
	step := func(ops ...state.Op) {
		t.Helper()
		w.do(ops...)
		was[w.serial()] = w.read("state.json")
	}
	for i := range 6 {
		step(state.CreateTasks{Tasks: []state.NewTask{
			{Title: fmt.Sprint("Über ", i)},
			{Title: "\"\\"},
		}})
	}

	step(state.UpdateStatus{Tasks: []int{1, 2}, To: formats.Planning})
	step(state.UpdateStatus{Tasks: []int{1}, Back: true})
	step(state.UpdateStatus{
		Tasks:  []int{1, 3},
		To:     formats.Abandoned,
		Reason: "x",
	})
	step(state.ArchiveTasks{Tasks: []int{1, 3}})
	step(state.UnarchiveTasks{Tasks: []int{3}})
	step(state.SetLayout{To: statefile.LayoutLines})
	step(state.Renumber{Task: 4})
	step(state.UpdateMetadata{
		Task:   5,
		Fields: map[string]any{"title": "neu", "dependencies": []int{6}},
	})

	if _, err := w.m.Restore(t.Context(), w.serial()-2); err != nil {
		t.Fatal(err)
	}
	was[w.serial()] = w.read("state.json")

	step(state.CreateTasks{Tasks: []state.NewTask{{Title: "last"}}})
	if err := os.RemoveAll(w.path("backups")); err != nil {
		t.Fatal(err)
	}

	for serial, want := range was {
		if got, err := w.r.At(t.Context(), serial); err != nil || string(got) != want {
			t.Errorf("At(%d) = %v, want what the file was:\n%s\n%s", serial, err, got, want)
		}
	}

	if _, err := w.r.At(t.Context(), 99); formats.CodeOf(err) != formats.CodeNotFound ||
		!strings.Contains(formats.HelpOf(err), fmt.Sprintf("0-%d", w.serial())) {
		t.Errorf("At(99) = %v, %s; want NOT_FOUND with the range", err, formats.HelpOf(err))
	}
	w.write("state.json", strings.Replace(w.read("state.json"), "last", "by hand", 1))
	w.add("after an edit")
	if _, err := w.r.At(t.Context(), 3); formats.CodeOf(err) != formats.CodeNotFound ||
		strings.Contains(formats.HelpOf(err), "3") {
		t.Errorf("At(3) behind a change from outside = %v, %s; want NOT_FOUND",
			err, formats.HelpOf(err))
	}
	list, err := w.r.History(t.Context())
	if err != nil || len(list) < 18 || list[0].Kind != "init" || !list[len(list)-1].Reachable ||
		list[3].Reachable {
		t.Errorf("History = %+v, %v", list, err)
	}
}
