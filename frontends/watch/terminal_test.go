//go:build linux || darwin

package watch_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"tercet/formats"
	"tercet/frontends/watch"
)

// onScreen is drawn once the screen listens to keys.
const onScreen = "waiting for you"

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

	p.config.In = theirs
	p.config.Out = theirs
	p.config.Env = []string{"TERM=xterm-256color"}

	p.diff = func(string) string {
		panic("a defect")
	}

	printed := make(chan string)
	go func() {
		var all []byte
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			shown := bytes.Contains(all, []byte(onScreen))
			all = append(all, buf[:n]...)
			if !shown && bytes.Contains(all, []byte(onScreen)) {
				<-time.After(200 * time.Millisecond) // a person's pace
				if _, err := ours.WriteString("d"); err != nil {
					t.Error(err)
				}
			}
			if err != nil {
				// as Linux ends it
				if !errors.Is(err, os.ErrClosed) &&
					!strings.Contains(err.Error(), "input/output error") {
					t.Error(err)
				}
				break
			}
		}
		printed <- string(all)
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
	i := strings.LastIndex(text, "\x1b[?1049")
	if i < 0 || !strings.HasPrefix(text[i:], "\x1b[?1049l") {
		t.Errorf("the screen of before is not back: %q", text)
	}
}
