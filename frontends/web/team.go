package web

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/internal/style"
	"tercet/project"
)

// teamWatcher follows the team of the server's user. It follows it only while somebody looks.
type teamWatcher struct {
	team     project.Team // nil: there is none
	now      func() time.Time
	onChange func() // something has changed

	mu       sync.Mutex
	state    project.TeamState
	at       time.Time // of the state; zero: none came yet
	err      error     // why none comes
	asked    time.Time // when a page was shown last
	watching bool
	ready    chan struct{} // closed when the first state or error of a watch has come
	version  int64
	shown    map[string]*shownRun // by run
}

// shownRun is what the home shows of a run in one state.
type shownRun struct {
	of    project.TeamRun
	at    time.Time
	ready chan struct{} // closed when the rest is there
	text  string
	gate  *project.TeamGate // its open question; nil: none
	err   error
}

// keepShown is how long what was shown of a run is shown again while its state is the same: what
// the run was told is no part of its state.
const keepShown = 10 * time.Second

// showRun gives what the home shows of a run. Tabs that look at the same state of it ask the home
// once.
func (c *teamWatcher) showRun(ctx, runs context.Context, r project.TeamRun) (*shownRun, error) {
	c.mu.Lock()
	one := c.shown[r.Run]
	if one == nil || one.of != r || c.now().Sub(one.at) > keepShown {
		one = &shownRun{of: r, at: c.now(), ready: make(chan struct{})}
		for run, old := range c.shown {
			if c.now().Sub(old.at) > keepShown {
				delete(c.shown, run)
			}
		}
		if c.shown == nil {
			c.shown = map[string]*shownRun{}
		}
		c.shown[r.Run] = one
		go c.askHome(runs, one)
	}
	c.mu.Unlock()

	select {
	case <-one.ready:
		return one, one.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// askHome asks the home to show a run. A failure is not cached.
func (c *teamWatcher) askHome(ctx context.Context, one *shownRun) {
	one.text, one.err = c.team.Show(ctx, one.of.Run)
	if one.err == nil && one.of.State == project.TeamWaiting {
		var gates []project.TeamGate
		gates, one.err = c.team.Gates(ctx)
		at := slices.IndexFunc(gates, func(g project.TeamGate) bool { return g.Run == one.of.Run })
		if at >= 0 {
			one.gate = &gates[at]
		}
	}
	if one.err != nil {
		c.forgetRun(one.of.Run)
	}
	close(one.ready)
}

// forgetRun has the home asked again about a run.
func (c *teamWatcher) forgetRun(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.shown, run)
}

// keepWatching is how long the team is followed after a page of it was asked for. A page that is
// open asks again in time.
const keepWatching = time.Minute

// follow begins to follow the team, or goes on, and gives its state once there is one.
func (c *teamWatcher) follow(ctx, runs context.Context) (project.TeamState, time.Time, error) {
	c.mu.Lock()
	c.asked = c.now()
	if !c.watching {
		c.watching = true
		c.ready = make(chan struct{})
		go c.watch(runs, c.ready)
	}
	ready := c.ready
	c.mu.Unlock()

	select {
	case <-ready:
	case <-ctx.Done():
		return project.TeamState{}, time.Time{}, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state, c.at, c.err
}

// watch follows the team until nobody looks any more.
func (c *teamWatcher) watch(ctx context.Context, ready chan struct{}) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go c.stopUnseen(ctx, stop)
	first := sync.OnceFunc(func() { close(ready) })
	err := c.team.Watch(ctx, func(state project.TeamState) {
		c.mu.Lock()
		if c.err != nil || !reflect.DeepEqual(withoutAges(c.state), withoutAges(state)) {
			c.version++
		}
		c.state = state
		c.at = c.now()
		c.err = nil
		c.mu.Unlock()
		first()
		c.onChange()
	})

	c.mu.Lock()
	c.watching = false
	c.err = err
	c.version++
	c.mu.Unlock()
	first()
	c.onChange()
}

// withoutAges gives a state without the times since workers were heard of, to compare it.
func withoutAges(s project.TeamState) project.TeamState {
	s.Workers = slices.Clone(s.Workers)
	for i := range s.Workers {
		s.Workers[i].Ago = 0
	}
	return s
}

// stopUnseen ends a watch that no page asked for lately.
func (c *teamWatcher) stopUnseen(ctx context.Context, stop func()) {
	tick := time.NewTicker(keepWatching / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.mu.Lock()
		unseen := c.now().Sub(c.asked) > keepWatching
		c.mu.Unlock()
		if unseen {
			stop()
			return
		}
	}
}

// changes is a number that grows with each state.
func (c *teamWatcher) changes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// find gives a run of the team by its name.
func (c *teamWatcher) find(ctx, runs context.Context, run string) (project.TeamRun, error) {
	state, _, err := c.follow(ctx, runs)
	if err != nil {
		return project.TeamRun{}, err
	}
	at := slices.IndexFunc(state.Runs, func(r project.TeamRun) bool { return r.Run == run })
	if at < 0 {
		return project.TeamRun{}, formats.Fail(formats.CodeNotFound, "go back to Team",
			"the team has no run of that name")
	}
	return state.Runs[at], nil
}

// checkTeam fails if the user belongs to no team.
func (c *teamWatcher) checkTeam() error {
	if c.team != nil {
		return nil
	}
	return formats.Fail(formats.CodeNotFound,
		"tercet hub makes one, and tercet --on team join joins one; then start tercet serve again",
		"you belong to no team")
}

// teamRunState is what a run of the team does, as a state.
func teamRunState(r project.TeamRun) state {
	word := string(r.State)
	switch r.State {
	case project.TeamRunning:
		return state{"works", "▶", style.AtWork}
	case project.TeamWaiting:
		return state{"asks", "?", word}
	case project.TeamStuck, project.TeamBroken:
		return state{"bad", "!", word}
	case project.TeamEnded:
		if r.Code == 0 {
			return state{"good", "✓", r.Why}
		}
		return state{"bad", "✗", r.Why}
	case project.TeamQueued, project.TeamPaused:
	}
	return state{"waits", "○", word}
}

// teamPage shows the workers, the queue and the runs of the team.
func (s *Server) teamPage(v *view) error {
	if err := s.team.checkTeam(); err != nil {
		return err
	}
	state, at, err := s.team.follow(v.r.Context(), s.runs)
	p := page{title: "Team", nav: "team", about: "team"}
	failure := h.Text("")
	if err != nil {
		failure = v.failure(err)
	}

	groups := map[string][]h.Node{}
	for _, r := range slices.Backward(state.Runs) { // the newest first
		group := teamGroup(r)
		if group != "ended" || len(groups[group]) < maxFinished {
			groups[group] = append(groups[group], v.teamRow(r))
		}
	}
	slices.Reverse(groups["queue"]) // in its order

	words := fmt.Sprintf("%s, %d at work, %d in the queue",
		formats.Count(len(state.Workers), "worker"), len(groups["work"]), len(groups["queue"]))

	heard := h.Text("")
	if !at.IsZero() {
		heard = aside(h.Text("As the hub had it "), v.ago(at))
	}

	list := func(title string, rows []h.Node) h.Node {
		if len(rows) == 0 {
			return h.Text("")
		}
		return h.Section(h.H2(h.Text(title)), h.Ul(h.Class("rows"), h.Group(rows)))
	}

	p.parts = []part{
		{"team-head", h.Div(h.Class("lead"), h.H1(h.Text(words)), heard, failure)},
		{"team-waits", list("Waits", groups["waits"])},
		{"team-work", list("At work", groups["work"])},
		{"team-queue", list("Queue", groups["queue"])},
		{"team-workers", v.teamWorkers(state.Workers)},
		{"team-ended", list("Recent", groups["ended"])},
	}
	return v.show(p)
}

// teamGroup is the list in which a run stands.
func teamGroup(r project.TeamRun) string {
	switch r.State {
	case project.TeamRunning:
		return "work"
	case project.TeamQueued:
		return "queue"
	case project.TeamEnded:
		return "ended"
	case project.TeamWaiting, project.TeamPaused, project.TeamStuck, project.TeamBroken:
	}
	return "waits"
}

func teamPath(run string) string {
	return "/team/" + url.PathEscape(run)
}

// teamRow is a run of the team in a list.
func (v *view) teamRow(r project.TeamRun) h.Node {
	why := r.Why
	if r.State == project.TeamEnded {
		why = ""
	}
	return h.Li(h.Class("row"), h.A(
		h.Class("row-link"),
		h.Data("go", ""),
		h.Href(teamPath(r.Run)),
		h.Span(
			h.Class("row-main"),
			h.Span(h.Class("command"), line(clip(r.Line, maxTitle))),
			h.If(why != "", h.Span(h.Class("why"), line(clip(why, maxTitle)))),
		),
		teamRunState(r).badge(),
		h.Span(
			h.Class("facts"),
			h.If(r.Worker != "", h.Span(line(r.Worker))),
			h.Span(h.Class("mono"), line(r.Run)),
		),
	))
}

// teamWorkers is a table of the workers.
func (v *view) teamWorkers(list []project.TeamWorker) h.Node {
	if len(list) == 0 {
		return aside(h.Text("No worker has asked for work. In a clone: "),
			h.Code(h.Text("tercet worker --join WORD")))
	}
	const silent = 60 // seconds
	rows := make([]h.Node, len(list))
	for i, w := range list {
		look := state{"ready", "●", "free"}
		run := h.Text("")
		if w.Run != "" {
			look = state{"works", "▶", style.AtWork}
			run = h.A(h.Class("mono"), h.Href(teamPath(w.Run)), line(w.Run))
		}
		switch {
		case w.Ago > silent:
			look = state{"bad", "!", "silent"}
		case w.Refuses != "":
			look = state{"bad", "!", "takes no run"}
		}
		heard := style.Age(time.Duration(w.Ago*float64(time.Second))) + " ago"
		rows[i] = h.Tr(
			h.Td(h.Class("mono"), line(w.Name)),
			h.Td(look.badge(), h.If(w.Refuses != "", aside(words(w.Refuses)))),
			h.Td(run),
			h.Td(line(strings.Join(w.Labels, ", "))),
			h.Td(h.Text(heard)),
		)
	}

	table := h.Table(
		tableHead("Name", "State", "Run", "Labels", "Heard of"),
		h.TBody(h.Group(rows)),
	)
	return h.Section(h.H2(h.Text("Workers")), h.Div(h.Class("scrolls"), table))
}

// teamRun shows a run of the team: its steps as the home tells them, and its open question.
func (s *Server) teamRun(v *view) error {
	if err := s.team.checkTeam(); err != nil {
		return err
	}
	r, err := s.team.find(v.r.Context(), s.runs, v.r.PathValue("run"))
	if err != nil {
		return err
	}
	return v.showTeamRun(r, nil, "")
}

// showTeamRun shows a run. The error is about an answer that was not taken; its note is kept.
func (v *view) showTeamRun(r project.TeamRun, failed error, note string) error {
	ctx := v.r.Context()
	var shown string
	var gate *project.TeamGate
	one, err := v.server.team.showRun(ctx, v.server.runs, r)
	if one != nil {
		shown = one.text
		gate = one.gate
	}

	var notices []h.Node
	for _, one := range []error{failed, err} {
		if one != nil {
			notices = append(notices, v.failure(one))
			v.code = statusOf(one)
		}
	}

	question := h.Text("")
	if gate != nil {
		question = v.teamQuestion(r, gate.Gate, note)
	}

	why := r.Why
	if r.State == project.TeamEnded {
		why = ""
	}

	head := h.Div(
		h.Class("lead"),
		h.P(teamRunState(r).badge(), h.Text(" "), muted(line(r.Worker))),
		h.H1(h.Class("command"), line(r.Line)),
		h.P(h.Class("mono aside"), line(r.Run)),
		h.If(why != "" && gate == nil, aside(line(why))),
		h.Group(notices),
		v.teamOrders(r),
	)
	steps := h.Section(
		h.H2(h.Text("As the home shows it")),
		h.Pre(h.Class("code"), h.TabIndex("0"), text(shown)),
	)
	return v.show(page{
		title: r.Line,
		nav:   "team",
		about: "team",
		parts: []part{
			{"run-head", head},
			{"question", question},
			{"team-shown", h.If(shown != "", steps)},
		},
	})
}

// teamOrders are the forms that pause, resume and cancel a run.
func (v *view) teamOrders(r project.TeamRun) h.Node {
	order := func(do, title string) h.Node {
		return v.form(teamPath(r.Run)+"/order", h.Button(h.Name("do"), h.Value(do), h.Text(title)))
	}
	switch r.State {
	case project.TeamEnded, project.TeamBroken:
		return h.Text("")
	case project.TeamPaused, project.TeamStuck:
		return h.Div(
			h.Class("actions"),
			order("resume", "Go on"),
			order("cancel", "Cancel the run"),
		)
	case project.TeamQueued, project.TeamRunning, project.TeamWaiting:
	}
	return h.Div(h.Class("actions"), order("pause", "Pause"), order("cancel", "Cancel the run"))
}

// teamQuestion is the open question of a run, with what the home shows of its evidence.
func (v *view) teamQuestion(r project.TeamRun, g formats.Gate, note string) h.Node {
	var shown []h.Node
	for _, s := range g.Show {
		if strings.TrimSpace(s) != "" {
			shown = append(shown, passage(s))
		}
	}

	var evidence []h.Node
	for _, name := range slices.Sorted(maps.Keys(g.Evidence)) {
		evidence = append(evidence, h.Li(h.Class("mono"), line(name+"  sha256:"+g.Evidence[name])))
	}

	buttons := make([]h.Node, len(g.Choices))
	for i, c := range g.Choices {
		buttons[i] = h.Button(
			h.If(c.Approves, h.Class("primary")),
			h.Name("choice"),
			h.Value(strconv.Itoa(i)),
			line(c.Label),
			h.If(c.NeedsNote, h.Small(h.Text(" (needs a note)"))),
		)
	}

	form := v.form(
		teamPath(r.Run)+"/answer",
		h.Class("answer"),
		h.Input(h.Type("hidden"), h.Name("gate"), h.Value(g.ID)),
		h.Label(h.For("note"), h.Text("Note")),
		h.Textarea(h.ID("note"), h.Name("note"), h.Rows("3"), text(note)),
		h.Div(h.Class("actions"), h.Group(buttons)),
	)
	return h.Section(
		h.Class("evidence"),
		h.H2(h.Class("question"), line(g.Question)),
		h.Group(shown),
		h.If(len(evidence) > 0, h.Group{
			aside(h.Text("The answer is about these files, as they were when the run " +
				"asked. If one has changed, the run asks again.")),
			h.Ul(h.Group(evidence)),
		}),
		form,
	)
}

// teamAnswer answers the question of a run of the team, as 'tercet --on team approve' does.
func (s *Server) teamAnswer(v *view) error {
	if err := s.team.checkTeam(); err != nil {
		return err
	}
	r, err := s.team.find(v.r.Context(), s.runs, v.r.PathValue("run"))
	if err != nil {
		return err
	}

	s.team.forgetRun(r.Run) // what is said next is about the run as it is
	defer s.team.forgetRun(r.Run)

	note := strings.ReplaceAll(v.r.PostForm.Get("note"), "\r\n", "\n")
	gates, err := s.team.team.Gates(v.r.Context())
	if err != nil {
		return v.showTeamRun(r, err, note)
	}

	shown := v.r.PostForm.Get("gate")
	at := slices.IndexFunc(gates, func(g project.TeamGate) bool {
		return g.Run == r.Run && g.Gate.ID == shown
	})
	if at < 0 {
		return v.showTeamRun(r, formats.Fail(formats.CodePrecondition, "look at what it asks now",
			"nothing was answered: the run asks another question now, or none"), note)
	}

	choices := gates[at].Gate.Choices
	n, err := strconv.Atoi(v.r.PostForm.Get("choice"))
	if err != nil || n < 0 || n >= len(choices) {
		return v.showTeamRun(r, formats.Fail(formats.CodeUsage, "",
			"expected one choice of the gate"), note)
	}

	reply := project.Reply{Label: choices[n].Label, Note: note}
	if _, err := s.team.team.Answer(v.r.Context(), r.Run, shown, reply); err != nil {
		return v.showTeamRun(r, err, note)
	}
	return v.redirect(teamPath(r.Run))
}

// teamOrder pauses, resumes or cancels a run of the team.
func (s *Server) teamOrder(v *view) error {
	if err := s.team.checkTeam(); err != nil {
		return err
	}
	r, err := s.team.find(v.r.Context(), s.runs, v.r.PathValue("run"))
	if err != nil {
		return err
	}

	do := v.r.PostForm.Get("do")
	if !slices.Contains([]string{"pause", "resume", "cancel"}, do) {
		return formats.Fail(formats.CodeUsage, "", "expected pause, resume or cancel")
	}

	defer s.team.forgetRun(r.Run)
	if err := s.team.team.Order(v.r.Context(), r.Run, do); err != nil {
		return v.showTeamRun(r, err, "")
	}
	return v.redirect(teamPath(r.Run))
}
