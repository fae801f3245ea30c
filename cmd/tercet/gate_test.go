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

	"tercet/formats"
	"tercet/internal/testkit"
)

// gated is a repository with a change and a command that asks about a document.
func gated(t *testing.T) (dir, home string) {
	t.Helper()
	dir = workspaceIn(t)
	home = t.TempDir()

	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := testkit.WriteProgram(name, text); err != nil {
			t.Fatal(err)
		}
	}

	const src = "---\ncommand: ask\ndescription: ask\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\nid: ask\n" +
		"gate: Go on?\nevidence: plan.md\n```\n\n### Step 2: Say\n\n```yaml step\n" +
		"return: \"answered ${{ $steps.ask.choice }} (${{ $steps.ask.note }})\"\n```\n"
	write(".tercet/commands/ask.md", src)

	write("plan.md", "A plan.\n")
	write("code.txt", "old\n")
	write("pager", "#!/bin/sh\necho \"LESS=$LESS\"; cat; echo \"size $(stty size </dev/tty)\"\n")
	write("editor", "#!/bin/sh\n"+
		"case $1 in\n-a) shift; echo 'More of it.' >>\"$1\";;\n"+
		"-n) sed -i '1s/^/because\\n# of this/' \"$2\";;\n"+
		"-e) : >\"$2\";;\n-r) rm \"$2\";;\n"+
		"-k) printf '\\033[?1049h\\033[?25l'; stty raw -echo; kill -9 $$;;\n"+
		"-x) echo gone >\"$2\"; exit 3;;\n"+
		"-s) kill -STOP $$; echo 'After a stop.' >>\"$2\";;\n-p) pwd; ls -a;;\n-o) echo other >\""+
		dir+"/plan.md\"; echo mine >\"$2\";;\nesac\n")

	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "code.txt", "plan.md"},
		{"commit", "-qm", "one"},
	} {
		cmd := exec.Command(
			"git",
			append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...,
		)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}

	write("code.txt", "new \x1b[31mred\n")
	write("fresh.txt", "fresh\n")
	return dir, home
}

