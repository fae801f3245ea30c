//go:build linux && (amd64 || arm64)

package faults_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tercet/internal/testkit/faults"
)

// enterEnv makes this binary put itself under the filter and then execute its arguments.
const enterEnv = "TERCET_FAULTS_ENTER"

// notReached is the exit code of the program when the number of calls never came.
const notReached = 77

// TestMain makes the test binary a program as well:
//
//	go test -c -o faultinject ./internal/testkit/faults
//	./faultinject -path FOLDER -k N -act kill|errno:28 -- tercet task set ...
//	./faultinject -path FOLDER -act record -- tercet task set ...
//
// It ends with the exit code of the command, or with 77 when the command made fewer than N calls
// about FOLDER.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(enterEnv) != "":
		fmt.Fprintln(os.Stderr, "faultinject:", enter(os.Args[1:]))
		os.Exit(1)
	case len(os.Args) == 4 && os.Args[1] == "work":
		os.Exit(work(os.Args[2], os.Args[3]))
	case len(os.Args) > 1 && os.Args[1] == "-path":
		os.Exit(program(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// enter does not return when it succeeds.
func enter(args []string) error {
	if err := os.Unsetenv(enterEnv); err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	if err := faults.Enter(os.NewFile(3, "faults"), false); err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}

func program(args []string) int {
	set := flag.NewFlagSet("faultinject", flag.ContinueOnError)
	path := set.String("path", "", "count the calls under this folder")
	at := set.Int("k", 0, "number of the call that is hit")
	act := set.String("act", "kill", "kill, errno:NUMBER or record")
	if err := set.Parse(args); err != nil || set.NArg() == 0 {
		fmt.Fprintln(
			os.Stderr,
			"faultinject: expected -path FOLDER [-k N] [-act kill|errno:N|record] -- COMMAND",
		)
		return 2
	}

	folder, err := filepath.Abs(*path)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	plan := faults.Plan{Under: folder, At: *at}
	number, isErrno := strings.CutPrefix(*act, "errno:")
	switch {
	case err != nil:
	case isErrno:
		var n int
		n, err = strconv.Atoi(number)
		plan.Errno = syscall.Errno(n)
	case *act == "record":
		plan.At = 0
		plan.Record = func(c faults.Call) {
			if c.N > 0 {
				fmt.Fprintln(os.Stderr, c)
			}
		}
	case *act != "kill":
		err = fmt.Errorf("expected kill, errno:NUMBER or record, got %q", *act)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultinject:", err)
		return 2
	}

	cmd := exec.Command(os.Args[0], set.Args()...)
	cmd.Stdin = os.Stdin
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), enterEnv+"=1")
	out, err := under(cmd, plan)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultinject:", err)
		return 2
	}
	if plan.At > 0 && !out.Reached {
		fmt.Fprintf(os.Stderr, "faultinject: not reached, %d calls\n", out.Calls)
		return notReached
	}

	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return 128 + int(st.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// under runs a command, which has to enter the filter over its descriptor 3, as the plan says. That
// the command does not succeed is no error.
func under(cmd *exec.Cmd, plan faults.Plan) (faults.Outcome, error) {
	test, program, err := faults.Pair()
	if err != nil {
		return faults.Outcome{}, err
	}
	cmd.ExtraFiles = []*os.File{program}
	if err := cmd.Start(); err != nil {
		return faults.Outcome{}, errors.Join(err, test.Close(), program.Close())
	}
	if err := program.Close(); err != nil {
		return faults.Outcome{}, err
	}
	var out faults.Outcome
	l, err := faults.Accept(test)
	if err == nil {
		out, err = l.Serve(cmd.Process, plan)
	}
	waited := cmd.Wait()
	if err == nil {
		if _, ended := errors.AsType[*exec.ExitError](waited); !ended {
			err = waited
		}
	}
	return out, err
}

const workers = 8

// work is what the tests watch: every worker makes a file, writes, syncs, renames and removes it,
// on threads of its own, and does the same in a folder that is not counted.
func work(kind, dir string) int {
	if kind != "executed" {
		if err := faults.Enter(os.NewFile(3, "faults"), kind == "changes"); err != nil {
			return 3
		}
	}
	if kind == "one" || kind == "changes" {
		if err := file(dir, "a"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}

	var wg sync.WaitGroup
	bad := make(chan error, 2*workers)
	for i := range workers {
		for _, d := range []string{dir, dir + "-other"} {
			wg.Go(func() { bad <- file(d, strconv.Itoa(i)) })
		}
	}

	wg.Wait()
	close(bad)
	for err := range bad {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}

	return 0
}

// callsOfFile is how many calls file makes: openat, write, write, fsync, close, renameat, linkat,
// unlinkat, unlinkat, mkdirat.
const callsOfFile = 10

func file(dir, name string) error {
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	if err != nil {
		return err
	}

	_, err = f.WriteString("hello ")
	if err == nil {
		_, err = f.WriteString("world")
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}

	if err := os.Rename(path, path+"2"); err != nil {
		return err
	}
	if err := os.Link(path+"2", path+"3"); err != nil {
		return err
	}

	if _, err := io.WriteString(os.Stdout, "linked"); err != nil {
		return err
	}
	if err := errors.Join(syscall.Unlink(path+"2"), syscall.Unlink(path+"3")); err != nil {
		return err
	}
	return os.Mkdir(path, 0o755)
}
