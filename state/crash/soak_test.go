//go:build linux && (amd64 || arm64)

package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"tercet/state"
)

// perProcess is how many tasks a process has, each with a goroutine of its own: they share writes.
const perProcess = 8

// updates writes the effort of the tasks of one process again and again, a number higher each time.
// It prints what it finds, "found TASK NUMBER", and each write that is acknowledged, "TASK SERIAL
// NUMBER".
func updates(w *workspace, args []string) error {
	// with many processes on few processors a turn may be long in coming
	w.cfg.LockTimeout = time.Minute

	m, err := state.NewManager(w.cfg)
	if err != nil {
		return err
	}
	w.m = m

	process, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}

	var wg sync.WaitGroup
	ended := make([]error, perProcess)
	for g := range perProcess {
		wg.Go(func() { ended[g] = w.update(process*perProcess + g + 1) })
	}
	wg.Wait()

	return errors.Join(ended...)
}

func (w *workspace) update(task int) error {
	found, err := w.effort(task)
	if err != nil {
		return err
	}

	if _, err := fmt.Printf("found %d %d\n", task, found); err != nil {
		return err
	}

	for n := found + 1; ; n++ {
		res, err := w.m.Apply(context.Background(), state.Tx{
			ID:      fmt.Sprintf("tx-%d-%d-%d", os.Getpid(), task, n),
			Session: session,
			Ops: []state.Op{state.UpdateMetadata{
				Task:   task,
				Fields: map[string]any{"effort": strconv.Itoa(n)},
			}},
		})
		if err != nil {
			return err
		}

		if _, err := fmt.Printf("%d %d %d\n", task, res.Serial, n); err != nil {
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
	goal   string
	dir    string
	mu     sync.Mutex
	live   []*exec.Cmd
	last   []ack // of each task
	acked  int
	killed int
	wrong  []string
}

// ack is the last write of a task that was acknowledged.
type ack struct {
	serial uint64
	number int
}

// lives has one process write until it is killed, and starts it again, until the context ends.
func (s *soak) lives(ctx context.Context, t *testing.T, process int) {
	t.Helper()
	for ctx.Err() == nil {
		var out, errs bytes.Buffer
		cmd := command(t, "free updates", s.dir, strconv.Itoa(process))
		cmd.Stdout = &out
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		s.mu.Lock()
		s.live[process] = cmd
		s.mu.Unlock()
		if ctx.Err() != nil { // whoever ends all may not have seen it
			cmd.Process.Kill()
		}
		cmd.Wait()
		s.take(out.Bytes(), errs.String())
	}
}

// reap kills a process at random again and again, and in the end all.
func (s *soak) reap(ctx context.Context, least, most time.Duration) {
	rng := rand.New(rand.NewPCG(7, 7))
	for ctx.Err() == nil {
		select {
		case <-time.After(least + rand.N(most-least)):
			s.kill(rng.IntN(len(s.live)))
			s.killed++
		case <-ctx.Done():
		}
	}
	for i := range s.live {
		s.kill(i)
	}
}

func (s *soak) kill(process int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cmd := s.live[process]; cmd != nil {
		cmd.Process.Kill()
	}
}

// take notes what a process said before it was killed; the end of its last line may be lost.
func (s *soak) take(out []byte, errs string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if errs != "" {
		s.wrong = append(s.wrong, errs)
	}

	for _, line := range lines(out[:bytes.LastIndexByte(out, '\n')+1]) {
		var task, n int
		var serial uint64
		if _, err := fmt.Sscanf(line, "found %d %d", &task, &n); err == nil {
			if had := s.last[task-1].number; n < had {
				s.wrong = append(
					s.wrong,
					fmt.Sprintf("task %d had %d acknowledged and has %d", task, had, n),
				)
			}
			continue
		}

		if _, err := fmt.Sscanf(line, "%d %d %d", &task, &serial, &n); err != nil {
			s.wrong = append(s.wrong, line)
			continue
		}

		if before := s.last[task-1]; serial <= before.serial || n <= before.number {
			s.wrong = append(
				s.wrong,
				fmt.Sprintf("task %d: %d with serial %d after %+v", task, n, serial, before),
			)
		}

		s.last[task-1] = ack{serial, n}
		s.acked++
	}
}

// settle compares the state and its log with what was acknowledged.
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
	if _, err := w.apply("", state.CreateTasks{Tasks: []state.NewTask{{
		Title: after,
	}}}); err != nil {
		t.Fatalf("the write after all: %v", err)
	}
	lost := 0
	for i, want := range s.last {
		got, err := w.effort(i + 1)
		if err != nil {
			t.Fatal(err)
		}
		lost += max(0, want.number-got)
	}

	done, err := w.history()
	if err != nil {
		t.Error(err)
	}
	if lost > 0 || done < s.acked {
		t.Errorf("%d acknowledged, %d lost, %d in the log; want none lost and each in the log",
			s.acked, lost, done)
	}
	if err := w.sound(); err != nil {
		t.Error(err)
	}
}

// history walks the log: each write must begin with the state that the one before it left, or one
// was lost in between. It gives the number of transactions that happened.
func (w *workspace) history() (int, error) {
	names, err := filepath.Glob(w.path("audit/*.jsonl"))
	if err != nil {
		return 0, err
	}

	slices.Sort(names)
	done := 0
	now := ""
	for _, name := range append(names, w.path("audit.jsonl")) {
		data, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		for _, text := range lines(data) {
			var l struct {
				Kind, Pre, Post string
				Group           []any
			}
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
			count := max(1, len(l.Group))
			switch l.Kind {
			case "write", "group":
				if l.Pre != now {
					return 0, fmt.Errorf(
						"%s: a write began with %.8s and the one before it left %.8s",
						name, l.Pre, now,
					)
				}
				done += count
			case "aborted":
				done -= count
			}
			now = l.Post
		}
	}

	return done, nil
}

// tasks makes the tasks of so many processes.
func (*soak) tasks(processes int) func(w *workspace) error {
	return func(w *workspace) error {
		list := make([]state.NewTask, processes*perProcess)
		for i := range list {
			list[i] = state.NewTask{Title: fmt.Sprint("task ", i)}
		}
		return errors.Join(
			w.m.Init(context.Background(), state.InitOptions{}),
			w.force(state.CreateTasks{Tasks: list}),
		)
	}
}

// run has processes write for some time; one of them is killed every least to most.
func (s *soak) run(t *testing.T, processes int, lasting, least, most time.Duration) {
	t.Helper()

	setUp(t, s.dir, s.tasks(processes))
	s.last = make([]ack, processes*perProcess)

	ctx, cancel := context.WithTimeout(t.Context(), lasting)
	defer cancel()

	var wg sync.WaitGroup
	s.live = make([]*exec.Cmd, processes)
	for i := range processes {
		wg.Go(func() { s.lives(ctx, t, i) })
	}
	wg.Go(func() { s.reap(ctx, least, most) })
	wg.Wait()

	s.settle(t)
	t.Logf("%s: %d processes, %v, %d kills: 0 of %d acknowledged updates lost, unless said above",
		s.goal, processes, lasting, s.killed, s.acked)
}

// TestSoakMemory is for the writes that a second has room for: no disk is waited for.
func TestSoakMemory(t *testing.T) {
	t.Parallel()

	processes := 16
	lasting := 1500 * time.Millisecond
	least := 10 * time.Millisecond
	most := 100 * time.Millisecond
	if *full {
		processes = 64
		lasting = 3 * time.Minute
		least = 100 * time.Millisecond
		most = time.Second
	}

	(&soak{goal: "R1, in memory", dir: folder(t)}).run(t, processes, lasting, least, most)
}

// TestSoakDisk is the same where a sync is one.
func TestSoakDisk(t *testing.T) {
	t.Parallel()

	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	processes := 8
	lasting := 1500 * time.Millisecond
	least := 10 * time.Millisecond
	most := 100 * time.Millisecond
	if *full {
		processes = 64
		lasting = time.Minute
		least = 100 * time.Millisecond
		most = time.Second
	}

	(&soak{goal: "R2, on a disk", dir: dir}).run(t, processes, lasting, least, most)
}