// TestGateLooks: d shows the diff, by the pager or a screen at a time; e writes a note; ? tells the
// keys. The terminal is as it was afterwards, whatever became of the program.
func TestGateLooks(t *testing.T) {
	t.Parallel()
	dir, home := gated(t)

	env := []string{
		"HOME=" + home,
		"TERCET_TRUST=1",
		"PAGER='" + dir + "/pager' ",
		"VISUAL=" + dir + "/editor -n",
	}

	s := onTerminalWith(t, dir, env, "/ask")
	s.wait("Go on?  [a]pprove  [r]eject  [d]iff [e]dit [?] ")
	s.keys("?\r")
	s.wait("d  what the work has changed: 4 files") // the two programs are new too
	s.wait("e  a note, written with " + dir)
	s.wait("e 1  change plan.md")
	s.wait("?  these keys")
	s.wait("[?]")

	s.keys("d\r")
	s.wait("LESS=FRX")
	seen := s.until("size 40 100")
	for _, want := range []string{"-old", "+new <U+001B>[31mred", "+fresh", "new file mode"} {
		if !strings.Contains(seen, want) {
			t.Errorf("the diff has no %q:\n%s", want, seen)
		}
	}

	s.wait("[?]")
	s.keys("e\r")
	s.wait("your note goes with the answer: because # of this")
	s.wait("[?]")
	if err := os.WriteFile(filepath.Join(dir, "code.txt"), []byte("newer\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.keys("a\r")
	s.wait("the diff has changed since you looked at it")
	s.wait("[?]")
	s.keys("d\r")
	s.wait("+newer")
	s.wait("[?]")
	s.keys("a: and more\r")
	s.wait("answered approve (because\r\n# of this\r\nand more)")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// TestGateWithoutPrograms: without a pager, or with one that is not there, the diff is shown here;
// without an editor e says what to set. What an editor leaves undone changes nothing.
func TestGateWithoutPrograms(t *testing.T) {
	t.Parallel()
	dir, home := gated(t)

	err := os.WriteFile(filepath.Join(dir, "code.txt"), []byte(strings.Repeat("line\n", 60)), 0o600)
	if err != nil {
		t.Fatal(err)
	}

	env := []string{"HOME=" + home, "TERCET_TRUST=1", "CLICOLOR_FORCE=1"}
	s := onTerminalWith(t, dir, append(env, "PAGER=no-such-pager -x"), "/ask")
	s.wait("[?]")

	s.keys("d\r")
	s.wait("PAGER names no-such-pager -x, which is not there")
	s.wait("\x1b[31m-old")
	s.wait("line 39 of ")
	s.keys("x") // only q ends it
	s.wait("\x1b[32m+line")
	s.wait("line 78 of ")
	s.keys("q\r")
	s.wait("[?]")

	s.keys("e\r")
	s.wait("no editor is set: set VISUAL or EDITOR")
	s.wait("[?]")
	s.keys("e nothing\r")
	s.wait(`no document is called "nothing"`)
	s.wait("[?]")

	s.keys("x\r")
	s.wait("expected one of the choices")
	s.wait("[?]")
	s.keys("r\r")
	s.wait("'reject' was the answer")
	s.ends()

	for flag, want := range map[string]string{
		"-e":                        "plan.md is as it was",
		"-r":                        "plan.md is as it was",
		"-x":                        "ended with 3",
		"-k":                        "was ended by SIGKILL",
		"-o":                        "plan.md was not written: ",
		"none":                      "plan.md is as it was",
		"'":                         "EDITOR cannot be read: ",
		"$(touch " + dir + "/made)": "EDITOR cannot be read: ",
	} {
		s := onTerminalWith(t, dir, append(env, "EDITOR="+dir+"/editor "+flag), "/ask")
		s.wait("[?]")
		s.keys("e 1\r")
		s.wait(want)

		if flag == "-o" {
			s.wait("what you wrote is kept in ")
		}

		s.wait("[?]")
		s.keys("a\r") // typed as a line: the terminal is not raw
		if flag == "-o" {
			s.wait("asked again, changed: plan.md")
			s.wait("[?]")
			s.keys("a\r")
		}

		s.wait("answered approve")
		if code := s.ends(); code != 0 {
			t.Errorf("%s: exit code %d, want 0", flag, code)
		}
	}

	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the text of EDITOR was executed")
	}
}

// TestGateEdits: a document is changed by the person's editor, in a folder of its own; the gate
// asks anew then, and the journal says who changed it. It works from elsewhere too, while the run
// waits and when it has ended.
func TestGateEdits(t *testing.T) {
	t.Parallel()
	dir, home := gated(t)

	env := []string{
		"HOME=" + home,
		"TERCET_TRUST=1",
		"EDITOR=" + dir + "/editor -p; true",
		"VISUAL=" + dir + "/editor -a",
	}

	s := onTerminalWith(t, dir, env, "/ask")
	s.wait("[?]")
	s.keys("e plan\r")
	s.wait("gate: Go on? is asked again, changed: plan.md")
	s.wait("[?]")

	id := regexp.MustCompile(`tercet/runs/([^/]+)/`)
	journals, err := filepath.Glob(filepath.Join(dir, formats.Workspace, "runs/*/journal.jsonl"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("journals: %q, %v", journals, err)
	}
	run := id.FindStringSubmatch(journals[0])[1]

	other := onTerminalWith(t, dir, append(env, "USER=bob"), "approve", run)
	other.wait("[?]")
	other.keys("e plan\r")
	other.wait("changed plan.md: the gate asks again")
	if code := other.ends(); code != 0 {
		t.Errorf("approve = %d, want 0", code)
	}

	s.wait("is asked again, changed: plan.md")
	s.wait("[?]")

	other = onTerminalWith(t, dir, append(env, "USER=bob"), "pause", run)
	s.wait("Resume: tercet resume")
	s.ends()
	other.ends()

	other = onTerminalWith(t, dir, append(env, "USER=cid"), "approve", run)
	other.wait("[?]")
	other.keys("\x03")
	other.wait("has no answer")
	if code := other.ends(); code != 75 {
		t.Errorf("approve that was left = %d, want 75", code)
	}

	other = onTerminalWith(t, dir, append(env, "USER=cid"), "approve", run)
	other.wait("[?]")
	other.keys("e 1\r")
	other.wait("the gate asks again")
	other.ends()

	other = onTerminalWith(t, dir, append(env, "USER=bob"), "approve", run) // said before it asks
	seen := other.until("which asks anew")
	code := other.ends()
	if code != 1 || !strings.Contains(seen, "not taken: cid changed plan.md at ") ||
		strings.Contains(seen, "[a]pprove") {
		t.Errorf("approve after a change = %d, want 1 and no question:\n%s", code, seen)
	}

	s = onTerminalWith(t, dir, env, "resume", run)
	s.wait("is asked again, changed: plan.md")
	s.wait("[?]")
	s.keys("a\r")
	s.wait("answered approve")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}

	plan, err := os.ReadFile(filepath.Join(dir, "plan.md"))
	if err != nil || strings.Count(string(plan), "More of it.") != 3 {
		t.Errorf("plan.md holds %v:\n%s", err, plan)
	}

	text, err := os.ReadFile(journals[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"ann", "bob", "cid"} {
		if !regexp.MustCompile(`"gate_refused".*"by":"` + who + `".*"edited":"plan.md"`).Match(
			text,
		) {
			t.Errorf("the journal does not say that %s changed the plan:\n%s", who, text)
		}
	}

	other = onTerminalWith(t, dir, env, "verify", run)
	if code := other.ends(); code != 0 {
		t.Errorf("verify = %d, want 0", code)
	}
}

// TestEditorIsStopped: an editor that was stopped goes on with tercet, and the document that it
// leaves is taken.
func TestEditorIsStopped(t *testing.T) {
	t.Parallel()

	dir, home := gated(t)
	s := onTerminalWith(
		t, dir,
		[]string{"HOME=" + home, "TERCET_TRUST=1", "EDITOR=" + dir + "/editor -s"},
		"/ask",
	)

	s.wait("[?]")
	s.keys("e 1\r")
	// nobody could let tercet go on here, so it goes on by itself
	s.wait("is asked again, changed: plan.md")
	s.wait("[?]")

	s.keys("e 1\r")
	time.Sleep(50 * time.Millisecond)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	if code := s.ends(); code != 143 && code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 143", code)
	}
}

// TestNobodyIsAsked: on a terminal too, a flag or a variable keeps an open gate from asking: the
// run waits. Without UTF-8 none of tercet's marks reaches the terminal.
func TestNobodyIsAsked(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)
	const src = "---\ncommand: ask\ndescription: ask\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\nid: ask\ngate: Go on?\n" +
		"choices: {approve: next, again: {redo: [ask]}}\n```\n"
	err := os.WriteFile(
		filepath.Join(dir, formats.Workspace, "commands", "ask.md"),
		[]byte(src),
		0o644,
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ env, flag string }{
		{"CI=true", "-q"},
		{"TERCET_NO_INPUT=1", "-q"},
		{"LANG=C", "--no-input"},
	} {
		s := onTerminalWith(
			t, dir,
			[]string{"HOME=" + t.TempDir(), "TERCET_TRUST=1", c.env},
			c.flag,
			"/ask",
			"--new",
		)
		if said := s.until("Resume: tercet resume r"); strings.Contains(said, "[a]pprove") {
			t.Errorf("%s %s: asked all the same: %q", c.env, c.flag, said)
		}
		if code := s.ends(); code != 75 {
			t.Errorf("%s %s: exit code %d, want 75", c.env, c.flag, code)
		}
	}

	s := onTerminalWith(
		t, dir,
		[]string{"HOME=" + t.TempDir(), "TERCET_TRUST=1", "LANG=C"},
		"explain",
		"/ask",
	)
	said := s.until("again -> redo ask")
	if strings.ContainsFunc(said, func(r rune) bool { return r > 0x7f }) {
		t.Errorf("LANG=C: %q holds more than ASCII", said)
	}
	if code := s.ends(); code != 0 {
		t.Errorf("explain = %d, want 0", code)
	}
}

// TestQuestionsOnATerminal: the questions of a subagent are put one after the other, with what the
// options mean; several are taken by their numbers, and any other words count too.
func TestQuestionsOnATerminal(t *testing.T) {
	t.Parallel()
	dir := workspaceIn(t)
	const src = "---\ncommand: ask\ndescription: ask\n---\n\n## Workflow Execution\n\n" +
		"### Step 1: Ask\n\n```yaml step\nid: ask\ndelegate: asker\non: {blocked: gate}\n```\n\n" +
		"### Step 2: Return\n\n```yaml step\nreturn: $steps.ask.summary\n```\n"
	const asker = `---
name: asker
description: a program
role: utility
runner: exec
argv: [sh, asker.sh]
returns: {statuses: [completed, blocked, failed], artifacts: none, fields: {QUESTIONS?: list}}
---

Asks.
`
	const script = `in=$(cat)
case $in in
*"Which ports?"*) said=$(printf %s "$in" | tr -d '\n' | sed 's/.*"answer": *"\([^"]*\)".*/\1/'); printf '{"status":"completed","summary":"%s"}' "$(printf %s "$said" | sed 's/\\n/; /g')" ;;
*) printf '%s' '{"status":"blocked","summary":"two things","blocked_reason":"two things","blocked_target":"user","QUESTIONS":["{\"question\":\"Which ports?\",\"header\":\"Ports\",\"options\":[{\"label\":\"8080\",\"description\":\"as today\"},{\"label\":\"443\"}],\"multi\":true}","{\"question\":\"Who uses it?\",\"options\":[{\"label\":\"all\"},{\"label\":\"admins\"}]}"]}' ;;
esac
`
	for name, text := range map[string]string{
		".tercet/commands/ask.md":    src,
		".tercet/subagents/asker.md": asker,
		"asker.sh":                   script,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	s := onTerminalWith(t, dir, []string{"HOME=" + t.TempDir(), "TERCET_TRUST=1"}, "/ask")
	s.wait("8080: as today")
	s.wait("Ports: Which ports?")
	s.wait("[?]")
	s.keys("1, 2\r")
	s.wait("Who uses it?")
	s.wait("[?]")
	s.keys("TBD\r")
	s.wait("Who uses it?")
	s.wait("[?]")
	s.keys("my aunt\r")
	s.wait("Which ports? 8080, 443; Who uses it? my aunt")
	if code := s.ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
