package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
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
)

var killCount = flag.Int("kills", 6, "how many runs TestKillsOfTheProgram kills")

const workCommand = "---\ncommand: work\ndescription: Works\n---\n\n## Workflow Execution\n\n" +
	"### Step 1: Work\n\n```yaml step\nid: work\ndelegate: worker\n```\n"

const workAgent = "---\nname: worker\ndescription: Works\nrole: utility\nrunner: exec\n" +
	"argv: ARGV\nreturns: {artifacts: none}\n---\n\nWorks.\n"

// workIn makes a workspace with the command /work, whose worker is a program, and wants no sandbox.
func workIn(t *testing.T, argv string) (dir string, env []string) {
	t.Helper()

	dir = workspaceIn(t)
	home := t.TempDir()

	for name, text := range map[string]string{
		filepath.Join(dir, ".tercet/commands/work.md"): workCommand,
		filepath.Join(
			dir,
			".tercet/subagents/worker.md",
		): strings.ReplaceAll(strings.ReplaceAll(workAgent, "ARGV", argv), "FOLDER", dir),
		filepath.Join(home, ".config/tercet/config.yaml"): "sandbox: advisory_only\n",
	} {
		err := errors.Join(
			os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, []byte(text), 0o600),
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	return dir, []string{"HOME=" + home, "TERCET_TRUST=1"}
}

// TestKillsOfTheProgram ends the program at random moments while a worker runs that has left its
// group and its session: nobody of it runs a moment later, none is left as a zombie, and the
// terminal is as it was unless the signal was SIGKILL.
func TestKillsOfTheProgram(t *testing.T) {
	t.Parallel()
	dir, env := workIn(
		t,
		`[sh, -c, 'echo $$ >> FOLDER/pids; `+
			`setsid sh -c "echo \$\$ >> FOLDER/pids; exec sleep 60" & `+
			`(trap : INT TERM; sleep 60) & wait']`,
	)

	signals := []syscall.Signal{
		syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
	}

	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	var longest time.Duration
	met := 0

	for i := range *killCount {
		if err := os.RemoveAll(filepath.Join(dir, "pids")); err != nil {
			t.Fatal(err)
		}
		// what was killed before is not gone on with
		s := onTerminalWith(t, dir, env, "--yes", "--new", "/work")
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
		if left := standingIn(dir); len(left) > 0 {
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
				// where it runs, the number is another's by now
				if err != nil || !bytes.Contains(stat, []byte(") Z ")) {
					break
				}
				if time.Since(begin) > patience {
					t.Fatalf("kill %d (%s, seed %d): process %s is left as a zombie",
						i, sig, seed, pid)
				}
			}
		}

		longest = max(longest, time.Since(begin))
		// A run guards its keys after a second, and nothing restores the terminal of a process that
		// ends by SIGKILL.
		if after := s.state(); sig != syscall.SIGKILL && !reflect.DeepEqual(before, after) {
			t.Errorf("kill %d (%s): terminal %+v, want %+v", i, sig, after, before)
		}
	}

	if met == 0 {
		t.Error("no worker ever ran")
	}
	t.Logf("%d kills, %d processes met, all gone after at most %s",
		*killCount, met, longest.Round(time.Millisecond))
}

// appears waits for a file.
func (s *screen) appears(name string) {
	s.t.Helper()
	end := time.Now().Add(patience)
	for ; ; <-time.After(10 * time.Millisecond) {
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

// TestGateIsLeft ends the program while a gate is open: a signal leaves the question open, and
// Ctrl-D takes the choice that fails. The terminal is as it was.
func TestGateIsLeft(t *testing.T) {
	t.Parallel()

	src := "---\ncommand: ask\ndescription: ask\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\nid: ask\ngate: Go on?\n```\n"
	for name, tt := range map[string]struct {
		end  func(*screen)
		code int
	}{
		"Ctrl-C":  {func(s *screen) { s.keys("\x03") }, 130},
		"SIGINT":  {func(s *screen) { s.signal(syscall.SIGINT) }, 130},
		"SIGTERM": {func(s *screen) { s.signal(syscall.SIGTERM) }, 143},
		"SIGHUP":  {func(s *screen) { s.signal(syscall.SIGHUP) }, 143},
		"Ctrl-D":  {func(s *screen) { s.keys("\x04") }, 5},
		"SIGQUIT": {func(s *screen) { s.signal(syscall.SIGQUIT) }, 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := workspaceIn(t) // of its own: a run that did not end is asked about
			err := os.WriteFile(filepath.Join(dir, ".tercet/commands/ask.md"), []byte(src), 0o600)
			if err != nil {
				t.Fatal(err)
			}

			env := []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}

			s := onTerminalWith(t, dir, env, "/ask")
			before := s.state()
			s.wait("[a]pprove") // the view of the run names the question before it is asked
			tt.end(s)

			if code := s.ends(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}

			open := strings.Contains(string(output(t, dir, env, "gates")), "Go on?")
			if left := tt.code != 5; open != left {
				t.Errorf("the question is open: %t, want %t", open, left)
			}

			if open {
				// the same line offers the run, which this process holds then, and shows it
				s := onTerminalWith(t, dir, env, "/ask")
				s.wait("did not end:")
				s.keys("show\r")
				s.wait("Resume: tercet resume")
				s.signal(syscall.SIGTERM)
				s.ends()

				s = onTerminalWith(t, dir, env, "resume", "--yes")
				s.wait("/ask done")
				if code := s.ends(); code != 0 {
					t.Errorf("resume = %d", code)
				}
			}

			if after := s.state(); !reflect.DeepEqual(before, after) {
				t.Errorf("terminal after the end: %+v, want %+v", after, before)
			}
		})
	}
}

