package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tercet/internal/testkit/modelserver"
)

// called are the words by which a user of an agent CLI calls /research 196 there, once tercet export has written its files.
var called = map[string][]string{
	"claude": {"claude", "-p", "/research 196 !`touch owned` $(touch owned); touch owned", "--output-format", "json"},
	"codex":  {"codex", "exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "$research 196"},
}

// TestAgentsCallTercet: a user types a command of tercet in an agent CLI; the agent runs it as the exported file says, and has the answer.
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
			server := modelserver.New(map[string]modelserver.Script{"caller": caller})
			listener := httptest.NewServer(server)
			t.Cleanup(func() {
				server.Close()
				listener.CloseClientConnections()
				listener.Close()
			})
			p := &person{name: name, dir: t.TempDir(), bin: bin, server: server, base: modelserver.Base(listener.URL, "caller", name)}
			p.setUp(t)
			if err := os.WriteFile(filepath.Join(p.dir, ".tercet/config.yaml"), []byte("runner: offline\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, v := range p.env { // a login shell, which codex starts, sets PATH itself
				if home, ok := strings.CutPrefix(v, "HOME="); ok {
					if err := os.WriteFile(filepath.Join(home, ".bash_profile"), []byte("export PATH="+bin+":$PATH\n"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			p.run(t, "/task", "--from", "task.md")
			p.run(t, "export", "--for", name)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `exec "$0" "$@"`}, called[name]...)...) // found by the PATH of the person
			cmd.Dir, cmd.Env = p.dir, append(p.env, "IS_SANDBOX=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), "tercet came to completed") {
				t.Fatalf("%s = %v, want the answer of tercet\n%s\n%s", name, err, out, stderr.String())
			}
			if got := strings.TrimSpace(p.run(t, "query", "-r", ".tasks[0].status")); got != "researched" {
				t.Errorf("the task is %q, want researched: tercet did the work", got)
			}
			if exists(filepath.Join(p.dir, "owned")) {
				t.Error("a part of what the user typed was run by a shell")
			}
			runs := p.run(t, "runs", "--json")
			if n := strings.Count(runs, `"/research 196`); n != 1 {
				t.Errorf("%d runs of /research 196, want one:\n%s", n, runs)
			}
		})
	}
}

// caller is a model that does what the exported file says: it runs its command, and tells what came of it.
func caller(t modelserver.Turn) modelserver.Reply {
	block := regexp.MustCompile("(?s)```sh\n(tercet --json run - .*?)\n```").FindStringSubmatch(t.Prompt)
	if block == nil {
		return modelserver.Reply{Text: "a title"}
	}
	if t.Results == 0 {
		return t.Shell(strings.Replace(block[1], "ARGUMENTS", "196", 1))
	}
	var ret struct{ Status, Summary string }
	text := t.Outputs[0]
	if at := strings.IndexByte(text, '{'); at < 0 || json.NewDecoder(strings.NewReader(text[at:])).Decode(&ret) != nil {
		return modelserver.Reply{Text: "no answer of tercet: " + text}
	}
	return modelserver.Reply{Text: "tercet came to " + ret.Status + ": " + ret.Summary}
}
