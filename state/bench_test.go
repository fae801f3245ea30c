package state_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/state"
)

// filled gives a workspace with n tasks.
func filled(b *testing.B, n int) *workspace {
	b.Helper()
	w := newWorkspace(b)

	list := make([]state.NewTask, n)
	for i := range list {
		list[i] = state.NewTask{
			Title:       fmt.Sprintf("Task number %d with a title of some length", i),
			Description: "A description of a line or so, as they are.",
			Language:    "go",
		}
		if i > 0 {
			list[i].Dependencies = []int{i}
		}
	}

	w.do(state.CreateTasks{Tasks: list})
	return w
}

func BenchmarkApply(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := filled(b, n)

			b.ReportAllocs()
			b.SetBytes(int64(len(w.read("state.json"))))

			i := 0
			for b.Loop() {
				i++
				_, err := w.m.Apply(b.Context(), state.Tx{
					Session: session,
					Ops: []state.Op{state.UpdateMetadata{
						Task:   n / 2,
						Fields: map[string]any{"effort": fmt.Sprint(i)},
					}},
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApplyFresh opens the workspace anew for each write, as a process does that writes once.
func BenchmarkApplyFresh(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := filled(b, n)
			b.ReportAllocs()

			i := 0
			for b.Loop() {
				i++
				m, err := state.NewManager(w.cfg)
				if err != nil {
					b.Fatal(err)
				}

				_, err = m.Apply(b.Context(), state.Tx{
					Session: session,
					Ops: []state.Op{
						state.UpdateMetadata{
							Task:   n / 2,
							Fields: map[string]any{"effort": fmt.Sprint(i)},
						},
					},
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReplace is what a program does that knows nothing of the file but that it is JSON: it
// reads all of it, changes one value, writes all of it, and replaces the file durably.
func BenchmarkReplace(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := filled(b, n)
			i := 0
			for b.Loop() {
				i++

				var doc map[string]any
				if err := json.Unmarshal([]byte(w.read("state.json")), &doc); err != nil {
					b.Fatal(err)
				}
				doc["tasks"].([]any)[n/2].(map[string]any)["effort"] = fmt.Sprint(i)

				data, err := json.MarshalIndent(doc, "", "  ")
				if err != nil {
					b.Fatal(err)
				}

				err = atomicfile.WriteIn(
					w.root,
					".tercet/state.json",
					append(data, '\n'),
					atomicfile.Options{},
				)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApplyBatch has a thousand changes in one transaction.
func BenchmarkApplyBatch(b *testing.B) {
	w := filled(b, 10000)
	i := 0
	for b.Loop() {
		i++
		ops := make([]state.Op, 1000)
		for j := range ops {
			ops[j] = state.UpdateMetadata{
				Task:   1 + 10*j,
				Fields: map[string]any{"effort": fmt.Sprint(i)},
			}
		}
		if _, err := w.m.Apply(b.Context(), state.Tx{Session: session, Ops: ops}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFloor is one append that is made durable: what the disk alone takes.
func BenchmarkFloor(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()

	for b.Loop() {
		if _, err := f.WriteString("a line of the log\n"); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := filled(b, n)
			w.do(state.UpdateStatus{Tasks: []int{1}, To: formats.Planning})

			b.ReportAllocs()

			for b.Loop() {
				r, err := state.NewReader(w.cfg)
				if err != nil {
					b.Fatal(err)
				}

				if _, _, err := r.Snapshot(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSnapshotCached(b *testing.B) {
	w := filled(b, 1000)
	w.do(state.UpdateStatus{Tasks: []int{1}, To: formats.Planning})
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := w.r.Snapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
