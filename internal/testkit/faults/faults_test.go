//go:build linux && (amd64 || arm64)

package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tercet/internal/testkit/faults"
)

// quick is the environment of a child: with the race detector a process sleeps at its end unless it
// is told not to.
func quick() []string {
	return append(os.Environ(), "GORACE=atexit_sleep_ms=0")
}

// folders gives an empty folder, and makes its neighbour that is not counted.
func folders(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "counted")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(dir+"-other", 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a worker under a plan; a system without notifications ends the test with its reason.
func run(t *testing.T, kind string, plan faults.Plan) (faults.Outcome, *exec.Cmd, string) {
	t.Helper()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "work", kind, plan.Under)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.Env = quick()
	out, err := under(cmd, plan)
	if errors.Is(err, faults.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, cmd, errs.String()
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestRecord(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	var got []string
	out, cmd, _ := run(t, "one", faults.Plan{
		Under: dir,
		Bytes: true,
		Record: func(c faults.Call) {
			got = append(got, c.String()+" "+string(c.Data))
		},
	})
	want := []string{
		"1 openat a O_CREAT ", "2 write a 6 bytes at 0 hello ", "3 write a 5 bytes at 6 world",
		"4 fsync a ", "5 close a ", "6 renameat a -> a2 ", "7 linkat a2 -> a3 ", "",
		"8 unlinkat a2 ", "9 unlinkat a3 ", "10 mkdirat a ",
	}
	if len(got) == len(want) && strings.HasSuffix(got[7], "6 bytes at 0 linked") {
		got[7] = "" // its name is that of the system's empty device
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if out.Calls != callsOfFile || out.Reached || !cmd.ProcessState.Success() {
		t.Errorf("outcome = %+v, %v; want %d calls, none hit", out, cmd.ProcessState, callsOfFile)
	}
}

// TestChanges: who asks for changes alone is told of every one, and of no call that only reads or
// closes.
func TestChanges(t *testing.T) {
	t.Parallel()
	record := func(kind string, only func(faults.Call) bool) (got []string) {
		_, cmd, errs := run(t, kind, faults.Plan{
			Under: folders(t),
			Only:  only,
			Record: func(c faults.Call) {
				if c.N > 0 {
					got = append(got, c.String())
				}
			},
		})
		if !cmd.ProcessState.Success() {
			t.Errorf("%s: %v %s", kind, cmd.ProcessState, errs)
		}
		return got
	}
	got := record("changes", nil)
	diff := cmp.Diff(record("one", faults.Call.Changes), got)
	if diff != "" || len(got) != callsOfFile-1 {
		t.Errorf("%d calls, want %d, (-picked +asked for)\n%s", len(got), callsOfFile-1, diff)
	}
}

// TestCountsThreads: calls of many threads have one number, those about another folder have none.
func TestCountsThreads(t *testing.T) {
	t.Parallel()
	for range 5 {
		out, cmd, errs := run(t, "many", faults.Plan{Under: folders(t)})
		if out.Calls != workers*callsOfFile || !cmd.ProcessState.Success() {
			t.Errorf("%d calls, %v %s; want %d and success",
				out.Calls, cmd.ProcessState, errs, workers*callsOfFile)
		}
	}
}

// TestEveryPoint kills a worker before each of its calls, or fails the call: what was done before
// is there, and no more.
func TestEveryPoint(t *testing.T) {
	t.Parallel()
	left := [][]string{
		{},
		{"a"},
		{"a"},
		{"a"},
		{"a"},
		{"a"},
		{"a2"},
		{"a2", "a3"},
		{"a3"},
		{},
		{"a"},
	}
	for k := 1; k <= callsOfFile+1; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			dir := folders(t)
			out, cmd, _ := run(t, "one", faults.Plan{Under: dir, At: k})
			state, _ := cmd.ProcessState.Sys().(syscall.WaitStatus) // it is one on this system
			if k > callsOfFile {
				if out.Reached || !cmd.ProcessState.Success() {
					t.Errorf("outcome = %+v, %v; want it not reached", out, cmd.ProcessState)
				}
			} else if !out.Reached || out.Hit.N != k || !state.Signaled() ||
				state.Signal() != syscall.SIGKILL {
				t.Errorf("outcome = %+v, %v; want it killed at call %d", out, cmd.ProcessState, k)
			}

			if diff := cmp.Diff(left[k-1], names(t, dir), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if k > callsOfFile {
				return
			}

			out, cmd, errs := run(t, "one", faults.Plan{
				Under: folders(t),
				At:    k,
				Errno: syscall.ENOSPC,
			})
			if !out.Reached || out.Hit.N != k || cmd.ProcessState.ExitCode() != 1 ||
				!strings.Contains(errs, "no space left on device") {
				t.Errorf("outcome = %+v, %v, %q; want call %d answered with the error",
					out, cmd.ProcessState, errs, k)
			}
		})
	}
}

// TestLaterCallsFailToo: later calls of a kind fail as well.
func TestLaterCallsFailToo(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	out, _, _ := run(t, "one", faults.Plan{
		Under: dir,
		At:    8,
		Errno: syscall.EROFS,
		Again: func(c faults.Call) bool { return c.Name == "unlinkat" },
	})
	if diff := cmp.Diff([]string{"a2", "a3"}, names(t, dir)); diff != "" || out.Again != 1 {
		t.Errorf("outcome = %+v, want one more call failed; files (-want +got):\n%s", out, diff)
	}
}

// TestProgram runs the program itself around a command that knows nothing of it.
func TestProgram(t *testing.T) {
	t.Parallel()
	if err := faults.Available(); err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		exit int
		said string
		left int
	}{
		{"recorded", []string{"-act", "record"}, 0, "renameat 0 -> 02", workers},
		{"killed", []string{"-k", "1"}, 137, "", 0},
		{"errno", []string{"-k", "1", "-act", "errno:13"}, 1, "permission denied", -1},
		{"not reached", []string{"-k", "1000"}, notReached, "not reached, 80 calls", workers},
		{"no action", []string{"-act", "smoke"}, 2, `got "smoke"`, 0},
		{"no flag", []string{"-smoke"}, 2, "expected -path FOLDER", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := folders(t)
			args := slices.Concat(
				[]string{"-path", dir},
				tt.args,
				[]string{"--", os.Args[0], "work", "executed", dir},
			)
			cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			cmd.Env = quick()
			err := cmd.Run()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if strings.Contains(errs.String(), "no system call notifications") {
				t.Skip(errs.String())
			}
			got := cmd.ProcessState.ExitCode()
			if got != tt.exit || !strings.Contains(errs.String(), tt.said) {
				t.Errorf("exit code %d, stderr %q; want %d and %q",
					got, errs.String(), tt.exit, tt.said)
			}
			if got := len(names(t, dir)); tt.left >= 0 && got != tt.left {
				t.Errorf("%d files left, want %d", got, tt.left)
			}
		})
	}
}
