package state_test

import (
	"testing"

	"tercet/formats"
	"tercet/state"
)

// TestReady: what is ready is told with statuses as they really are.
func TestReady(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.do(state.CreateTasks{Tasks: []state.NewTask{
		{Title: "one"},
		{Title: "two", Dependencies: []int{1}},
		{Title: "three"},
	}})
	w.do(state.UpdateStatus{Tasks: []int{3}, To: formats.Researching})

	numbers := func() (out []int) {
		list, err := w.r.Ready(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range list {
			if task.Title == "" || task.Slug == "" || task.Status != formats.NotStarted {
				t.Errorf("Ready() = %+v", task)
			}
			out = append(out, task.Number)
		}

		return out
	}

	if got := numbers(); len(got) != 1 || got[0] != 1 {
		t.Errorf("Ready = %v, want 1", got)
	}

	w.cfg.Alive = func(formats.Lease) bool { return false }

	var err error
	w.r, err = state.NewReader(w.cfg)
	if err != nil {
		t.Fatal(err)
	}

	if got := numbers(); len(got) != 2 || got[1] != 3 {
		t.Errorf("Ready with a stale lease = %v, want 1 and 3", got)
	}

	w.write("state.json", "{")
	if _, err := w.r.Ready(t.Context()); formats.CodeOf(err) != formats.CodeInvalidState {
		t.Errorf("Ready of a broken file = %v, want INVALID_STATE", err)
	}
}
