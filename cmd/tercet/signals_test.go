//go:build linux || darwin

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tercet/internal/testkit"
)

var signalCount = flag.Int("signals", 24, "how many writes TestSignalsAtRandom interrupts")

// TestSignalsAtRandom interrupts writes at random moments: each is finished or was never begun, as
// its exit code says, and nothing is left behind.
func TestSignalsAtRandom(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C"}
	run := func(sig os.Signal, after time.Duration, args ...string) (int, string) {
		t.Helper()

		var out bytes.Buffer
		cmd := exec.Command(self, args...)
		// TestMain looks at the name
		cmd.Args[0] = "tercet"
		cmd.Dir = dir
		cmd.Env = env
		cmd.Stdout = &out
		cmd.Stderr = &out

		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		if sig != nil {
			<-time.After(after)
			cmd.Process.Signal(sig) // it may have ended
		}

		cmd.Wait() // how it ended is in its state
		if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
			return 128 + int(st.Signal()), out.String() // before it listened
		}
		return cmd.ProcessState.ExitCode(), out.String()
	}

	if code, out := run(nil, 0, "init"); code != 0 {
		t.Fatalf("init = %d\n%s", code, out)
	}

	rng := rand.New(rand.NewPCG(3, 1))
	start := time.Now()
	run(nil, 0, "task", "add", "before")
	span := 3 * time.Since(start)

	codes := map[int]int{}
	done := []string{}
	count := *signalCount
	if !testkit.Deep() {
		count = min(count, 6)
	}

	for i := range count {
		sig := []os.Signal{os.Interrupt, syscall.SIGTERM}[i%2]
		title := fmt.Sprintf("task-%d.", i)
		code, out := run(
			sig,
			rand.N(span+1)+time.Duration(rng.IntN(1000))*time.Microsecond,
			"task",
			"add",
			title,
		)

		codes[code]++
		switch code {
		case 0:
			done = append(done, title)
		case 130, 143:
		default:
			t.Errorf("task add, interrupted = %d\n%s", code, out)
		}
	}

	if code, out := run(nil, 0, "task", "add", "after"); code != 0 {
		t.Errorf("a write after all = %d\n%s", code, out)
	}
	if code, out := run(nil, 0, "state", "verify"); code != 0 {
		t.Errorf("state verify = %d\n%s", code, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, ".tercet/state.json"))
	if err != nil || !json.Valid(data) {
		t.Fatalf("state.json: %v\n%s", err, data)
	}
	for _, title := range done {
		if n := strings.Count(string(data), `"`+title+`"`); n != 1 {
			t.Errorf("%s was acknowledged and is there %d times", title, n)
		}
	}

	left, err := filepath.Glob(filepath.Join(dir, ".tercet/*.tmp-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
	t.Logf("%d signals, exit codes %v, %d writes acknowledged and there", count, codes, len(done))
}
