//go:build linux || darwin

package watch_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"tercet/formats"
	"tercet/internal/watch"
)

// TestRunBreaksDown: a defect of the screen leaves the terminal as it was, and is told as one.
func TestRunBreaksDown(t *testing.T) {
	t.Parallel()
	p := busy(t)
	ours, theirs, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if err := pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(int(theirs.Fd())) //nolint:gosec // a descriptor is small
	if err != nil {
		t.Fatal(err)
	}
	p.config.In, p.config.Out, p.config.Env = theirs, theirs, []string{"TERM=xterm-256color"}
	p.config.Diff = func(context.Context, string) (string, error) { panic("a defect") }
	printed := make(chan string)
	go func() {
		data, err := io.ReadAll(ours)
		if err != nil && !errors.Is(err, os.ErrClosed) && !strings.Contains(err.Error(), "input/output error") { // as Linux ends it
			t.Error(err)
		}
		printed <- string(data)
	}()
	go func() {
		<-time.After(200 * time.Millisecond)
		if _, err := ours.WriteString("d"); err != nil {
			t.Error(err)
		}
	}()
	err = watch.Run(t.Context(), p.config)
	if f, ok := errors.AsType[*formats.Failure](err); !ok || f.Code != formats.CodeBug {
		t.Errorf("Run = %v, want a failure with code BUG", err)
	}
	after, err := term.GetState(int(theirs.Fd())) //nolint:gosec // a descriptor is small
	if err != nil || *after != *before {
		t.Errorf("the terminal is %+v, %v, want %+v", after, err, before)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	text := <-printed
	if i := strings.LastIndex(text, "\x1b[?1049"); i < 0 || !strings.HasPrefix(text[i:], "\x1b[?1049l") {
		t.Errorf("the screen of before is not back: %q", text)
	}
}
