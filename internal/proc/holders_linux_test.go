package proc_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tercet/internal/proc"
)

// locks are ways to hold a lock on the file "$1" for a minute, after which the file "$1.held" is
// there.
var locks = map[string]string{
	"shared":    `exec 9<"$1"; flock -s 9; touch "$1.held"; sleep 60`,
	"exclusive": `exec 9<"$1"; flock -x 9; touch "$1.held"; sleep 60`,
	// who took it has ended
	"passed on": `exec 9<"$1"; env -i flock -s 9; touch "$1.held"; exec env -i sleep 60`,
	"away":      `exec 9<"$1"; flock -s 9; setsid env -i sleep 60 & touch "$1.held"; wait`,
}

// held waits until one of locks holds its lock.
func held(t *testing.T, file string) []proc.LockHolder {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for ; ; <-time.After(5 * time.Millisecond) {
		if _, err := os.Stat(file + ".held"); err == nil {
			return proc.LockHolders(file, superviseWord)
		}
		if time.Now().After(end) {
			t.Fatal("the lock was not taken")
		}
	}
}

// TestLockHolders: whoever holds a lock is found, and a worker that does is ended, however it holds
// it.
func TestLockHolders(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("no program flock here, which takes the lock")
	}
	if got := proc.LockHolders(filepath.Join(t.TempDir(), "none"), superviseWord); got != nil {
		t.Errorf("LockHolders(no file) = %+v, want none", got)
	}
	for name, script := range locks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, supervisor := range [][]string{nil, {ownProc(t), superviseWord}} {
				file := filepath.Join(t.TempDir(), "lock")
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if got := proc.LockHolders(file, superviseWord); len(got) > 0 {
					t.Errorf("LockHolders(no lock) = %+v, want none", got)
				}
				s := starter(t, func(s *proc.Starter) {
					s.Supervisor = supervisor
				})
				c := sh("")
				c.Argv = []string{"sh", "-c", script, "sh", file}
				c.Timeout.Total = 2 * time.Minute
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error)
				go func() {
					_, err := s.Run(ctx, c)
					ended <- err
				}()
				list := held(t, file)
				if len(list) == 0 || list[0].Command == "" ||
					list[0].IsWorker() != (supervisor != nil) {
					t.Errorf("with supervisor %q: LockHolders = %+v, want the child, a worker: %t",
						supervisor, list, supervisor != nil)
				}
				if supervisor == nil {
					cancel()
					if err := <-ended; !errors.Is(err, context.Canceled) {
						t.Errorf("Run = %v, want the context's error", err)
					}
					continue
				}
				if err := list[0].EndWorker(); err != nil {
					t.Fatal(err)
				}
				if err := <-ended; !errors.Is(err, proc.ErrEvicted) {
					t.Errorf("Run = %v, want ErrEvicted", err)
				}
				if got := proc.LockHolders(file, superviseWord); len(got) > 0 {
					t.Errorf("LockHolders = %+v after the end of the worker, want none", got)
				}
			}
		})
	}
}
