//go:build unix

package proc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tercet/internal/proc"
	"tercet/internal/testkit"
)

// patient lets a child that is slow to start leave by itself.
func patient(s *proc.Starter) {
	s.Grace.Interrupt = 10 * time.Second
}

func TestTalk(t *testing.T) {
	t.Parallel()
	c := part(t, "cat")
	var seen strings.Builder
	c.Watch = func(p []byte) bool {
		seen.Write(p)
		return true
	}
	c.Talk = func(_ context.Context, stdin io.WriteCloser, stdout io.Reader) error {
		lines := bufio.NewScanner(stdout)
		for i := range 100 {
			if _, err := fmt.Fprintf(stdin, "line %d\n", i); err != nil {
				return err
			}
			if !lines.Scan() || lines.Text() != fmt.Sprintf("line %d", i) {
				return fmt.Errorf("expected line %d, got %q", i, lines.Text())
			}
		}
		return stdin.Close()
	}
	got := run(t, starter(t, patient), c)
	if !got.Success() || got.Stopped || seen.String() != string(got.Stdout) ||
		strings.Count(seen.String(), "\n") != 100 {
		t.Errorf("Run = %+v, watched %d bytes, want 100 lines and success", got, seen.Len())
	}
}

func TestTalkEnds(t *testing.T) {
	t.Parallel()
	silent := func(context.Context, io.WriteCloser, io.Reader) error {
		return nil
	}
	waits := func(ctx context.Context, _ io.WriteCloser, _ io.Reader) error {
		<-ctx.Done()
		return ctx.Err()
	}
	reads := func(_ context.Context, _ io.WriteCloser, stdout io.Reader) error {
		_, err := io.Copy(io.Discard, stdout)
		return err
	}
	broken := errors.New("broken")
	tests := []struct {
		name, part string
		talk       proc.Talk
		limit      proc.Timeout
		want       func(proc.Result, error) bool
	}{
		{
			"the child ends when its input does",
			"cat",
			silent,
			proc.Timeout{},
			func(r proc.Result, err error) bool {
				return r.Success() && err == nil
			},
		},
		{
			"an error is that of Run",
			"cat",
			func(context.Context, io.WriteCloser, io.Reader) error {
				return broken
			},
			proc.Timeout{},
			func(r proc.Result, err error) bool {
				return r.Success() && errors.Is(err, broken)
			},
		},
		{
			"a child that stays is killed",
			"stubborn",
			silent,
			proc.Timeout{},
			func(r proc.Result, err error) bool {
				return r.Stopped && r.Killed && err == nil
			},
		},
		{
			"a child that is asked leaves unhurt",
			"cat",
			waits,
			proc.Timeout{Total: 200 * time.Millisecond},
			func(r proc.Result, err error) bool {
				return r.TimedOut == proc.TimeoutTotal && r.Exit == 0 && r.Signal == "" &&
					err == nil
			},
		},
		{
			"nobody reads",
			"flood",
			waits,
			proc.Timeout{Idle: 300 * time.Millisecond},
			func(r proc.Result, err error) bool {
				return r.TimedOut == proc.TimeoutIdle && err == nil
			},
		},
		{
			"a flood",
			"flood",
			reads,
			proc.Timeout{},
			func(r proc.Result, err error) bool {
				return r.Flooded && err == nil
			},
		},
		{
			"a flood that nobody hears",
			"flood",
			silent,
			proc.Timeout{},
			func(r proc.Result, err error) bool {
				return (r.Flooded || r.Stopped) && err == nil
			},
		},
	}
	for _, supervised := range []bool{false, true} {
		for _, tt := range tests {
			t.Run(fmt.Sprint(tt.name, " ", supervised), func(t *testing.T) {
				t.Parallel()
				c := part(t, tt.part)
				c.Talk = tt.talk
				c.Limit = 4 << 20
				c.Timeout.Idle = tt.limit.Idle
				if tt.limit.Total > 0 {
					c.Timeout.Total = tt.limit.Total
				}
				s := starter(t, func(s *proc.Starter) {
					if tt.part == "cat" {
						patient(s)
					}
					if supervised {
						s.Supervisor = []string{ownProc(t), superviseWord}
					}
				})
				if got, err := s.Run(t.Context(), c); !tt.want(got, err) {
					got.Stdout = nil
					t.Errorf("Run = %+v, %v", got, err)
				}
			})
		}
	}
}

// TestTalkIsCut: a conversation that does not end is cut, with a child that ignores every request
// to leave.
func TestTalkIsCut(t *testing.T) {
	t.Parallel()
	pushes := func(_ context.Context, stdin io.WriteCloser, _ io.Reader) error {
		for {
			if _, err := stdin.Write(make([]byte, 1<<16)); err != nil {
				return err
			}
		}
	}
	for _, supervised := range []bool{false, true} {
		t.Run(fmt.Sprint(supervised), func(t *testing.T) {
			t.Parallel()
			testkit.Widen(t, time.Second/2, func(limit time.Duration) bool {
				c := part(t, "stubborn")
				c.Talk = pushes
				c.Timeout.Total = limit
				s := starter(t, func(s *proc.Starter) {
					if supervised {
						s.Supervisor = []string{ownProc(t), superviseWord}
					}
				})
				got, err := s.Run(t.Context(), c)
				if got.TimedOut != proc.TimeoutTotal || err != nil {
					t.Errorf("Run = %+v, %v, want it ended at the limit", got, err)
				}
				return got.Signal == "SIGKILL" // it ignores what comes before, once it has begun
			})
		})
	}
}

func TestTalkCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := part(t, "cat")
	c.Talk = func(ctx context.Context, stdin io.WriteCloser, stdout io.Reader) error {
		cancel()
		<-ctx.Done()
		if _, err := io.WriteString(stdin, "good bye\n"); err != nil {
			return err
		}
		_, err := bufio.NewReader(stdout).ReadString('\n')
		return err
	}
	got, err := starter(t, patient).Run(ctx, c)
	if !errors.Is(err, context.Canceled) || string(got.Stdout) != "good bye\n" || got.Exit != 0 {
		t.Errorf("Run = %+v, %v, want the last words and the context's error", got, err)
	}
}
