package main

import (
	"cmp"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tercet/internal/testkit/modelserver"
)

// called are the words by which a user of an agent CLI calls a command there, once tercet export
// has written its files.
var called = map[string][]string{
	"claude": {"claude", "--output-format", "json", "-p", "/"},
	"codex": {
		"codex", "exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "$",
	},
	"opencode": {"opencode", "run", "--command", ""},
	"gemini":   {"gemini", "--skip-trust", "-m", "gemini-2.5-pro", "--yolo", "-p", "/"},
	"copilot":  {"copilot", "--allow-all-tools", "--trust-folder", "-p", "/"},
}

// calledThere are the names of commands where an agent CLI keeps those of tercet's for its own.
var calledThere = map[string]string{
	"gemini plan":      "tercet:plan",
	"copilot plan":     "tercet-plan",
	"copilot research": "tercet-research",
}

// hostileTyped is what a user types behind the task: none of it is for a shell. opencode runs what
// stands between !` and ` in any command, whoever typed it, and gemini starts no command that holds
// a $(.
var hostileTyped = map[string]string{
	"claude":   " !`touch owned` $(touch owned); touch owned",
	"opencode": " $(touch owned); touch owned",
	"gemini":   " !{touch owned} ; touch owned",
	"codex":    " $(touch owned); touch owned",
	"copilot":  " $(touch owned); touch owned",
}

// newPerson is the user of an agent CLI, in a folder of its own, with a model that follows a
// script.
func newPerson(t *testing.T, name, bin string, script modelserver.Script) *person {
	t.Helper()
	server := modelserver.New(map[string]modelserver.Script{"model": script})
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		listener.CloseClientConnections()
		listener.Close()
	})

	p := &person{
		name:   name,
		dir:    t.TempDir(),
		bin:    bin,
		server: server,
		base:   modelserver.Base(listener.URL, "model", name),
	}

	p.setUp(t)
	return p
}

// TestAgentsCallTercet: a user types a command of tercet in an agent CLI; the agent runs it as the
// exported file says, and has the answer.
func TestAgentsCallTercet(t *testing.T) {
	t.Parallel()
	if *agentsFlag == "" {
		t.Skip("no -agents: agents.sh installs them and runs this")
	}
	bin := tercetIn(t)
	for name := range strings.SplitSeq(*agentsFlag, ",") {
		if called[name] == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, name, bin, caller)
			err := os.WriteFile(
				filepath.Join(p.dir, ".tercet/config.yaml"),
				[]byte("runner: offline\n"),
				0o600,
			)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range p.env { // a login shell, which codex starts, sets PATH itself
				if home, ok := strings.CutPrefix(v, "HOME="); ok {
					err := os.WriteFile(
						filepath.Join(home, ".bash_profile"),
						[]byte("export PATH="+bin+":$PATH\n"),
						0o600,
					)
					if err != nil {
						t.Fatal(err)
					}
				}
			}

			p.run(t, "/task", "--from", "task.md")
			p.run(t, "export", "--for", name)
			for _, line := range []struct{ name, typed, becomes string }{
				{"research", "196" + hostileTyped[name], "researched"}, {"plan", "196", "planned"},
			} {
				answer := p.types(t, line.name, line.typed)
				if !strings.Contains(answer, "tercet came to [completed]") {
					t.Errorf("/%s = %s\nwant the answer of tercet", line.name, answer)
				}
				got := strings.TrimSpace(p.run(t, "query", "-r", ".tasks[0].status"))
				if got != line.becomes {
					t.Errorf("/%s: the task is %q, want %s: tercet did the work",
						line.name, got, line.becomes)
				}
			}

			if exists(filepath.Join(p.dir, "owned")) {
				t.Error("a part of what the user typed was run by a shell")
			}
			runs := p.run(t, "runs", "--json")
			for _, line := range []string{"/research 196", "/plan 196"} {
				if n := strings.Count(runs, `"`+line); n != 1 {
					t.Errorf("%d runs of %s, want one:\n%s", n, line, runs)
				}
			}
		})
	}
}

// types calls a command in the agent CLI and gives what that prints.
func (p *person) types(t *testing.T, name, typed string) string {
	t.Helper()
	words := slices.Clone(called[p.name])
	words[len(words)-1] += cmp.Or(calledThere[p.name+" "+name], name)
	if p.name == "opencode" { // puts a word with blanks into quotes
		words = append(words, strings.Fields(typed)...)
	} else {
		words[len(words)-1] += " " + typed
	}
	return p.says(t, words...)
}

// caller is a model that does what the exported file says: it runs its command, and tells what came
// of it. A file that it only has the name of is read first.
func caller(t modelserver.Turn) modelserver.Reply {
	all := strings.Join(append(t.Outputs, t.Prompt), "\n")
	if at := strings.Index(all, "tercet.return/1"); at >= 0 {
		// in a text of JSON for gemini
		status := regexp.MustCompile(`\\?"status\\?": ?\\?"(\w+)`).FindStringSubmatch(all[at:])
		return modelserver.Reply{Text: fmt.Sprintf("tercet came to %v", status[1:])}
	}

	begun := regexp.MustCompile(`\\?"run\\?": ?\\?"(r\w+)`).FindStringSubmatch(all)
	if begun != nil && strings.Contains(all, "tercet.start/1") {
		return t.Shell("tercet --json wait --timeout 50s " + begun[1])
	}

	block := regexp.MustCompile("(?s)```sh\n(tercet --json start .*?)\n```").FindStringSubmatch(
		t.Prompt,
	)
	skill := regexp.MustCompile(`(?m)^/(tercet-\w+) `).FindStringSubmatch(t.Prompt)

	switch {
	case block != nil && t.Results < 2:
		return t.Shell(strings.Replace(block[1], "ARGUMENTS", "196", 1))
	case skill != nil && slices.Contains(t.Tools, "skill") && t.Results == 0:
		return modelserver.Reply{Calls: []modelserver.Call{{
			Tool: "skill",
			Args: map[string]any{"skill": skill[1]},
		}}}
	}
	return modelserver.Reply{Text: fmt.Sprintf("a title, or no answer of tercet in %q", t.Outputs)}
}
