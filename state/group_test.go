package state_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tercet/formats"
	"tercet/state"
)

// together has transactions wait for the lock at the same time, then lets them go.
func (w *workspace) together(list []state.Tx) ([]state.Result, []error) {
	w.t.Helper()
	release, err := lockOf(w.path("state.lock"))
	if err != nil {
		w.t.Fatal(err)
	}
	results, failures := make([]state.Result, len(list)), make([]error, len(list))
	var started, ended sync.WaitGroup
	for i, tx := range list {
		started.Add(1)
		ended.Go(func() {
			started.Done()
			results[i], failures[i] = w.m.Apply(w.t.Context(), tx)
		})
	}
	started.Wait()
	for range 10_000 {
		runtime.Gosched()
	}
	if err := release(); err != nil {
		w.t.Fatal(err)
	}
	ended.Wait()
	return results, failures
}

func TestGroup(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.add("one", "two")
	var list []state.Tx
	for i := range 30 {
		tx := state.Tx{ID: fmt.Sprint("t", i), Session: session}
		switch i % 3 {
		case 0:
			tx.Ops = []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: fmt.Sprint("made by ", i)}}}}
		case 1: // the first operation is legal, the second is not: neither may stay
			tx.Ops = []state.Op{
				state.UpdateMetadata{Task: 1, Fields: map[string]any{"effort": "refused"}},
				state.CreateTasks{Tasks: []state.NewTask{{Title: "refused"}}},
				state.UpdateStatus{Tasks: []int{2}, To: formats.Completed},
			}
		case 2:
			tx.Ops = []state.Op{state.UpdateMetadata{Task: 1, Fields: map[string]any{"effort": fmt.Sprint(i, "h")}}}
		}
		list = append(list, tx)
	}
	results, failures := w.together(list)
	numbers := map[int]bool{}
	for i, err := range failures {
		if (err != nil) != (i%3 == 1) {
			t.Errorf("transaction %d = %v", i, err)
		}
		if i%3 == 0 && len(results[i].Numbers) == 1 {
			numbers[results[i].Numbers[0]] = true
		}
		if _, illegal := errors.AsType[*state.TransitionError](err); i%3 == 1 && !illegal {
			t.Errorf("transaction %d = %v, want a TransitionError", i, err)
		}
	}
	if len(numbers) != 10 || len(w.stored(1).Effort) == 0 || strings.Contains(w.read("state.json"), "refused") {
		t.Errorf("%d numbers, effort %q, want 10 numbers and nothing of what was refused", len(numbers), w.stored(1).Effort)
	}
	if serial := w.serial(); serial > 20 || !strings.Contains(w.read("audit.jsonl"), `"kind":"group"`) {
		t.Errorf("serial = %d without a group in the log, want shared writes", serial)
	}
	w.healthy()
	before := w.read("state.json")
	m, err := state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, tx := range list {
		if i%3 == 1 {
			continue
		}
		res, err := m.Apply(t.Context(), tx)
		if err != nil || !res.Replayed || res.Serial != results[i].Serial || fmt.Sprint(res.Numbers) != fmt.Sprint(results[i].Numbers) {
			t.Errorf("Apply again of %s = %+v, %v; want the answer %+v", tx.ID, res, err, results[i])
		}
	}
	if w.read("state.json") != before {
		t.Error("transactions that were applied before changed the file")
	}
}

// TestGroupOfOneID has a transaction arrive twice at once.
func TestGroupOfOneID(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	tx := state.Tx{ID: "once", Session: session, Ops: []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "once"}}}}}
	results, failures := w.together([]state.Tx{tx, tx, tx})
	replayed := 0
	for i := range results {
		if failures[i] != nil || results[i].Numbers[0] != 1 {
			t.Errorf("Apply = %+v, %v; want task 1", results[i], failures[i])
		}
		if results[i].Replayed {
			replayed++
		}
	}
	if replayed != 2 || w.serial() != 1 {
		t.Errorf("%d replayed, serial %d, want 2 and 1", replayed, w.serial())
	}
}

