//go:build linux || darwin

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"tercet/formats"
	"tercet/internal/style"
)

// screen is a program on a pseudo-terminal and all that it has printed.
type screen struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	done chan error

	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}

	silent bool // the terminal does not say where its cursor is

	grid  *emulator           // what the terminal shows of it; nil: nobody looks
	pipes map[string]*os.File // what workers wait for
}

// onTerminal starts tercet in dir, which is trusted, on a pseudo-terminal of 100 columns.
func onTerminal(t *testing.T, dir string, args ...string) *screen {
	t.Helper()
	return onTerminalWith(t, dir, []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}, args...)
}

func onTerminalWith(t *testing.T, dir string, env []string, args ...string) *screen {
	t.Helper()
	return onTerminalOf(t, 100, dir, env, args...)
}

func onTerminalOf(t *testing.T, columns uint16, dir string, env []string, args ...string) *screen {
	t.Helper()
	s := unread(t, columns, dir, env, args...)
	s.follow()
	return s
}

// unread starts tercet on a pseudo-terminal from which nobody reads yet.
func unread(t *testing.T, columns uint16, dir string, env []string, args ...string) *screen {
	t.Helper()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	s := &screen{
		t:    t,
		cmd:  exec.Command(self, args...),
		done: make(chan error, 1),
		news: make(chan struct{}, 1),
	}

	s.cmd.Args[0] = "tercet" // TestMain looks at the name it is called by
	s.cmd.Dir = dir
	s.cmd.Env = append(
		[]string{
			"PATH=" + os.Getenv("PATH"),
			"TERM=xterm",
			"LANG=C.UTF-8",
			"NO_COLOR=1",
			"USER=ann",
		},
		env...,
	)

	s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: columns})
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}

	return s
}

// follow reads what the program prints, and waits for its end.
func (s *screen) follow() {
	s.t.Helper()

	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := s.tty.Read(buf)
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.answer()
			s.mu.Unlock()

			if s.grid != nil {
				s.grid.Write(buf[:n]) // it never fails
			}

			select {
			case s.news <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()

	go func() { s.done <- s.cmd.Wait() }()

	s.t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			if err := s.cmd.Process.Kill(); err != nil {
				s.t.Log(err)
			}
		}
		if err := s.tty.Close(); err != nil {
			s.t.Log(err)
		}
	})
}

// askCursor is how a program asks a terminal for its cursor, and cursorReport an answer.
const (
	askCursor    = "\x1b[6n"
	cursorReport = "\x1b[1;1R"
)

// answer says where the cursor is, as a terminal does, and takes off the question: the texts that a
// test waits for stand without it.
func (s *screen) answer() {
	for !s.silent {
		before, behind, asked := bytes.Cut(s.text.Bytes(), []byte(askCursor))
		if !asked {
			return
		}
		rest := slices.Concat(before, behind)
		s.text.Reset()
		s.text.Write(rest)
		_, _ = s.tty.WriteString(cursorReport) // it may have ended
	}
}

// patience is how long a test waits for what has to come: so long that a machine with much else to
// do is no failure.
const patience = 2 * time.Minute

// wait waits until the text appears behind what was waited for before, and takes it off.
func (s *screen) wait(want string) {
	s.t.Helper()
	s.until(want)
}

// prompted waits for the next prompt: the terminal gives each key at once, and what was typed is
// shown behind it.
func (s *screen) prompted() {
	s.t.Helper()
	s.until("\x1b[?2004h")
	s.until("tercet> ")
}

// until waits for a text, and gives what was shown up to its end since the text before.
func (s *screen) until(want string) string {
	s.t.Helper()
	limit := time.After(patience)
	for {
		s.mu.Lock()
		all := s.text.String()
		i := strings.Index(all, want)
		if i >= 0 {
			s.text.Next(i + len(want))
		}
		s.mu.Unlock()
		if i >= 0 {
			return all[:i+len(want)]
		}
		select {
		case <-s.news:
		case <-limit:
			s.t.Fatalf("terminal never showed %q; it shows\n%s", want, all)
		}
	}
}

