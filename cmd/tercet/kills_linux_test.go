package main

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

var killCount = flag.Int("kills", 6, "how many runs TestKillsOfTheProgram kills")

const workCommand = "---\ncommand: work\ndescription: Works\n---\n\n## Workflow Execution\n\n### Step 1: Work\n\n```yaml step\nid: work\ndelegate: worker\n```\n"

const workAgent = "---\nname: worker\ndescription: Works\nrole: utility\nrunner: exec\nargv: ARGV\nreturns: {artifacts: none}\n---\n\nWorks.\n"

// workIn makes a workspace with the command /work, whose worker is a program, and wants no sandbox.
func workIn(t *testing.T, argv string) (dir string, env []string) {
	t.Helper()
	dir, home := workspaceIn(t), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(dir, ".tercet/commands/work.md"):    workCommand,
		filepath.Join(dir, ".tercet/subagents/worker.md"): strings.ReplaceAll(strings.ReplaceAll(workAgent, "ARGV", argv), "FOLDER", dir),
		filepath.Join(home, ".config/tercet/config.yaml"): "sandbox: advisory_only\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"HOME=" + home, "TERCET_TRUST=1"}
}

// TestKillsOfTheProgram ends the program at random moments while a worker runs that has left its group and its session: nobody
// of it runs a moment later, none is left as a zombie, and the terminal is as it was.
func TestKillsOfTheProgram(t *testing.T) {
	t.Parallel()
	dir, env := workIn(t, `[sh, -c, 'echo $$ >> FOLDER/pids; setsid sh -c "echo \$\$ >> FOLDER/pids; exec sleep 60" & (trap : INT TERM; sleep 60) & wait']`)
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	var longest time.Duration
	met := 0
	for i := range *killCount {
		if err := os.RemoveAll(filepath.Join(dir, "pids")); err != nil {
			t.Fatal(err)
		}
		s := onTerminalWith(t, dir, env, "--yes", "--new", "/work") // what was killed before is not gone on with
		before := s.state()
		// Half of them in the middle of the work, the others at any moment of the start.
		if i%2 == 0 {
			s.appears(filepath.Join(dir, "pids"))
		} else {
			<-time.After(time.Duration(random.IntN(600)) * time.Millisecond)
		}
		sig := signals[random.IntN(len(signals))]
		if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		s.ends()
		begin := time.Now()
		if left := standingIn(dir, 10*time.Second); len(left) > 0 {
			t.Fatalf("kill %d (%s, seed %d): %q still run", i, sig, seed, left)
		}
		text, err := os.ReadFile(filepath.Join(dir, "pids"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for pid := range strings.FieldsSeq(string(text)) {
			met++
			for ; ; <-time.After(5 * time.Millisecond) {
				stat, err := os.ReadFile("/proc/" + pid + "/stat")
				if err != nil {
					break
				}
				if time.Since(begin) > 10*time.Second {
					t.Fatalf("kill %d (%s, seed %d): process %s is still there: %s", i, sig, seed, pid, stat)
				}
			}
		}
		longest = max(longest, time.Since(begin))
		if after := s.state(); !reflect.DeepEqual(before, after) {
			t.Errorf("kill %d (%s): terminal %+v, want %+v", i, sig, after, before)
		}
	}
	if met == 0 {
		t.Error("no worker ever ran")
	}
	t.Logf("%d kills, %d processes met, all gone after at most %s", *killCount, met, longest.Round(time.Millisecond))
}

// appears waits for a file.
func (s *screen) appears(name string) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; <-time.After(10 * time.Millisecond) {
		if info, err := os.Stat(name); err == nil && info.Size() > 0 {
			return
		}
		if time.Now().After(end) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("%s never appeared; the terminal shows\n%s", name, s.text.String())
		}
	}
}

