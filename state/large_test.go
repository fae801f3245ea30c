package state_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tercet/state"
	"tercet/state/statefile"
)

// manyTasks is the text of a state with n tasks.
func manyTasks(lineage string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"version": "1", "lineage": %q, "serial": 1, "next_number": %d, "tasks": [`,
		lineage, n+1)

	for i := 1; i <= n; i++ {
		if i > 1 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(
			&b,
			`{"number": %d, "title": "Task %d", "slug": "task_%d", "status": "planned", `+
				`"language": "go", "priority": "medium", `+
				`"effort": "2h", "description": "What is to be done.", "dependencies": [], `+
				`"parent": null, "created": "2026-01-01T00:00:00Z", `+
				`"updated": "2026-01-01T00:00:00Z", "artifacts": [], "prior": null, `+
				`"blocked_reason": null, "lease": null, "session_id": null}`,
			i,
			i,
			i,
		)
	}

	b.WriteString("]}\n")
	return b.String()
}

// heap is the memory that is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyTasksInMemory: a reader keeps the text of a state, and of each task its fields and its
// place, but no tree. It is not parallel: others would allocate at the same time.
func TestManyTasksInMemory(t *testing.T) { //nolint:paralleltest // see above
	const n = 20_000
	const perTask = 700

	w := newWorkspace(t)
	var doc struct{ Lineage string }
	if err := json.Unmarshal([]byte(w.read("state.json")), &doc); err != nil {
		t.Fatal(err)
	}

	src := manyTasks(doc.Lineage, n)
	w.write("state.json", src)

	before := heap()
	got, err := w.r.Doc(t.Context())
	if err != nil || len(got.Tasks) != n {
		t.Fatalf("Doc = %d tasks, %v", len(got.Tasks), err)
	}
	got = statefile.Doc{} //nolint:wastedassign // lets its memory go

	grown := heap() - before
	most := int64(len(src) + n*perTask)
	if grown > most {
		t.Errorf(
			"%d tasks in %d bytes of text take %d bytes, %d a task beside the text; want at "+
				"most %d",
			n, len(src), grown, (grown-int64(len(src)))/n, perTask,
		)
	}
	runtime.KeepAlive(w)

	// what is written of one task leaves the bytes of all others
	w.do(state.UpdateMetadata{Task: 7, Fields: map[string]any{"effort": "3h"}})
	w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "One more"}}})
	text := w.read("state.json")
	if w.stored(7).Effort != "3h" || w.stored(n+1).Title != "One more" {
		t.Errorf("task 7 = %+v, task %d = %+v", w.stored(7), n+1, w.stored(n+1))
	}
	for _, line := range []string{
		`{"number": 6, "title": "Task 6",`,
		`"effort": "2h"`,
		`{"number": 20001, "title": "One more",`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the state lacks %s", line)
		}
	}

	w.healthy()
}

// BenchmarkManyTasks reads 100,000 tasks, and writes one of them.
func BenchmarkManyTasks(b *testing.B) {
	w := newWorkspace(b)

	var doc struct{ Lineage string }
	if err := json.Unmarshal([]byte(w.read("state.json")), &doc); err != nil {
		b.Fatal(err)
	}

	w.write("state.json", manyTasks(doc.Lineage, 100_000))

	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := state.NewReader(w.cfg)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := r.Tasks(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})

	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.do(state.CreateTasks{Tasks: []state.NewTask{{Title: "One more"}}})
		}
	})
}
