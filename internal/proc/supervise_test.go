//go:build linux

package proc_test

import (
	"bufio"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tercet/internal/proc"
)

// TestAllOfItSupervised runs the tests of this package again with a supervisor between every child
// and this process.
func TestAllOfItSupervised(t *testing.T) {
	if os.Getenv("PROC_SUPERVISED") != "" {
		t.Skip("this is the second time")
	}
	t.Parallel()
	cmd := exec.CommandContext(
		t.Context(),
		ownProc(t),
		"-test.count=1",
		"-test.skip=^TestSoak|^TestBigFlood",
		"-test.timeout=60m",
	)
	cmd.Env = append(os.Environ(), "PROC_SUPERVISED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("with a supervisor: %v\n%s", err, out)
	}
}

// runs tells whether a process runs. A zombie does not: its parent, which may be any, has not
// looked yet.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(b), ") Z ") &&
		!strings.Contains(string(b), ") X ")
}

// waitGone fails if a process still runs after a while: a second is far more than enough where
// nothing else runs.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for runs(pid) {
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", pid)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// escapes starts processes that leave group and session, clear their environment and ignore
// signals, and prints their numbers.
const escapes = `trap '' INT TERM HUP
setsid sh -c 'trap "" INT TERM HUP; echo $$ >> pids; exec sleep 60' >/dev/null 2>&1 &
env -i setsid sh -c 'trap "" INT TERM HUP; echo $$ >> pids; while :; do sleep 1; done' >/dev/null 2>&1 &
(env -i setsid sh -c 'echo $$ >> pids; (setsid sleep 60 & echo $! >> pids; exec sleep 60)' >/dev/null 2>&1 &)
sh -c 'echo $$ >> pids; exec sleep 60' &
while [ "$(wc -l < pids)" -lt 5 ]; do :; done
echo ready
sleep 60
`

// owner is a process that starts a child and is killed: the test binary once more.
func owner(t *testing.T, dir string, env ...string) (cmd *exec.Cmd, ready *bufio.Reader) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), ownProc(t))
	cmd.Env = append(os.Environ(), "PROC_CHILD=owner", "PROC_DIR="+dir)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

func pidsIn(t *testing.T, dir string) []int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for f := range strings.FieldsSeq(string(b)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pid)
	}
	return out
}

func TestNobodySurvivesTheOwner(t *testing.T) {
	t.Parallel()
	hasSetsid(t)
	for _, sig := range []syscall.Signal{
		syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGSEGV,
	} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd, out := owner(t, dir)
			if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
				t.Fatalf("the owner printed %q, %v, want ready", line, err)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_, err := io.Copy(io.Discard, out)
			if err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("Wait of a killed owner = nil, want an error")
			}
			pids := pidsIn(t, dir)
			if len(pids) != 5 {
				t.Errorf("%d processes, want 5", len(pids))
			}
			for _, pid := range pids {
				waitGone(t, pid)
			}
			waitAfter(t, dir)
		})
	}
}

// TestOwnerIsGoneBeforeTheAnswer kills the owner while the supervisor starts its child, which is
// before it answers.
func TestOwnerIsGoneBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	hasSetsid(t)
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "pids"), nil, 0o600),
		os.WriteFile(said, nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), ownProc(t), superviseWord)
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Start(), answers.Close()); err != nil {
		t.Fatal(err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	err = gob.NewEncoder(orders).Encode(struct {
		Path, Dir string
		Argv, Env []string
		Streams   [3]string
	}{
		Path:    sh,
		Dir:     dir,
		Argv:    []string{"sh", "-c", escapes},
		Env:     []string{"PATH=" + os.Getenv("PATH")},
		Streams: [3]string{os.DevNull, said, os.DevNull},
	})
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Minute)
	for ; ; <-time.After(5 * time.Millisecond) {
		text, err := os.ReadFile(said)
		if err != nil || time.Now().After(end) {
			t.Fatalf("the child said %q, %v, want ready", text, err)
		}
		if string(text) == "ready\n" {
			break
		}
	}

	if err := orders.Close(); err != nil {
		t.Fatal(err)
	}
	ended := cmd.Wait()
	if ended != nil {
		t.Errorf("the supervisor ended with %v, want 0", ended)
	}
	for _, pid := range pidsIn(t, dir) {
		if ended != nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // nobody else would
		}
		waitGone(t, pid)
	}
}

