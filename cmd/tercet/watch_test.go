//go:build linux || darwin

package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"tercet/formats"
)

// watching has a workspace with a command that asks, and one that works.
func watching(t *testing.T) (dir string, env []string) {
	t.Helper()

	dir = workspaceIn(t)
	for name, text := range map[string]string{
		"commands/ship.md": "---\ncommand: ship\ndescription: Ship it\n---\n\n" +
			"## Workflow Execution\n\n### Step 1: Ask\n\n" +
			"```yaml step\nid: go\ngate: Ship it?\nauto: approve\n```\n\n### Step 2: Say so\n\n" +
			"```yaml step\nreturn: \"shipped: ${{ $steps.go.choice }} by ${{ $steps.go.by }}\"\n" +
			"```\n",
		"commands/work.md": "---\ncommand: work\ndescription: Works\n---\n\n" +
			"## Workflow Execution\n\n### Step 1: Work\n\n" +
			"```yaml step\nid: long\ndelegate: long\n```\n",
		"subagents/long.md": "---\nname: long\ndescription: Works for long\nrole: utility\n" +
			"runner: exec\n" +
			"argv: [sh, -c, 'echo begun >&2; sleep 60']\nreturns: {artifacts: none}\n---\n\n" +
			"Works.\n",
	} {
		err := os.WriteFile(filepath.Join(dir, formats.Workspace, name), []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}

	return dir, []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}
}

// onWatch opens the screen at a size.
func onWatch(t *testing.T, dir string, env []string) *screen {
	t.Helper()
	s := onTerminalOf(t, 80, dir, env, "watch")
	s.wait("\x1b[?1049h")
	return s
}

// restored ends the screen, and holds that the terminal is as it was.
func (s *screen) restored(want int) {
	s.t.Helper()

	code := s.ends()
	rest := s.shown("\x1b[?1049l")
	if code != want || !reflect.DeepEqual(untouched(s.t), s.state()) {
		s.t.Errorf("exit code %d, want %d, terminal %+v, want it as it was; it shows %q",
			code, want, s.state(), rest)
	}

	// the screen of before, and no marks around a paste
	for _, mode := range []string{"1049", "2004"} {
		if strings.LastIndex(rest, "\x1b[?"+mode+"l") < strings.LastIndex(rest, "\x1b[?"+mode+"h") {
			s.t.Errorf("mode %s is still on: %q", mode, rest)
		}
	}

	i := strings.LastIndex(rest, "\x1b[?25")
	if i < 0 || !strings.HasPrefix(rest[i:], "\x1b[?25h") {
		s.t.Errorf("the cursor is not shown: %q", rest)
	}
}

// pace is slower than a paste.
const pace = 200 * time.Millisecond

// slowly types keys as a person does.
func (s *screen) slowly(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		<-time.After(pace)
		s.keys(k)
	}
}

// press types a key until the text is shown: of keys that a slow machine reads at once, the later
// ones decide nothing.
func (s *screen) press(key, want string) {
	s.t.Helper()

	over := make(chan struct{})
	var typing sync.WaitGroup

	typing.Go(func() {
		for wait := pace; ; wait = 10 * time.Second {
			select {
			case <-over:
				return
			case <-time.After(wait):
				_, _ = s.tty.WriteString(key) // it may have ended, which is seen below
			}
		}
	})

	s.until(want)
	close(over)
	typing.Wait()
}

// TestWatchAnswers: a run that waits goes on, its question is answered, and
// it comes to its end.
func TestWatchAnswers(t *testing.T) {
	t.Parallel()

	dir, env := watching(t)
	asks := onTerminalWith(t, dir, env, "/ship")
	asks.wait("Ship it?")
	asks.signal(syscall.SIGKILL)
	asks.ends()

	s := onWatch(t, dir, env)
	s.wait("1 waiting for you")

	s.slowly("r")
	s.wait("goes on")
	s.slowly("\r")
	s.wait("[gate!]")

	s.keys("\x1b[200~a\r\x1b[201~")
	s.wait("what is pasted is not taken")
	s.press("a", "answers approve")
	s.slowly("t")
	s.wait("Say so") // by that process, which asked nobody else

	s.slowly("\x1a") // Ctrl-Z, which can stop nothing here
	s.wait("\x1b[?1049h")

	s.slowly("q")
	s.restored(0)

	out := onTerminalWith(t, dir, env, "query", "--runs", "-r", ".runs[0].status").until(
		"completed",
	)
	if out == "" {
		t.Error("the run has not come to its end")
	}
}

