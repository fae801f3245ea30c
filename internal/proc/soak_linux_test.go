//go:build linux

package proc_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tercet/internal/proc"
)

var full = flag.Bool("full", false, "run the tests of many kills as often as the goals say")

// inFolder lists the processes that run and stand in dir, which those that lost group, session and
// environment still do.
func inFolder(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		to, err := os.Readlink(e)
		if err != nil || to != dir {
			continue
		}
		name := filepath.Base(filepath.Dir(e))
		if pid, err := strconv.Atoi(name); err == nil && runs(pid) {
			cmd, err := os.ReadFile("/proc/" + name + "/cmdline")
			if err != nil {
				continue
			}
			out = append(out, name+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return out
}

// zombie tells whether a process ended and nobody asked for its code. Where it runs, the number is
// another's by now.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

// TestSoakKills kills the owner of a child that escapes as it can, at random moments and in every
// way: a second later nobody of it runs any more.
func TestSoakKills(t *testing.T) {
	hasSetsid(t)
	times := 6
	if *full {
		times = 200
	}
	t.Parallel()
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	var longest time.Duration
	for i := range times {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		cmd, out := owner(t, dir)
		sig := signals[random.IntN(len(signals))]
		after := time.Duration(random.IntN(400)) * time.Millisecond
		<-time.After(after)
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := io.Copy(io.Discard, out); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		for left := inFolder(t, dir); len(left) > 0; left = inFolder(t, dir) {
			if time.Since(begin) > 2*time.Minute {
				t.Fatalf("kill %d (%s after %s, seed %d): %q still run", i, sig, after, seed, left)
			}
			<-time.After(5 * time.Millisecond)
		}
		if _, err := os.Stat(filepath.Join(dir, "pids")); err == nil {
			for _, pid := range pidsIn(t, dir) {
				for ; zombie(pid); <-time.After(5 * time.Millisecond) {
					if time.Since(begin) > 2*time.Minute {
						t.Fatalf("kill %d (%s after %s, seed %d): process %d is left as a zombie",
							i, sig, after, seed, pid)
					}
				}
			}
		}
		longest = max(longest, time.Since(begin))
	}

	t.Logf("%d kills: nobody left after at most %s", times, longest.Round(time.Millisecond))
}

// TestBigFlood lets a child print without end: it is killed at the limit, and this program stays
// small.
func TestBigFlood(t *testing.T) {
	t.Parallel()
	cmd, out := owner(t, t.TempDir(), "PROC_CHILD=floodowner")
	text, err := io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var flooded bool
	var printed, peak int64
	_, scanErr := fmt.Sscan(string(text), &flooded, &printed, &peak)
	if err != nil || scanErr != nil {
		t.Fatalf("the owner printed %q, %v, %v", text, err, scanErr)
	}
	if !flooded || printed != proc.DefaultLimit || peak > 128<<10 {
		t.Errorf("flooded %v, kept %d bytes, peak %d KiB, want true, %d and at most 128 MiB",
			flooded, printed, peak, proc.DefaultLimit)
	}
	t.Logf("peak %d MiB", peak>>10)
}

// floodOwner runs a child that prints 3 GB, if it may, and tells what became of it and how much
// memory that took.
func floodOwner(dir string) int {
	exe, err := os.Executable()
	if err != nil {
		return 1
	}

	s, err := proc.NewStarter(proc.Starter{
		Allow:      func(ctx, proc.Command) error { return nil },
		Env:        []string{"PATH=" + os.Getenv("PATH")},
		Now:        time.Now,
		Temp:       dir,
		Supervisor: []string{exe, superviseWord},
	})
	if err != nil {
		return 1
	}

	file := filepath.Join(dir, "out")
	res, err := s.Run(backgroundContext(), proc.Command{
		Argv:    []string{"head", "-c", "3000000000", "/dev/zero"},
		OutFile: file,
		Purpose: proc.PurposeAgent,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	info, err := os.Stat(file)
	if err != nil {
		return 1
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 1
	}

	peak := ""
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			peak = strings.Fields(rest)[0]
		}
	}

	fmt.Println(res.Flooded, info.Size(), peak)
	return 0
}
