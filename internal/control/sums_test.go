package control_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/control"
)

// took is what a call of a worker told.
func took(agent string, tokens int64, cost float64, spawns int) formats.Entry {
	m := formats.Metadata{
		Agent:  agent,
		Cost:   cost,
		Spawns: spawns,
	}
	m.Tokens.Input = tokens
	return formats.Entry{Type: formats.EntryDelegationResult, Data: formats.Return{Metadata: m}}
}

// spent has three runs with calls in them, and one that another person wrote.
func spent(t *testing.T) *desk {
	t.Helper()
	p := newProject(t)
	d := p.desk("a")
	for _, run := range []struct {
		id    string
		task  int
		calls []formats.Entry
	}{
		{
			"r1", 2,
			[]formats.Entry{
				took("planner", 100, 0.5, 0),
				took("planner", 50, 0, 0),
				took("flow", 150, 0.5, 2),
			},
		},
		{
			"r2", 10,
			[]formats.Entry{took("reviewer", 7, 0.25, 0), took("git-workflow-manager", 0, 0, 0)},
		},
		{"r3", 0, []formats.Entry{took("reviewer", 1, 0, 0)}},
	} {
		ready := func(string) error { return nil }
		l := d.Open(t.Context(), run.id, nil, false,
			control.Hooks{Ready: ready, Begun: func() {}})
		began := formats.Started{
			Format: formats.JournalFormat,
			Line:   "/x",
			Args:   map[string]any{},
			Task:   run.task,
		}
		put(
			t, l,
			append([]formats.Entry{{Type: formats.EntryRunStarted, Data: began}}, run.calls...)...,
		)
		d.close(t)
	}

	other := p.desk("b")
	other.Secret = func() []byte { return []byte("of another") }
	other.begin(t, "r4", "/x", took("planner", 1000, 9, 0))
	other.close(t)
	return d
}

// TestSums: what workers took is summed once, whatever workflows they worked for. A worker that
// told nothing is no call, and what another person wrote is told and left out.
func TestSums(t *testing.T) {
	t.Parallel()
	d := spent(t)
	got, err := control.Sums(d.Controller, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	day := time.Now().UTC().Format(time.DateOnly)
	want := []control.Sum{
		{By: "task", Name: "2", Calls: 2, Tokens: 150, Cost: 0.5},
		{By: "task", Name: "10", Calls: 1, Tokens: 7, Cost: 0.25},
		{By: "agent", Name: "planner", Calls: 2, Tokens: 150, Cost: 0.5},
		{By: "agent", Name: "reviewer", Calls: 2, Tokens: 8, Cost: 0.25},
		{By: "day", Name: day, Calls: 4, Tokens: 158, Cost: 0.75},
		{By: "all", Calls: 4, Tokens: 158, Cost: 0.75},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Sums() (-want +got)\n%s", d)
	}
	if len(d.told) != 1 {
		t.Errorf("told %q, want one warning of the run of another person", d.told)
	}
	if got, err := control.Sums(d.Controller, time.Now().Add(time.Hour)); err != nil || got != nil {
		t.Errorf("Sums of what is to come = %v, %v, want none", got, err)
	}
}

// TestCeiling: what a day may take is counted over the runs of today, and a call waits for tomorrow
// then.
func TestCeiling(t *testing.T) {
	t.Parallel()
	d := spent(t)
	for _, c := range []struct {
		limits formats.Limits
		over   bool
	}{
		{formats.Limits{}, false},
		{formats.Limits{Tokens: 159}, false},
		{formats.Limits{Tokens: 158}, true},
		{formats.Limits{Cost: 0.76}, false},
		{formats.Limits{Cost: 0.75}, true},
		{formats.Limits{Tokens: 1000, Cost: 0.5}, true},
	} {
		err := control.Ceiling(d.Controller, c.limits)
		if c.over {
			code(t, err, formats.CodeSuspended, "the runs of today took")
		} else if err != nil {
			t.Errorf("Ceiling(%+v) = %v, want no error", c.limits, err)
		}
	}
}
