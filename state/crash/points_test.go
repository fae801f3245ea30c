//go:build linux && (amd64 || arm64)

package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tercet/formats"
	"tercet/internal/testkit"
	"tercet/internal/testkit/faults"
	"tercet/state"
)

// fault is what happens at a point.
type fault struct {
	name  string
	errno unix.Errno // 0: killed
	again func(faults.Call) bool
}

func takesSpace(c faults.Call) bool {
	return c.Name == "write" || c.Name == "linkat" || c.Name == "mkdirat" ||
		c.Name == "openat" && c.Flags&unix.O_CREAT != 0
}

func faultsOf() []fault {
	return []fault{
		{name: "kill"},
		{name: "ENOSPC", errno: unix.ENOSPC},
		{name: "EIO", errno: unix.EIO},
		{name: "EACCES", errno: unix.EACCES},
		{name: "EROFS", errno: unix.EROFS},
		{name: "EINTR", errno: unix.EINTR},
		{name: "EDQUOT", errno: unix.EDQUOT},
		{name: "full from here", errno: unix.ENOSPC, again: takesSpace},
		{name: "read-only from here", errno: unix.EROFS, again: faults.Call.Changes},
		{
			name:  "broken from here",
			errno: unix.EIO,
			again: func(faults.Call) bool {
				return true
			},
		},
	}
}

// subject is an operation with its workspace before it, and what it does when nothing happens.
type subject struct {
	op       operation
	template string
	old, new string
	broken   string // what state.json is before the operation, if it is not valid
	calls    []faults.Call
}

