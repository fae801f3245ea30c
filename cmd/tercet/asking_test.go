//go:build linux || darwin

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tercet/formats"
)

// answers types a line behind each text that the terminal shows.
func (s *screen) answers(pairs ...string) {
	s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		s.wait(pairs[i])
		s.keys(pairs[i+1] + "\r")
	}
}

// TestInterviewOnATerminal: /meta asks for what it lacks. A person goes back, is told in one line what is wrong with an answer,
// changes one in the review, and sees the files before they are written.
func TestInterviewOnATerminal(t *testing.T) {
	t.Parallel()
	const needed = "\r\nan answer is needed, or 'back'\r\n"
	dir := workspaceIn(t)
	file := filepath.Join(dir, formats.Workspace, "commands", "ship.md")
	s := onTerminal(t, dir, "/meta")
	s.answers("1 of 7  name of the new command\r\nname: ", "", needed+"name: ", "Ship", `got "Ship"`+"\r\nname: ", "shipp")
	s.answers("domain [code]: ", "back", "name [shipp]: ", "ship", "5  o[t]her\r\ndomain [code]: ", "round",
		`got "round"`+"\r\ndomain [code]: ", "rel", "purpose: ", "Ship it", "arguments [task]: ", "", "shape [single]: ", "")
	s.wait("there are: architect")
	s.answers("agents: ", "", needed+"agents: ", "The Planner", `got "The Planner"`+"\r\nagents: ", "planner", "gate [none]: ", "")
	s.wait("  3  purpose: Ship it\r\n")
	s.wait(`  /meta ship --domain=release --shape=single --agents=planner "Ship it"` + "\r\n")
	s.answers("Enter goes on, a number changes one, Ctrl-D leaves: ", "3", "purpose [Ship it]: ", "Ship all",
		"Enter goes on, a number changes one, Ctrl-D leaves: ", "")
	s.wait("| --- .tercet/commands/ship.md\r\n")
	s.wait("Write these files?  [w]rite  d[i]scard")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file before it was asked about: %v", err)
	}
	s.keys("w\r")
	s.wait("\r\n- .tercet/commands/ship.md: shape single, planner\r\n")
	if code := s.ends(); code != 0 || !strings.Contains(readText(t, file), "description: Ship all\n") {
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
