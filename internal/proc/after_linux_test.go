package proc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tercet/internal/proc"
)

// waitAfter fails unless what runs last said that nobody was left when it ran.
func waitAfter(t *testing.T, dir string) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for {
		text, err := os.ReadFile(filepath.Join(dir, "after"))
		if err == nil {
			if string(text) != "over\n" {
				t.Errorf("what runs last saw %q, want nobody left", text)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("what runs last did not run: %v", err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	hasSetsid(t)
	for _, supervised := range []bool{true, false} {
		for name, tt := range map[string]struct {
			script  string
			timeout proc.Timeout
			cancel  bool
			limit   int64
		}{
			"ended": {script: "echo $$ > pids; exit 3"},
			"left":  {script: "setsid sleep 60 & echo $! > pids"},
			"timeout": {
				script:  "trap '' INT TERM; echo $$ > pids; while :; do sleep 1; done",
				timeout: proc.Timeout{Total: 300 * time.Millisecond},
			},
			"canceled": {script: "echo $$ > pids; echo ready; sleep 60", cancel: true},
			"flood":    {script: "echo $$ > pids; exec yes", limit: 1 << 16},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s := starter(t, func(s *proc.Starter) {
					s.Supervisor = nil
					if supervised {
						s.Supervisor = []string{ownProc(t), superviseWord}
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := sh(tt.script)
				c.Dir = dir
				c.After = afterOf(dir)
				c.Limit = tt.limit
				c.Private = true
				if tt.timeout.Total > 0 {
					c.Timeout = tt.timeout
				}
				c.Watch = func([]byte) bool {
					if tt.cancel {
						cancel()
					}
					return true
				}
				if _, err := s.Run(ctx, c); (err != nil) != tt.cancel {
					t.Errorf("Run = %v, want an error: %v", err, tt.cancel)
				}
				if _, err := os.Stat(filepath.Join(dir, "after")); err != nil {
					t.Errorf("what runs last had not run when Run returned: %v", err)
				}
				waitAfter(t, dir)
			})
		}
	}
}

// TestTempOfAKilledOwner: the private folder stands in the record before it is made, and goes
// before the record, so that a start after a kill removes it, whether anybody of the child is still
// there.
func TestTempOfAKilledOwner(t *testing.T) {
	t.Parallel()
	var told []string
	records := proc.Register{
		Dir:    filepath.Join(t.TempDir(), "children"),
		Report: func(line string) { told = append(told, line) },
	}
	recorded := false
	removed := false
	s := starter(t, func(s *proc.Starter) {
		s.Supervisor = []string{ownProc(t), superviseWord}
		s.Record = func(c proc.Started) (func(), error) {
			_, err := os.Stat(c.Temp)
			recorded = os.IsNotExist(err)
			return func() {
				_, err := os.Stat(c.Temp)
				removed = os.IsNotExist(err)
			}, nil
		}
	})
	c := sh(`test -d "$TMPDIR"`)
	c.Private = true
	if got := run(t, s, c); !got.Success() || !recorded || !removed {
		t.Errorf("Run = %+v; recorded before it was there: %v, forgotten when it was gone: %v",
			got, recorded, removed)
	}
	recorded = false
	removed = false
	own, remove, err := s.TempFolder()
	if err != nil || !recorded {
		t.Fatalf("Folder = %q, %v; recorded before it was there: %v", own, err, recorded)
	}
	if err := remove(); err != nil || !removed {
		t.Errorf("remove = %v, forgotten when it was gone: %v", err, removed)
	}
	left, err := os.MkdirTemp("", "tercet-") //nolint:usetesting // only what lies where the program makes them is removed
	if err != nil {
		t.Fatal(err)
	}
	facts, err := proc.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	facts.PID = 1 << 22 // of this boot, and gone
	before, err := records.Record(proc.Started{
		Proc:  facts,
		Owner: facts,
		Name:  "sh",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := records.Record(proc.Started{
		Proc:  facts,
		Owner: facts,
		Temp:  left,
		Name:  "sh",
	}); err != nil {
		t.Fatal(err)
	}
	before()                                  // the supervisor had its next child by then
	alone, err := os.MkdirTemp("", "tercet-") //nolint:usetesting // as above
	if err != nil {
		t.Fatal(err)
	}
	if _, err := records.Record(proc.Started{Owner: facts, Temp: alone}); err != nil {
		t.Fatal(err)
	}
	records.Sweep(func(proc.Started) {})
	if _, err := os.Stat(alone); !os.IsNotExist(err) {
		t.Errorf("after the sweep the folder of a process without children is %v", err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) || !records.Empty() || len(told) > 0 {
		t.Errorf("after the sweep the folder is %v, the records empty: %v, told %q",
			err, records.Empty(), told)
	}
}

func TestAfterIsNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := sh("echo ran > " + dir + "/ran")
	c.After = []string{"no-such-program"}
	_, err := starter(t, nil).Run(t.Context(), c)
	_, statErr := os.Stat(dir + "/ran")
	if !errors.As(err, new(*proc.NotFoundError)) || statErr == nil {
		t.Errorf("Run = %v, want a NotFoundError and nothing run", err)
	}
}