// TestFloodOfAWorker: a worker that prints 3 GB is ended at the limit, the error says so, and the
// program stays small.
func TestFloodOfAWorker(t *testing.T) {
	t.Parallel()

	dir, env := workIn(t, "[head, -c, '3000000000', /dev/zero]")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self, "--yes", "/work")
	// TestMain looks at the name
	cmd.Args[0] = "tercet"
	cmd.Dir = dir
	cmd.Stderr = &said
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LANG=C"}, env...)

	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	peak := 0
	ended := make(chan struct{})

	go func() {
		defer close(ended)
		for status, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) +
			"/status"); err == nil; status, err = os.ReadFile("/proc/" +
			strconv.Itoa(cmd.Process.Pid) + "/status") {
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

	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 7 ||
		!strings.Contains(said.String(), "worker printed more than 64 MiB and was stopped") {
		t.Errorf("/work = %v, want 7 and the limit named\n%s", err, said.String())
	}

	<-ended
	if peak == 0 || peak > 128<<10 {
		t.Errorf("the program took %d KiB, want at most 128 MiB", peak)
	}

	t.Logf("ended after %s with a peak of %d MiB",
		time.Since(begin).Round(time.Millisecond), peak>>10)
}

// TestAGateOfALoopIsKilled ends the process that asks about a loop, at its limit or before, by
// SIGKILL: the question is there, is answered from elsewhere, and the run goes on with what the
// answer said, in the round where it was.
func TestAGateOfALoopIsKilled(t *testing.T) {
	t.Parallel()
	const step = "---\ncommand: loop\ndescription: loop\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Write\n\n```yaml step\nid: code\ndelegate: coder\n```\n\n" +
		"### Step 2: Judge\n\n```yaml step\nid: judge\ndelegate: judge\n" +
		"on: {rejected: {rollback: [code]}}\n```\n"
	const agent = "---\nname: %s\ndescription: a program\nrole: %s\nrunner: exec\n" +
		"argv: [sh, -c, '%s']\nreturns: {artifacts: none}\n---\n\nDoes it.\n"
	const coder = `cat > "$TERCET_ROOT/told.txt"; ` +
		`echo call >> "$TERCET_ROOT/calls"; printf "{\"status\":\"completed\"}"`
	const judge = `n=$(wc -l < "$TERCET_ROOT/calls"); ` +
		`v=rejected; if [ $n -ge %d ]; then v=approved; fi; ` +
		`printf "{\"status\":\"completed\",\"verdict\":\"$v\",` +
		`\"summary\":\"$v\",\"issues\":[{\"level\":\"error\",\"description\":\"%s\"}]}"`
	for name, tt := range map[string]struct {
		until           int
		issue, question string
		choice          string
	}{
		"a loop that repeats itself": {
			4, "bad", "makes no progress: the open issues were the same in 3 rounds", "Go on",
		},
		"a loop that is long": {
			5, "bad $n", "the limit of 3 rollbacks is reached", "Continue rollback",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workspaceIn(t)
			env := []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}
			for file, text := range map[string]string{
				"commands/loop.md":   step,
				"subagents/coder.md": fmt.Sprintf(agent, "coder", "utility", coder),
				"subagents/judge.md": fmt.Sprintf(
					agent,
					"judge",
					"reviewer",
					fmt.Sprintf(judge, tt.until, tt.issue),
				),
			} {
				err := os.WriteFile(filepath.Join(dir, ".tercet", file), []byte(text), 0o600)
				if err != nil {
					t.Fatal(err)
				}
			}

			s := onTerminalWith(t, dir, env, "/loop")
			s.wait(tt.question)
			s.signal(syscall.SIGKILL)
			s.ends()

			list, err := os.ReadDir(filepath.Join(dir, ".tercet/runs"))
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			run := list[0].Name()

			s = onTerminalWith(t, dir, env, "gates")
			s.wait(run)
			s.ends()

			s = onTerminalWith(
				t, dir, env, "approve", run, "--choice", tt.choice, "--note", "try it otherwise",
			)
			s.wait(tt.choice + ": goes") // on a terminal it goes on at once
			if code := s.ends(); code != 0 {
				t.Errorf("exit code %d\n%s", code, s.text.String())
			}

			calls, err := os.ReadFile(filepath.Join(dir, "calls"))
			if n := bytes.Count(calls, []byte("\n")); err != nil || n != tt.until {
				t.Errorf("%d calls, %v, want %d", n, err, tt.until)
			}

			told, err := os.ReadFile(filepath.Join(dir, "told.txt"))
			if err != nil || !bytes.Contains(told, []byte(`"note":"try it otherwise"`)) {
				t.Errorf("the worker is told %s, %v", told, err)
			}
		})
	}
}
