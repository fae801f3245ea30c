//go:build linux

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"tercet/formats"
	"tercet/internal/testkit"
)

var (
	promptRounds = flag.Int(
		"prompts",
		len(places)+2,
		"terminals that get random keys; each has its own seed",
	)
	promptSeed = flag.Int("promptseed", 0, "the first seed")
	promptFor  = flag.Duration("promptfor", 0, "goes on with further seeds until this has passed")
)

// places are where random keys arrive: what is typed before, what the screen shows then, and the
// command that the keys may end and must not finish.
var places = []struct {
	name, keys, shown string
	never             []string // what a run that nobody agreed to would leave
}{
	{name: "prompt", keys: "", shown: atPrompt},
	{name: "run", keys: "/release 1.4.0\r", shown: "· writer", never: []string{"released 1.4.0"}},
	{
		name:  "gate",
		keys:  "/release 1.4.0\r",
		shown: `\[r\]elease`,
		never: []string{"released 1.4.0"},
	},
	{
		name:  "commands",
		keys:  "/implement 1\r",
		shown: `\[r\]eject`,
		never: []string{"✓ phase 1/1", "done"},
	},
	{name: "watch", keys: "watch\r", shown: "/research"},
}

// pieces are keys, pastes, and sequences that are broken or answers to nothing. Nothing of it
// enters a line.
var pieces = []string{
	"/task Never",
	"/",
	"/plan ",
	"@",
	"!touch made",
	"?",
	"日本語",
	"a",
	"r",
	"y",
	"j",
	" ",
	"\t",
	"\x1b",
	"\x1b[A",
	"\x1b[B",
	"\x1b[C",
	"\x1b[D",
	"\x1b[H",
	"\x1b[F",
	"\x1b[3~",
	"\x1b[1;2R",
	"\x1b[5;10R",
	"\x1b[200~/task Never\r/task Never\n\x1b[201~",
	"\x1b[200~x",
	"\x1b[201~",
	"\x1b]0;x",
	"\x1bP",
	"\x1b[",
	"\x1bO",
	"\x9b",
	"\xff\xfe",
	"\x00",
	"\x01",
	"\x02",
	"\x05",
	"\x06",
	"\x0b",
	"\x0c",
	"\x0e",
	"\x10",
	"\x12",
	"\x14",
	"\x15",
	"\x17",
	"\x19",
	"\x1a",
	"\x1b\r",
	"\x1bb",
	"\x1bf",
	"\x1bd",
	"\x1b\x7f",
	"\x7f",
	"\\",
	"\x1f",
	"\x1b[Z",
	"\x1b[<0;1;1M",
	"\x1b[I",
	strings.Repeat("wide文", 50),
}

// TestPromptSurvives sends random keys, pastes, broken sequences, sizes and signals to the prompt,
// to a run, to a question and to the watch, but no Enter outside of a paste: the program neither
// hangs nor fails, nothing is run or answered, the state is what it was, and the terminal is as
// nobody had used it.
func TestPromptSurvives(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "random keys at many terminals")

	begin := time.Now()
	for i := 0; i < *promptRounds || time.Since(begin) < *promptFor; i++ {
		seed := *promptSeed + i
		t.Run(fmt.Sprintf("%s-%d", places[seed%len(places)].name, seed), func(t *testing.T) {
			if *promptFor == 0 {
				t.Parallel()
			}
			survives(t, seed)
		})
	}
}