func (s *screen) keys(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end of the program and gives its exit code.
func (s *screen) ends() int {
	s.t.Helper()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		err := s.cmd.Process.Signal(syscall.SIGABRT) // it prints what its goroutines do
		select {
		case <-s.done:
		case <-time.After(20 * time.Second):
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Fatalf("the program does not end (%v); the terminal shows\n%s", err, s.text.String())
	}
	return -1
}

func TestPromptOnATerminal(t *testing.T) {
	t.Parallel()

	s := onTerminal(t, workspaceIn(t))
	s.prompted()

	s.keys("/task Fix it\r")
	s.wait("Task 1 created: Fix it")
	s.prompted()

	s.keys("fix it\r")
	s.wait("commands start with '/'")
	s.wait(`did you mean /task "fix it"?`)
	s.prompted()

	s.keys("plan 1\r")
	s.wait("did you mean /plan 1?")
	s.prompted()

	s.keys("# not yet\r")
	s.prompted()

	s.keys("\x03")
	s.wait("press Ctrl-C again or Ctrl-D to quit")

	s.keys("/plan x\r")
	s.wait(`expected task number for <task_number>, got "x"`)
	s.wait("^")
	s.prompted()

	s.keys("\x04")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d after Ctrl-D, want 0", code)
	}
}

// TestLogOnATerminal: with -vv each event is a line with its time in milliseconds and how long it
// took, in plain text also where there is colour; the words that leave the prompt do.
func TestLogOnATerminal(t *testing.T) {
	t.Parallel()
	env := []string{
		"HOME=" + t.TempDir(),
		"TERCET_TRUST=1",
		"CLICOLOR_FORCE=1",
		"TERM=xterm-256color",
	}
	s := onTerminalWith(t, workspaceIn(t), env, "-vv", "--color", "always")
	s.prompted()
	s.keys("/task Fix it\r")
	text := s.until("Task 1 created: Fix it")
	s.prompted()
	s.keys("quit\r")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d after quit, want 0", code)
	}
	times := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.(\d{3}) DBG `).FindAllStringSubmatch(text, -1)
	if len(times) < 5 || strings.Contains(text, "<U+001B>") {
		t.Fatalf("the log holds %d times, or shows an escape:\n%s", len(times), text)
	}
	if all := strings.Repeat("000", len(times)); strings.Join(column(times, 1), "") == all {
		t.Errorf("every time is of a whole second:\n%s", text)
	}
	took := regexp.MustCompile(`took=(\S+)`).FindAllStringSubmatch(text, -1)
	for _, one := range column(took, 1) {
		if _, err := time.ParseDuration(one); err != nil || one == "0s" {
			t.Errorf("took=%s has no unit", one)
		}
	}

	if len(took) == 0 {
		t.Errorf("nothing says how long it took:\n%s", text)
	}
}

// column gives one group of each match.
func column(matches [][]string, group int) []string {
	out := make([]string, len(matches))
	for i, m := range matches {
		out[i] = m[group]
	}
	return out
}

func TestGateOnATerminal(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)
	err := os.WriteFile(
		filepath.Join(dir, formats.Workspace, "commands", "ask.md"),
		[]byte(
			"---\ncommand: ask\ndescription: ask\n---\n\n## Workflow Execution\n\n"+
				"### Step 1: Ask\n\n```yaml step\nid: ask\ngate: Go on?\n```\n\n### Step 2: Say\n"+
				"\n```yaml step\nreturn: \"answered ${{ $steps.ask.choice }} by ${{ "+
				"$steps.ask.by }}\"\n```\n",
		),
		0o644,
	)
	if err != nil {
		t.Fatal(err)
	}

	checkTypedWord(t, dir)
	checkWrongKey(t, dir)
	checkTypedLines(t, dir)
	checkSingleKeys(t, dir)
	checkEarlyKey(t, dir)
	checkLeaving(t, dir)
}

