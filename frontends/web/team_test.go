package web_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"tercet/formats"
	"tercet/project"
)

// someTeam is a team without machines, for what the pages show of one.
type someTeam struct {
	states chan project.TeamState

	mu      sync.Mutex
	shows   int
	gate    formats.Gate
	failed  error
	replies []project.Reply
	orders  []string
}

func (s *someTeam) Watch(ctx context.Context, see func(project.TeamState)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case state, ok := <-s.states:
			if !ok {
				return formats.Fail(formats.CodeTransient, "start it: tercet hub",
					"the hub is away")
			}
			see(state)
		}
	}
}

func (s *someTeam) Gates(context.Context) ([]project.TeamGate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []project.TeamGate{{Run: "r2", Command: "/ask", Gate: s.gate}}, nil
}

func (s *someTeam) Show(context.Context, string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shows++
	return "go#1  asks <b>now</b>\x1b[2J\n", nil
}

func (s *someTeam) Answer(_ context.Context, run, gate string, r project.Reply) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && run == "r2" && gate == s.gate.ID {
		s.replies = append(s.replies, r)
	}
	return "", s.failed
}

func (s *someTeam) Order(_ context.Context, run, do string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.orders = append(s.orders, do+" "+run)
	return nil
}

// TestTeamOnThePage: the page of a team shows workers, queue and runs as they change, as text, and
// a question is answered only if it is the one that was shown.
func TestTeamOnThePage(t *testing.T) {
	t.Parallel()
	dir, home := files(t, nil)
	all := &someTeam{states: make(chan project.TeamState), gate: formats.Gate{
		ID: "G1", Question: "Ship <it>?", Evidence: map[string]string{"plan.md": "12ab"},
		Choices: []formats.Choice{
			{Label: "approve", Approves: true}, {Label: "again", NeedsNote: true},
		},
	}}
	b := serveFor(t, all, home, 0, func(*project.Host) {}, dir)
	has(t, "home", b.get("/"), `<a href="/team">Team</a>`)
	state := project.TeamState{
		Runs: []project.TeamRun{
			{Run: "r1", Line: "/make <1>", State: project.TeamRunning, Worker: "build-1"},
			{Run: "r2", Line: "/ask", State: project.TeamWaiting, Why: "waits for an answer"},
			{
				Run:   "r3",
				Line:  "/make 3",
				State: project.TeamQueued,
				Why:   "no worker has the labels gpu",
			},
			{Run: "r4", Line: "/make 4", State: project.TeamEnded, Why: "failed", Code: 1},
		},
		Workers: []project.TeamWorker{
			{Name: "build-1", Run: "r1", Ago: 1, Labels: []string{"linux", "<gpu>"}},
			{Name: "build-2", Ago: 300},
			{Name: "build-3", Ago: 1, Refuses: "it has tercet 0.0.1"},
		},
	}
	go func() { all.states <- state }()
	page := b.get("/team")
	has(t, "the team", page, "3 workers, 1 at work, 1 in the queue", "Waits", "/ask", "At work",
		"/make &lt;1&gt;", "build-1", "Queue", "/make 3", "no worker has the labels gpu", "Workers",
		"build-1", "at work", "linux, &lt;gpu&gt;", "build-2", "silent", "build-3",
		"takes no run", "it has tercet 0.0.1", "Recent", "/make 4", "failed")

	run := b.get("/team/r2")
	has(t, "the run", run, "waiting", "/ask", "Pause", "Cancel the run",
		"Ship &lt;it&gt;?", "plan.md",
		"sha256:12ab", "approve", "again", "asks &lt;b&gt;now&lt;/b&gt;")

	for range 5 {
		b.get("/team/r2")
	}
	if all.shows != 1 {
		t.Errorf("six tabs asked the home %d times to show a run that stayed as it was", all.shows)
	}

	if strings.Contains(run, "\x1b") {
		t.Error("a control character of the home is on the page")
	}

	answer := func(page string, values url.Values) int {
		t.Helper()
		return b.post(page, "/team/r2/answer", values).Code
	}

	all.gate.ID = "G2"
	if code := answer(run, url.Values{"choice": {"0"}}); code != http.StatusConflict {
		t.Errorf("an answer to another question gives %d", code)
	}

	run = b.get("/team/r2")
	if code := answer(run, url.Values{"choice": {"7"}}); code != http.StatusUnprocessableEntity {
		t.Errorf("a choice that there is not gives %d", code)
	}

	all.failed = formats.Fail(formats.CodePrecondition, "", "not taken: bob answered")
	w := b.post(run, "/team/r2/answer", url.Values{"choice": {"1"}, "note": {"keep <this>"}})
	if w.Code != http.StatusConflict {
		t.Errorf("an answer that the home refuses gives %d", w.Code)
	}
	has(t, "the refused answer", w.Body.String(), "not taken: bob answered", "keep &lt;this&gt;")

	all.failed = nil
	code := answer(run, url.Values{"choice": {"1"}, "note": {"do it"}})
	if code != http.StatusSeeOther {
		t.Errorf("an answer gives %d", code)
	}
	if len(all.replies) != 1 || all.replies[0].Label != "again" || all.replies[0].Note != "do it" {
		t.Errorf("the team got %+v", all.replies)
	}

	for do, want := range map[string]int{"pause": 303, "cancel": 303, "undo": 422} {
		if w := b.post(run, "/team/r1/order", url.Values{"do": {do}}); w.Code != want {
			t.Errorf("%s gives %d, want %d", do, w.Code, want)
		}
	}

	if len(all.orders) != 2 {
		t.Errorf("the team got the orders %q", all.orders)
	}

	for _, address := range []string{"/team/r9", "/team/..%2fr1"} {
		if w := b.send(b.request(http.MethodGet, address, "")); w.Code != http.StatusNotFound {
			t.Errorf("%s gives %d", address, w.Code)
		}
	}

	w = b.send(b.request(http.MethodPost, "/team/r1/order", "do=cancel"))
	if w.Code != http.StatusForbidden {
		t.Errorf("an order without token gives %d", w.Code)
	}

	events := b.listen()
	state.Workers = slices.Clone(state.Workers)
	state.Workers[1].Run = "r3"
	go func() { all.states <- state }()
	for event := range events {
		if strings.Contains(event, `"team":true`) {
			break
		}
	}
	b.until("/team", `<td><a class="mono" href="/team/r3">`)
	close(all.states)
	b.until("/team", "the hub is away")
}

// TestNoTeam: whoever belongs to no team is told how to join one.
func TestNoTeam(t *testing.T) {
	t.Parallel()

	dir, home := files(t, nil)
	b := serve(t, dir, home)

	if page := b.get("/"); strings.Contains(page, "/team") {
		t.Errorf("home leads to a team: %s", page)
	}

	for _, address := range []string{"/team", "/team/r1"} {
		w := b.send(b.request(http.MethodGet, address, ""))
		if w.Code != http.StatusNotFound ||
			!strings.Contains(w.Body.String(), "tercet --on team join") {
			t.Errorf("%s gives %d: %s", address, w.Code, w.Body)
		}
	}
}
