package state_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/state"
)

func TestErrors(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	e, err := state.NewErrors(w.cfg)
	if err != nil {
		t.Fatal(err)
	}

	if list, err := e.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List without a file = %v, %v", list, err)
	}

	p := formats.Problem{
		Type:     "INVALID_RETURN",
		Severity: "critical",
		Message:  "bad \"return\"",
		Context: formats.ProblemContext{
			Session: session,
			Run:     "r",
			Command: "/plan 1",
			Task:    1,
			Step:    "plan",
			File:    "plan.md",
			Line:    3,
		},
		Path:   []string{"router", "/plan"},
		Depth:  2,
		Action: "look",
		Auto:   true,
	}

	if err := e.Record(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	first := w.read("errors.json")

	w.write("errors.json", strings.Replace(first, `"unfixed"`, `"fixed", "note": 1.0`, 1))

	if err := e.Record(t.Context(), formats.Problem{Type: "IO", Message: "second"}); err != nil {
		t.Fatal(err)
	}

	// a run that was killed at its end tells it again
	if err := e.Record(t.Context(), p); err != nil {
		t.Fatal(err)
	}

	list, err := e.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("List = %v, %v; want two", list, err)
	}

	got := formats.Problem{
		Type:     list[0].Type,
		Severity: list[0].Severity,
		Message:  list[0].Message,
		Context:  list[0].Context,
		Path:     list[0].Trajectory.Path,
		Depth:    list[0].Trajectory.Depth,
		Action:   list[0].Recovery.Action,
		Auto:     list[0].Recovery.Auto,
	}

	if diff := cmp.Diff(p, got); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}

	if list[0].FixStatus != "fixed" || list[1].FixStatus != "unfixed" || list[0].ID == list[1].ID ||
		list[1].Severity != "critical" {
		t.Errorf("List = %+v", list)
	}

	if !strings.Contains(w.read("errors.json"), `"note": 1.0`) {
		t.Error("what a person wrote is lost")
	}

	w.write("errors.json", "{")
	if err := e.Record(t.Context(), p); formats.CodeOf(err) != formats.CodeInvalidState {
		t.Errorf("Record into a broken file = %v, want INVALID_STATE", err)
	}

	if w.read("errors.json") != "{" {
		t.Error("the broken file was changed")
	}
}

func TestErrorsRotate(t *testing.T) {
	t.Parallel()
	w := quickWorkspace(t)
	const writers = 4
	const each = 6
	there := strings.Repeat(",\n{\"id\": \"err_0\"}", state.MaxErrors+writers-writers*each)
	w.write("errors.json", `{"version": "2", "errors": [`+there[1:]+"]}\n")
	var wg sync.WaitGroup
	for i := range writers {
		e, err := state.NewErrors(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for j := range each {
				err := e.Record(t.Context(), formats.Problem{Message: fmt.Sprint(i, j)})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}

	wg.Wait()
	e, err := state.NewErrors(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	list, err := e.List(t.Context())
	old := strings.Count(w.read("errors.json.1"), `"id"`)
	if err != nil || len(list) != writers || old != state.MaxErrors {
		t.Errorf("after rotation: %d and %d before, %v; want %d and %d",
			len(list), old, err, writers, state.MaxErrors)
	}
}