// checkTypedWord: a word of no choice is refused and the question asked again; what was typed
// before that is dropped.
func checkTypedWord(t *testing.T, dir string) {
	t.Helper()
	s := onTerminal(t, dir, "/ask")
	s.wait("Go on?  [a]pprove  [r]eject")
	s.keys("maybe\r")
	s.wait(`expected one of the choices, got "maybe"`)
	s.wait("Go on?  [a]pprove") // what is typed before the question is asked again is dropped
	s.keys("a\r")
	s.wait("answered approve by ann")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d after approve, want 0", code)
	}
}

// checkWrongKey: a key of no choice is ignored, and so are the letters that come right behind it.
func checkWrongKey(t *testing.T, dir string) {
	t.Helper()
	s := onTerminal(t, dir, "/ask")
	s.wait("Go on?  [a]pprove  [r]eject")
	s.keys("m")
	s.wait("no choice has this key; ? shows the keys")
	s.keys("a")
	s.wait("Go on?  [a]pprove  [r]eject") // had the letter answered, it would not be asked again
	s.keys("a")
	s.wait("answered approve by ann")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d after m and a, want 0", code)
	}
}

// checkTypedLines: Enter decides nothing; the number, a unique beginning and a note behind a colon
// do.
func checkTypedLines(t *testing.T, dir string) {
	t.Helper()
	s := onTerminal(t, dir, "/ask")
	s.wait("[r]eject")
	s.keys("\r")
	s.wait(`expected one of the choices, got ""`)
	s.wait("1  [a]pprove")
	s.wait("2  [r]eject")
	s.wait("Go on?  [a]pprove")
	s.keys("2: not today\r")
	s.wait("(not today)")
	if code := s.ends(); code != 5 {
		t.Errorf("exit code %d after 2, want 5", code)
	}

	s = onTerminal(t, dir, "/ask")
	s.wait("[r]eject")
	s.keys("?\r")
	s.wait("a letter or number answers")
	s.wait("Go on?  [a]pprove")
	s.keys("APP\r")
	s.wait("answered approve by ann")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d after APP, want 0", code)
	}
}

// checkSingleKeys: a key answers without Enter; other keys print nothing; a no asks for a note.
func checkSingleKeys(t *testing.T, dir string) {
	t.Helper()
	s := onTerminal(t, dir, "/ask")
	s.wait("[r]eject  [?] ")
	s.keys("\x1b[A\x1b[D")
	s.keys("a")
	if seen := s.until("answered approve by ann"); strings.Contains(seen, "[A") {
		t.Errorf("an arrow key is shown:\n%q", seen)
	}
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d after a, want 0", code)
	}

	s = onTerminal(t, dir, "/ask")
	s.wait("[r]eject  [?] ")
	s.keys("r")
	s.wait("note for 'reject' (Enter: none): ")
	s.keys("too\x1b[D\x1b[C late\r")
	s.wait("(too late)")
	if code := s.ends(); code != 5 {
		t.Errorf("exit code %d after r and a note, want 5", code)
	}
}

// checkEarlyKey: a key that came before the question answers nothing.
func checkEarlyKey(t *testing.T, dir string) {
	t.Helper()
	s := onTerminal(t, dir)
	s.prompted()
	s.keys("/ask\ra")
	s.wait("[r]eject  [?] ")
	s.keys("r")
	s.wait("note for 'reject' (Enter: none): ")
	s.keys("\r")
	s.wait("'reject' was the answer")
	s.prompted()
	s.leave()
}

