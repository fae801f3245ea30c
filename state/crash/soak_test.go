//go:build linux && (amd64 || arm64)

package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"tercet/state"
)

// updates writes the effort of one task again and again, a number higher each time, and prints serial and number of each
// write that is acknowledged. What the one before it had acknowledged must be there.
func updates(w *workspace, args []string) error {
	task, terr := strconv.Atoi(args[0])
	acked, aerr := strconv.Atoi(args[1])
	if err := errors.Join(terr, aerr); err != nil {
		return err
	}
	found, err := w.effort(task)
	if err != nil {
		return err
	}
	if found < acked {
		fmt.Printf("lost: task %d had %d acknowledged and has %d\n", task, acked, found)
		return nil
	}
	for n := found + 1; ; n++ {
		res, err := w.m.Apply(context.Background(), state.Tx{
			ID: fmt.Sprintf("tx-%d-%d", os.Getpid(), n), Session: session,
			Ops: []state.Op{state.UpdateMetadata{Task: task, Fields: map[string]any{"effort": strconv.Itoa(n)}}},
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Printf("%d %d\n", res.Serial, n); err != nil {
			return err
		}
	}
}

func (w *workspace) effort(task int) (int, error) {
	t, err := w.r.Task(context.Background(), task)
	if err != nil || t.Effort == "" {
		return 0, err
	}
	return strconv.Atoi(t.Effort)
}

// soak is many processes that write while they are killed.
type soak struct {
	dir    string
	mu     sync.Mutex
	acked  []uint64 // serials
	last   []int    // of each process, the highest number that was acknowledged
	killed int
	wrong  []string
}

// lives has the process of one task live and die until the context ends.
func (s *soak) lives(ctx context.Context, t *testing.T, i int, life func(*rand.Rand) time.Duration) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	for ctx.Err() == nil {
		var out, errs bytes.Buffer
		cmd := command(t, "free updates", s.dir, strconv.Itoa(i+1), strconv.Itoa(s.last[i]))
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		select {
		case <-time.After(life(rng)):
		case <-ctx.Done():
		}
		cmd.Process.Kill()
		cmd.Wait()
		s.take(i, out.Bytes(), errs.String())
	}
}

// take notes what a process said before it was killed; the end of its last line may be lost.
func (s *soak) take(i int, out []byte, errs string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed++
	if errs != "" {
		s.wrong = append(s.wrong, errs)
	}
	out = out[:bytes.LastIndexByte(out, '\n')+1]
	for _, line := range lines(out) {
		var serial uint64
		var n int
		if _, err := fmt.Sscanf(line, "%d %d", &serial, &n); err != nil {
			s.wrong = append(s.wrong, line)
			continue
		}
		s.acked = append(s.acked, serial)
		s.last[i] = n
	}
}

// settle compares the state with what was acknowledged.
func (s *soak) settle(t *testing.T) {
	t.Helper()
	for _, text := range s.wrong {
		t.Errorf("a process says: %s", text)
	}
	w, err := openWorkspace(s.dir, late)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if _, err := w.apply("", state.CreateTasks{Tasks: []state.NewTask{{Title: after}}}); err != nil {
		t.Fatalf("the write after all: %v", err)
	}
	lost := 0
	for i, want := range s.last {
		got, err := w.effort(i + 1)
		if err != nil {
			t.Fatal(err)
		}
		lost += max(0, want-got)
	}
	doc, err := w.r.Doc(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.acked)
	twice := len(s.acked) - len(slices.Compact(slices.Clone(s.acked)))
	if lost > 0 || twice > 0 || doc.Serial < uint64(len(s.acked)) {
		t.Errorf("%d acknowledged: %d lost, %d serials given twice, the state has serial %d; want none", len(s.acked), lost, twice, doc.Serial)
	}
	if err := w.sound(); err != nil {
		t.Error(err)
	}
}

func (s *soak) run(t *testing.T, processes int, lasting time.Duration) {
	t.Helper()
	setUp(t, s.dir, func(w *workspace) error {
		list := make([]state.NewTask, processes)
		for i := range list {
			list[i] = state.NewTask{Title: fmt.Sprint("task ", i)}
		}
		return errors.Join(w.m.Init(context.Background(), state.InitOptions{}), w.force(state.CreateTasks{Tasks: list}))
	})
	s.last = make([]int, processes)
	ctx, cancel := context.WithTimeout(t.Context(), lasting)
	defer cancel()
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			s.lives(ctx, t, i, func(rng *rand.Rand) time.Duration { return time.Duration(100+rng.IntN(900)) * time.Millisecond })
		})
	}
	wg.Wait()
	s.settle(t)
	t.Logf("%d processes, %v: %d acknowledged, %d kills, 0 lost unless said above", processes, lasting, len(s.acked), s.killed)
}

// TestSoakMemory is for the writes that a second has room for: no disk is waited for.
func TestSoakMemory(t *testing.T) {
	t.Parallel()
	processes, lasting := 16, 1500*time.Millisecond
	if *full {
		processes, lasting = 64, 3*time.Minute
	}
	(&soak{dir: folder(t)}).run(t, processes, lasting)
}

// TestSoakDisk is the same where a sync is one.
func TestSoakDisk(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	processes, lasting := 8, 1500*time.Millisecond
	if *full {
		processes, lasting = 64, time.Minute
	}
	(&soak{dir: dir}).run(t, processes, lasting)
}