func prepare(t *testing.T, op operation) *subject {
	t.Helper()
	s := &subject{op: op, template: filepath.Join(folder(t), "template")}
	if err := os.Mkdir(s.template, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := openWorkspace(s.template, early)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if err := op.setup(w); err != nil {
		t.Fatalf("setup: %v", err)
	}
	if text, err := w.read("state.json"); err == nil && !json.Valid([]byte(text)) {
		s.broken = text
	} else {
		s.old = s.recovered(t)
	}

	dir := s.copy(t)
	out, said, _ := s.run(t, dir, faults.Plan{Record: func(c faults.Call) {
		if c.N > 0 {
			s.calls = append(s.calls, c)
		}
	}})
	if said.Code != "" || out.Calls == 0 || out.Calls != len(s.calls) {
		t.Fatalf("without a fault: %d calls, %+v", out.Calls, said)
	}
	s.new, err = view(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !op.still && s.new == s.old {
		t.Fatalf("the operation changes nothing:\n%s", s.old)
	}
	if problems := s.judge(dir, fault{}, faults.Outcome{}, said); len(problems) > 0 {
		t.Fatalf("without a fault: %v", errors.Join(problems...))
	}
	return s
}

// recovered is what the workspace says when the operation does not happen: a move that was begun is
// finished all the same.
func (s *subject) recovered(t *testing.T) string {
	t.Helper()
	dir := s.copy(t)

	if !s.op.again {
		w, err := openWorkspace(dir, late)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		if _, err := s.next(w); err != nil {
			t.Fatal(err)
		}
	}

	out, err := view(dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (s *subject) copy(t *testing.T) string {
	t.Helper()
	dir := folder(t)
	clone(t, s.template, dir)
	return dir
}

// run does the operation in a child; its report is empty when it was killed.
func (s *subject) run(
	t *testing.T,
	dir string,
	plan faults.Plan,
) (faults.Outcome, report, *exec.Cmd) {
	t.Helper()
	plan.Under = dir
	cmd := command(t, "operation", dir, s.op.name)
	var out, errs bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &errs
	outcome := under(t, cmd, plan)
	var said report
	if cmd.ProcessState.ExitCode() < 0 {
		if plan.At == 0 || plan.Errno != 0 {
			t.Errorf("%v: %v after %d calls, it does not end",
				outcome.Hit, cmd.ProcessState, outcome.Calls)
		}
		return outcome, said, cmd
	}

	if err := json.Unmarshal(out.Bytes(), &said); err != nil || errs.Len() > 0 {
		t.Fatalf("%v, plan %+v: the child ended with %v\n%s%s",
			outcome.Hit, plan, cmd.ProcessState, out.Bytes(), errs.Bytes())
	}
	want := 0
	if said.Code != "" {
		want = formats.ExitFor(said.Code)
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("%v: exit code %d with %+v, want %d", outcome.Hit, got, said, want)
	}
	return outcome, said, cmd
}

// point does the operation with a fault at its call k and holds what was left against the promises.
func (s *subject) point(t *testing.T, k int, f fault) {
	t.Helper()
	dir := s.copy(t)
	defer os.RemoveAll(dir)

	out, said, cmd := s.run(t, dir, faults.Plan{
		At:    k,
		Errno: f.errno,
		Again: f.again,
	})
	if !out.Reached {
		t.Errorf("call %d of %d was not reached", k, len(s.calls))
		return
	}

	st, _ := cmd.ProcessState.Sys().(syscall.WaitStatus) // it is one on this system
	if f.errno == 0 && (!st.Signaled() || st.Signal() != syscall.SIGKILL) {
		t.Errorf("%v: the child ended with %v, want it killed", out.Hit, cmd.ProcessState)
	}
	if f.errno != 0 && st.Signaled() {
		return
	}

	for _, err := range s.judge(dir, f, out, said) {
		t.Errorf("%s at %v, reported %q %q: %v", f.name, out.Hit, said.Code, said.Message, err)
	}
}

// halfMove is how an error says that one of two files is written and the next write finishes.
const halfMove = "the next write finishes"

// judge holds what an operation left, and what it said, against the promises.
func (s *subject) judge(dir string, f fault, out faults.Outcome, said report) []error {
	killed := out.Reached && f.errno == 0
	mayBeOld := true
	mayBeNew := true
	var all []error
	switch {
	case killed:
	case said.Code == "", said.Code == formats.CodeNotDurable:
		mayBeOld = false
	case said.Code == formats.CodeIO:
		mayBeNew = s.op.move && strings.Contains(said.Message, halfMove)
		all = append(all, messageFaults(said.Message, f, out.Hit)...)
	default:
		all = append(all, errors.New("expected success, IO or NOT_DURABLE"))
	}

	data, err := os.ReadFile(filepath.Join(dir, ".tercet/state.json"))
	absent := s.op.name == "init" && errors.Is(err, fs.ErrNotExist)
	if !absent && string(data) != s.broken && !json.Valid(data) {
		all = append(all, fmt.Errorf("state.json is torn: %q, %w", data, err))
	}
	w, err := openWorkspace(dir, late)
	if err != nil {
		return append(all, err)
	}
	defer w.close()
	got, err := s.next(w)
	if err != nil {
		return append(all, err)
	}

	if legal := mayBeOld && got == s.old || mayBeNew && got == s.new; !legal {
		is := "neither:\n" + got
		switch got {
		case s.old:
			is = "old"
		case s.new:
			is = "new"
		}
		all = append(
			all,
			fmt.Errorf("the state may be old: %v, may be new: %v, and is %s",
				mayBeOld, mayBeNew, is),
		)
	}
	if err := w.sound(); err != nil {
		all = append(all, err)
	}
	if err := s.repeat(w, got == s.new); err != nil {
		all = append(all, err)
	}
	return all
}

// next does the next command, and gives what the workspace says after what was left is recovered.
func (s *subject) next(w *workspace) (string, error) {
	var got string

	if s.op.again {
		var err error
		// a missing file has no text
		if text, _ := w.read("state.json"); text == "" || text != s.broken {
			got, err = view(w.dir)
			if err != nil {
				return "", err
			}
		}

		_, err = s.op.do(w)
		if err != nil && (s.op.name != "init" || !errors.Is(err, fs.ErrExist)) {
			return "", fmt.Errorf("the operation again: %w", err)
		}

		if now, err := view(w.dir); err != nil || now != s.new {
			return "", fmt.Errorf("the operation again: the view is\n%s, %w", now, err)
		}
	}

	_, err := w.apply("", state.CreateTasks{Tasks: []state.NewTask{{Title: after}}})
	if err != nil {
		return "", fmt.Errorf("the next command: %w", err)
	}

	if s.op.again {
		return got, nil
	}
	return view(w.dir)
}

// repeat does the transaction again: it is answered when it happened and done when it did not, so
// that it is done once.
func (s *subject) repeat(w *workspace, happened bool) error {
	if !s.op.tx {
		return nil
	}

	res, err := s.op.do(w)
	if err != nil {
		return fmt.Errorf("the same transaction again: %w", err)
	}

	if res.Replayed != happened && !s.op.still {
		return fmt.Errorf("the same transaction again: replayed %v, happened %v",
			res.Replayed, happened)
	}

	doc, err := w.r.Doc(context.Background())
	if err != nil {
		return err
	}

	titles := map[string]int{}
	for _, task := range doc.Tasks {
		titles[task.Title]++
	}

	for title, n := range titles {
		if n > 1 {
			return fmt.Errorf("the same transaction again: %d tasks have the title %q", n, title)
		}
	}

	return w.sound()
}

var temporary = regexp.MustCompile(`\.tmp-\d+-[0-9a-f]{16}$`)

// messageFaults says what a message of IO lacks: the file and the errno.
func messageFaults(message string, f fault, hit faults.Call) []error {
	var all []error

	if f.errno != 0 && !strings.Contains(message, f.errno.Error()) {
		all = append(all, fmt.Errorf("the message lacks %q", f.errno.Error()))
	}

	named := false
	for _, name := range []string{hit.Path, hit.To} {
		base := temporary.ReplaceAllString(filepath.Base(name), "")
		named = named || name != "" && strings.Contains(message, base)
	}

	for _, name := range []string{
		"state.json", "audit.jsonl", "state.lock", "errors.json", "errors.lock",
		"implementation-001.md", "backups", ".tercet",
	} {
		named = named || strings.Contains(message, name)
	}

	if !named {
		all = append(all, errors.New("the message names no file"))
	}

	return all
}

// TestEveryPoint stops every operation at every of its calls in every way. Without -full it takes a
// sample of the points, a different one for each operation.
func TestEveryPoint(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}

	sample := sampled
	switch {
	case raceEnabled:
		sample *= 10
	case !testkit.Deep():
		sample *= 4
	}

	var points atomic.Int64

	t.Run("of", func(t *testing.T) {
		for i, op := range operations() {
			t.Run(op.name, func(t *testing.T) {
				t.Parallel()

				s := prepare(t, op)
				n := 13 * i
				for k, c := range s.calls {
					for _, f := range faultsOf() {
						if f.errno == 0 && !c.Changes() && k > 0 && !s.calls[k-1].Changes() {
							continue // nothing on the disk differs from the call before
						}

						n++
						// That a lock cannot be given back comes at the end of few points; these
						// are taken always.
						held := f.name == "broken from here" && c.Name == "flock" &&
							c.Flags&unix.LOCK_UN != 0
						if !*full && n%sample != 0 && !held {
							continue
						}

						points.Add(1)
						s.point(t, k+1, f)
					}
				}
			})
		}
	})

	t.Logf("R3: %d points of %d operations, each with a kill or a failing call: all as promised, "+
		"unless said above",
		points.Load(), len(operations()))
}

// sampled: one in so many points is taken without -full.
const sampled = 131