func survives(t *testing.T, seed int) {
	t.Helper()

	place := places[seed%len(places)]
	r := rand.New(rand.NewPCG(uint64(seed), 1)) //nolint:gosec // keys of a test
	s := tourist(t, &pty.Winsize{Cols: 90, Rows: 30})
	before := tasksOf(t, s.cmd.Dir)

	if place.name == "gate" {
		s.act(act{
			on:  true,
			let: map[string]string{"writer": "", "correctness": "approved", "security": "approved"},
		})
	}

	s.keys(place.keys)
	s.looks("", []string{place.shown})

	sent := []string{}
	send := func(what string, err error) {
		sent = append(sent, what)
		if err != nil && s.cmd.ProcessState == nil {
			<-time.After(10 * time.Millisecond) // it has ended, which is seen below
		}
	}

	want := []int{0, 130} // a second SIGINT ends it at once
	for range 150 {
		one := pieces[r.IntN(len(pieces))]
		_, err := s.tty.WriteString(one)
		send(one, err)
		switch r.IntN(40) {
		case 0, 1:
			size := &pty.Winsize{
				Rows: uint16(1 + r.IntN(40)),  //nolint:gosec // small
				Cols: uint16(1 + r.IntN(120)), //nolint:gosec // small
			}
			send(fmt.Sprintf("%d x %d", size.Cols, size.Rows), pty.Setsize(s.tty, size))
		case 2:
			send("SIGINT", s.cmd.Process.Signal(os.Interrupt))
		case 3:
			send("SIGTSTP", s.cmd.Process.Signal(syscall.SIGTSTP))
			<-time.After(time.Duration(r.IntN(3)) * time.Millisecond)
			send("SIGCONT", s.cmd.Process.Signal(syscall.SIGCONT))
		case 4:
			send("SIGWINCH", s.cmd.Process.Signal(syscall.SIGWINCH))
		}

		if r.IntN(10) == 0 {
			<-time.After(time.Duration(r.IntN(5)) * time.Millisecond)
		}
	}

	if r.IntN(3) == 0 {
		send("SIGTERM", s.cmd.Process.Signal(syscall.SIGTERM))
		want = append(want, 143)
	}
	over := make(chan int, 1)
	go func() { over <- s.ends() }()
	for i, code := 0, -1; code < 0; i++ {
		select {
		case code = <-over:
			if !slices.Contains(want, code) {
				t.Errorf("seed %d: exit code %d, want one of %v, after %q; it shows\n%s",
					seed, code, want, sent, strings.Join(s.grid.rows(), "\n"))
			}
		case <-time.After(200 * time.Millisecond):
			keys := "\x1b[201~\x07\x07\x15\x04" // it ends the search, the line and the prompt
			if i%15 == 1 {
				// what runs; a second one too soon would leave out what it does at its end
				keys = "\x1b[201~\x03"
			}
			_, _ = s.tty.WriteString(keys) // it may have ended
		}
	}

	s.same(t, before, place.never, fmt.Sprintf("seed %d: after %q", seed, sent))
}

// same holds that the terminal is as nobody had used it, and the project as it was.
func (s *screen) same(t *testing.T, before string, never []string, why string) {
	t.Helper()
	if now := tasksOf(t, s.cmd.Dir); now != before {
		t.Errorf("%s: the tasks are %s, want %s", why, now, before)
	}
	for _, name := range []string{"made", "count.sh"} {
		if _, err := os.Stat(filepath.Join(s.cmd.Dir, name)); err == nil {
			t.Errorf("%s: %s was made", why, name)
		}
	}

	if after := s.state(); !reflect.DeepEqual(untouched(t), after) {
		t.Errorf("%s: the terminal is %+v", why, after)
	}
	s.mu.Lock()
	text := s.text.String()
	s.mu.Unlock()
	for _, one := range never {
		if strings.Contains(text, one) {
			t.Errorf("%s: it came to %q", why, one)
		}
	}

	const untouched = "the cursor is shown: true, another screen: false, marks around a " +
		"paste: false"
	limit := time.After(patience)
	for { // what it printed last may be on its way
		s.grid.mu.Lock()
		m := s.grid.modes
		now := fmt.Sprintf("the cursor is shown: %v, another screen: %v, marks around a paste: %v",
			m[25], m[1049], m[2004])
		s.grid.mu.Unlock()
		if now == untouched {
			return
		}
		select {
		case <-s.news:
		case <-limit:
			t.Errorf("%s: %s, after %q", why, now, text[max(0, len(text)-600):])
			return
		}
	}
}

// tasksOf gives number, title and status of each task. A plan that is left is partial, and a second
// Ctrl-C leaves out what puts a task back: both count as planned.
func tasksOf(t *testing.T, dir string) string {
	t.Helper()

	var doc struct {
		Tasks []struct {
			Number int
			Title  string
			Status string
		}
	}

	err := json.Unmarshal(
		[]byte(readText(t, filepath.Join(dir, formats.Workspace, "state.json"))),
		&doc,
	)
	if err != nil {
		t.Fatal(err)
	}

	back := strings.NewReplacer(
		string(formats.Implementing),
		string(formats.Planned),
		string(formats.Partial),
		string(formats.Planned),
	)
	return back.Replace(fmt.Sprint(doc.Tasks))
}
