//go:build linux || darwin

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"tercet/formats"
	"tercet/internal/history"
	"tercet/internal/style"
)

// prompting starts the prompt in a workspace with tasks.
func prompting(t *testing.T, titles ...string) (*screen, string, []string) {
	t.Helper()
	dir := workspaceIn(t)
	env := []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}
	for _, title := range titles {
		onTerminalWith(t, dir, env, "/task", title).ends()
	}
	s := onTerminalWith(t, dir, env)
	s.prompted()
	return s, dir, env
}

// leave ends the prompt, which must have nothing to say against it.
func (s *screen) leave() {
	s.t.Helper()
	s.keys("\x15\x04")
	if code := s.ends(); code != 0 {
		s.t.Errorf("exit code %d after Ctrl-D, want 0", code)
	}
}

func TestPromptEdits(t *testing.T) {
	t.Parallel()
	s, _, _ := prompting(t)
	for keys, want := range map[string]string{
		// left, delete, end, begin
		"task Oen\x1b[D\x1b[D\x1b[3~\x05e\x01/":          "One",
		"xx /task Two\x1b[H\x1b[3~\x1b[3~\x1b[3~\x1b[F!": "Two!", // Home, End
		// Ctrl-W, Alt-B, Alt-D, Alt-F
		"/task Three words gone\x17\x17\x1bb\x1bd\x1bfs": "s",
		// words by Ctrl and arrows, backspace
		"/task Four\x1b[1;5D\x1b[1;5Cx\x7f":           "Four",
		"dropped\x15/task Five\x01\x05, and\x06 more": "Five, and more", // Ctrl-U, Ctrl-F
		// Ctrl-D takes the letter in front
		"/task S\x04ix\x02\x02\x04i\x05": "Sx",
		"/task 日本語\x1b[D\x7f\x05x":       "日語x",
		// keys that nothing is bound to
		"/task Seven\x1b[1;2R\x1b[15~\x1b]x\x1bPy\x00\x1f": "Seven",
	} {
		s.keys(keys)
		s.keys("\r")
		if !strings.HasPrefix(keys, "/task S\x04") && !strings.Contains(keys, "Seven") {
			s.wait("created: " + want + "\r\n")
		} else {
			s.wait("created: ")
		}
		s.prompted()
	}

	s.leave()
}