// checkLeaving: Ctrl-D takes the choice that fails, else the one that returns; with neither, and by
// Ctrl-C, the question stays open.
func checkLeaving(t *testing.T, dir string) {
	t.Helper()
	for name, choices := range map[string]string{
		"either":  "yes: next, no: {return: Left alone.}",
		"neither": "yes: next, yea: next",
	} {
		src := "---\ncommand: " + name +
			"\ndescription: ask\n---\n\n## Workflow Execution\n\n### Step 1: Ask\n\n" +
			"```yaml step\ngate: Go on?\nchoices: {" + choices + "}\n```\n"
		err := os.WriteFile(
			filepath.Join(dir, formats.Workspace, "commands", name+".md"),
			[]byte(src),
			0o644,
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	for name, end := range map[string]struct {
		see  []string
		code int
	}{
		"ask":     {[]string{"no answer; 'reject' is taken"}, 5},
		"either":  {[]string{"no answer; 'no' is taken", "Left alone."}, 0},
		"neither": {[]string{`gate "Go on?" has no answer`, "Resume: tercet resume r"}, 75},
	} {
		s := onTerminal(t, dir, "--new", "/"+name)
		s.wait("[?]")
		s.keys("\x04")
		for _, one := range end.see {
			s.wait(one)
		}
		if code := s.ends(); code != end.code {
			t.Errorf("exit code %d of /%s after Ctrl-D, want %d", code, name, end.code)
		}
		s = onTerminal(t, dir, "--new", "/"+name)
		s.wait("[?]")
		s.keys("\x03")
		s.wait("or answer by 'tercet approve r")
		s.wait("Resume: tercet resume r")
		if code := s.ends(); code != 130 {
			t.Errorf("exit code %d of /%s after Ctrl-C, want 130", code, name)
		}
	}
}

// TestSeveralOnATerminal: tasks side by side ask one question after the other, each with its task;
// a no to one is none to the other.
func TestSeveralOnATerminal(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)
	const src = "---\ncommand: ask\ndescription: ask\narguments:\n" +
		"  - {name: n, type: task, required: true}\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\nid: ask\ngate: Keep it?\n```\n\n### Step 2: Say\n\n" +
		"```yaml step\nreturn: \"answered ${{ $steps.ask.choice }}\"\n```\n"
	err := os.WriteFile(
		filepath.Join(dir, formats.Workspace, "commands", "ask.md"),
		[]byte(src),
		0o644,
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if code := onTerminal(t, dir, "task", "add", "Some").ends(); code != 0 {
			t.Fatalf("task add = %d", code)
		}
	}

	s := onTerminal(t, dir, "/ask", "1-2", "--parallel", "2")
	first := s.until("Keep it?  [a]pprove  [r]eject")
	s.keys("a\r")
	second := s.until("Keep it?  [a]pprove  [r]eject")
	s.keys("r\r")
	kept := "1"
	refused := "2"
	if strings.Contains(first, "task 2: Keep it?") {
		kept = "2"
		refused = "1"
	}
	if !strings.Contains(first, "task "+kept+": Keep it?") ||
		strings.Count(first, "Keep it?") != 1 ||
		!strings.Contains(second, "task "+refused+": Keep it?") {
		t.Errorf("asked %q, then %q, want one question of each task", first, second)
	}
	said := s.until("/ask done for 1 of 2 tasks")
	for _, want := range []string{
		"task " + kept + ": answered approve",
		"task " + refused + ": failed: 'reject' was the answer",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
	}

	if code := s.ends(); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}
}

