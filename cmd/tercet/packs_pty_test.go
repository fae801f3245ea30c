//go:build linux || darwin

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackQuestion: where a file stands in the place of one of a pack, a terminal shows what
// differs and asks. stop writes nothing.
func TestPackQuestion(t *testing.T) {
	t.Parallel()
	const target = ".tercet/commands/consensus.md"

	for _, c := range []struct {
		keys, target string // what is typed, and what stands in the file afterwards
		code         int
		added        bool
	}{
		{"s\r", "mine\n", 5, false},
		{"\x04", "mine\n", 5, false},
		{"k\r", "mine\n", 0, true},
		{"t\r", "subagents: review\n", 0, true},
		{"b\r", "mine\n", 3, true},
	} {
		dir := workspaceIn(t)
		if err := os.WriteFile(filepath.Join(dir, target), []byte("mine\n"), 0o600); err != nil {
			t.Fatal(err)
		}

		s := onTerminal(t, dir, "pack", "add", "review")
		s.wait(target + " is there and differs:")
		s.wait("mine")

		shown := s.until("Which one shall stand?  ")
		if !strings.Contains(shown, "command: consensus") {
			t.Errorf("the question shows\n%s\nwant what the pack has", shown)
		}
		s.wait("[k]eep mine  [t]ake the pack's  [b]oth: the pack's as .new  [s]top")

		s.keys(c.keys)
		if code := s.ends(); code != c.code {
			t.Errorf("exit code %d after %q, want %d", code, c.keys, c.code)
		}

		text, err := os.ReadFile(filepath.Join(dir, target))
		if err != nil || !strings.Contains(string(text), c.target) {
			t.Errorf("after %q the file is %q, %v, want %q in it", c.keys, text, err, c.target)
		}
		for _, name := range []string{".tercet/packs.json", ".tercet/commands/review-loop.md"} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != c.added {
				t.Errorf("after %q %s: %v, want it there: %v", c.keys, name, err, c.added)
			}
		}
	}
}

// TestSandboxIsSkippedByAPerson: in a small tier a person lets a command run without the sandbox
// that it requires, and what is returned says who did.
func TestSandboxIsSkippedByAPerson(t *testing.T) {
	t.Parallel()

	dir := workspaceIn(t)
	home := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	add := exec.Command(self, "pack", "add", "flows")
	add.Args[0] = "tercet"
	add.Dir = dir
	add.Env = []string{"HOME=" + home, "TERCET_TRUST=1"}
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("pack add: %v\n%s", err, out)
	}

	ask := func(answer, last string) string {
		s := onTerminalWith(
			t, dir,
			[]string{"HOME=" + home, "TERCET_TRUST=1"},
			"--yes",
			"--json",
			"/agent",
			"flows:sandbox-runner",
			"--input",
			"command=rm -rf *",
			"--input",
			"tier=Patch",
		)

		s.wait("required destructive_fs: rm: deletes the whole project")
		s.wait("Run this command without a sandbox?")
		s.keys(answer)
		if strings.HasPrefix(answer, "reject") { // it is blocked, and that is asked about
			s.wait("the command was not approved: not")
			s.wait("A[b]ort")
			s.keys("b\r")
		}

		s.ends()
		return s.shown(last)
	}

	got := ask("reject: not that one\r", `"REJECTED"`)
	if !strings.Contains(got, `"REJECTED"`) || !exists(kept) {
		t.Errorf("refused, it returns\n%s", got)
	}

	got = ask("run\r", "ann let it run without a sandbox")
	if !strings.Contains(got, `"bypassed"`) || !strings.Contains(got, `"asked_and_allowed"`) ||
		!strings.Contains(got, "ann let it run without a sandbox") || exists(kept) {
		t.Errorf("allowed, it returns\n%s", got)
	}
}
