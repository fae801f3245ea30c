//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"tercet/formats"
)

// slowly makes a workspace with a command whose worker goes on until it is let go.
func slowly(t *testing.T) (dir string, let func()) {
	t.Helper()
	dir = workspaceIn(t)
	for name, text := range map[string]string{
		"commands/slow.md": "---\ncommand: slow\ndescription: Wait\n---\n\n" +
			"## Workflow Execution\n\n### Step 1: For each word\n\n```yaml step\nid: words\n" +
			"foreach: '[\"one\", \"two\"]'\nas: word\n```\n\n" +
			"#### Step 1.1: Delegate to waiter subagent\n\n```yaml step\nid: work\n" +
			"delegate: waiter\n```\n\n#### Step 1.2: Look\n\n```yaml step\nid: look\n" +
			"set: {seen: $word}\n```\n",
		"subagents/waiter.md": "---\nname: waiter\ndescription: Wait\nrole: utility\n" +
			"runner: exec\nargv: [sh, -c, ': > DIR/begun; " +
			"until [ -e DIR/go ]; do sleep 0.05; done; " +
			"echo " +
			"\"$DONE\" > \"$TERCET_RETURN\"']\n" +
			"returns: {statuses: [completed, failed], artifacts: none}\n---\n\nWait.\n",
	} {
		text = strings.NewReplacer(
			"DIR", dir,
			`"$DONE"`,
			`"{\"status\":\"completed\",\"summary\":\"waited\",\"artifacts\":[],\"errors\":[]}"`,
		).Replace(text)
		file := filepath.Join(dir, formats.Workspace, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return dir, func() {
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// working waits until a worker of slowly has begun its work.
func working(t *testing.T, dir string) {
	t.Helper()
	limit := time.Now().Add(patience)
	for os.Remove(filepath.Join(dir, "begun")) != nil {
		if time.Now().After(limit) {
			t.Fatal("the worker never began")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestRunsAreDrawn: a run is drawn while it goes on, at any width, by the process that works and by
// one that follows it; keys that are typed meanwhile are neither shown nor taken; in the end the
// terminal is as it was.
func TestRunsAreDrawn(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{40, 200} {
		before := untouched(t)
		dir, let := slowly(t)
		env := []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}
		s := onTerminalOf(t, columns, dir, env)

		s.prompted()
		s.keys("/slow\r")
		s.wait("  ▶ For each word\r\n")
		s.wait("    ▶ word 1/2 one\r\n")
		s.wait("Delegate to w")
		s.wait(" · waiter") // who works, behind the time

		s.keys("never shown\r\x04/task Never\r\x1b[A")
		run := strings.Fields(string(output(t, dir, env, "runs")))[0]
		follower := onTerminalOf(t, columns, dir, env, "show", "--log", "-f", run)
		follower.wait("    ▶ word 1/2 one\r\n")
		follower.wait(" · waiter")

		let()
		s.wait("      ✓ Delegate to w")
		s.wait("    ▶ word 2/2 two\r\n")
		s.wait("  ✓ For each word")
		text := s.until("/slow done")
		s.prompted() // Ctrl-D did not end it

		s.keys("/task After\r")
		s.wait("created: After")
		s.prompted()
		s.leave()

		if strings.Contains(text, "Never") || strings.Contains(text, "shown") {
			t.Errorf("the terminal shows what was typed:\n%s", text)
		}

		follower.wait("  ✓ For each word")
		if code := follower.ends(); code != 0 {
			t.Errorf("logs -f = %d", code)
		}

		if after := s.state(); !reflect.DeepEqual(before, after) {
			t.Errorf("terminal after the end: %+v, want %+v", after, before)
		}
	}
}

func output(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(self, args...)
	cmd.Args[0] = "tercet"
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)

	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// TestRunsLeaveTheTerminal ends a run that is drawn in every way that a program can answer to.
func TestRunsLeaveTheTerminal(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		do   func(s *screen)
		code int
	}{
		"Escape":  {func(s *screen) { s.keys("\x1b") }, 0},
		"Ctrl-C":  {func(s *screen) { s.keys("\x03") }, 0},
		"SIGTERM": {func(s *screen) { s.signal(syscall.SIGTERM) }, 0},
		"abort":   {func(s *screen) { s.signal(syscall.SIGABRT) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			before := untouched(t)
			dir, _ := slowly(t)
			s := onTerminal(t, dir)
			s.prompted()
			s.keys("/slow\r")
			s.wait(" · waiter")

			end.do(s)

			if end.code == 0 { // it is the command that ends
				s.wait("(CANCELLED)")
				s.prompted()
				s.keys("\x04")
			}

			if code := s.ends(); code != end.code {
				t.Errorf("exit code %d, want %d", code, end.code)
			}
			if after := s.state(); !reflect.DeepEqual(before, after) {
				t.Errorf("terminal after the end: %+v, want %+v", after, before)
			}

			s.mu.Lock()
			defer s.mu.Unlock()
			text := s.text.String()
			if strings.LastIndex(text, "\x1b[?25l") > strings.LastIndex(text, "\x1b[?25h") {
				t.Errorf("the cursor is hidden: %q", text)
			}
		})
	}
}

// TestRunsOfAShell: where the shell calls a run, Escape is a Ctrl-C and Ctrl-D nothing, but lines
// that were typed at once are the shell's.
func TestRunsOfAShell(t *testing.T) {
	t.Parallel()
	before := untouched(t)
	dir, let := slowly(t)
	s := onTerminal(t, dir, "/slow")
	s.wait(" · waiter")
	limit := time.Now().Add(patience)
	for ; reflect.DeepEqual(before, s.state()); <-time.After(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the keys are not guarded")
		}
	}

	s.keys("\x04\x1b[A\x1b")
	s.wait("(CANCELLED)")
	if code := s.ends(); code != 130 {
		t.Errorf("exit code %d after Escape, want 130", code)
	}
	if after := s.state(); !reflect.DeepEqual(before, after) {
		t.Errorf("terminal after the end: %+v, want %+v", after, before)
	}

	s = onTerminal(t, dir, "/slow")
	s.keys("echo next\n")
	s.wait(" · waiter")
	<-time.After(1500 * time.Millisecond) // longer than the prompt waits before it guards keys
	if now := s.state(); !reflect.DeepEqual(before, now) {
		t.Errorf("terminal with a line for the shell: %+v, want %+v", now, before)
	}
	let()
	s.wait("/slow done")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestRunsStop: Ctrl-Z gives the terminal back as it was while something runs, and fg draws it
// again.
func TestRunsStop(t *testing.T) {
	t.Parallel()
	dir, let := slowly(t)

	var err error
	s := &screen{
		t:    t,
		cmd:  exec.Command("sh", "-im"),
		done: make(chan error, 1),
		news: make(chan struct{}, 1),
	}

	s.cmd.Dir = dir
	s.cmd.Env = []string{
		"PATH=" + tercetIn(t) + ":" + os.Getenv("PATH"),
		"TERM=xterm",
		"HOME=" + t.TempDir(),
		"PS1=ready> ",
		"TERCET_TRUST=1",
	}

	s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 30, Cols: 90})
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	s.follow()

	s.wait("ready> ")
	s.keys("tercet\n")
	s.prompted()

	s.keys("/slow\r")
	s.wait(", waiter")
	s.keys("\x1a")
	s.wait("topped")
	s.wait("ready> ")

	s.keys("stty -a; fg\n")
	modes := s.until("tercet\r\n")
	if !strings.Contains(modes, " echo ") || !strings.Contains(modes, " icanon") {
		t.Errorf("the terminal is not as it was: %s", modes)
	}

	s.wait("Delegate to waiter subagent")
	let()
	s.wait("/slow done")
	s.prompted()

	s.keys("\x04")
	s.wait("ready> ")

	// without the prompt the shell's own keys stop it
	if err := os.Remove(filepath.Join(dir, "go")); err != nil {
		t.Fatal(err)
	}
	working(t, dir) // the worker of before
	s.keys("tercet /slow\n")
	s.wait(", waiter")
	working(t, dir) // while tercet starts a program, Linux may not stop it
	s.keys("\x1a")
	s.wait("topped")
	s.wait("ready> ")
	s.keys("fg\n")
	s.wait("Delegate to waiter subagent")
	let()
	s.wait("/slow done")
	s.wait("ready> ")

	// a question is asked again behind fg
	ask := "---\ncommand: ask\ndescription: Asks\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\ngate: Go on?\n```\n"
	err = os.WriteFile(filepath.Join(dir, ".tercet/commands/ask.md"), []byte(ask), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s.keys("tercet /ask\n")
	s.wait("Go on?")
	s.keys("\x1a")
	s.wait("topped")
	s.wait("ready> ")
	s.keys("fg\n")
	s.wait("Go on?")
	s.keys("a\n")
	s.wait("Ask")
	s.wait("ready> ")
	s.keys("exit\n")
	s.ends()
}