func TestPromptMenu(t *testing.T) {
	t.Parallel()
	s, dir, _ := prompting(
		t,
		"Fix the parser",
		"Write the docs",
		"A title that is "+strings.Repeat("long ", 40),
	)
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	for name, text := range map[string]string{
		".gitignore":   "no-*\n",
		"notes one.md": "",
		"no-thing.md":  "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	s.keys("/")
	s.wait("1 of ") // there are more than are shown

	s.keys("pn")
	s.wait("/plan       Create implementation plan for a task")

	s.keys("\t")
	s.wait("tercet> /plan\x1b[K")
	s.wait("/plan\x1b[1m <task_number>\x1b[0m [prompt]") // the current one is bold
	s.wait("  1  Fix the parser (not_started)")
	s.wait("  2  Write the docs (not_started)")
	s.wait("long lo…")

	s.keys("\x1b[B\x1b[B")
	s.wait("> 2  Write the docs")
	s.keys("\r")
	s.wait("tercet> /plan 2\x1b[K")
	s.wait("<task_number>\x1b[1m [prompt]")

	s.keys("\x15/plan pars\t") // by its title
	s.wait("tercet> /plan 1\x1b[K")

	s.keys("\x15/todo --\t\x1b[D\x1b[C")
	s.wait("tercet> /todo --dry-run\x1b[K")
	s.keys("\x15/todo --status \x1b[B\x1b[B\t")
	s.wait("tercet> /todo --status abandoned\x1b[K")
	s.keys("\x15look at @no\t")
	s.wait(`tercet> look at @"notes one.md"` + "\x1b[K")

	s.keys("\x15/plan 2")
	s.wait("  2  Write the docs")
	s.keys("\x1b") // Escape takes the menu away
	s.wait("[--research-report PATH]\x1b[K\x1b[J")

	s.keys("\r")
	s.wait("Plan created")
	s.prompted()

	s.keys("/plan ")
	s.wait("  1  Fix the parser") // as the state stands now
	if seen := s.until("long lo…"); strings.Contains(seen, "Write the docs") {
		t.Errorf("a planned task is offered:\n%s", seen)
	}

	s.keys("\x15/implement \x1b[D\x1b[C")
	s.wait("  2  Write the docs (planned)")

	s.keys("\x15/task x\r")
	s.wait("created: x")
	s.prompted()

	s.keys("show \t") // the newest run, with its line
	s.wait("/task x (completed)")
	s.keys("\x15lint no\t") // a file
	s.wait(`tercet> lint "notes one.md"` + "\x1b[K")
	s.keys("\x15explain /impl\t\x1b[D\x1b[C") // a line
	s.wait("tercet> explain /implement\x1b[K")
	s.wait("  2  Write the docs (planned)")

	s.keys("\x15/") // what was used last stands first
	s.wait("tercet> /\x1b[K\r\n  /task ")
	s.leave()
}

// TestPromptAsks: what is missing is asked for with what it can be.
func TestPromptAsks(t *testing.T) {
	t.Parallel()
	s, _, _ := prompting(t, "Fix the parser")
	s.keys("/plan\r")
	s.wait("/plan: missing <task_number>")
	s.prompted()
	s.wait("  1  Fix the parser (not_started)")
	s.keys("\t\r")
	s.wait("Plan created")
	s.prompted()
	s.leave()
}

func TestPromptHistory(t *testing.T) {
	t.Parallel()

	s, dir, env := prompting(t)
	s.keys("/task Alpha\r")
	s.wait("created: Alpha")
	s.prompted()

	s.keys(" /task Secret\r")
	s.wait("created: Secret")
	s.prompted()

	other := onTerminalWith(t, dir, env)
	other.prompted()
	other.keys("/help\r")
	other.wait("/errors ")
	other.prompted()

	other.keys("\x1b[A\x1b[A") // the line of the first process
	other.wait("tercet> /task Alpha")
	other.keys("\x1b[B\x1b[B")

	s.keys("draft\r") // from now on the first one knows what the second one entered
	s.prompted()

	s.keys("begun\x1b[A\x1b[A")
	s.wait("tercet> /help")
	s.keys("\x1b[B\x1b[B")
	s.wait("tercet> begun")

	s.keys("\x15\x12tapha") // letters in their order
	s.wait("history: tapha")
	s.wait("> /task Alpha")
	s.keys("\r\r")
	s.wait("created: Alpha")
	s.prompted()

	s.keys("\x12nowhere")
	s.wait("no line has these letters")
	s.keys("\x03")

	other.leave()
	s.leave()

	file := filepath.Join(strings.TrimPrefix(env[0], "HOME="), ".local/state/tercet", history.Name)
	data, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(data), "Secret") ||
		strings.Count(string(data), "\n") != 4 {
		t.Errorf("the history holds %v:\n%s", err, data)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the history: %v, %v, want 0600", info.Mode(), err)
	}
}

// TestPromptPastes: a paste is one entry, whatever it holds, and Enter takes it; rows are begun in
// two ways.
func TestPromptPastes(t *testing.T) {
	t.Parallel()

	s, dir, _ := prompting(t)
	s.keys("/task --from \x1b[200~list.md\r/task Never\x1b[A\x03\x04\x1b[201~")
	s.wait("      > /task Never")

	s.keys("\x15\x1b[A\x05\r")
	s.wait("list.md")
	s.prompted()

	s.keys("/task One\x1b\rrow\\\rthree\r")
	s.wait("created: One\r\n")
	s.prompted()

	s.keys("\x1b[200~" + strings.Repeat("x", 130<<10) + "\x1b[201~")
	s.wait("the paste is longer than 128 KiB")

	s.keys("/help\r")
	s.wait("/errors ")
	s.prompted()

	s.leave()

	state, err := os.ReadFile(filepath.Join(dir, formats.Workspace, "state.json"))
	if err != nil || strings.Contains(string(state), "Never") ||
		!strings.Contains(string(state), `row\nthree`) {
		t.Errorf("the state holds %v:\n%s", err, state)
	}
}

