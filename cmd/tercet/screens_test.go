//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"tercet/internal/testkit"
)

// act is one moment of the tour: what is done, and what the terminal shows when it is looked at.
type act struct {
	name string            // of the screen, empty: nobody looks
	keys string            // typed on an empty screen, or where the one before ended
	on   bool              // goes on where the act before ended
	let  map[string]string // what workers are told, by their pipe; they wait for it
	want []string          // what the screen shows then; all of it
}

// tour is what is looked at, in one prompt: what waits for a worker is looked at while it waits.
var tour = []act{
	{name: "menu", keys: "/", want: []string{"/errors", "of "}},
	{name: "values", keys: "\x15/plan ", want: []string{"<task_number>", "2  Answer requests"}},
	{
		name: "usage",
		keys: "\x15\x15/plna 2\r/plan two\r",
		want: []string{"did you mean /plan?", `got "two"`},
	},
	{name: "search", keys: "\x12pn2", want: []string{"history: pn2", "/plna 2"}},
	{name: "lint", keys: "lint bad.md\r", want: []string{"E120", atPrompt}},
	{name: "status", keys: "status\r", want: []string{atPrompt}},
	{name: "tasks", keys: "task list\r", want: []string{"planned", atPrompt}},
	{name: "help", keys: "/help plan\r", want: []string{"usage", atPrompt}},
	{name: "explain", keys: "explain /release 1.4.0\r", want: []string{"worst case", atPrompt}},
	{name: "commands", keys: "/implement 1\r", want: []string{"chmod", `\[r]eject`}},
	{on: true, keys: "r\r", want: []string{"REJECTED", atPrompt}},
	{name: "tree", keys: "/release 1.4.0\r", want: []string{"Write the notes", "· writer"}},
	{
		name: "parallel",
		on:   true,
		let:  map[string]string{"writer": "go", "correctness": "approved"},
		want: []string{"✓ correctness", "· guard"},
	},
	{
		name: "rejected",
		on:   true,
		let:  map[string]string{"security": "rejected"},
		want: []string{"round 2 of", "· writer"},
	},
	{
		name: "gate",
		on:   true,
		let:  map[string]string{"writer": "", "correctness": "approved", "security": "approved"},
		want: []string{`\[r]elease`},
	},
	{name: "keys", on: true, keys: "?\r", want: []string{`(?s)these keys.*\[r]elease`}},
	{
		name: "diff",
		on:   true,
		keys: "d\r",
		want: []string{`\+- A request`, `\[r]elease  \[h]old  \[d]iff \[\?]$`},
	},
	{on: true, keys: "r: tested\r", want: []string{"released 1.4.0", atPrompt}},
	{name: "runs", keys: "runs\r", want: []string{"/rele", atPrompt}},
	{name: "watch", keys: "watch\r", want: []string{"tercet watch", "✓ /release", "keys  Enter"}},
	{on: true, keys: "q", want: []string{atPrompt}},
}

// TestScreens: what a person sees at each moment of the tour, on terminals of three sizes.
func TestScreens(t *testing.T) {
	t.Parallel()
	for _, size := range []pty.Winsize{
		{Cols: 40, Rows: 36},
		{Cols: 80, Rows: 24},
		{Cols: 200, Rows: 50},
	} {
		t.Run(strconv.Itoa(int(size.Cols)), func(t *testing.T) {
			t.Parallel()
			if size.Cols != 80 {
				testkit.OnlyDeep(t, "the whole tour at another size")
			}

			s := tourist(t, &size)
			for _, a := range tour {
				s.act(a)

				file := ""
				if a.name != "" {
					file = filepath.Join(
						"testdata",
						"screens",
						fmt.Sprintf("%s-%d.golden", a.name, size.Cols),
					)
				}

				s.looks(file, a.want)
				if size.Cols == 80 {
					s.draws(a.name)
				}
			}

			s.keys("\x15\x04")
			if code := s.ends(); code != 0 || len(s.grid.odd) > 0 {
				t.Errorf("exit code %d, and what no terminal knows: %q", code, s.grid.odd)
			}
		})
	}
}

// pipes are what the workers of the tour wait for.
var pipes = []string{"writer", "correctness", "security"}

