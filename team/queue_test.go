package team_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"tercet/team"
)

// TestWork: a run that did not get on comes back, the others are worked on once, and a run that is
// queued already is not queued again.
func TestWork(t *testing.T) {
	t.Parallel()
	q := team.NewMemory()
	for _, run := range []string{"a", "b", "a", "c"} {
		if err := q.Submit(t.Context(), team.Job{Run: run, Line: "/x"}); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := q.Waiting(t.Context()); err != nil || len(list) != 3 {
		t.Fatalf("Waiting = %v, %v, want three runs", list, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	var done, told []string
	start := func(_ context.Context, j team.Job) error {
		mu.Lock()
		defer mu.Unlock()
		if j.Run == "a" && !slices.Contains(done, "a failed") {
			done = append(done, "a failed")
			return errors.New("the machine is full")
		}
		if done = append(done, j.Run); len(done) == 4 {
			stop()
		}
		return nil
	}
	w := team.Worker{
		Name:  "w",
		Beat:  time.Hour,
		Start: start,
		Tell: func(format string, _ ...any) {
			told = append(told, format)
		},
	}
	if err := w.Work(ctx, q); err != nil {
		t.Fatal(err)
	}
	slices.Sort(done)
	if !slices.Equal(done, []string{"a", "a failed", "b", "c"}) || len(told) != 1 {
		t.Errorf("done: %q, told: %q", done, told)
	}
}
