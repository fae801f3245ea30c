package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tercet/internal/testkit/modelserver"
)

// TestAgentsBoard lets two workers on a real agent CLI talk at a live board: each publishes a word
// by its shell and waits until it reads that of the other one.
func TestAgentsBoard(t *testing.T) {
	t.Parallel()
	if *agentsFlag == "" {
		t.Skip("no -agents: agents.sh installs them and runs this")
	}

	bin := tercetIn(t)
	for name := range strings.SplitSeq(*agentsFlag, ",") {
		if strings.Contains(name, "-acp") || name == "copilot" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			server := modelserver.New(map[string]modelserver.Script{"talk": talking})
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
				base:   modelserver.Base(listener.URL, "talk", name),
			}
			p.setUp(t)

			for _, worker := range []string{"one", "two"} {
				p.write(t, ".tercet/subagents/"+worker+".md", "---\nname: "+worker+
					"\ndescription: Talks\nrole: utility\ntools: [read, shell]\n"+
					"returns: {artifacts: none}\n---\n\nYou are talker-"+worker+".\n")
			}
			p.write(t, ".tercet/commands/talk.md", "---\ncommand: talk\ndescription: Talk\n---\n\n"+
				"## Workflow Execution\n\n### Step 1: Talk\n\n```yaml step\nparallel:\n"+
				"  one: {delegate: one}\n  two: {delegate: two}\nboard: {topic: talk, live: "+
				"true}\n```\n\n### Step 2: Return\n\n```yaml step\n"+
				"return: '${{ $board.talk | map(\"\\(.by): \\(.summary)\") | "+
				"join(\";\") }}'\n```\n")

			out := p.run(t, "--yes", "/talk")
			for _, want := range []string{
				"one: I am one", "two: I am two", "one: heard the other", "two: heard the other",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("/talk said %q, want %q in it", out, want)
				}
			}

			run, _, _ := strings.Cut(p.run(t, "runs"), "\t")
			p.run(t, "verify", run)
		})
	}
}

// write writes a file of the project.
func (p *person) write(t *testing.T, name, text string) {
	t.Helper()
	at := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var (
	talker     = regexp.MustCompile(`You are talker-(one|two)\.`)
	talkBoard  = regexp.MustCompile("`(/[^`]+/tercet board) since`")
	talkReturn = regexp.MustCompile(`/[^\s` + "`" + `"]+/call-\d+/return\.json`)
)

// talking is what the model of both workers does.
func talking(t modelserver.Turn) modelserver.Reply {
	who := talker.FindStringSubmatch(t.Prompt)
	if who == nil {
		return modelserver.Reply{Text: "a title"}
	}

	board := talkBoard.FindStringSubmatch(t.Prompt)
	if board == nil {
		return modelserver.Reply{Text: "nothing tells of a board"}
	}

	other := map[string]string{"one": "two", "two": "one"}[who[1]]

	switch t.Results {
	case 0:
		return t.Shell(board[1] + " publish I am " + who[1])
	case 1:
		return t.Shell(
			"until " + board[1] + " since | grep 'I am " + other + "'; do sleep 0.2; done",
		)
	case 2:
		heard := "heard nothing"
		if strings.Contains(t.Outputs[1], "I am "+other) {
			heard = "heard the other"
		}
		return t.Write(talkReturn.FindString(t.Prompt),
			`{"status": "completed", "summary": "`+heard+`"}`)
	}
	return modelserver.Reply{Text: "All done."}
}
