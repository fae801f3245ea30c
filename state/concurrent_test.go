package state_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tercet/formats"
	"tercet/internal/testkit"
	"tercet/state"
)

// TestGoroutines has managers of their own and a shared one write at once: no update is lost, no
// number is given twice.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	w := quickWorkspace(t)
	const writers = 32
	const each = 4
	var wg sync.WaitGroup
	got := make(chan int, writers*each)
	for i := range writers {
		m := w.m
		if i%2 == 0 {
			var err error
			m, err = state.NewManager(w.cfg)
			if err != nil {
				t.Fatal(err)
			}
		}
		wg.Go(func() {
			for j := range each {
				res, err := m.Apply(t.Context(), state.Tx{
					Session: session,
					Ops: []state.Op{state.CreateTasks{
						Tasks: []state.NewTask{{Title: fmt.Sprint(i, j)}},
					}},
				})
				if err != nil {
					t.Error(err)
					return
				}
				got <- res.Numbers[0]
				if _, _, err := w.r.Snapshot(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}

	wg.Wait()
	close(got)
	w.holds(slices.Collect(channel(got)), writers*each)
}

func channel(c <-chan int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for n := range c {
			if !yield(n) {
				return
			}
		}
	}
}

// holds checks that the state has exactly the acknowledged numbers, each once.
func (w *workspace) holds(acked []int, writes int) {
	w.t.Helper()
	doc, err := w.r.Doc(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}

	var stored []int
	for _, task := range doc.Tasks {
		stored = append(stored, task.Number)
	}

	slices.Sort(acked)
	slices.Sort(stored)
	if !slices.Equal(acked, stored) || len(slices.Compact(slices.Clone(acked))) != writes {
		w.t.Errorf("%d numbers acknowledged, %d in the file, want %d in both",
			len(acked), len(stored), writes)
	}

	// Writers of one process share writes, and the serial rises by one a write.
	if doc.Serial == 0 || doc.Serial > uint64(writes) {
		w.t.Errorf("serial = %d, want at most %d", doc.Serial, writes)
	}

	w.healthy()
}

// TestProcesses has 32 processes write 50 times each.
func TestProcesses(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "32 processes")
	w := quickWorkspace(t)

	const processes = 32
	const each = 8

	outs := make([]bytes.Buffer, processes)
	cmds := make([]*exec.Cmd, processes)
	for i := range cmds {
		cmds[i] = command(t, w.dir, strconv.Itoa(each))
		cmds[i].Stdout = &outs[i]
		if err := cmds[i].Start(); err != nil {
			t.Fatal(err)
		}
	}

	var acked []int
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v", i, err)
		}
		acked = append(acked, numbers(t, &outs[i])...)
	}

	w.holds(acked, processes*each)
}

func numbers(t *testing.T, out *bytes.Buffer) []int {
	t.Helper()
	var list []int
	for s := bufio.NewScanner(out); s.Scan(); {
		n, err := strconv.Atoi(s.Text())
		if err != nil {
			continue // the last line of a killed process may be torn
		}
		list = append(list, n)
	}
	return list
}

// TestKill kills processes in the middle of their writes: what was acknowledged is there, the file
// is whole, and the next write works.
func TestKill(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	rng := rand.New(rand.NewPCG(1, 2))
	rounds := 12
	if !testkit.Deep() {
		rounds = 3
	}

	last := map[int]bool{}
	for round := range rounds {
		var outs [2]bytes.Buffer
		var cmds [2]*exec.Cmd
		for i := range cmds {
			cmds[i] = command(t, w.dir, "100000")
			cmds[i].Stdout = &outs[i]
			if err := cmds[i].Start(); err != nil {
				t.Fatal(err)
			}
		}

		for _, cmd := range cmds {
			<-time.After(time.Duration(20+rng.IntN(80)) * time.Millisecond)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Fatal("the process ended before it was killed")
			}
		}

		for i := range outs {
			// The last line may have lost its end with the process.
			text := outs[i].String()
			outs[i].Truncate(strings.LastIndexByte(text, '\n') + 1)
			for _, n := range numbers(t, &outs[i]) {
				last[n] = true
			}
		}

		m, err := state.NewManager(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Apply(t.Context(), state.Tx{
			Session: session,
			Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "after"}}}},
		})
		if err != nil {
			t.Fatalf("round %d: the write after the kill = %v", round, err)
		}
		for _, warning := range res.Warnings {
			t.Errorf("round %d: warning %q", round, warning)
		}
		last[res.Numbers[0]] = true

		doc, err := w.r.Doc(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		there := map[int]bool{}
		for _, task := range doc.Tasks {
			there[task.Number] = true
		}

		for n := range last {
			if !there[n] {
				t.Fatalf("round %d: task %d was acknowledged and is lost", round, n)
			}
		}
	}

	w.healthy()
}

// TestReadersNeverSeeTorn reads while others write.
func TestReadersNeverSeeTorn(t *testing.T) {
	t.Parallel()
	w := quickWorkspace(t)
	w.add("a")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		r, err := state.NewReader(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := r.Snapshot(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	for i := range 100 {
		w.do(state.UpdateMetadata{Task: 1, Fields: map[string]any{"effort": fmt.Sprint(i)}})
	}
	close(stop)
	wg.Wait()
}

// TestSnapshotIsCached holds that a snapshot is made once for one file and one set of effective
// statuses.
func TestSnapshotIsCached(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("a")
	w.do(state.UpdateStatus{Tasks: []int{1}, To: formats.Planning})

	first, serial, err := w.r.Snapshot(t.Context())
	if err != nil || serial != 2 {
		t.Fatalf("Snapshot = serial %d, %v", serial, err)
	}

	same := func(a, b any) bool {
		return fmt.Sprintf("%p", a) == fmt.Sprintf("%p", b)
	}

	if again, _, _ := w.r.Snapshot(t.Context()); !same(first, again) {
		t.Error("the same file was decoded twice")
	}

	w.clock.advance(3 * time.Hour)
	stale, _, _ := w.r.Snapshot(t.Context())
	if same(first, stale) ||
		first.(map[string]any)["tasks"].([]any)[0].(map[string]any)["status"] != "planning" {
		t.Error("the effective status changed the document that was given before")
	}

	w.add("b")
	if _, serial, _ := w.r.Snapshot(t.Context()); serial != 3 {
		t.Errorf("serial after a write = %d, want 3", serial)
	}
}
