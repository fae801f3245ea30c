package state_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tercet/state"
)

// TestOneID has a transaction arrive three times at once.
func TestOneID(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	tx := state.Tx{
		ID:      "once",
		Session: session,
		Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "once"}}}},
	}

	var wg sync.WaitGroup
	var replayed atomic.Int64
	for range 3 {
		wg.Go(func() {
			res, err := w.m.Apply(t.Context(), tx)
			if err != nil || res.Numbers[0] != 1 {
				t.Errorf("Apply = %+v, %v; want task 1", res, err)
			}
			if res.Replayed {
				replayed.Add(1)
			}
		})
	}

	wg.Wait()

	if replayed.Load() != 2 || w.serial() != 1 {
		t.Errorf("%d replayed, serial %d, want 2 and 1", replayed.Load(), w.serial())
	}
}

// TestOldLines reads what earlier versions wrote: transactions of one process that shared a write
// stand in one line.
func TestOldLines(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	before := w.read("state.json")
	w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "one"}, {Title: "two"}}})
	lines := strings.Split(strings.TrimSuffix(w.read("audit.jsonl"), "\n"), "\n")
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[1]), &line); err != nil {
		t.Fatal(err)
	}

	member := func(txn string, task int) string {
		return fmt.Sprintf(
			`{"txn":%q,"session_id":"s","run":"r","ops":[{"op":"create_tasks"}],`+
				`"numbers":[%d],"verdicts":[{"op":"create_tasks","task":%d,"from":"",`+
				`"to":"not_started","changed":true}]}`,
			txn, task, task,
		)
	}

	undo, err := json.Marshal(line["undo"])
	if err != nil {
		t.Fatal(err)
	}

	group := fmt.Sprintf(
		`{"serial":1,"txn":"","kind":"group","file":".tercet/state.json",`+
			`"time":"2026-01-05T10:00:00Z","session_id":"","run":"","added":[1,2],`+
			`"group":[%s,%s],"undo":%s,"pre":%q,"post":%q,"prev":%q}`,
		member("a", 1), member("b", 2), undo, line["pre"], line["post"], line["prev"],
	)

	w.write("audit.jsonl", lines[0]+"\n"+group+"\n")
	w.healthy()

	for i, id := range []string{"a", "b"} {
		res, err := w.m.Apply(t.Context(), state.Tx{
			ID:      id,
			Session: session,
			Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "again"}}}},
		})
		if err != nil || !res.Replayed || res.Serial != 1 || res.Numbers[0] != i+1 {
			t.Errorf("Apply again of %s = %+v, %v; want the answer with task %d", id, res, err, i+1)
		}
	}

	history, err := w.r.History(t.Context())
	if err != nil || len(history) != 3 || history[1].Txn != "a" || history[2].Txn != "b" ||
		history[2].Kind != "write" || !history[2].About(2) {
		t.Errorf("History = %+v, %v; want two transactions of the line", history, err)
	}
	if src, err := w.r.At(t.Context(), 0); err != nil || string(src) != before {
		t.Errorf("At(0) = %s, %v; want the empty state", src, err)
	}
	w.write("state.json", before) // as a kill between the line and the rename left it
	for _, id := range []string{"a", "b"} {
		res, err := w.m.Apply(t.Context(), state.Tx{
			ID:      id,
			Session: session,
			Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "now"}}}},
		})
		if err != nil || res.Replayed {
			t.Errorf("Apply of %s after its write was aborted = %+v, %v; want it applied",
				id, res, err)
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
		return state.Tx{
			ID:      fmt.Sprint("t", i),
			Session: session,
			Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: fmt.Sprint(i)}}}},
		}
	}
	for i := range 40 {
		m, err := state.NewManager(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Apply(t.Context(), tx(i))
		if err != nil || res.Serial != uint64(i+1) || len(res.Warnings) > 0 {
			t.Fatalf("Apply = %+v, %v; want serial %d", res, err, i+1)
		}
	}

	segments, err := os.ReadDir(w.path("audit"))
	if err != nil || len(segments) < 3 {
		t.Fatalf("segments = %v, %v; want at least three", segments, err)
	}
	w.healthy()
	for _, i := range []int{0, 5, 20, 39} {
		res, err := w.m.Apply(t.Context(), tx(i))
		if err != nil || !res.Replayed || res.Numbers[0] != i+1 {
			t.Errorf("Apply again of t%d = %+v, %v; want the answer with task %d", i, res, err, i+1)
		}
	}

	w.write(
		"state.json",
		strings.Replace(w.read("state.json"), `"title": "3"`, `"title": "by hand"`, 1),
	)
	res, err := w.try(state.UpdateMetadata{Task: 1, Fields: map[string]any{"effort": "1h"}})
	if err != nil || len(res.Warnings) != 1 {
		t.Errorf("Apply after an edit = %+v, %v; want a warning", res, err)
	}
	w.healthy()
}

// TestLongLog has managers that read the end of a long log only: they know as much as one that has
// read it all. The line that takes a transaction back is put at every place around the one where
// the reading begins.
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
					ops = append(ops, state.UpdateMetadata{
						Task:   1,
						Fields: map[string]any{field: text},
					})
				}

				res, err := m.Apply(t.Context(), state.Tx{
					ID:      id,
					Session: session,
					Ops:     ops,
				})
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
			}{
				{"first", true},
				{"second", true},
				{"lost", false},
				{"lost", true},
				{"third", false},
				{"third", true},
			} {
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
