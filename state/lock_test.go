package state_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"tercet/formats"
	"tercet/internal/testkit"
	"tercet/state"
)

// lockOf takes a lock file as another process would.
func lockOf(path string) (release func() error, err error) {
	f := flock.New(path)
	return f.Unlock, f.Lock()
}

func TestLockTimeoutNamesHolder(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	cmd := command(t, w.dir, "hold")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("holder said %q, %v", line, err)
	}

	w.cfg.LockTimeout = 50 * time.Millisecond
	m, err := state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}

	before := w.read("state.json")
	_, err = m.Apply(t.Context(), state.Tx{
		Session: session,
		Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}}},
	})
	if err == nil {
		t.Fatal("Apply under a foreign lock = nil, want LOCKED")
	}

	for _, want := range []string{"state.lock", "pid 4711", "tercet /implement 5", "far"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %q, want it to name %q", err, want)
		}
	}

	if got := formats.CodeOf(err); got != formats.CodeLocked {
		t.Errorf("code = %s, want LOCKED", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.m.Apply(ctx, state.Tx{
		Session: session,
		Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}}},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Apply with a cancelled context = %v, want context.Canceled", err)
	}

	if got := w.read("state.json"); got != before {
		t.Error("state.json changed without the lock")
	}
	if _, _, err := w.r.Snapshot(t.Context()); err != nil {
		t.Errorf("Snapshot under a foreign lock = %v, want nil", err)
	}

	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}

	w.add("a")
}

// TestLockFileReplaced deletes the lock file under a waiter: the lock of a file that is gone
// excludes nobody, so the waiter has to wait for the new one as well.
func TestLockFileReplaced(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	old, err := lockOf(w.path("state.lock"))
	if err != nil {
		t.Fatal(err)
	}

	done := make(chan error, 1)
	go func() {
		_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}})
		done <- err
	}()

	// By now the writer waits on the old file; if it does not yet, the test proves less but passes.
	<-time.After(100 * time.Millisecond)
	if err := os.Remove(w.path("state.lock")); err != nil {
		t.Fatal(err)
	}

	fresh, err := lockOf(w.path("state.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := old(); err != nil {
		t.Fatal(err)
	}

	select {
	case err := <-done:
		t.Fatalf("Apply = %v while another process held the lock", err)
	case <-time.After(200 * time.Millisecond):
	}

	if err := fresh(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestLockPathIsNoFile(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"link": func(path string) error {
			return os.Symlink("elsewhere", path)
		},
		"missing": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			if err := os.Remove(w.path("state.lock")); err != nil {
				t.Fatal(err)
			}

			if make == nil {
				w.add("a")
				return
			}

			if err := make(w.path("state.lock")); err != nil {
				t.Fatal(err)
			}

			_, err := w.try(state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}}})
			if formats.CodeOf(err) != formats.CodeIO ||
				!strings.Contains(err.Error(), "state.lock is a") {
				t.Errorf("Apply = %v, want IO that names the lock and what it is", err)
			}

			if _, err := os.Lstat(w.path("elsewhere")); err == nil {
				t.Error("the link was followed")
			}
		})
	}
}

// TestNotice waits longer than a lock is waited for in silence.
func TestNotice(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "waits for more than 5 s")

	w := newWorkspace(t)
	w.add("a")
	release, err := lockOf(w.path("state.lock"))
	if err != nil {
		t.Fatal(err)
	}

	w.cfg.LockTimeout = 10 * time.Second
	m, err := state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}

	_, err = m.Apply(t.Context(), state.Tx{
		Session: session,
		Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "b"}}}},
	})

	if formats.CodeOf(err) != formats.CodeLocked {
		t.Errorf("Apply = %v, want LOCKED", err)
	}

	if err := release(); err != nil {
		t.Fatal(err)
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.notices) != 1 ||
		!strings.HasPrefix(w.notices[0], "waiting for state.lock, held by pid ") ||
		!strings.Contains(w.notices[0], "(tercet test)") {
		t.Errorf("notices = %q, want one that names the holder", w.notices)
	}
}