// TestSweepAfterTheSupervisor kills owner and supervisor at once, so that only the record is left.
func TestSweepAfterTheSupervisor(t *testing.T) {
	t.Parallel()
	hasSetsid(t)
	dir := t.TempDir()
	cmd, out := owner(t, dir)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the owner printed %q, %v, want ready", line, err)
	}
	s := recorded(t, dir)
	if got := proc.Sweep(s); got != 0 {
		t.Errorf("Sweep(child of a living owner) killed %d, want 0", got)
	}
	for _, pid := range []int{cmd.Process.Pid, s.PID} {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}

	for _, pid := range []int{s.PID, cmd.Process.Pid} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}

	if err := cmd.Wait(); err == nil {
		t.Error("Wait of a killed owner = nil, want an error")
	}
	waitGone(t, s.PID)
	other := s
	other.BootID = "another"
	if got := proc.Sweep(other); got != 0 {
		t.Errorf("Sweep(child of another boot) killed %d, want 0", got)
	}
	other = s
	other.PID = os.Getpid()
	other.Temp = ""
	if got := proc.Sweep(other); got != 0 {
		t.Errorf("Sweep(a number that was given again) killed %d, want 0", got)
	}
	if got := proc.Sweep(s); got == 0 {
		t.Error(
			"Sweep(child of a dead owner) killed 0, want those of its session and with its folder",
		)
	}
	pids := pidsIn(t, dir)
	// Two of them left the session and cleared their environment: nothing tells any more whose they
	// were.
	left := 0
	for _, pid := range pids {
		if runs(pid) {
			left++
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}

	if left > 3 {
		t.Errorf("%d of %d left, want those without a trace alone", left, len(pids))
	}
}

func recorded(t *testing.T, dir string) proc.Started {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "record"))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Split(string(b), "\n")
	pid, err1 := strconv.Atoi(f[0])
	own, err2 := strconv.Atoi(f[4])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return proc.Started{
		Proc: proc.Proc{
			PID:    pid,
			Start:  f[1],
			BootID: f[2],
			Host:   f[3],
		},
		Temp: f[6],
		Owner: proc.Proc{
			PID:    own,
			Start:  f[5],
			BootID: f[2],
			Host:   f[3],
		},
	}
}

func TestSupervisorSaysWhyNot(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := starter(t, func(s *proc.Starter) {
		s.Supervisor = []string{ownProc(t), superviseWord}
	})
	_, err := s.Run(t.Context(), proc.Command{Argv: []string{file}, Purpose: proc.PurposeAgent})
	if !errors.Is(err, proc.ErrStart) || !strings.Contains(err.Error(), "exec format error") {
		t.Errorf("Run(a text) = %v, want ErrStart with the reason", err)
	}
}

func TestRecordComesFirst(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ran")
	forgotten := 0
	var mu sync.Mutex
	refuse := errors.New("the disk is full")
	edit := func(err error) func(*proc.Starter) {
		return func(s *proc.Starter) {
			s.Supervisor = []string{ownProc(t), superviseWord}
			s.Record = func(c proc.Started) (func(), error) {
				if _, statErr := os.Stat(file); statErr == nil {
					t.Error("the program ran before its record")
				}
				if c.PID == 0 || c.Start == "" || c.Owner.PID != os.Getpid() || c.Name != "touch" {
					t.Errorf("Record(%+v), want every fact", c)
				}
				return func() {
					mu.Lock()
					forgotten++
					mu.Unlock()
				}, err
			}
		}
	}
	touch := proc.Command{Argv: []string{"touch", file}, Purpose: proc.PurposeAgent}
	if _, err := starter(t, edit(refuse)).Run(t.Context(), touch); !errors.Is(err, refuse) {
		t.Errorf("Run without a record = %v, want %v", err, refuse)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the program ran without a record")
	}
	run(t, starter(t, edit(nil)), touch)
	if _, err := os.Stat(file); err != nil || forgotten != 2 {
		t.Errorf("after the run: %v, forgotten %d times, want the file and 2", err, forgotten)
	}
}

func BenchmarkSupervised(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	s, err := proc.NewStarter(proc.Starter{
		Allow:      func(ctx, proc.Command) error { return nil },
		Now:        time.Now,
		Supervisor: []string{exe, superviseWord},
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, err := s.Run(b.Context(), proc.Command{
			Argv:    []string{"true"},
			Purpose: proc.PurposeAgent,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