// tourist opens the prompt in a project where things were done before.
func tourist(t *testing.T, size *pty.Winsize) *screen {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "tour"))); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"USER=ann",
		"HOME=" + t.TempDir(),
		"TERCET_TRUST=1",
		"TERCET_HYPERLINKS=0",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=ann",
		"GIT_AUTHOR_EMAIL=ann@localhost",
		"GIT_COMMITTER_NAME=ann",
		"GIT_COMMITTER_EMAIL=ann@localhost",
	}
	do := func(name, input string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = env
		cmd.Stdin = strings.NewReader(input)

		if name == self {
			cmd.Args[0] = "tercet"
		}

		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
	}
	do("git", "", "init", "-q", "-b", "main")
	do(
		self,
		"init\n/task --from task.md\n/task \"Answer requests in the order in which they came, "+
			"also where one of them is slow\"\n"+
			"/research 1\n/plan 1\n/task \"Keep the hours of a holiday\"\n",
	)
	do("git", "", "add", "-A")
	do("git", "", "commit", "-q", "-m", "the shop")
	s := &screen{
		t:    t,
		cmd:  exec.Command(self),
		done: make(chan error, 1),
		news: make(chan struct{}, 1),
	}
	s.grid = newEmulator(int(size.Cols), int(size.Rows))
	s.cmd.Args[0] = "tercet"
	s.cmd.Dir = dir
	s.cmd.Env = env
	s.tty, err = pty.StartWithSize(s.cmd, size)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	s.pipes = map[string]*os.File{}
	for _, name := range pipes {
		file := filepath.Join(dir, name)
		if err := syscall.Mkfifo(file, 0o600); err != nil {
			t.Skipf("no pipes here: %v", err)
		}
		// both ends, so that nobody waits for the other one
		s.pipes[name], err = os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Skipf("no pipes here: %v", err)
		}
		t.Cleanup(func() { s.pipes[name].Close() })
	}

	s.follow()
	s.looks("", []string{atPrompt})
	return s
}

// atPrompt is a screen on which the prompt waits.
const atPrompt = `(^|\n)tercet>$`

// act does what a moment wants.
func (s *screen) act(a act) {
	s.t.Helper()

	if !a.on {
		s.keys("\x07\x15\x0c") // no search, an empty line, an empty screen
		s.looks("", []string{`^tercet>$`})
	}

	s.keys(a.keys)

	for _, name := range pipes {
		if word, ok := a.let[name]; ok {
			if _, err := s.pipes[name].WriteString(word + "\n"); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// looks waits until the screen matches all of want, and is what the golden file says, where there
// is one.
func (s *screen) looks(file string, want []string) {
	s.t.Helper()

	golden, err := os.ReadFile(file)
	if file != "" && err != nil && !*update {
		s.t.Fatal(err)
	}

	shown := ""

	since := time.Now()
	begin := since

	for {
		now := steady(s.grid.rows())
		if now != shown {
			shown = now
			since = time.Now()
		}

		lacking := slices.IndexFunc(want, func(w string) bool {
			return !regexp.MustCompile(w).MatchString(shown)
		})

		switch {
		case lacking < 0 && (file == "" || !*update && alike(shown+"\n", string(golden))):
			return
		case lacking < 0 && *update && time.Since(since) > time.Second/2: // nothing more comes
			if err := os.WriteFile(file, []byte(shown+"\n"), 0o600); err != nil {
				s.t.Fatal(err)
			}
			return
		case time.Since(begin) < patience:
		case lacking >= 0:
			s.t.Fatalf("%s: the screen never showed %q:\n%s", file, want[lacking], shown)
		default:
			s.t.Errorf("%s: the screen shows\n%s\nwant\n%s", file, shown, golden)
			return
		}

		select {
		case <-s.news:
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// alike tells whether a screen is that of a golden file. A row that is cut at the edge has less of
// its text where a slow machine says how long the step took.
func alike(shown, golden string) bool {
	rows := strings.Split(shown, "\n")
	want := strings.Split(golden, "\n")
	return slices.EqualFunc(rows, want, func(row, want string) bool {
		text, cut := strings.CutSuffix(row, "…")
		whole, also := strings.CutSuffix(want, "…")
		return row == want ||
			cut && also && len(text) > len(whole)/2 && strings.HasPrefix(whole, text)
	})
}

// unsteady is what differs from run to run: how long something took, signs that turn, names of
// runs, days and times.
var unsteady = []struct{ find, put string }{
	{`(  |, )[0-9.]+(m?s|m)\b`, ""},         // in minutes on a slow machine
	{`\n  took [0-9.]+m?s[^\n]*`, ""},       // told of what took a second or more
	{`\br[t-z][a-z0-9]{8}\b`, "r000000000"}, // the seconds since 1970 begin with t to z until 2038
	{`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`, "⠿"},
	{`(?m) +$`, ""},
}

// agedRow is a row of the watch with how old its run is, for which a long line is cut.
var agedRow = regexp.MustCompile(`(?m)^[> ] [✓✗] /[^│\n]*? +[0-9]+[sm]( |$)`)

// steady takes away what differs from run to run.
func steady(rows []string) string {
	text := strings.Join(rows, "\n")
	// in columns: the rest of the row stays where it is
	text = agedRow.ReplaceAllStringFunc(text, func(row string) string {
		return fmt.Sprintf(
			"%-*s",
			len([]rune(row)),
			regexp.MustCompile(` +("|completed|failed|[0-9]+[sm]( |$)).*`).ReplaceAllString(
				row, "",
			),
		)
	})

	for _, u := range unsteady {
		text = regexp.MustCompile(u.find).ReplaceAllString(text, u.put)
	}
	return text
}
