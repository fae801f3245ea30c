//go:build unix

package proc_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/proc"
	"tercet/internal/testkit"
)

type ctx = context.Context

func run(t *testing.T, s *proc.Starter, c proc.Command) proc.Result {
	t.Helper()
	r, err := s.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("Run(%s) = %v, want no error; stderr %q", c, err, r.Stderr)
	}
	return r
}

func TestRunOutcome(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		cmd  proc.Command
		want proc.Result
	}{
		{
			"success",
			sh("echo out; echo err >&2"),
			proc.Result{Stdout: []byte("out\n"), Stderr: []byte("err\n")},
		},
		{"non-zero exit", sh("exit 3"), proc.Result{Exit: 3}},
		{"signal", sh("kill -TERM $$"), proc.Result{Exit: -1, Signal: "SIGTERM"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, starter(t, nil), tt.cmd)
			got.Duration = 0
			d := cmp.Diff(
				tt.want,
				got,
				cmp.Transformer("s", func(b []byte) string {
					return string(b)
				}),
			)
			if d != "" {
				t.Errorf("Run(%s) (-want +got)\n%s", tt.cmd, d)
			}
		})
	}
}

func TestStdin(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // more than a pipe holds
	for name, in := range map[string][]byte{"fed": big, "closed": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := part(t, "cat")
			c.Stdin = in
			if got := run(t, starter(t, nil), c); !bytes.Equal(got.Stdout, in) {
				t.Errorf("Run(cat) gave %d bytes, want %d", len(got.Stdout), len(in))
			}
		})
	}
	t.Run("unread", func(t *testing.T) {
		t.Parallel()
		c := sh("exit 0")
		c.Stdin = big
		if got := run(t, starter(t, nil), c); !got.Success() {
			t.Errorf("Run(exit 0) = %+v, want success", got)
		}
	})
}

func TestEnvironmentIsExact(t *testing.T) {
	t.Parallel()
	s := starter(t, func(s *proc.Starter) {
		s.Env = []string{"PATH=/usr/bin:/bin", "A=1", "B=2", "A=3"}
	})
	c := part(t, "env")
	c.Env = append(c.Env, "B=x=y", "C=")
	c.Dir = t.TempDir()
	got := strings.Split(strings.TrimSpace(string(run(t, s, c).Stdout)), "\n")
	want := []string{"A=3", "B=x=y", "C=", "PATH=/usr/bin:/bin", "PROC_CHILD=env"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("environment of the child (-want +got)\n%s", d)
	}
}

