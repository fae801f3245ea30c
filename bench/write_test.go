package bench_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tercet/formats"
	"tercet/state"
)

// clock is the time of the machine.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }

const session = "sess_1767610000_k3x9qa"

// workspace makes a workspace with n tasks in the folder dir.
func (l *lab) workspace(name string, n int) string {
	dir := filepath.Join(l.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
	subject{name: "init", argv: []string{l.tercet, "init", "-q"}, in: dir}.output(l.t)
	if n > 0 {
		m := open(l.t, dir)
		list := make([]state.NewTask, n)
		for i := range list {
			k := makeTask(i + 1)
			list[i] = state.NewTask{Title: k.Title, Description: k.Description, Language: k.Language, Effort: k.Effort}
		}
		if _, err := m.Apply(l.t.Context(), state.Tx{Session: session, Ops: []state.Op{state.CreateTasks{Tasks: list}}}); err != nil {
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
		Root: root, Dir: dir, Clock: clock{}, NewID: rand.Text, LockTimeout: time.Minute,
		Alive: func(formats.Lease) bool { return true },
		Self: func(session, run string) formats.Lease {
			return formats.Lease{Session: session, Run: run, Host: "bench", PID: os.Getpid()}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// setEffort changes one member of a task, durably. Every call writes another value.
func setEffort(m *state.Manager, number, value int) error {
	res, err := m.Apply(context.Background(), state.Tx{Session: session, Ops: []state.Op{state.UpdateMetadata{Task: number, Fields: map[string]any{"effort": fmt.Sprintf("%dh", value)}}}})
	if err == nil && !res.Changed {
		return errors.New("a write changed nothing")
	}
	return err
}

// update is one durable change in this process.
func (l *lab) update(dir string, number int) subject {
	m, value := open(l.t, dir), 0
	return subject{name: "tercet", call: func() error { value++; return setEffort(m, number, value) }}
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
	return subject{name: "one append with fdatasync", call: func() error {
		if _, err := f.WriteString(`{"serial": 412, "op": "update_metadata", "task": 50}` + "\n"); err != nil {
			return err
		}
		return datasync(f)
	}}
}

// rewrite decodes a state in full, changes a member, encodes it and replaces the file, as durably as tercet does.
func rewrite(name string, number int) subject {
	value := 0
	return subject{name: "encoding/json in full, and replace", call: func() (err error) {
		value++
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var doc map[string]any
		if err := json.Unmarshal(src, &doc); err != nil {
			return err
		}
		for _, e := range doc["tasks"].([]any) {
			if k := e.(map[string]any); k["number"] == float64(number) {
				k["effort"] = fmt.Sprintf("%dh", value)
			}
		}
		out, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			return err
		}
		f, err := os.CreateTemp(filepath.Dir(name), "rewrite-*")
		if err != nil {
			return err
		}
		_, err = f.Write(out)
		err = errors.Join(err, f.Sync(), f.Close(), os.Rename(f.Name(), name))
		folder, ferr := os.Open(filepath.Dir(name))
		if ferr != nil {
			return errors.Join(err, ferr)
		}
		return errors.Join(err, folder.Sync(), folder.Close())
	}}
}

func (l *lab) updates() {
	l.compare("G7", "one durable update, 100 tasks", l.update(l.workspace("update-100", 100), 50), l.appends(), 6, false)
	for _, g := range []struct {
		n    int
		want float64
	}{{1000, 6}, {10_000, 10}} {
		dir := l.workspace(fmt.Sprintf("update-%d", g.n), g.n)
		text, err := os.ReadFile(filepath.Join(dir, ".tercet", "state.json"))
		if err != nil {
			l.t.Fatal(err)
		}
		plain := filepath.Join(l.dir, fmt.Sprintf("rewrite-%d.json", g.n))
		if err := os.WriteFile(plain, text, 0o644); err != nil {
			l.t.Fatal(err)
		}
		l.compare("G7", fmt.Sprintf("one durable update, %d tasks", g.n), l.update(dir, g.n/2), rewrite(plain, g.n/2), g.want, true)
	}
}

// batches compares one call of 1000 changes with one of one change.
func (l *lab) batches() {
	const n = 10_000
	dir := l.workspace("batch", n)
	m, value := open(l.t, dir), 0
	many := subject{name: "1000 changes", call: func() error {
		value++
		ops := make([]state.Op, 1000)
		for i := range ops {
			ops[i] = state.UpdateMetadata{Task: 1 + i*9, Fields: map[string]any{"effort": fmt.Sprintf("%dm", value)}}
		}
		_, err := m.Apply(context.Background(), state.Tx{Session: session, Ops: ops})
		return err
	}}
	one := l.update(dir, n/2)
	one.name = "one change"
	l.compare("G10", "1000 changes in one call, 10k", many, one, 3, false)
}

// updateProcess is a single update as a process of its own, durable when it ends.
func (l *lab) updateProcess() {
	l.missing("G11", "one durable update, whole process, near-empty state", "beads is missing")
	if l.taskwarrior.path == "" {
		l.missing("G11", "one durable update, whole process, 10k", l.taskwarrior.name)
		return
	}
	dir := l.workspace("process", 10_000)
	data := filepath.Join(l.dir, "taskwarrior")
	if err := os.MkdirAll(data, 0o755); err != nil {
		l.t.Fatal(err)
	}
	rc := filepath.Join(data, "taskrc")
	if err := os.WriteFile(rc, []byte("data.location="+data+"\nconfirmation=off\nhooks=off\nverbose=nothing\n"), 0o644); err != nil {
		l.t.Fatal(err)
	}
	env := []string{"TASKRC=" + rc, "TASKDATA=" + data}
	var list strings.Builder
	for i := range 10_000 {
		k := makeTask(i + 1)
		text, err := json.Marshal(map[string]any{"description": k.Title, "project": k.Language, "status": "pending", "entry": "20260105T100000Z", "uuid": fmt.Sprintf("00000000-0000-4000-8000-%012d", i)})
		if err != nil {
			l.t.Fatal(err)
		}
		list.Write(append(text, '\n'))
	}
	from := filepath.Join(data, "import.json")
	if err := os.WriteFile(from, []byte(list.String()), 0o644); err != nil {
		l.t.Fatal(err)
	}
	subject{name: "import", argv: []string{l.taskwarrior.path, "import", from}, env: env}.output(l.t)
	value := 0
	next := func() string { value++; return strconv.Itoa(value) + "h" }
	l.compareEach("G11", "one durable update, whole process, 10k", func() (subject, subject) {
		return subject{name: "tercet", argv: []string{l.tercet, "task", "set", "5000", "effort=" + next()}, in: dir},
			subject{name: l.taskwarrior.name, argv: []string{l.taskwarrior.path, "5000", "modify", "project:" + next()}, env: env}
	}, 0.7)
}

// percentile gives the value below which so many percent lie.
func percentile(list []time.Duration, p int) time.Duration {
	slices.Sort(list)
	return list[min(len(list)*p/100, len(list)-1)]
}
