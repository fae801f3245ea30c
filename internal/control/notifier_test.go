package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/control"
)

// TestBell: a run that waits at a question is told once, by that; another one by what it came to;
// what fails is told once.
func TestBell(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []control.Notice
	warned := 0
	b := &control.Notifier{
		Dir:  "/p",
		Now:  func() time.Time { return time.Unix(0, 0) },
		Warn: func(error) { warned++ },
		Start: func(_ context.Context, line []byte, _ string) error {
			var n control.Notice
			err := json.Unmarshal(line, &n)
			mu.Lock()
			defer mu.Unlock()
			told = append(told, n)
			return errors.Join(err, errors.New("it fails each time"))
		},
	}
	suspended := formats.Return{
		Status: formats.StatusSuspended,
		Said:   formats.OutcomeSuspended,
		Resume: &formats.Resume{Line: "tercet resume r1"},
	}
	ret := func(run string, r formats.Return) formats.Return {
		r.Metadata.Run = run
		return r
	}
	b.RunStarted("r1", "/ship")
	b.RunStarted("r2", "/plan 2")
	b.Gate(t.Context(), formats.Gate{
		ID:       "g",
		Run:      "r1",
		Question: "Ship it?",
		Choices:  []formats.Choice{{Label: "yes"}},
	})
	b.RunEnded(t.Context(), ret("r1", suspended)) // told by its question
	b.RunEnded(t.Context(), ret("r2", suspended)) // waits for something else
	b.RunEnded(
		t.Context(),
		ret("r1", formats.Return{Status: formats.StatusCompleted, Summary: "done"}),
	)
	b.RunEnded(t.Context(), formats.Return{Tasks: []formats.TaskReturn{
		{Run: "r2", Return: formats.Return{Status: formats.StatusFailed}},
		{Run: ""},
	}})
	b.RunEnded(t.Context(), ret("r3", suspended)) // not of this process
	if err := b.Close(); err != nil || warned != 1 {
		t.Errorf("Close = %v, warned %d times, want once", err, warned)
	}
	got := map[string]int{}
	for _, n := range told {
		if n.Schema != "tercet.notice/1" || n.Dir != "/p" || n.Command == "" {
			t.Errorf("notice = %+v", n)
		}
		got[n.Event+" "+n.Run+" "+n.Status+" "+n.Next]++
	}

	for _, want := range []string{
		"gate r1  tercet approve r1", "run r2 suspended tercet resume r1", "run r1 completed ",
		"run r2 failed ",
	} {
		if got[want] != 1 {
			t.Errorf("notices = %v, want %q once", got, want)
		}
	}

	if len(told) != 4 {
		t.Errorf("%d notices, want 4", len(told))
	}
	(*control.Notifier)(nil).Gate(t.Context(), formats.Gate{})
}