// TestWatchSuspends: a run that goes on at the screen is suspended when the user leaves it, which
// takes the key twice.
func TestWatchSuspends(t *testing.T) {
	t.Parallel()

	dir, env := watching(t)
	asks := onTerminalWith(t, dir, env, "/ship")
	asks.wait("Ship it?")
	asks.signal(syscall.SIGKILL)
	asks.ends()

	s := onWatch(t, dir, env)
	s.wait("1 waiting for you")
	s.slowly("r")
	s.wait("goes on")

	s.press("q", "at work here; the same key again")
	s.slowly("q")
	s.restored(0)

	query := onTerminalWith(t, dir, env, "query", "--runs", "-c", ".runs[0] | [.status, .why]")
	query.wait(`["suspended","paused by ann"]`)
}

// TestWatchPauses: p suspends a run of another process, which says how to go on.
func TestWatchPauses(t *testing.T) {
	t.Parallel()

	dir, env := watching(t)
	asks := onTerminalWith(t, dir, env, "/ship")
	asks.wait("Ship it?")

	gates := onTerminalWith(t, dir, env, "gates")
	gates.wait("RUN ")
	gates.wait("QUESTION  CHOICES ")
	gates.wait("go#1  Ship it?  approve, ")
	gates.ends()

	s := onWatch(t, dir, env)
	s.wait("1 waiting for you")

	s.slowly("p")
	s.wait("is suspended: paused by ann")

	asks.wait("Resume: tercet resume r")
	if code := asks.ends(); code != 75 {
		t.Errorf("exit code %d of what was paused, want 75", code)
	}

	s.slowly("q")
	s.restored(0)
}

// TestLineAgain: the line of a run that did not end asks whether to show it, to go on with it, or
// to begin anew.
func TestLineAgain(t *testing.T) {
	t.Parallel()

	dir, env := watching(t)
	s := onTerminalWith(t, dir, env, "/ship")
	s.wait("Ship it?")
	s.signal(syscall.SIGKILL)
	s.ends()

	s = onTerminalWith(t, dir, env, "/ship")
	s.wait("of this line did not end:")
	s.wait("[r]esume  [n]ew  [s]how")

	s.keys("s\r")
	s.wait("│ go: not finished")
	s.wait("[r]esume  [n]ew  [s]how")

	s.keys("n\r")
	s.wait("is given up")
	s.wait("[a]pprove")

	s.signal(syscall.SIGKILL)
	s.ends()

	s = onTerminalWith(t, dir, env, "/ship")
	s.wait("[r]esume  [n]ew  [s]how")
	s.keys("r\r")
	s.wait("[a]pprove")
	s.keys("a\r")
	s.wait("shipped: approve by ann")

	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}

	list := onTerminalWith(t, dir, env, "query", "--runs", "-c", "[.runs[].status]").until("]")
	if !strings.Contains(list, `["completed","cancelled"]`) {
		t.Errorf("the runs are %s, want one that is completed and one that was given up", list)
	}
}

