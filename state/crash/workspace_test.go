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
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tercet/formats"
	"tercet/state"
)

// clock stands still.
type clock int64

func (c clock) Now() time.Time {
	return time.Unix(int64(c), 0).UTC()
}

// The times of the three who write: whoever prepares a workspace, the child that is hit, and the
// next command.
const (
	early clock = 1767610000
	hit   clock = early + 3600
	late  clock = hit + 3600
)

// smallLog is a file that has the audit log rotated early.
const smallLog = "small-log"

const session = "sess_1767610000_aaaaaa"

// workspace is a project as one process has it open.
type workspace struct {
	dir  string
	root *os.Root
	cfg  state.Config
	m    *state.Manager
	r    *state.Reader
	errs *state.Errors
	ids  atomic.Int64
}

func openWorkspace(dir string, now clock) (*workspace, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}

	w := &workspace{dir: dir, root: root}
	w.cfg = state.Config{
		Root:        root,
		Dir:         dir,
		Clock:       now,
		LockTimeout: 2 * time.Second,
		Alive:       func(formats.Lease) bool { return true },
		Self: func(session, run string) formats.Lease {
			return formats.Lease{
				Session:  session,
				Run:      run,
				Host:     "here",
				BootID:   "boot",
				PID:      1,
				PIDStart: "1",
			}
		},
		NewID: func() string {
			return fmt.Sprintf("id-%d-%d", now, w.ids.Add(1))
		},
	}
	if _, err := os.Stat(filepath.Join(dir, smallLog)); err == nil {
		w.cfg.AuditLimit = 1500
	}
	var problems [3]error
	w.m, problems[0] = state.NewManager(w.cfg)
	w.r, problems[1] = state.NewReader(w.cfg)
	w.errs, problems[2] = state.NewErrors(w.cfg)
	return w, errors.Join(problems[:]...)
}

func (w *workspace) close() {
	w.root.Close()
}

func (w *workspace) path(name string) string {
	return filepath.Join(w.dir, ".tercet", name)
}

func (w *workspace) apply(id string, ops ...state.Op) (state.Result, error) {
	return w.m.Apply(context.Background(), state.Tx{
		ID:      id,
		Session: session,
		Run:     "r1",
		Ops:     ops,
	})
}

// force does what a test needs before it begins.
func (w *workspace) force(ops ...state.Op) error {
	_, err := w.m.Apply(context.Background(), state.Tx{
		Session: session,
		Run:     "r1",
		Force:   true,
		Ops:     ops,
	})
	return err
}

// byRun applies transactions of another run.
func (w *workspace) byRun(run string, txs ...[]state.Op) error {
	var all error
	for _, ops := range txs {
		_, err := w.m.Apply(context.Background(), state.Tx{
			Session: session,
			Run:     run,
			Force:   true,
			Ops:     ops,
		})
		all = errors.Join(all, err)
	}
	return all
}

func (w *workspace) write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		return err
	}
	return os.WriteFile(w.path(name), []byte(text), 0o644)
}

func (w *workspace) read(name string) (string, error) {
	data, err := os.ReadFile(w.path(name))
	return string(data), err
}

// folder makes an empty folder in memory where the system has a place for that, with its real path.
func folder(t *testing.T) string {
	t.Helper()

	dir, err := os.MkdirTemp("/dev/shm", "tercet-crash-") //nolint:usetesting // a folder of the test lies on a disk
	if err != nil {
		dir = t.TempDir()
	}

	t.Cleanup(func() { os.RemoveAll(dir) })

	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}

	return dir
}

// after is the title of the task that the next command makes.
const after = "after"

// view is what a workspace says about the work: the tasks, the archive, the plans, and the errors.
// It leaves out serials, the task called after, and what is told apart by name only.
func view(dir string) (string, error) {
	var out strings.Builder
	for _, name := range []string{"state.json", "archive/state.json", "errors.json"} {
		data, err := os.ReadFile(filepath.Join(dir, ".tercet", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}

		var doc struct {
			Tasks  []map[string]any `json:"tasks"`
			Errors []map[string]any `json:"errors"`
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			return "", fmt.Errorf("%s: %w:\n%s", name, err, data)
		}

		list := slices.DeleteFunc(append(
			doc.Tasks,
			doc.Errors...,
		), func(m map[string]any) bool { return m["title"] == after })
		if len(list) == 0 && name != "state.json" {
			continue // a file without tasks is as good as none
		}

		fmt.Fprintf(&out, "%s\n", name)
		lines := make([]string, len(list))
		for i, m := range list {
			raw, err := json.Marshal(m)
			if err != nil {
				return "", err
			}
			lines[i] = string(raw)
		}
		slices.Sort(lines)
		fmt.Fprintln(&out, strings.Join(lines, "\n"))
	}

	plans, err := filepath.Glob(filepath.Join(dir, ".tercet/specs/*/plans/*.md"))
	if err != nil {
		return "", err
	}
	for _, name := range plans {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s\n%s\n", filepath.Base(name), data)
	}

	return out.String(), nil
}

// leftovers lists the temporary files of a workspace.
func leftovers(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), ".tmp-") {
			out = append(out, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	return out, err
}

// clone copies a folder.
func clone(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// sound checks everything that can be checked without knowing what was done: the state is valid, so
// is the chain of the log, and nothing temporary is left.
func (w *workspace) sound() error {
	found, err := w.r.Verify(context.Background())
	if err != nil {
		return err
	}

	var all []error
	for _, d := range found {
		if d.Severity == formats.SeverityError || strings.HasSuffix(d.File, "audit.jsonl") {
			all = append(all, fmt.Errorf("verify: %s:%d: %s", d.File, d.Pos.Line, d.Message))
		}
	}

	left, err := leftovers(w.dir)
	if slices.ContainsFunc(left, func(name string) bool {
		return strings.Contains(name, "errors.json")
	}) {
		// They are made under a lock of their own, so that the next recorded error removes them.
		err = errors.Join(
			err,
			w.errs.Record(context.Background(), formats.Problem{Type: "timeout", Message: "next"}),
		)
		var lerr error
		left, lerr = leftovers(w.dir)
		err = errors.Join(err, lerr)
	}
	if len(left) > 0 {
		all = append(all, fmt.Errorf("left over: %q", left))
	}
	data, rerr := os.ReadFile(w.path("state.json"))
	if !json.Valid(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
		all = append(all, fmt.Errorf("state.json is no JSON: %q", data))
	}
	return errors.Join(append(all, err, rerr)...)
}