// TestGateIsAnsweredElsewhere: a process whose terminal asks takes an answer from another one
// within a second, also while a line is being typed; of two people who have to agree one is asked
// here. A pause leaves the question open.
func TestGateIsAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)
	home := t.TempDir()
	const src = "---\ncommand: NAME\ndescription: ask\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\nid: ask\ngate: Go on?\nquorum: NUMBER\n```\n\n" +
		"### Step 2: Say\n\n```yaml step\n" +
		"return: \"answered ${{ $steps.ask.choice }} by ${{ $steps.ask.by }}\"\n```\n"
	for name, number := range map[string]string{"ask": "1", "both": "2"} {
		text := strings.NewReplacer("NAME", name, "NUMBER", number).Replace(src)
		err := os.WriteFile(
			filepath.Join(dir, formats.Workspace, "commands", name+".md"),
			[]byte(text),
			0o644,
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	as := func(who string, args ...string) *screen {
		return onTerminalWith(
			t, dir,
			[]string{"HOME=" + home, "TERCET_TRUST=1", "USER=" + who},
			args...,
		)
	}
	run := func() string {
		s := as("bob", "--json", "gates")
		s.wait(`"run": "`)
		s.ends()
		s.mu.Lock()
		defer s.mu.Unlock()
		id, _, _ := strings.Cut(s.text.String(), `"`)
		return id
	}
	s := as("ann", "/ask")
	s.wait("[a]pprove")
	s.keys("appr") // never ended
	other := as("bob", "approve", run(), "--choice", "approve", "--note", "fine")
	s.wait("answered approve by bob")
	other.wait("the run goes on")
	a := s.ends()
	b := other.ends()
	if a != 0 || b != 0 {
		t.Errorf("exit codes %d, %d", a, b)
	}

	s = as("ann", "/both")
	s.wait("[a]pprove")
	s.keys("a\r")
	s.wait("waits for 1 answer more")
	other = as("bob", "approve", run(), "--choice", "1")
	s.wait("answered approve by ann, bob")
	a = s.ends()
	b = other.ends()
	if a != 0 || b != 0 {
		t.Errorf("exit codes %d, %d", a, b)
	}

	s = as("ann", "/ask")
	s.wait("[a]pprove")
	other = as("bob", "pause", run())
	other.wait("is suspended: paused by bob")
	s.wait("Resume: tercet resume")
	a = s.ends()
	b = other.ends()
	if a != 75 || b != 0 {
		t.Errorf("exit codes %d, %d", a, b)
	}
	other = as("bob", "cancel", run())
	if code := other.ends(); code != 0 {
		t.Errorf("cancel = %d", code)
	}
	s = as("ann", "/ask")
	s.wait("[a]pprove")
	other = as("bob", "cancel", run())
	other.wait("is cancelled")
	a = s.ends()
	b = other.ends()
	if a != 130 || b != 0 {
		t.Errorf("exit codes %d, %d", a, b)
	}
}

// TestTypedAheadIsNoAnswer: what is typed before a question, and what is pasted with its answer,
// decides nothing.
func TestTypedAheadIsNoAnswer(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	env := []string{"HOME=" + t.TempDir()}
	s := onTerminalWith(t, dir, env, "init")
	if code := s.ends(); code != 0 {
		t.Fatalf("init = %d", code)
	}

	err := os.WriteFile(
		filepath.Join(dir, ".tercet/subagents/mine.md"),
		[]byte("not a subagent\n"),
		0o644,
	)
	if err != nil {
		t.Fatal(err)
	}

	s = onTerminalWith(t, dir, env)
	s.prompted()

	s.keys("/task One\r/task Two\ry")
	s.wait("mine.md")
	s.wait("not taken as an answer, type it again: /task Two")
	s.wait("[y/N] ")

	s.keys("\r") // the begun y is gone
	s.wait("not trusted")
	s.prompted()

	s.keys("/task One\r")
	s.wait("[y/N] ")
	s.keys("y\r/task Two\r")
	s.wait("type it again: y")
	s.wait("type it again: /task Two")
	s.wait("[y/N] ")

	s.keys("maybe\r")
	s.wait(`expected y or n, got "maybe"`)
	s.wait("[y/N] ")

	s.keys("y\r")
	s.wait("Task 1 created: One")
	s.prompted()

	s.keys("\x04")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// withAsk makes a workspace with /ask, which asks one question and says the answer.
func withAsk(t *testing.T) (dir string) {
	t.Helper()
	dir = workspaceIn(t)
	const src = "---\ncommand: ask\ndescription: ask\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\nid: ask\ngate: Go on?\n```\n\n### Step 2: Say\n\n" +
		"```yaml step\nreturn: \"answered ${{ $steps.ask.choice }}\"\n```\n"
	file := filepath.Join(dir, formats.Workspace, "commands", "ask.md")
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestKeyBeforeTheQuestionIsSeen: a key that was typed before the terminal shows the question
// answers nothing, however late that is. A terminal that does not say how far it is loses no key.
func TestKeyBeforeTheQuestionIsSeen(t *testing.T) {
	t.Parallel()

	dir := withAsk(t)
	for name, tt := range map[string]struct {
		keys []string
		code int
	}{
		"slow":       {[]string{"a", "a", cursorReport, "r", "\r"}, 5},
		"slow, left": {[]string{"a\x03", cursorReport}, 130},
		"far away":   {[]string{"a" + cursorReport + "r", "\r"}, 5},
		"no answer":  {[]string{"a"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := unread(
				t, 100, dir, []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}, "/ask", "--new",
			)
			s.silent = true
			s.follow()

			s.wait(askCursor)

			for _, keys := range tt.keys {
				if keys == "\r" {
					s.wait("note for 'reject'")
				}
				s.keys(keys)
			}

			if code := s.ends(); code != tt.code {
				t.Errorf("exit code %d after %q, want %d", code, tt.keys, tt.code)
			}
		})
	}
}

// TestQuestionFitsAResizedTerminal: a question that waits for a key is shown anew in its place when
// the terminal gets another width: no choice is broken in two.
func TestQuestionFitsAResizedTerminal(t *testing.T) {
	t.Parallel()

	dir := withAsk(t)
	s := onTerminal(t, dir, "/ask")
	s.wait("Go on?  [a]pprove  [r]eject  [?] ")

	for _, tt := range []struct {
		columns uint16
		want    string
	}{
		{28, "\r\x1b[1A\x1b[JGo on?\r\n  [a]pprove  [r]eject  [?] "},
		{12, "\r\x1b[3A\x1b[JGo on?\r\n  [a]pprove\r\n  [r]eject\r\n  [?] "},
		{100, "\r\x1b[3A\x1b[JGo on?  [a]pprove  [r]eject  [?] "},
	} {
		if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 40, Cols: tt.columns}); err != nil {
			t.Fatal(err)
		}
		s.wait(tt.want)
	}

	s.keys("a")
	s.wait("answered approve")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d after a, want 0", code)
	}
}

