package agentcli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/internal/testkit/modelserver"
	"tercet/subagents"
	"tercet/subagents/agentcli"
)

// oneSession is the session of a step over its calls, without an engine.
type oneSession struct {
	last   formats.AgentSession
	starts []formats.SessionStart
}

func (s *oneSession) Last() (formats.AgentSession, formats.News, string) {
	return s.last, formats.News{}, ""
}

func (s *oneSession) Start(start formats.SessionStart) error {
	s.starts = append(s.starts, start)
	return nil
}

func (s *oneSession) Left(at formats.AgentSession) { s.last = at }

// keeping returns once for each prompt of the session, to the file and with the nonce of the last.
func keeping(t modelserver.Turn) modelserver.Reply {
	files := slices.Compact(returnPath.FindAllString(t.Prompt, -1))
	if len(files) == 0 {
		return modelserver.Reply{Text: "a title"}
	}
	if t.Results >= len(files) {
		return modelserver.Reply{Text: "All done."}
	}
	return t.Write(files[len(files)-1], fmt.Sprintf(
		`{"status": "completed", "summary": "round %d", "artifacts": []}`, len(files)))
}

// keepsSession calls a worker twice. The second call goes on in the session of the first and gets
// the feedback alone, the third one after the session was removed gets all again.
func (d drive) keepsSession(t *testing.T) {
	root := t.TempDir()
	key := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())

	starter := d.starter(t, scene{scenario: "keeps"}, key)
	out := filepath.Join(root, ".tercet/runs/r1/work/out")
	if err := os.MkdirAll(out, 0o700); err != nil {
		t.Fatal(err)
	}

	nonces := 0
	agent := &agentcli.CLI{
		Driver:  d.driver,
		Starter: starter,
		Root:    root,
		Nonce: func() string {
			nonces++
			return fmt.Sprintf("n0nce-%d-%s", nonces, key)
		},
		NewSession: func() string { return "5f0c3a5e-8a43-4b62-9d5c-0123456789ab" },
		Definition: subagents.Definition{
			Info: formats.AgentInfo{
				Name:  "worker",
				Role:  formats.RoleUtility,
				Tools: []string{"read", "search"},
				File:  "worker.md",
			},
			File:  "worker.md",
			Model: map[string]string{"codex": "gpt-5-codex", "gemini": "gemini-2.5-flash"},
		},
	}

	agent.Confine = d.confine(t, starter, root)
	session := &oneSession{}
	before := 0

	call := func(fb *formats.Feedback) (formats.Return, subagents.Measured, string) {
		t.Helper()
		ret, used, err := agent.RunMetered(t.Context(), formats.Request{
			Agent:    "worker",
			Run:      "r1-" + key,
			Session:  "sess_1767610000_k3x9qa",
			Step:     "work",
			Attempt:  1,
			Visit:    1,
			Depth:    formats.CommandDepth(),
			Facets:   formats.Facets{Instruction: "Count the zebras."},
			Feedback: fb,
			Timeout:  formats.Timeout{Total: scene{}.patience()},
			Dir:      root,
			Out:      out,
			Terms:    formats.Terms{Kept: session},
		})
		if err != nil || ret.Status != formats.StatusCompleted {
			t.Fatalf("Run = %+v, %v, want completed", ret, err)
		}

		turns := d.server.Turns(key)
		turns, before = turns[before:], len(turns)
		for _, turn := range slices.Backward(turns) {
			if returnPath.MatchString(turn.Prompt) {
				return ret, used, turn.Prompt
			}
		}

		t.Fatal("the model was not asked")
		return ret, used, ""
	}

	ret, used, _ := call(nil)
	if d.driver.Sessions == nil {
		if used.AgentSession != nil || len(session.starts) != 1 {
			t.Errorf("%s left %+v, starts %+v, want none", d.driver.Name, used, session.starts)
		}
		return
	}
	if ret.Summary != "round 1" || used.AgentSession == nil || session.last.ID == "" {
		t.Fatalf("first call = %+v, session %+v, want one that is kept", ret, used.AgentSession)
	}
	if last := session.starts[len(session.starts)-1]; last.ID != session.last.ID || last.Resumed {
		t.Errorf("journaled %+v, want the new session", session.starts)
	}
	id := session.last.ID
	feedback := &formats.Feedback{From: "check", Attempt: 1, Issues: []formats.Issue{
		{Level: formats.LevelError, Description: "the okapi is no zebra"},
	}}
	ret, used, told := call(feedback)
	if ret.Summary != "round 2" || used.AgentSession == nil || used.AgentSession.ID != id {
		t.Errorf("second call = %+v in session %+v, want round 2 in %s", ret, used.AgentSession, id)
	}
	if start := session.starts[len(session.starts)-1]; !start.Resumed || start.ID != id {
		t.Errorf("journaled %+v, want that it goes on in %s", session.starts, id)
	}
	for text, want := range map[string]int{
		"Count the zebras.":     1, // in the first prompt alone
		"the okapi is no zebra": 1,
		"# Persona":             1,
	} {
		if n := strings.Count(told, text); n != want {
			t.Errorf("the model read %q %d times, want %d:\n%s", text, n, want, told)
		}
	}

	err := agentcli.Forget(context.WithoutCancel(t.Context()), starter, session.last)
	if err != nil {
		t.Errorf("Forget = %v", err)
	}
	left := ""
	for name := range snapshot(t, homeOf(starter)) {
		if strings.Contains(name, id) {
			left += name + "\n"
		}
	}
	if left != "" {
		t.Errorf("after Forget there are\n%s", left)
	}
	ret, _, told = call(feedback)
	says := func(s formats.SessionStart) bool { return s.Why != "" && !s.Resumed }
	if ret.Summary != "round 1" || !slices.ContainsFunc(session.starts, says) ||
		strings.Count(told, "Count the zebras.") != 1 {
		text, _ := json.Marshal(session.starts)
		t.Errorf("call without its session = %+v, %s, want a new one that says why", ret, text)
	}
}