// TestArgumentsArriveUnchanged hands over more than 1,000 arguments: every byte on its own, in a
// word, behind a dash and in quotes, and what a shell would obey. A program of each purpose gets
// them byte for byte, and nothing is obeyed.
func TestArgumentsArriveUnchanged(t *testing.T) {
	t.Parallel()
	args := []string{
		"", "a b", "--", "-",
		"--help",
		"\xed\xa0\x80",
		"\u202e",
		"日本語",
		strings.Repeat("x", 100_000),
	}
	for n := 1; n < 256; n++ {
		b := string([]byte{byte(n)})
		args = append(args, b, "a"+b+"z", "-"+b, "'"+b+"\"")
	}

	for _, shell := range []string{
		"$HOME", "`touch canary`", "$(touch canary)", "; touch canary", "| touch canary",
		"&& touch canary", "> canary", "\ntouch canary\n", "'; touch canary; '",
		"${x:=$(touch canary)}", "{touch,canary}", "*", "~", "!!",
	} {
		args = append(args, shell, "x"+shell, "--opt="+shell, "\""+shell+"\"")
	}

	want := ""
	for _, a := range args {
		want += strconv.Quote(a) + "\n"
	}
	for _, purpose := range []proc.Purpose{
		proc.PurposeScript, proc.PurposeAgent, proc.PurposeCheck, proc.PurposeGit,
	} {
		c := part(t, "argv", args...)
		c.Dir = t.TempDir()
		c.Purpose = purpose
		if d := cmp.Diff(want, string(run(t, starter(t, nil), c).Stdout)); d != "" {
			t.Errorf("arguments of a %s (-want +got)\n%s", purpose, d)
		}
		if _, err := os.Stat(filepath.Join(c.Dir, "canary")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: Stat(canary) = %v, want it not to exist", purpose, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	reason := errors.New("not trusted")
	ran := filepath.Join(t.TempDir(), "ran")
	deny := func(s *proc.Starter) {
		s.Allow = func(_ ctx, c proc.Command) error {
			if c.Purpose != proc.PurposeCheck {
				t.Errorf("Allow saw purpose %q, want %q", c.Purpose, proc.PurposeCheck)
			}
			return reason
		}
	}
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		c := sh("touch " + ran)
		c.Purpose = proc.PurposeCheck
		_, err := starter(t, deny).Run(t.Context(), c)
		if !errors.Is(err, proc.ErrDenied) || !errors.Is(err, reason) ||
			!strings.Contains(err.Error(), `start "sh -c`) {
			t.Errorf("Run = %v, want ErrDenied of sh with %v", err, reason)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Error("the denied command ran")
		}
	})
	t.Run("nobody to ask", func(t *testing.T) {
		t.Parallel()
		_, err := (&proc.Starter{Now: time.Now}).Run(t.Context(), sh("touch "+ran))
		if !errors.Is(err, proc.ErrNoAllow) {
			t.Errorf("Run = %v, want %v", err, proc.ErrNoAllow)
		}
	})
	t.Run("not found", func(t *testing.T) {
		t.Parallel()
		_, err := starter(t, nil).Run(t.Context(), proc.Command{
			Argv:    []string{"no-such-program"},
			Purpose: proc.PurposeGit,
		})
		var nf *proc.NotFoundError
		if !errors.As(err, &nf) || nf.Name != "no-such-program" {
			t.Errorf("Run = %v, want a NotFoundError", err)
		}
	})
	bad := map[string]func(*proc.Command){
		"purpose": func(c *proc.Command) { c.Purpose = "" },
		"folder":  func(c *proc.Command) { c.Dir = "/no/such/folder" },
		"env":     func(c *proc.Command) { c.Env = []string{"NOVALUE"} },
		"NUL": func(c *proc.Command) {
			c.Argv = append(c.Argv, "a\x00b")
		},
		"out file": func(c *proc.Command) {
			c.OutFile = "/no/such/folder/out"
		},
		"link file": func(c *proc.Command) { c.ErrFile = link(t) },
	}
	for name, edit := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sh("touch " + ran)
			edit(&c)
			_, err := starter(t, nil).Run(t.Context(), c)
			if !errors.Is(err, proc.ErrStart) {
				t.Errorf("Run = %v, want ErrStart", err)
			}
		})
	}
}

func link(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "target"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "link")
}

func TestNewStarter(t *testing.T) {
	t.Parallel()
	allow := func(ctx, proc.Command) error { return nil }
	if _, err := proc.NewStarter(proc.Starter{Now: time.Now}); !errors.Is(err, proc.ErrNoAllow) {
		t.Errorf("NewStarter(no allow) = %v, want %v", err, proc.ErrNoAllow)
	}
	if _, err := proc.NewStarter(proc.Starter{Allow: allow}); !errors.Is(err, proc.ErrNoNow) {
		t.Errorf("NewStarter(no clock) = %v, want %v", err, proc.ErrNoNow)
	}
	_, err := proc.NewStarter(proc.Starter{
		Allow: allow,
		Now:   time.Now,
		Env:   []string{"=x"},
	})
	if err == nil || err.Error() != `expected KEY=VALUE, got "=x"` {
		t.Errorf("NewStarter(=x) = %v, want that the entry is refused", err)
	}
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	t.Run("total", func(t *testing.T) {
		t.Parallel()
		c := part(t, "sleep")
		c.Timeout = proc.Timeout{Total: 200 * time.Millisecond}
		got := run(t, starter(t, nil), c)
		if got.TimedOut != proc.TimeoutTotal || !got.Killed || got.Signal != "SIGINT" {
			t.Errorf("Run(sleep) = %+v, want ended by SIGINT at the total limit", got)
		}
	})
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		// it beats each half second, for longer than the first limit
		testkit.Widen(t, time.Second, func(limit time.Duration) bool {
			c := part(t, "beats")
			c.Timeout = proc.Timeout{Total: time.Hour, Idle: limit}
			got := run(t, starter(t, nil), c)
			if got.TimedOut != proc.TimeoutIdle || !got.Killed {
				t.Errorf("Run(beats) = %+v, want it ended at the idle limit", got)
			}
			return strings.Count(string(got.Stdout), "beat") == 8
		})
	})
}