func TestGateTimeoutOnATerminal(t *testing.T) {
	t.Parallel()

	dir := workspaceIn(t)
	src := "---\ncommand: ask\ndescription: ask\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\nid: ask\ngate: Go on?\n" +
		"timeout: {after: 1s, choose: approve}\n```\n\n### Step 2: Say\n\n```yaml step\n" +
		"return: \"answered ${{ $steps.ask.choice }} by ${{ $steps.ask.by }}\"\n```\n"

	err := os.WriteFile(
		filepath.Join(dir, formats.Workspace, "commands", "ask.md"),
		[]byte(src),
		0o644,
	)
	if err != nil {
		t.Fatal(err)
	}

	s := onTerminal(t, dir, "/ask")
	s.wait("Go on?")
	s.wait("gate: Go on? approve (no answer in time)")
	s.wait("answered approve by timeout")

	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestTrustAsksForTheLine: a question lists all files that nobody agreed to, and is about those
// that the line needs. What the next line needs besides is asked about then, with what changed.
func TestTrustAsksForTheLine(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	env := []string{"HOME=" + t.TempDir()}
	if code := onTerminalWith(t, dir, env, "init").ends(); code != 0 {
		t.Fatalf("init = %d", code)
	}

	write := func(name, says string) {
		t.Helper()
		text := "---\ncommand: " + name + "\ndescription: Says it\n---\n\n" +
			"## Workflow Execution\n\n### Step 1: Say\n\n```yaml step\nreturn: " + says + "\n```\n"
		file := filepath.Join(dir, formats.Workspace, "commands", name+".md")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	asked := func(line, answer string, code int, see ...string) {
		t.Helper()
		s := onTerminalWith(t, dir, env, line)
		for _, text := range see {
			s.wait(text)
		}

		if answer != "" {
			s.wait("[y/N] ")
			s.keys(answer)
		}

		if got := s.ends(); got != code {
			t.Fatalf("tercet %s = %d, want %d", line, got, code)
		}
	}

	write("first", "one")
	write("second", "two")
	const later = "/second  (asked when a line needs it)"

	asked("/first", "n", 77, "you have not agreed to 2 of 3 files of ", later)
	asked("/first", "y", 0, "you have not agreed to 2 of 3 files of ", later,
		"Trust the one that this line needs?")
	asked("/first", "", 0, "one")
	asked("/second", "y", 0, "you have not agreed to 1 of 3 files of ", "Trust it?")

	write("first", "more")
	asked("/second", "", 0, "two")

	asked("/first", "y", 0, "changed  .tercet/commands/first.md", "-return: one", "+return: more",
		"Trust it?")
}

// TestTrustOnATerminal: what a person adds is asked about once, with no for an answer that is not
// yes.
func TestTrustOnATerminal(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	env := []string{"HOME=" + t.TempDir()}

	once := func(code int, see, answer string, args ...string) {
		t.Helper()
		s := onTerminalWith(t, dir, env, args...)
		if see != "" {
			s.wait(see)
		}

		if answer != "" {
			s.wait("[y/N] ") // what is typed before is no answer
			s.keys(answer)
		}

		if got := s.ends(); got != code {
			t.Fatalf("tercet %s = %d, want %d", strings.Join(args, " "), got, code)
		}
	}

	once(0, "", "", "init")
	once(0, "", "", "/task", "Something")

	err := os.WriteFile(
		filepath.Join(dir, ".tercet/subagents/mine.md"),
		[]byte("not a subagent\x1b[31m\n"),
		0o644,
	)
	if err != nil {
		t.Fatal(err)
	}

	once(77, "Trust it? ('tercet trust --show' shows more) ", "\r", "/task", "Another thing")
	once(77, "new      .tercet/subagents/mine.md", "n\r", "/task", "Another thing")
	once(0, "Trust it?", "y\r", "/task", "Another thing")
	once(0, "Task 3 created", "", "/task", "A third thing")

	err = os.WriteFile(
		filepath.Join(dir, ".tercet/subagents/mine.md"),
		[]byte("still not a subagent\n"),
		0o644,
	)
	if err != nil {
		t.Fatal(err)
	}

	once(77, "    +still not a subagent", "n\r", "trust")
	once(0, "Trust this project as it is now? ", "y\r", "trust")
	once(0, "Task 4 created", "", "/task", "A fourth thing")
}

// TestNarrowTerminal: on 40 columns no word is broken, the caret stands below its word, and a table
// loses of its widest columns.
func TestNarrowTerminal(t *testing.T) {
	t.Parallel()
	const columns = 40
	dir := workspaceIn(t)
	onTerminal(t, dir, "/task", "a title of a task that is much wider than this terminal").ends()
	bad := "## Workflow Execution\n\n### Step 1: ask\n\n```yaml step\ngate: Now?\n" +
		"choices: {yes please: next, no: fail, let me think about it: never}\n```\n"
	if err := os.WriteFile(
		filepath.Join(dir, ".tercet/commands/bad.md"),
		[]byte(bad),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	fails := "---\ncommand: fails\ndescription: It fails\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: look\n\n```yaml step\ncheck: \"false\"\n" +
		"else: the words are lost\n```\n"
	if err := os.WriteFile(
		filepath.Join(dir, ".tercet/commands/fails.md"),
		[]byte(fails),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	says := "---\ncommand: says\ndescription: It says\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: say\n\n```yaml step\nreturn:\n  message: said\n  text: |\n" +
		"    A sentence that is wider than this terminal.\n\n" +
		"    - an element that is wider than this terminal\n```\n"
	if err := os.WriteFile(
		filepath.Join(dir, ".tercet/commands/says.md"),
		[]byte(says),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	s := onTerminalOf(t, columns, dir, []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}, "/fails")
	s.ends()
	if shown := s.shown("REJECTED"); strings.Count(shown, "error: the words are lost") != 1 {
		t.Errorf("the issue of a step is not told once:\n%s", shown)
	}
	journals, err := filepath.Glob(filepath.Join(dir, ".tercet/runs/*/journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	failed := "r"
	for _, name := range journals {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "/fails") {
			failed = filepath.Base(filepath.Dir(name))
		}
	}

	for _, tt := range []struct {
		args []string
		want []string
	}{
		{
			[]string{"lint", ".tercet/commands/bad.md"},
			[]string{"E114", "think about it: never", "^^^^^"},
		},
		{[]string{"task", "list"}, []string{"TITLE", "a title of a", "…"}},
		{[]string{"runs"}, []string{"/task", "completed"}},
		{[]string{"show", failed}, []string{"/fails  failed", "✗ look: rejected", "the words"}},
		{[]string{"status"}, []string{"a title of a", "…", "not_started"}},
		{[]string{"task", "show", "1"}, []string{"not_started"}},
		{[]string{"config", "list", "--origin"}, []string{"retention", "default"}},
		{[]string{"explain", "E301"}, []string{"right:"}},
		{[]string{"explain", "LOCKED"}, []string{"exit status 75"}},
		{[]string{"explain", ".tercet/commands/fails.md"}, []string{"worst case"}},
		{[]string{"/plan", "two"}, []string{"\n[--research-report PATH]\n"}},
		{[]string{"/says"}, []string{"wider than this\nterminal.\n", "\n  terminal\n"}},
	} {
		s := onTerminalOf(
			t,
			columns,
			dir,
			[]string{"HOME=" + t.TempDir(), "TERCET_TRUST=1", "TERCET_HYPERLINKS=0"},
			tt.args...,
		)
		s.ends()
		shown := s.shown(tt.want...)
		at := -1
		for line := range strings.Lines(shown) {
			line = strings.TrimSuffix(line, "\n")
			if w := style.Width(line); w > columns {
				t.Errorf("%q: line of %d columns: %q", tt.args, w, line)
			}
			if i := strings.Index(line, "never"); i >= 0 && strings.Contains(line, " | ") {
				at = style.Width(line[:i])
			}
			if i := strings.Index(line, "^^^^^"); i >= 0 && at >= 0 && i != at {
				t.Errorf("%q: the caret stands in column %d, its word in %d:\n%s",
					tt.args, i, at, shown)
			}
		}
	}
}

// TestTaskShowsWhatThereIs: no head stands over a column that is empty, also where there is room
// for it.
func TestTaskShowsWhatThereIs(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)
	onTerminal(t, dir, "/task", "a title").ends()
	s := onTerminalOf(t, 200, dir, []string{"HOME=" + t.TempDir()}, "task", "show", "1")
	s.ends()
	shown := s.shown("not_started")
	if !strings.Contains(shown, "NUMBER  TITLE    STATUS") || strings.Contains(shown, "WAITS FOR") {
		t.Errorf("task show:\n%s", shown)
	}
}

// TestLinks: a document that a run has made is a link on a terminal, unless TERCET_HYPERLINKS=0.
func TestLinks(t *testing.T) {
	t.Parallel()

	dir := workspaceIn(t)
	onTerminal(t, dir, "/task", "a title").ends()
	for value, linked := range map[string]bool{"1": true, "0": false} {
		env := []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1", "TERCET_HYPERLINKS=" + value}

		s := onTerminalWith(t, dir, env, "/research", "1")
		seen := s.until("specs/001_a_title/reports/research-00")
		seen += s.until(".md")
		s.ends()

		if strings.Contains(seen, "\x1b]8;;file://") != linked {
			t.Errorf("TERCET_HYPERLINKS=%s: links are %t, want %t: %q",
				value, !linked, linked, seen)
		}
	}
}

// shown waits until all of the texts are there and gives what the terminal shows.
func (s *screen) shown(want ...string) string {
	s.t.Helper()
	limit := time.After(patience)
	for {
		s.mu.Lock()
		text := strings.ReplaceAll(s.text.String(), "\r\n", "\n")
		s.mu.Unlock()
		i := slices.IndexFunc(want, func(one string) bool {
			return !strings.Contains(text, one)
		})
		if i < 0 {
			return text
		}
		select {
		case <-s.news:
		case <-limit:
			s.t.Fatalf("terminal never showed %q; it shows\n%s", want[i], text)
		}
	}
}

func (s *screen) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// untouched is the state of a terminal that nobody has used.
func untouched(t *testing.T) *term.State {
	t.Helper()
	theirs, ours, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	st, err := term.GetState(int(ours.Fd()))
	if err := errors.Join(err, ours.Close(), theirs.Close()); err != nil {
		t.Fatal(err)
	}
	return st
}

func (s *screen) state() *term.State {
	s.t.Helper()
	st, err := term.GetState(int(s.tty.Fd()))
	if err != nil {
		s.t.Fatal(err)
	}
	return st
}
