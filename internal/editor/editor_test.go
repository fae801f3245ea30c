//go:build linux || darwin

package editor_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"tercet/internal/editor"
	"tercet/internal/keyboard"
)

// witness remembers when the marks of pastes were ended, and whether each key came at once then.
type witness struct {
	tty   *os.File
	plain term.State
	ended time.Time
	raw   bool
}

func (w *witness) Write(p []byte) (int, error) {
	if w.ended.IsZero() && strings.Contains(string(p), "\x1b[?2004l") {
		now, err := term.GetState(int(w.tty.Fd())) //nolint:gosec // a descriptor is small
		w.ended = time.Now()
		w.raw = err == nil && *now != w.plain
	}
	return len(p), nil
}

// TestLeavesTheTerminal: a signal ends the prompt, and Ctrl-Z right behind it cannot take the end
// of the marks of pastes away: the terminal has the time to read it while Ctrl-Z is still a plain
// key.
func TestLeavesTheTerminal(t *testing.T) {
	t.Parallel()
	ours, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer ours.Close()
	defer tty.Close()
	keys, err := keyboard.New(tty)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := term.GetState(int(tty.Fd())) //nolint:gosec // a descriptor is small
	if err != nil {
		t.Fatal(err)
	}
	out := &witness{tty: tty, plain: *plain}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = editor.New(editor.Config{
		Keyboard: keys,
		Out:      out,
		Now:      time.Now,
		Lines:    func() []string { return nil },
		Size:     func() (int, int) { return 80, 24 },
	}).Read(ctx, "")
	if took := time.Since(out.ended); err == nil || !out.raw || took < 100*time.Millisecond {
		t.Errorf(
			"Read = %v; the marks end %v before it, each key at once: %v, want at least 100ms "+
				"and true",
			err, took, out.raw,
		)
	}
	if after, err := term.GetState(int(tty.Fd())); err != nil || *after != *plain { //nolint:gosec // a descriptor is small
		t.Errorf("the terminal is %+v, %v, want %+v", after, err, plain)
	}
}
