//go:build linux && (amd64 || arm64)

package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"tercet/formats"
	"tercet/internal/testkit"
	"tercet/internal/testkit/faults"
	"tercet/state"
)

// record runs a child on a folder and gives its calls. A write to the standard output is an
// acknowledgement.
func record(t *testing.T, dir string, cmd *exec.Cmd) *recording {
	t.Helper()
	r := &recording{dir: dir, before: snapshot(t, dir)}

	var out, errs bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &errs

	under(t, cmd, faults.Plan{
		Under:  dir,
		Bytes:  true,
		Record: func(c faults.Call) { r.calls = append(r.calls, c) },
	})
	if !cmd.ProcessState.Success() {
		t.Fatalf("recording: %v\n%s%s", cmd.ProcessState, out.Bytes(), errs.Bytes())
	}

	return r
}

// steps does a random sequence of transactions, and tells of each when it is done.
func steps(w *workspace, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range 2 + rng.IntN(3) {
		if err := w.force(step(rng, i)...); err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString("done\n"); err != nil {
			return err
		}
	}
	return nil
}

func step(rng *rand.Rand, i int) []state.Op {
	n := 1 + rng.IntN(5)
	switch rng.IntN(6) {
	case 0:
		return []state.Op{state.CreateTasks{Tasks: []state.NewTask{{
			Title: fmt.Sprint("made ", i),
		}}}}
	case 1:
		return []state.Op{state.ArchiveTasks{Tasks: []int{2 + rng.IntN(2)}}}
	case 2:
		return []state.Op{state.UnarchiveTasks{Tasks: []int{2, 3}}}
	case 3:
		return []state.Op{
			state.UpdateMetadata{Task: 1, Fields: map[string]any{"effort": fmt.Sprint(i, "h")}},
			state.UpdateMetadata{
				Task:   4,
				Fields: map[string]any{"title": fmt.Sprint("renamed ", i)},
			},
		}
	case 4:
		return []state.Op{state.DivideTask{
			Task:  1,
			Parts: []state.NewTask{{Title: fmt.Sprint("part ", i)}},
		}}
	}

	if n == 2 || n == 3 { // they may be archived
		n = 5
	}
	return []state.Op{state.UpdateStatus{
		Tasks:  []int{n},
		To:     formats.OnHold,
		Reason: fmt.Sprint(i),
	}}
}

// explorer opens the states of recordings again.
type explorer struct {
	effort
	states atomic.Int64
}

// state explores a recording of the state under both models: each state opens, the next write
// works, and what it says is what was acknowledged, or that and the operation that was going on.
func (e *explorer) state(t *testing.T, r *recording, op operation) {
	t.Helper()
	subject := &subject{op: op}
	var views []string
	for _, live := range r.lives() {
		dir := folder(t)
		if err := live.put(r.dir, dir); err != nil {
			t.Fatal(err)
		}
		v, err := viewOf(dir)
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}

	dir := folder(t)
	for _, independent := range []bool{false, true} {
		r.explore(independent, e.effort, rand.New(rand.NewPCG(1, 1)), func(c crash) {
			if t.Failed() {
				return
			}
			e.states.Add(1)

			err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), c.put(r.dir, dir))
			if err != nil {
				t.Fatal(err)
			}

			if err := reopen(subject, dir, views[c.acked:min(c.acked+2, len(views))]); err != nil {
				t.Errorf("independent: %v, %d acknowledged, before call %d %v: %v\nfiles %q",
					independent, c.acked, c.at, r.at(c.at), err, c.list(r.dir))
			}
		})
	}
}

func (r *recording) at(i int) string {
	if i < len(r.calls) {
		return r.calls[i].String()
	}
	return "the end"
}

// list gives the names and sizes of the files.
func (c *crash) list(dir string) []string {
	var out []string
	for path, data := range c.files {
		out = append(out, fmt.Sprint(path[len(dir):], " ", len(data)))
	}
	slices.Sort(out)
	return out
}

// viewOf is the view of a workspace that may have a move to finish, or a broken state.
func viewOf(dir string) (string, error) {
	w, err := openWorkspace(dir, late)
	if err != nil {
		return "", err
	}
	defer w.close()
	_, err = w.apply("", state.CreateTasks{Tasks: []state.NewTask{{Title: after}}})
	if err != nil {
		return "", nil // there is no state yet, or one that an operation is to repair
	}
	return view(dir)
}

func reopen(s *subject, dir string, legal []string) error {
	w, err := openWorkspace(dir, late)
	if err != nil {
		return err
	}
	defer w.close()
	if _, err := w.r.Doc(context.Background()); err != nil && !s.op.again {
		return fmt.Errorf("the state cannot be read: %w", err)
	}
	if s.op.again {
		got, err := viewOf(dir)
		if err != nil {
			return err
		}
		if !slices.Contains(legal, got) {
			return fmt.Errorf("the view is\n%s", got)
		}
		if got != legal[len(legal)-1] {
			if _, err := s.op.do(w); err != nil {
				return fmt.Errorf("the operation again: %w", err)
			}
			if got, err = viewOf(dir); err != nil || got != legal[len(legal)-1] {
				return fmt.Errorf("the operation again: %w, the view is\n%s", err, got)
			}
		}
		return w.sound()
	}

	if _, err := w.apply("", state.CreateTasks{Tasks: []state.NewTask{{
		Title: after,
	}}}); err != nil {
		return fmt.Errorf("the next command: %w", err)
	}

	got, err := view(dir)
	if err != nil {
		return err
	}
	if !slices.Contains(legal, got) {
		return fmt.Errorf("the view is\n%s", got)
	}
	return w.sound()
}

// TestCrashStates explores every operation, and random sequences of operations.
func TestCrashStates(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}

	e := &explorer{effort: effort{limit: 2, stride: 8}}
	sequences := 4
	if raceEnabled || !testkit.Deep() {
		e.stride = 24
		sequences = 1
	}
	if *full {
		e.effort = effort{limit: 4, stride: 4}
		sequences = 200
	}

	t.Run("of", func(t *testing.T) {
		for _, op := range operations() {
			t.Run(op.name, func(t *testing.T) {
				t.Parallel()

				dir := folder(t)
				setUp(t, dir, op.setup)
				e.state(t, record(t, dir, command(t, "operation", dir, op.name)), op)
			})
		}

		t.Run("sequences", func(t *testing.T) {
			t.Parallel()
			for seed := range sequences {
				dir := folder(t)
				setUp(t, dir, five)
				e.state(
					t,
					record(t, dir, command(t, "steps", dir, strconv.Itoa(seed))),
					operation{},
				)
			}
		})
	})

	t.Logf("R4: %d states in which a disk may be left, of %d operations and %d sequences: all "+
		"open, nothing acknowledged lost, unless said above",
		e.states.Load(), len(operations()), sequences)
}

func setUp(t *testing.T, dir string, setup func(*workspace) error) {
	t.Helper()
	w, err := openWorkspace(dir, early)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if err := setup(w); err != nil {
		t.Fatalf("setup: %v", err)
	}
}