// TestGateIsLeft ends the program while a gate is open: the run ends, and the terminal is as it was. Who leaves the
// question takes the choice that fails.
func TestGateIsLeft(t *testing.T) {
	t.Parallel()
	src := "---\ncommand: ask\ndescription: ask\n---\n\n## Workflow Execution\n\n### Step 1: Ask\n\n```yaml step\nid: ask\ngate: Go on?\n```\n"
	for name, tt := range map[string]struct {
		end  func(*screen)
		code int
	}{
		"Ctrl-C":  {func(s *screen) { s.keys("\x03") }, 5},
		"SIGINT":  {func(s *screen) { s.signal(syscall.SIGINT) }, 5},
		"SIGTERM": {func(s *screen) { s.signal(syscall.SIGTERM) }, 143},
		"SIGHUP":  {func(s *screen) { s.signal(syscall.SIGHUP) }, 143},
		"Ctrl-D":  {func(s *screen) { s.keys("\x04") }, 5},
		"SIGQUIT": {func(s *screen) { s.signal(syscall.SIGQUIT) }, 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workspaceIn(t) // of its own: a run that did not end is asked about
			if err := os.WriteFile(filepath.Join(dir, ".tercet/commands/ask.md"), []byte(src), 0o600); err != nil {
				t.Fatal(err)
			}
			s := onTerminal(t, dir, "/ask")
			before := s.state()
			s.wait("Go on?")
			tt.end(s)
			if code := s.ends(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if after := s.state(); !reflect.DeepEqual(before, after) {
				t.Errorf("terminal after the end: %+v, want %+v", after, before)
			}
		})
	}
}

// TestSuspendedFromTheKeyboard stops the prompt by Ctrl-Z below a shell, which gives it a process group that is no orphan, and
// lets it go on.
func TestSuspendedFromTheKeyboard(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed: nobody here knows job control")
	}
	dir := workspaceIn(t)
	s := &screen{t: t, done: make(chan error, 1), news: make(chan struct{}, 1)}
	s.cmd = exec.CommandContext(t.Context(), shell, "--norc", "--noprofile", "-c", "set -m; tercet; echo stopped=$?; fg >/dev/null; echo ended=$?")
	s.cmd.Dir = dir
	s.cmd.Env = []string{"PATH=" + tercetIn(t) + ":" + os.Getenv("PATH"), "TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=1", "HOME=" + t.TempDir(), "TERCET_TRUST=1"}
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	s.follow()
	s.wait("tercet> ")
	before := s.state()
	s.keys("\x1a")
	s.wait("stopped=" + strconv.Itoa(128+int(syscall.SIGTSTP)))
	if now := s.state(); !reflect.DeepEqual(before, now) {
		t.Errorf("terminal while it is stopped: %+v, want %+v", now, before)
	}
	s.keys("/task Fix it\r")
	s.wait("Task 1 created: Fix it")
	s.keys("\x04")
	s.wait("ended=0")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if after := s.state(); !reflect.DeepEqual(before, after) {
		t.Errorf("terminal after the end: %+v, want %+v", after, before)
	}
}

// TestFloodOfAWorker: a worker that prints 3 GB is ended at the limit, the error says so, and the program stays small.
func TestFloodOfAWorker(t *testing.T) {
	t.Parallel()
	dir, env := workIn(t, "[head, -c, '3000000000', /dev/zero]")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self, "--yes", "/work")
	cmd.Args[0], cmd.Dir, cmd.Stderr = "tercet", dir, &said // TestMain looks at the name
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LANG=C"}, env...)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak, ended := 0, make(chan struct{})
	go func() {
		defer close(ended)
		for status, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status"); err == nil; status, err = os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status") {
			_, rest, ok := strings.Cut(string(status), "\nVmHWM:")
			if !ok {
				return // it has ended, and nobody has asked for its code yet
			}
			if kib, err := strconv.Atoi(strings.Fields(rest)[0]); err == nil {
				peak = max(peak, kib)
			}
			<-time.After(5 * time.Millisecond)
		}
	}()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 7 || !strings.Contains(said.String(), "worker printed more than 64 MiB and was stopped") {
		t.Errorf("/work = %v, want 7 and the limit named\n%s", err, said.String())
	}
	if <-ended; peak == 0 || peak > 128<<10 {
		t.Errorf("the program took %d KiB, want at most 128 MiB", peak)
	}
	t.Logf("ended after %s with a peak of %d MiB", time.Since(begin).Round(time.Millisecond), peak>>10)
}
