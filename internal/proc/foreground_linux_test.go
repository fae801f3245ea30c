package proc_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/creack/pty"

	"tercet/internal/proc"
)

// TestForegroundHasTheTerminalAtOnce: a program that has printed its first line gets Ctrl-C, so the
// terminal belongs to its group before it begins.
func TestForegroundHasTheTerminalAtOnce(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), ownProc(t))
	cmd.Env = []string{"PROC_CHILD=lend", "PATH=" + os.Getenv("PATH")}
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	printed, _ := io.ReadAll(terminal) // a terminal ends with EIO
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v, and it printed\n%s", err, printed)
	}
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
}

// lend has a shell compare its process group with that of the terminal as the first thing it does.
func lend() int {
	const compare = `read pid name state parent group session tty foreground rest </proc/self/stat
test "$group" = "$foreground" || { echo "the terminal is with $foreground, not $group"; exit 1; }`
	for i := range 300 {
		res, err := proc.Foreground{
			Argv: []string{"sh", "-c", compare},
			Dir:  "/",
			Env:  os.Environ(),
			In:   os.Stdin,
			Out:  os.Stdout,
		}.Run(context.Background())
		if err != nil || res.Exit != 0 {
			fmt.Printf("start %d: %+v, %v\n", i, res, err)
			return 1
		}
	}
	return 0
}