// TestPromptRunsOtherThings: verbs, commands of the shell, and words of the prompt.
func TestPromptRunsOtherThings(t *testing.T) {
	t.Parallel()
	s, dir, _ := prompting(t, "Fix the parser")

	s.keys(
		"!echo $((40 + 2)) >made; cat made; echo late >&2; " +
			"echo more; test -t 1 && echo on it; exit 3\r",
	)
	s.wait("42\r\nlate\r\nmore\r\n") // standard error stands where it came
	s.wait("on it")                  // it has the terminal, so colours stay
	s.wait("exit code 3")
	s.prompted()

	// nothing but what the command prints: neither a question nor how it ended
	s.keys("!touch one two; rm one\r")
	if seen := s.until("\x1b[?2004h"); strings.Contains(seen, "tercet:") {
		t.Errorf("there is more than what the command prints: %q", seen)
	}
	s.wait("tercet> ")

	s.keys("!echo as''leep; read line\r")
	s.wait("asleep") // from here on Ctrl-C reaches the shell, which starts no program for read
	s.keys("\x03")
	if seen := s.until("\x1b[?2004h"); strings.Contains(seen, "tercet:") ||
		strings.Contains(seen, "press") {
		t.Errorf("Ctrl-C in a command says %q", seen)
	}
	s.wait("tercet> ")

	s.keys("!git reset --hard\r")
	s.wait("warning: git: throws away changes that are not committed")
	s.wait("Run it? [y/N] ")
	s.keys("n")
	s.prompted()

	s.keys("tercet task list\r")
	s.wait("TITLE")
	s.prompted()
	s.keys("/runs\r")
	s.wait("COMMAND")
	s.prompted()

	s.keys("statsu\r")
	s.wait("did you mean status?")
	s.prompted()
	s.keys("git status\r")
	s.wait("is typed as !git status")
	s.prompted()
	s.keys("!\r")
	s.wait("expected a command of the shell")
	s.prompted()

	s.keys("query '.tasks[].title'\r")
	s.wait(`"Fix the parser"`)
	s.prompted()
	s.keys("--json task list\r")
	s.wait("commands start with '/'")
	s.prompted()

	s.keys("task list --json\r")
	s.wait(`"schema": "tercet.task-list/1"`)
	s.prompted()
	s.keys("task list\r") // and the flag was for that line alone
	s.wait("TITLE")
	s.prompted()

	s.keys("tas")
	s.wait("  task  change tasks")
	s.keys("\x15?")
	s.wait("Ctrl-R  search")
	s.keys("\x0c") // Ctrl-L
	s.wait("\x1b[2J")

	s.keys("clear\r")
	s.wait("\x1b[2J")
	s.prompted()

	s.keys("/task A && /task B ; /task C\r")
	s.wait("created: A")
	s.wait("created: B")
	s.wait("created: C")
	s.prompted()

	s.keys("help\r")
	s.wait("/errors ")
	s.prompted()

	s.keys("quit\r")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d after quit, want 0", code)
	}

	// where there is no shell
	for _, word := range []string{"exit", "/exit", "/quit"} {
		s = onTerminalWith(t, dir, []string{
			"HOME=" + t.TempDir(),
			"TERCET_TRUST=1",
			"PATH=/nonexistent",
		})
		s.prompted()
		if word == "exit" {
			s.keys("!true\r")
			s.wait("help: put sh on the PATH")
			s.prompted()
		}
		s.keys(word + "\r")
		if code := s.ends(); code != 0 {
			t.Errorf("exit code %d after %s, want 0", code, word)
		}
	}

	if made := readText(t, filepath.Join(dir, "made")); made != "42\n" {
		t.Errorf("the command of the shell wrote %q, want 42", made)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// TestPromptGreets tells in one line where the person is and what waits there.
func TestPromptGreets(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	s := onTerminal(t, dir)
	if seen := s.until("tercet> "); !strings.Contains(seen, "no workspace here: 'init' makes one") {
		t.Errorf("the greeting is %q", seen)
	}

	s.keys("init\r")
	s.wait("/task")
	s.prompted()

	src := "---\ncommand: ask\ndescription: ask\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\ngate: Go on?\n```\n"
	err := os.WriteFile(
		filepath.Join(dir, formats.Workspace, "commands", "ask.md"),
		[]byte(src),
		0o644,
	)
	if err != nil {
		t.Fatal(err)
	}

	s.keys("/task One\r")
	s.wait("created: One")
	s.prompted()
	s.leave()

	env := []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}
	if code := onTerminalWith(t, dir, append(env, "CI=true"), "/ask").ends(); code != 75 {
		t.Fatalf("/ask = %d, want 75", code)
	}

	nap := strings.NewReplacer("ask", "nap", "gate: Go on?", "wait: 3h").Replace(src)
	err = os.WriteFile(
		filepath.Join(dir, formats.Workspace, "commands", "nap.md"),
		[]byte(nap),
		0o644,
	)
	if err != nil {
		t.Fatal(err)
	}

	if code := onTerminalWith(t, dir, env, "/nap").ends(); code != 75 {
		t.Fatalf("/nap = %d, want 75", code)
	}

	s = onTerminalOf(t, 200, dir, env)
	want := filepath.Base(dir) +
		", runner offline, 1 open task, 1 suspended run ('runs'), 1 open gate ('gates')\r\n"

	seen := s.until("tercet> ")
	if !strings.Contains(seen, want) || strings.Count(seen, "\n") != 1 {
		t.Errorf("the greeting is %q, want %q in one line", seen, want)
	}

	s.leave()
}

