//go:build unix

package proc_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tercet/internal/proc"
)

// TestMain makes the test binary its own child: with PROC_CHILD set it plays that part and ends.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == superviseWord {
		os.Exit(proc.Supervise(os.Stdin, os.Stdout, restrictForTest))
	}
	if part := os.Getenv("PROC_CHILD"); part != "" {
		os.Exit(play(part))
	}
	goleak.VerifyTestMain(m)
}

// superviseWord makes the test binary a supervisor.
const superviseWord = "__child"

func play(part string) int {
	switch part {
	case "env":
		env := os.Environ()
		slices.Sort(env)
		for _, kv := range env {
			fmt.Println(kv)
		}
	case "argv":
		for _, a := range os.Args[1:] {
			fmt.Printf("%q\n", a)
		}
	case "cat":
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			return 1
		}
	case "flood":
		w := bufio.NewWriterSize(os.Stdout, 1<<16)
		for {
			if _, err := w.WriteString(strings.Repeat("x", 1023) + "\n"); err != nil {
				return 1
			}
		}
	case "beats": // prints for longer than the idle limit, then is silent
		for range 8 {
			fmt.Println("beat")
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(time.Minute)
	case "stubborn": // notes what it is asked and stays
		c := make(chan os.Signal, 4)
		signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
		fmt.Println("ready")
		for s := range c {
			fmt.Println(s)
		}
	case "polite":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGINT)
		fmt.Println("ready")
		<-c
		fmt.Println("cleaned up")
		return 7
	case "sleep":
		time.Sleep(time.Minute)
	default:
		return playMore(part)
	}

	return 0
}

func ownProc(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func starter(t *testing.T, edit func(*proc.Starter)) *proc.Starter {
	t.Helper()
	s := proc.Starter{
		Allow: func(_ ctx, _ proc.Command) error { return nil },
		Env:   []string{"PATH=" + os.Getenv("PATH")},
		Now:   time.Now,
		Temp:  t.TempDir(),
		Grace: proc.Grace{
			Interrupt: 150 * time.Millisecond,
			Terminate: 150 * time.Millisecond,
			Drain:     100 * time.Millisecond,
		},
	}
	if os.Getenv("PROC_SUPERVISED") != "" {
		s.Supervisor = []string{ownProc(t), superviseWord}
	}
	if edit != nil {
		edit(&s)
	}
	st, err := proc.NewStarter(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// part is the command that plays one part of play.
func part(t *testing.T, name string, args ...string) proc.Command {
	t.Helper()
	return proc.Command{
		Argv:    append([]string{ownProc(t)}, args...),
		Env:     []string{"PROC_CHILD=" + name},
		Purpose: proc.PurposeScript,
		Timeout: proc.Timeout{Total: 20 * time.Second},
	}
}

func sh(script string) proc.Command {
	return proc.Command{
		Argv:    []string{"sh", "-c", script},
		Purpose: proc.PurposeScript,
		Timeout: proc.Timeout{Total: 20 * time.Second},
	}
}