func TestEscalation(t *testing.T) {
	t.Parallel()
	testkit.Widen(t, time.Second/2, func(limit time.Duration) bool {
		c := part(t, "stubborn")
		c.Timeout = proc.Timeout{Total: time.Hour, Idle: limit}
		got := run(t, starter(t, func(s *proc.Starter) {
			s.Grace.Interrupt = limit
			s.Grace.Terminate = limit
		}), c)
		ready := strings.Contains(string(got.Stdout), "ready\n")
		if ready && got.Signal != "SIGKILL" {
			t.Errorf("Run(stubborn) = %+v with %q, want SIGKILL at last", got, got.Stdout)
		}
		return strings.Contains(string(got.Stdout), "ready\ninterrupt\nterminated\n")
	})
}

// TestNoMoreGrace: a child that ignores the first signal is killed as soon as no more time is
// given, whatever the pauses are.
func TestNoMoreGrace(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	close(over)
	testkit.Widen(t, time.Second/2, func(limit time.Duration) bool {
		c := part(t, "stubborn")
		c.Timeout = proc.Timeout{Total: time.Hour, Idle: limit}
		got := run(t, starter(t, func(s *proc.Starter) {
			s.Grace = proc.Grace{
				Interrupt: time.Hour,
				Terminate: time.Hour,
				Abort:     over,
			}
		}), c)
		ready := strings.Contains(string(got.Stdout), "ready\n")
		if ready && got.Signal != "SIGKILL" {
			t.Errorf("Run(stubborn) = %+v with %q, want SIGKILL at once", got, got.Stdout)
		}
		return ready
	})
}

// onOutput cancels when the child has printed something, which it tells by its spill file.
func onOutput(t *testing.T, cancel context.CancelFunc, file string) func() {
	t.Helper()
	done := make(chan struct{})
	end := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			if info, err := os.Stat(file); err == nil && info.Size() > 0 {
				cancel()
				return
			}
		}
	}()
	return func() {
		close(end)
		<-done
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	cx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := part(t, "polite")
	c.OutFile = filepath.Join(t.TempDir(), "out")
	s := starter(t, func(s *proc.Starter) {
		s.Grace.Interrupt = 10 * time.Second
	})
	stop := onOutput(t, cancel, c.OutFile)
	got, err := s.Run(cx, c)
	stop()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Run(polite) = %v, want %v", err, context.Canceled)
	}
	if got.Exit != 7 || !got.Killed || string(got.Stdout) != "ready\ncleaned up\n" {
		t.Errorf("Run(polite) = %+v with %q, want exit 7 after its clean-up", got, got.Stdout)
	}
	if _, err := s.Run(cx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("Run with an ended context = %v, want %v", err, context.Canceled)
	}
}

