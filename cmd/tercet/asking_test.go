//go:build linux || darwin

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"tercet/formats"
)

// answers types a line behind each text that the terminal shows.
func (s *screen) answers(pairs ...string) {
	s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		for row := range strings.SplitSeq(pairs[i], "\r\n") {
			s.wait(row) // the last one is edited on
		}
		s.keys(pairs[i+1] + "\r")
	}
}

// TestInterviewOnATerminal: /meta asks for what it lacks. A person goes back, is told in one line
// what is wrong with an answer, changes one in the review, and sees the files before they are
// written.
func TestInterviewOnATerminal(t *testing.T) {
	t.Parallel()
	const needed = "\r\nan answer is needed, or 'back'\r\n"

	dir := workspaceIn(t)
	file := filepath.Join(dir, formats.Workspace, "commands", "ship.md")
	s := onTerminal(t, dir, "/meta")

	s.answers(
		"1 of 7  name of the new command\r\nname: ",
		"",
		needed+"name: ",
		"Ship",
		`got "Ship"`+"\r\nname: ",
		"shipp",
	)
	s.answers(
		"domain [code]: ",
		"back",
		"name [shipp]: ",
		"ship",
		"5  o[t]her\r\ndomain [code]: ",
		"round",
		`got "round"`+"\r\ndomain [code]: ",
		"rel",
		"purpose: ",
		"Ship it",
		"arguments [auto]: ",
		"",
		"shape [single]: ",
		"",
	)
	s.wait("there are: architect")
	s.answers(
		"agents: ",
		"",
		needed+"agents: ",
		"The Planner",
		`got "The Planner"`+"\r\nagents: ",
		"planner",
		"gate [none]: ",
		"",
	)

	s.wait("  3  purpose: Ship it\r\n")
	s.wait(`  /meta ship --domain=release --shape=single --agents=planner "Ship it"` + "\r\n")
	s.answers(
		"Enter goes on, a number changes one, Ctrl-D leaves: ", "3", "purpose [Ship it]: ",
		"Ship all", "Enter goes on, a number changes one, Ctrl-D leaves: ", "",
	)
	s.wait("| --- .tercet/commands/ship.md\r\n")
	s.wait("Write these files?  [w]rite  d[i]scard")

	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file before it was asked about: %v", err)
	}

	s.keys("w\r")
	s.wait("\r\n- .tercet/commands/ship.md: shape single, planner\r\n")
	code := s.ends()
	if code != 0 || !strings.Contains(readText(t, file), "description: Ship all\n") {
		t.Errorf("exit code %d, and the file does not hold the purpose", code)
	}

	s = onTerminal(t, dir, "/meta")
	s.wait("name: ")
	s.keys("\x04")
	s.wait("left: nothing was begun")
	if code := s.ends(); code != 130 {
		t.Errorf("exit code %d after Ctrl-D, want 130", code)
	}
}

// TestTodoOnATerminal: a person is asked before tasks are archived.
func TestTodoOnATerminal(t *testing.T) {
	t.Parallel()
	s, dir, env := prompting(t, "Stay", "Go")

	s.keys("/task --abandon 2 not now\r")
	s.wait("Abandoned: 2.")
	s.prompted()

	s.keys("/todo\r")
	s.wait("Open tasks")

	s.answers("Archive 1 task?  [a]pprove  [r]eject", "", "Archive 1 task?  [a]pprove", "r")
	s.wait("Nothing archived.")
	s.prompted()

	s.keys("/todo\r")
	s.answers("Archive 1 task?  [a]pprove  [r]eject", "a")
	s.wait("Archived 1 task.")
	s.prompted()

	s.leave()

	s = onTerminalWith(t, dir, env, "task", "list")
	if left := s.shown("Stay"); s.ends() != 0 || strings.Contains(left, "Go") {
		t.Errorf("task list:\n%s", left)
	}
}

// TestDemoOnATerminal: another defect with another task is fixed as well, and its runs are drawn
// while they go on.
func TestDemoOnATerminal(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}

	fixture, err := filepath.Abs("testdata/fixtures/clamp.txtar")
	if err != nil {
		t.Fatal(err)
	}

	before := untouched(t)
	dir := t.TempDir()
	s := onTerminalWith(t, dir, []string{
		"HOME=" + t.TempDir(),
		"TMPDIR=" + t.TempDir(),
		"GOCACHE=" + goEnv("GOCACHE"),
		"GOPROXY=off",
		"GOTOOLCHAIN=local",
	}, "demo", "--fixture", fixture, "work")

	s.wait("Its own test before: red")
	s.wait("/implement ")
	drawn := s.until("Its own test after: green")
	if !strings.Contains(drawn, "\x1b[?25l\r\x1b[") ||
		!strings.Contains(drawn, "✓ Do the work of the phase") {
		t.Errorf("no run is drawn: %q", drawn)
	}

	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}

	state := readText(t, filepath.Join(dir, "work", formats.Workspace, "state.json"))
	if !strings.Contains(state, `"status": "completed"`) {
		t.Errorf("the task is not completed:\n%s", state)
	}

	if after := s.state(); !reflect.DeepEqual(before, after) {
		t.Errorf("terminal after the end: %+v, want %+v", after, before)
	}
}

// TestBlockedOnATerminal: what is blocked says why and shows its issues, each once.
func TestBlockedOnATerminal(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)
	for name, text := range map[string]string{
		"commands/look.md": "---\ncommand: look\ndescription: Look\n---\n\n" +
			"## Workflow Execution\n\n### Step 1: Look\n\n```yaml step\ndelegate: looker\n```\n",
		"subagents/looker.md": "---\nname: looker\ndescription: Look\nrole: utility\n" +
			"runner: exec\nargv: [sh, -c, 'cat ret.json > \"$TERCET_RETURN\"']\n" +
			"returns: {statuses: [completed, blocked], artifacts: none}\n---\n\nLook.\n",
		"../ret.json": `{"status":"blocked","summary":"no key",` +
			`"blocked_reason":"the key is not there",` +
			`"issues":[{"level":"error","description":"no key for the shop"}],` +
			`"artifacts":[],"errors":[]}`,
	} {
		file := filepath.Join(dir, formats.Workspace, name)
		err := errors.Join(
			os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(text), 0o600),
		)
		if err != nil {
			t.Fatal(err)
		}
	}

	s := onTerminalWith(
		t, dir,
		[]string{"HOME=" + t.TempDir(), "TERCET_TRUST=1", "CI=true"},
		"/look",
	)
	shown := s.shown("✗ Look: blocked", "tercet: the key is not there\n")
	// the time only where it took long
	told := regexp.MustCompile(`✗ Look: blocked(  [0-9.]+m?s)?\n    error: no key for the shop\n`)
	code := s.ends()
	if code != 75 || !told.MatchString(shown) || strings.Count(shown, "no key for the shop") != 1 {
		t.Errorf("exit code %d, and the terminal shows\n%s", code, shown)
	}
}