// TestPromptLeaves: Ctrl-C empties the line, and leaves the second time; Ctrl-D deletes forward in
// a line.
func TestPromptLeaves(t *testing.T) {
	t.Parallel()
	s, _, _ := prompting(t)
	s.keys("some text\x03")
	s.keys("x\x04\x01\x04") // neither at the end nor in front of a letter does Ctrl-D leave
	s.keys("\x03")
	s.wait("press Ctrl-C again or Ctrl-D to quit")
	s.keys("\x03")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d after two Ctrl-C, want 0", code)
	}
}

// TestPromptStops: Ctrl-Z gives the terminal back as it was, and what was typed is there again
// behind fg.
func TestPromptStops(t *testing.T) {
	t.Parallel()

	dir := workspaceIn(t)
	var err error
	s := &screen{
		t:    t,
		cmd:  exec.Command("sh", "-im"),
		done: make(chan error, 1),
		news: make(chan struct{}, 1),
	}
	s.cmd.Dir = dir
	s.cmd.Env = []string{
		"PATH=" + tercetIn(t) + ":" + os.Getenv("PATH"),
		"TERM=xterm",
		"HOME=" + t.TempDir(),
		"PS1=ready> ",
		"TERCET_TRUST=1",
	}

	s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 30, Cols: 90})
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}

	s.follow()
	s.wait("ready> ")
	s.keys("tercet\n")
	s.prompted()

	s.keys("/task Kept")
	s.wait("/task Kept")
	s.keys("\x1a")
	s.wait("\x1b[?2004l")
	s.wait("topped")
	s.wait("ready> ")

	s.keys("stty -a; fg\n")
	modes := s.until("tercet")
	if !strings.Contains(modes, " echo ") || !strings.Contains(modes, " icanon") {
		t.Errorf("the terminal is not as it was: %s", modes)
	}

	s.wait("tercet> /task Kept")
	s.keys("\r")
	s.wait("created: Kept")
	s.prompted()

	s.keys("\x04")
	s.wait("ready> ")
	s.keys("exit\n")
	s.ends()
}

// TestPromptOnADumbTerminal is a plain reader, without a single escape; without colour there is
// none in the editor.
func TestPromptOnADumbTerminal(t *testing.T) {
	t.Parallel()

	dir := workspaceIn(t)
	for _, term := range []string{"TERM=dumb", "TERM="} {
		s := onTerminalWith(t, dir, []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1", term})
		s.wait("tercet> ")
		s.keys("/task One\r")
		seen := s.until("created: One") + s.until("tercet> ")
		s.keys("\x04")
		if code := s.ends(); code != 0 || strings.Contains(seen, "\x1b") {
			t.Errorf("%s: exit code %d, %q", term, code, seen)
		}
	}

	s := onTerminal(t, dir)
	s.prompted()
	s.keys("/plan \x1b[B")
	seen := s.until("> 1  One")

	for _, one := range regexp.MustCompile(`\x1b\[([0-9;]*)m`).FindAllStringSubmatch(seen, -1) {
		if one[1] != "0" && one[1] != "1" {
			t.Errorf("a colour without leave: %q", one[0])
		}
	}

	s.leave()
}

// TestPromptFitsItsTerminal: no row is wider than the terminal, by the width of its letters, also
// after its size changed.
func TestPromptFitsItsTerminal(t *testing.T) {
	t.Parallel()

	dir := workspaceIn(t)
	env := []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}
	onTerminalWith(t, dir, env, "/task", strings.Repeat("文書を書く ", 60)).ends()

	for _, columns := range []uint16{40, 200} {
		s := onTerminalOf(t, columns, dir, env)
		s.prompted()

		fits := func(wide uint16, want string) {
			t.Helper()
			for row := range strings.SplitSeq(
				regexp.MustCompile(`\x1b\[[?0-9;]*[A-Za-z]`).ReplaceAllString(s.until(want), ""),
				"\n",
			) {
				for part := range strings.SplitSeq(row, "\r") {
					if n := style.Width(part); n >= int(wide) {
						t.Errorf("row of %d columns on %d: %q", n, wide, part)
					}
				}
			}
		}

		s.keys("?")
		fits(columns, "clears")

		s.keys("/plan ")
		fits(columns, "…")

		s.keys("\x15/")
		fits(columns, " of ")

		s.keys("\x15/task " + strings.Repeat("文 word ", 30))
		fits(columns, "[text]")

		if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 20, Cols: columns - 10}); err != nil {
			t.Fatal(err)
		}
		s.until("[text]")

		s.keys("x")
		fits(columns-10, "[text]")
		s.leave()
	}
}

// TestPromptEndsWithItsTerminal: where the terminal is closed, the prompt ends.
func TestPromptEndsWithItsTerminal(t *testing.T) {
	t.Parallel()
	s, _, _ := prompting(t)
	s.signal(syscall.SIGHUP)
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Error("it does not end")
	}
}