func TestCapsAndSpill(t *testing.T) {
	t.Parallel()
	c := sh("i=0; while [ $i -lt 1000 ]; do echo 0123456789; i=$((i+1)); done; echo quiet >&2")
	c.StdoutCap = 100
	c.OutFile = filepath.Join(t.TempDir(), "out")
	got := run(t, starter(t, nil), c)
	if len(got.Stdout) != 100 || !got.Truncated || got.Flooded || string(got.Stderr) != "quiet\n" {
		t.Errorf(
			"Run = %d bytes, truncated %v, flooded %v, stderr %q; want 100, true, false, quiet",
			len(got.Stdout), got.Truncated, got.Flooded, got.Stderr,
		)
	}
	info, err := os.Stat(c.OutFile)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != 11_000 || info.Mode().Perm() != 0o600 {
		t.Errorf("spill = %d bytes, mode %v, want 11000, 0600", info.Size(), info.Mode())
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	c := part(t, "flood")
	c.Limit = 3<<20 + 17
	c.OutFile = filepath.Join(t.TempDir(), "out")
	got := run(t, starter(t, nil), c)
	if !got.Flooded || !got.Killed || got.Success() || len(got.Stdout) != proc.DefaultCap ||
		got.TimedOut != proc.TimeoutNone {
		t.Errorf("Run(flood) = flooded %v killed %v, %d bytes, want a killed flood of %d",
			got.Flooded, got.Killed, len(got.Stdout), proc.DefaultCap)
	}
	info, err := os.Stat(c.OutFile)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != c.Limit {
		t.Errorf("spill = %d bytes, want the limit %d", info.Size(), c.Limit)
	}
}

func TestPrivateTemp(t *testing.T) {
	t.Parallel()
	c := sh(
		`printf %s "$TMPDIR"; mkdir -p "$TMPDIR/a/b"; touch "$TMPDIR/a/b/c"; stat -c %a "$TMPDIR" >&2; chmod 0500 "$TMPDIR/a/b"`,
	)
	c.Private = true
	got := run(t, starter(t, nil), c)
	dir := string(got.Stdout)
	if !filepath.IsAbs(dir) || strings.TrimSpace(string(got.Stderr)) != "700" {
		t.Errorf("TMPDIR = %q with mode %s, want an absolute path, mode 700", dir, got.Stderr)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(TMPDIR) afterwards = %v, want it removed", err)
	}
}

func TestGrandchildHoldsOutput(t *testing.T) {
	t.Parallel()
	got := run(t, starter(t, nil), sh("sleep 6000 & echo $!"))
	if got.TimedOut != "" || got.Exit != 0 {
		t.Errorf("Run = %+v, want exit 0 without waiting for what holds the output", got)
	}
	gone(t, string(got.Stdout))
}

func TestNobodyIsLeft(t *testing.T) {
	t.Parallel()
	hasSetsid(t)
	const wait = "while [ ! -s pid ]; do :; done; cat pid"
	tests := []struct{ name, script string }{
		{"background with own output", "sleep 60 >/dev/null 2>&1 & echo $!"},
		{"job control", "set -m; sleep 60 >/dev/null 2>&1 & echo $!"},
		{"ignores signals", "trap '' INT TERM HUP; sleep 60 >/dev/null 2>&1 & echo $!"},
		{"own session", "setsid sh -c 'echo $$ > pid; sleep 60' & " + wait},
		{"double fork", "(setsid sh -c 'echo $$ > pid; sleep 60' >/dev/null 2>&1 &) ; " + wait},
		{
			"child of an escaped one without environment",
			"setsid sh -c 'env -i setsid sh -c \"echo \\$\\$ > pid; sleep 60\" & sleep 60' " +
				">/dev/null 2>&1 & " + wait,
		},
	}
	for _, tt := range tests {
		for _, how := range []string{"ends", "limit"} {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				testkit.Widen(t, time.Second/2, func(limit time.Duration) bool {
					c := sh(tt.script)
					c.Dir = t.TempDir()
					c.Private = true
					c.Timeout.Total = time.Hour
					if how == "limit" {
						c.Argv[2] += "; sleep 60"
						c.Timeout.Idle = limit
					}
					got := run(t, starter(t, nil), c)
					if got.Killed != (how == "limit") {
						t.Errorf("Run = %+v, want killed %v", got, how == "limit")
					}
					if how == "limit" && len(got.Stdout) == 0 {
						return false
					}
					gone(t, string(got.Stdout))
					return true
				})
			})
		}
	}
}

func hasSetsid(t *testing.T) {
	t.Helper()
	if _, err := starter(t, nil).LookPath("setsid"); err != nil {
		t.Skip("no setsid here, and no subreaper either")
	}
}

// gone reports a process that is still there, be it as a zombie.
func gone(t *testing.T, out string) {
	t.Helper()
	pids := strings.Fields(out)
	if len(pids) == 0 {
		t.Fatal("the child named no process")
	}
	for _, f := range pids {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("the child printed %q, want a process number", out)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("Kill(%d, 0) = %v, want %v: it is still there", pid, err, syscall.ESRCH)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	s, err := proc.NewStarter(proc.Starter{
		Allow: func(ctx, proc.Command) error { return nil },
		Now:   time.Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, err := s.Run(b.Context(), proc.Command{Argv: []string{"true"}, Purpose: proc.PurposeGit})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// TestWithinSeesTheFolder: the private folder is there when the words of bounds are made, which
// name only what is there.
func TestWithinSeesTheFolder(t *testing.T) {
	t.Parallel()
	c := sh(`echo out`)
	c.Private = true
	c.Wrap = func(temp string) proc.Launch {
		if info, err := os.Stat(temp); err != nil || !info.IsDir() {
			t.Errorf("the private folder when the bounds are made: %v, want it there", err)
		}
		return proc.Launch{Argv: []string{"sh", "-c", "echo within"}}
	}
	got := run(t, starter(t, nil), c)
	if string(got.Stdout) != "within\n" {
		t.Errorf("stdout = %q, want that of the words within", got.Stdout)
	}
}
