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
	end := time.Now().Add(10 * time.Second)
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
			"ended":    {script: "echo $$ > pids; exit 3"},
			"left":     {script: "setsid sleep 60 & echo $! > pids"},
			"timeout":  {script: "trap '' INT TERM; echo $$ > pids; while :; do sleep 1; done", timeout: proc.Timeout{Total: 300 * time.Millisecond}},
			"canceled": {script: "echo $$ > pids; echo ready; sleep 60", cancel: true},
			"flood":    {script: "echo $$ > pids; exec yes", limit: 1 << 16},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				s := starter(t, func(s *proc.Starter) {
					if s.Supervisor = nil; supervised {
						s.Supervisor = []string{self(t), superviseWord}
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := sh(tt.script)
				c.Dir, c.After, c.Limit, c.Private = dir, afterOf(dir), tt.limit, true
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

func TestAfterIsNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := sh("echo ran > " + dir + "/ran")
	c.After = []string{"no-such-program"}
	_, err := starter(t, nil).Run(t.Context(), c)
	if _, statErr := os.Stat(dir + "/ran"); !errors.As(err, new(*proc.NotFoundError)) || statErr == nil {
		t.Errorf("Run = %v, want a NotFoundError and nothing run", err)
	}
}