// TestGroupAborted kills a write of a group between its line in the log and its rename.
func TestGroupAborted(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	before := w.read("state.json")
	var list []state.Tx
	for i := range 8 {
		list = append(list, state.Tx{ID: fmt.Sprint("t", i), Session: session, Ops: []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: fmt.Sprint(i)}}}}})
	}
	w.together(list)
	lines := strings.SplitAfter(w.read("audit.jsonl"), "\n")
	at := 0
	for i, line := range lines {
		if strings.Contains(line, `"kind":"group"`) {
			at = i
			break
		}
	}
	if at != 1 {
		t.Skip("the first write was not shared") // the scheduler decides that
	}
	w.write("audit.jsonl", strings.Join(lines[:2], ""))
	w.write("state.json", before)
	if err := os.Remove(w.path("TODO.md")); err != nil {
		t.Fatal(err)
	}
	for _, tx := range list {
		res, err := w.m.Apply(t.Context(), tx)
		if err != nil || res.Replayed {
			t.Errorf("Apply of %s after its write was aborted = %+v, %v; want it applied", tx.ID, res, err)
		}
	}
	w.healthy()
}

// TestAuditRotates holds the answers of the log over its segments.
func TestAuditRotates(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.cfg.AuditLimit = 4000
	tx := func(i int) state.Tx {
		return state.Tx{ID: fmt.Sprint("t", i), Session: session, Ops: []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: fmt.Sprint(i)}}}}}
	}
	for i := range 40 {
		m, err := state.NewManager(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := m.Apply(t.Context(), tx(i)); err != nil || res.Serial != uint64(i+1) || len(res.Warnings) > 0 {
			t.Fatalf("Apply = %+v, %v; want serial %d", res, err, i+1)
		}
	}
	segments, err := os.ReadDir(w.path("audit"))
	if err != nil || len(segments) < 6 {
		t.Fatalf("segments = %v, %v; want at least three with their indexes", segments, err)
	}
	w.healthy()
	if err := os.Remove(w.path("audit/000001.txns")); err != nil { // an index is made again
		t.Fatal(err)
	}
	for _, i := range []int{0, 5, 20, 39} {
		res, err := w.m.Apply(t.Context(), tx(i))
		if err != nil || !res.Replayed || res.Numbers[0] != i+1 {
			t.Errorf("Apply again of t%d = %+v, %v; want the answer with task %d", i, res, err, i+1)
		}
	}
	w.write("state.json", strings.Replace(w.read("state.json"), `"title": "3"`, `"title": "by hand"`, 1))
	if res, err := w.try(state.UpdateMetadata{Task: 1, Fields: map[string]any{"effort": "1h"}}); err != nil || len(res.Warnings) != 1 {
		t.Errorf("Apply after an edit = %+v, %v; want a warning", res, err)
	}
	w.healthy()
}

// TestLongLog has managers that read the end of a long log only: they know as much as one that has read it all. The line that
// takes a transaction back is put at every place around the one where the reading begins.
func TestLongLog(t *testing.T) {
	t.Parallel()
	for size := 62_000; size < 66_000; size += 250 {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			w := quickWorkspace(t)
			apply := func(id, field, text string) state.Result {
				t.Helper()
				m, err := state.NewManager(w.cfg)
				if err != nil {
					t.Fatal(err)
				}
				ops := []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "task " + id}}}}
				if field != "" { // the log holds what it is set to
					ops = append(ops, state.UpdateMetadata{Task: 1, Fields: map[string]any{field: text}})
				}
				res, err := m.Apply(t.Context(), state.Tx{ID: id, Session: session, Ops: ops})
				if err != nil {
					t.Fatalf("Apply of %s = %v", id, err)
				}
				return res
			}
			apply("first", "effort", strings.Repeat("x", 90_000))
			apply("second", "", "")
			before := w.read("state.json")
			apply("lost", "", "")
			w.write("state.json", before) // as a kill between log and rename leaves it
			apply("", "description", strings.Repeat("y", size))
			for _, tt := range []struct {
				id       string
				replayed bool
			}{{"first", true}, {"second", true}, {"lost", false}, {"lost", true}, {"third", false}, {"third", true}} {
				if res := apply(tt.id, "", ""); res.Replayed != tt.replayed {
					t.Errorf("Apply of %s = %+v, want replayed %v", tt.id, res, tt.replayed)
				}
			}
			if n := strings.Count(w.read("state.json"), `"title": "task lost"`); n != 1 {
				t.Errorf("task lost is there %d times", n)
			}
			w.healthy()
		})
	}
}

// BenchmarkApplyTogether has many goroutines of one process write at once, as parallel branches of a run do.
func BenchmarkApplyTogether(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := filled(b, n)
			var count atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := int(count.Add(1))
					ops := []state.Op{state.UpdateMetadata{Task: i%n + 1, Fields: map[string]any{"effort": fmt.Sprint(i)}}}
					if _, err := w.m.Apply(b.Context(), state.Tx{Session: session, Ops: ops}); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