// TestFlowIsOffered: a flow that did not end is offered to a line with other words, and to one
// without; who begins anew leaves it as it is. Who goes on although its rules changed is asked
// again only when they are others once more.
func TestFlowIsOffered(t *testing.T) {
	t.Parallel()

	dir, env := watching(t)

	src := "---\ncommand: build\ndescription: Build\narguments:\n" +
		"  - {name: what, type: text, required: true, description: what}\ntiers: [Light]\n---\n\n" +
		"## Argument Parsing\n\n```yaml args\nload:\n" +
		"  rules?: {document: rules, path: [docs/project-rules.md]}\n  tier: '\"Light\"'\n```\n\n" +
		"## Workflow Execution\n\n### Step 1: Ask\n\n```yaml step\n" +
		"gate: Build ${{ $args.what }}?\n```\n\n### Step 2: Say so\n\n```yaml step\n" +
		"return: built ${{ $args.what }}\n```\n"

	err := os.WriteFile(
		filepath.Join(dir, formats.Workspace, "commands", "build.md"),
		[]byte(src),
		0o600,
	)
	if err != nil {
		t.Fatal(err)
	}

	rules := func(slug string) {
		err := os.MkdirAll(filepath.Join(dir, "docs"), 0o700)
		err = errors.Join(err, os.WriteFile(
			filepath.Join(dir, "docs", "project-rules.md"),
			[]byte("# Rules\n\n- Slug: "+slug+"\n"),
			0o600,
		))
		if err != nil {
			t.Fatal(err)
		}
	}

	rules("first")
	s := onTerminalWith(t, dir, env, "/build", "one")
	s.wait("[a]pprove  [r]eject")
	s.signal(syscall.SIGKILL)
	s.ends()

	s = onTerminalWith(t, dir, env, "/build", "two")
	s.wait("of /build one did not end")
	s.wait("[r]esume  [n]ew  [s]how")
	s.keys("n\r")

	s.wait("Build two?")
	s.wait("[a]pprove  [r]eject")
	s.keys("a\r")
	s.wait("built two")
	s.ends()

	rules("second")
	s = onTerminalWith(t, dir, env, "/build")
	s.wait("[r]esume  [n]ew  [s]how")

	s.keys("r\r")
	s.wait("docs/project-rules.md changed")
	s.wait("[G]o on  [S]top")
	s.keys("g\r")

	s.wait("[a]pprove  [r]eject")
	s.signal(syscall.SIGKILL)
	s.ends()

	s = onTerminalWith(t, dir, env, "resume")
	if out := s.until("[a]pprove  [r]eject"); strings.Contains(out, "changed") {
		t.Errorf("it asks again about rules that were agreed to: %s", out)
	}

	s.signal(syscall.SIGKILL)
	s.ends()

	if err := os.Remove(filepath.Join(dir, "docs", "project-rules.md")); err != nil {
		t.Fatal(err)
	}

	s = onTerminalWith(t, dir, env, "resume")
	s.wait("docs/project-rules.md changed")
	s.keys("g\r")

	s.wait("[a]pprove  [r]eject")
	s.keys("a\r")
	s.wait("built one")

	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestWatchCancels: a run of another process is cancelled; a signal leaves the terminal as it was.
func TestWatchCancels(t *testing.T) {
	t.Parallel()

	dir, env := watching(t)
	works := onTerminalWith(t, dir, env, "/work")

	s := onWatch(t, dir, env)
	s.wait("1 at work")

	s.slowly("c")
	s.wait("[y/N]")
	s.press("y", "is cancelled")

	if code := works.ends(); code != 130 {
		t.Errorf("exit code %d of what was cancelled, want 130", code)
	}

	s.signal(syscall.SIGTERM)
	s.restored(143)
}

// TestWatchSurvives: random bytes and sizes end in a terminal as it was, and what came at once
// answers nothing.
func TestWatchSurvives(t *testing.T) {
	t.Parallel()
	dir, env := watching(t)
	asks := onTerminalWith(t, dir, env, "/ship")
	asks.wait("Ship it?")
	asks.signal(syscall.SIGKILL)
	asks.ends()
	s := onWatch(t, dir, env)
	pieces := []string{
		"j", "k", "t", "l", "d", "g", "?", "/", "x", "日本語", " ", "\t", "\x1b", "\x1b[A",
		"\x1b[B", "\x1b[Z", "\x1b[5~", "\x1b[1;2R", "\x1b[200~a\ry\r\x1b[201~", "\x1b[200~x",
		"\x1b[201~", "\x1b]0;x", "\x1bP", "\x1b[", "\xff\xfe", "\x00", "\x12", "\x7f", "a\r",
		"\x1b[<0;1;1M", "\x1b[I", "\x1b[?2026;2$y",
	}
	r := rand.New(rand.NewPCG(7, 1)) //nolint:gosec // keys of a test
	for range 300 {
		s.keys(pieces[r.IntN(len(pieces))])
		if r.IntN(20) == 0 {
			size := &pty.Winsize{
				Rows: uint16(1 + r.IntN(40)),  //nolint:gosec // small
				Cols: uint16(1 + r.IntN(120)), //nolint:gosec // small
			}
			if err := pty.Setsize(s.tty, size); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Duration(r.IntN(4)) * time.Millisecond)
	}

	s.keys("\x1b[201~\x07")
	s.slowly("\x03")
	s.restored(0)
	list, err := filepath.Glob(filepath.Join(dir, formats.Workspace, "runs", "*", "answers", "*"))
	if err != nil || len(list) > 0 {
		t.Errorf("answers %v, %v, want none", list, err)
	}
}

// TestWatchLeavesAtSignals: whatever signal ends the screen, and whenever, the terminal is as it
// was.
func TestWatchLeavesAtSignals(t *testing.T) {
	t.Parallel()
	type step struct {
		sig   syscall.Signal
		after time.Duration
	}
	for name, tt := range map[string]struct {
		want    int
		signals []step
	}{
		"INT INT": {130, []step{{syscall.SIGINT, 0}, {syscall.SIGINT, 0}}},
		"INT, then INT": {
			130,
			[]step{{syscall.SIGINT, pace}, {syscall.SIGINT, 5 * time.Millisecond}},
		},
		"TERM at once": {143, []step{{syscall.SIGTERM, 0}}},
		"HUP":          {143, []step{{syscall.SIGHUP, pace}}},
		"TSTP, CONT, TERM": {
			143,
			[]step{
				{syscall.SIGTSTP, pace},
				{syscall.SIGCONT, 50 * time.Millisecond},
				{syscall.SIGTERM, 50 * time.Millisecond},
			},
		},
		"ABRT": {2, []step{{syscall.SIGABRT, pace}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, env := watching(t)
			s := onWatch(t, dir, env)

			for _, one := range tt.signals {
				<-time.After(one.after)
				s.signal(one.sig)
			}

			s.restored(tt.want)
		})
	}
}
