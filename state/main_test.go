package state_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tercet/formats"
	"tercet/state"
)

// TestMain runs a writer instead of the tests where TERCET_STATE_WRITER says so: the tests with
// several processes start this binary again.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TERCET_STATE_WRITER"); dir != "" {
		if err := writer(dir, os.Getenv("TERCET_STATE_WRITER_N"), os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// writer makes n tasks, one a transaction, and prints the number of each when it is durable. "hold"
// takes the lock and keeps it until its input ends.
func writer(dir, n string, out io.Writer) error {
	w, err := openWorkspace(dir)
	if err != nil {
		return err
	}

	if n == "hold" {
		return w.hold(out)
	}

	count, err := strconv.Atoi(n)
	if err != nil {
		return err
	}

	for i := range count {
		res, err := w.m.Apply(context.Background(), state.Tx{
			Session: session,
			Ops: []state.Op{state.CreateTasks{Tasks: []state.NewTask{{
				Title: fmt.Sprintf("by %d, %d", os.Getpid(), i),
			}}}},
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(out, res.Numbers[0])
	}
	return nil
}

const (
	session = "sess_1767610000_aaaaaa"
	other   = "sess_1767610000_bbbbbb"
)

// clock is a clock that stands still until it is moved.
type clock struct{ at atomic.Int64 }

func (c *clock) Now() time.Time {
	return time.Unix(c.at.Load(), 0).UTC()
}

func (c *clock) advance(d time.Duration) {
	c.at.Add(int64(d / time.Second))
}

// tb is what testing.TB and rapid.T have in common.
type tb interface { //nolint:interfacebloat // it is the part of testing.TB that the tests need
	Helper()
	Cleanup(fn func())
	Context() context.Context
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// tbTemp is a tb with folders of its own.
type tbTemp interface {
	tb
	TempDir() string
}

// workspace is a project with a manager and a reader.
type workspace struct {
	t     tb
	dir   string
	root  *os.Root
	clock *clock
	cfg   state.Config
	m     *state.Manager
	r     *state.Reader

	mu      sync.Mutex
	dead    map[string]bool // sessions whose process is gone
	notices []string
}

var ids atomic.Int64 // ids differ between the goroutines of a test binary

func openWorkspace(dir string) (*workspace, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}

	w := &workspace{
		dir:   dir,
		root:  root,
		clock: &clock{},
		dead:  map[string]bool{},
	}
	w.clock.at.Store(1767610000)
	w.cfg = state.Config{
		Root:  root,
		Dir:   dir,
		Clock: w.clock,
		Alive: func(l formats.Lease) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !w.dead[l.Session]
		},
		Self: func(session, run string) formats.Lease {
			return formats.Lease{
				Session:  session,
				Run:      run,
				Host:     "here",
				BootID:   "boot",
				PID:      os.Getpid(),
				PIDStart: "1",
			}
		},
		Notice: func(s string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.notices = append(w.notices, s)
		},
		NewID: func() string {
			return fmt.Sprintf("id-%d-%d", os.Getpid(), ids.Add(1))
		},
		LockTimeout: time.Minute,
		User:        "tester",
		CommandLine: "tercet test",
	}
	w.m, err = state.NewManager(w.cfg)
	if err != nil {
		return nil, err
	}

	w.r, err = state.NewReader(w.cfg)
	return w, err
}

// newWorkspace makes a workspace with an empty state.
func newWorkspace(t tbTemp) *workspace {
	t.Helper()
	return workspaceIn(t, t.TempDir())
}

// quickWorkspace lies in memory where the system has a place for that: for tests of many writes
// that are not about disks.
func quickWorkspace(t tb) *workspace {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tercet-state-")
	if err != nil {
		dir, err = os.MkdirTemp("", "tercet-state-")
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return workspaceIn(t, dir)
}

func workspaceIn(t tb, dir string) *workspace {
	t.Helper()
	w, err := openWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}

	w.t = t
	t.Cleanup(func() { w.root.Close() })

	if err := w.m.Init(t.Context(), state.InitOptions{}); err != nil {
		t.Fatal(err)
	}

	return w
}

func (w *workspace) path(name string) string {
	return filepath.Join(w.dir, ".tercet", name)
}

func (w *workspace) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// files gives every file of the project by its path.
func (w *workspace) files() map[string]string {
	w.t.Helper()

	out := map[string]string{}
	err := fs.WalkDir(w.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := w.root.ReadFile(name)
		out[name] = string(data)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}

	return out
}

// backup is the serial of the newest backup.
func (w *workspace) backup() uint64 {
	serial, _ := w.m.NewestBackup()
	return serial
}

func (w *workspace) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// document writes a document and gives it as an artifact.
func (w *workspace) document(kind formats.ArtifactType, name, text string) formats.Artifact {
	w.t.Helper()
	w.write(name, text)
	return formats.Artifact{Type: kind, Path: ".tercet/" + name}
}

func (w *workspace) try(ops ...state.Op) (state.Result, error) {
	return w.m.Apply(context.Background(), state.Tx{
		Session: session,
		Run:     "r1",
		Ops:     ops,
	})
}

func (w *workspace) do(ops ...state.Op) state.Result {
	w.t.Helper()
	res, err := w.try(ops...)
	if err != nil {
		w.t.Fatalf("Apply(%+v) = %v", ops, err)
	}
	return res
}

// add makes tasks with the titles.
func (w *workspace) add(titles ...string) []int {
	w.t.Helper()
	var list []state.NewTask
	for _, t := range titles {
		list = append(list, state.NewTask{Title: t})
	}
	return w.do(state.CreateTasks{Tasks: list}).Numbers
}

// force puts a task into a status whatever the table says.
func (w *workspace) force(n int, to formats.TaskStatus) {
	w.t.Helper()
	_, err := w.m.Apply(w.t.Context(), state.Tx{
		Session: session,
		Run:     "r1",
		Force:   true,
		Ops: []state.Op{state.UpdateStatus{
			Tasks:  []int{n},
			To:     to,
			Reason: "test",
		}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// stored gives a task as it stands in the file.
func (w *workspace) stored(n int) formats.Task {
	w.t.Helper()
	doc, err := w.r.Doc(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}

	for _, t := range doc.Tasks {
		if t.Number == n {
			return t
		}
	}

	w.t.Fatalf("no task %d in the file", n)
	return formats.Task{}
}

func (w *workspace) serial() uint64 {
	w.t.Helper()
	doc, err := w.r.Doc(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return doc.Serial
}

// healthy checks everything that Verify knows, and that the file is JSON.
func (w *workspace) healthy() {
	w.t.Helper()
	found, err := w.r.Verify(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}

	for _, d := range found {
		if d.Severity == formats.SeverityError || strings.HasSuffix(d.File, "audit.jsonl") {
			w.t.Errorf("Verify: %v", d)
		}
	}

	if !json.Valid([]byte(w.read("state.json"))) {
		w.t.Errorf("state.json is no JSON:\n%s", w.read("state.json"))
	}
}

func (w *workspace) hold(out io.Writer) error {
	if err := os.WriteFile(
		w.path("state.lock.info"),
		[]byte(`{"pid":4711,"command":"tercet /implement 5","host":"far"}`),
		0o644,
	); err != nil {
		return err
	}

	release, err := lockOf(w.path("state.lock"))
	if err != nil {
		return err
	}

	fmt.Fprintln(out, "held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, release())
}

// command starts this binary as a writer.
func command(t tb, dir, n string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "TERCET_STATE_WRITER="+dir, "TERCET_STATE_WRITER_N="+n)
	cmd.Stderr = os.Stderr
	return cmd
}
