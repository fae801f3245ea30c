package bench_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"tercet/formats"
	"tercet/state"
)

// clock is the time of the machine.
type clock struct{}

func (clock) Now() time.Time {
	return time.Now()
}

const session = "sess_1767610000_k3x9qa"

// workspace makes a workspace with n tasks in the folder dir.
func (l *lab) workspace(name string, n int) string {
	dir := filepath.Join(l.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
	subject{
		name: "init",
		argv: []string{l.tercet, "init", "-q"},
		in:   dir,
	}.output(l.t)
	if n > 0 {
		m := open(l.t, dir)
		list := make([]state.NewTask, n)
		for i := range list {
			k := makeTask(i + 1)
			list[i] = state.NewTask{
				Title:       k.Title,
				Description: k.Description,
				Language:    k.Language,
				Effort:      k.Effort,
			}
		}
		_, err := m.Apply(l.t.Context(), state.Tx{
			Session: session,
			Ops:     []state.Op{state.CreateTasks{Tasks: list}},
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return dir
}

// open makes the writer of a workspace.
func open(t *testing.T, dir string) *state.Manager {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	m, err := state.NewManager(state.Config{
		Root:        root,
		Dir:         dir,
		Clock:       clock{},
		NewID:       rand.Text,
		LockTimeout: time.Minute,
		Alive:       func(formats.Lease) bool { return true },
		Self: func(session, run string) formats.Lease {
			return formats.Lease{
				Session: session,
				Run:     run,
				Host:    "bench",
				PID:     os.Getpid(),
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// setEffort changes one member of a task, durably. Every call writes another value.
func setEffort(m *state.Manager, number, value int) error {
	res, err := m.Apply(context.Background(), state.Tx{
		Session: session,
		Ops: []state.Op{state.UpdateMetadata{
			Task:   number,
			Fields: map[string]any{"effort": fmt.Sprintf("%dh", value)},
		}},
	})
	if err == nil && !res.Changed {
		return errors.New("a write changed nothing")
	}
	return err
}

// floor is what one append takes that is made durable: the least that any update can take.
func (l *lab) floor(n int) time.Duration {
	s := l.appends()
	var list []cost
	for range n {
		c, err := s.run()
		if err != nil {
			l.t.Fatal(err)
		}
		list = append(list, c)
	}
	return median(list).wall
}

func (l *lab) appends() subject {
	f, err := os.OpenFile(filepath.Join(l.dir, "floor"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { f.Close() })
	return subject{
		name: "one append with fdatasync",
		call: func() error {
			_, err := f.WriteString(`{"serial": 412, "op": "update_metadata", "task": 50}` + "\n")
			if err != nil {
				return err
			}
			return datasync(f)
		},
	}
}

// updates are whole processes: a change of one task, durable when the process ends, beside jq and a
// rename.
func (l *lab) updates() {
	for _, g := range []struct{ n, limit int }{{1000, 15}, {10_000, 100}} {
		dir := l.workspace(fmt.Sprintf("update-%d", g.n), g.n)
		text, err := os.ReadFile(filepath.Join(dir, ".tercet", "state.json"))
		if err != nil {
			l.t.Fatal(err)
		}
		plain := filepath.Join(l.dir, fmt.Sprintf("rewrite-%d.json", g.n))
		if err := os.WriteFile(plain, text, 0o644); err != nil {
			l.t.Fatal(err)
		}
		level := []string{"low", "high"}
		value := 0
		next := func() (subject, subject) {
			value++
			p := level[value%2]
			jq := fmt.Sprintf(
				`%s '(.tasks[] | select(.number == %d) | .priority) = "%s"' %s >%[4]s.new && mv %[4]s.new %[4]s`,
				l.jq.path, g.n/2, p, plain,
			)
			return subject{
					name: "tercet",
					argv: []string{l.tercet, "task", "set", strconv.Itoa(g.n / 2), "priority=" + p},
					in:   dir,
				},
				subject{name: l.jq.name + " > new && mv", argv: []string{"sh", "-c", jq}}
		}
		what := fmt.Sprintf("one durable update, whole process, %d tasks", g.n)
		ours := l.compareEach("P4", what, next, 1.0/3)
		l.add(row{
			goal:   "P4",
			what:   "the same, processor time",
			figure: show(ours.cpu),
			limit:  fmt.Sprintf("<= %d ms", g.limit),
			met:    ours.cpu <= time.Duration(g.limit)*time.Millisecond,
		})
	}
}

// percentile gives the value below which so many percent lie.
func percentile(list []time.Duration, p int) time.Duration {
	slices.Sort(list)
	return list[min(len(list)*p/100, len(list)-1)]
}
