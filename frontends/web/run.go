package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	h "tercet/frontends/web/markup"
	"tercet/internal/phrase"
	"tercet/project"
)

// run shows the steps of a run, and one of them in detail.
func (s *Server) run(v *view) error {
	id := v.r.PathValue("run")
	r, f, err := v.site.readRun(id, v.partial())
	switch {
	case err != nil && r.Run.ID != "":
		return v.showDamaged(r, err)
	case err != nil:
		return err
	}
	body, version, err := v.runBody(r, f)
	if err != nil {
		return err
	}
	return v.write(body, version) // without the lock: the browser may be slow
}

// runBody renders the page of a run, or the parts that have changed, and gives its version.
func (v *view) runBody(r project.RunState, f *followedRun) (body []byte, version int64, err error) {
	since := v.since()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil { // another request has found that, since this one has read the run
		return nil, 0, f.broken
	}

	told, toldErr := v.site.current().MessagesOf(f.journal)
	key := v.cacheKey(r, told)
	if body, ok := f.cachedAnswer(key, v.server.config.Now()); ok && since > 0 {
		return body, f.version, nil
	}

	active := r.State == project.StateRunning || r.State == project.StateAsking && r.Live
	t := newTree(f, r, active)
	chosen := t.chosen(v.r.URL.Query().Get("step"))
	pane := v.r.URL.Query().Get("pane")
	p := page{
		title: r.Run.Line,
		nav:   "home",
		about: "run:" + r.Run.ID,
		since: f.version,
		wide:  true,
		parts: []part{
			{"run-head", v.runHead(r, f, active)},
			{"messages", v.messages(told, toldErr)},
			{"tell", v.tellForm(r, "")},
		},
	}

	switch {
	case since == 0:
		p.parts = append(p.parts, part{"", h.Div(h.Class("columns"),
			v.wrapPart(part{"steps-part", v.steps(t, chosen)}),
			v.wrapPart(part{"pane", v.pane(r, f, chosen)}),
		)})
		body, err = v.render(p)
		return body, f.version, err
	case since < f.began || since > f.version:
		p.parts = append(p.parts, part{"steps-part", v.steps(t, chosen)})
	default:
		for i, one := range t.rows {
			if f.changedAt(one.index) > since {
				p.parts = append(p.parts, part{"", v.step(t, i, chosen)})
			}
		}
	}

	if chosen != "" || pane != "" {
		p.parts = append(p.parts, part{"pane", v.pane(r, f, chosen)})
	}

	body, err = v.render(p)
	if err == nil && pane == "" { // a diff may change without the journal
		f.cacheAnswer(key, body, v.server.config.Now())
	}
	return body, f.version, err
}

// cacheKey names all that an answer about a run depends on beside the version: what is asked for,
// by which session, whose token is in the forms, and the state that is in no journal.
func (v *view) cacheKey(r project.RunState, told []project.RunMessage) string {
	message := ""
	if len(told) > 0 {
		message = told[len(told)-1].ID // the last one is the newest
	}
	gate := ""
	if r.Gate != nil {
		gate = r.Gate.ID
	}

	v.site.mu.Lock()
	defer v.site.mu.Unlock()
	return fmt.Sprintf("%d %q %s %d %t %q %q %q %q %q %t %q",
		v.since(), v.r.URL.RawQuery, v.sign.token,
		r.State, r.Live, r.Answer, r.ReadError, r.Run.Queue, gate, message,
		v.site.resuming[r.Run.ID], v.site.failed[r.Run.ID])
}

// showDamaged shows a run whose journal cannot be read.
func (v *view) showDamaged(r project.RunState, err error) error {
	r.ReadError = cmp.Or(r.ReadError, err.Error())
	return v.show(page{
		title: r.Run.Line,
		nav:   "home",
		about: "run:" + r.Run.ID,
		parts: []part{{"run-head", h.Div(h.Class("lead"),
			h.P(v.site.runState(r).badge()),
			h.H1(h.Class("command"), line(r.Run.Line)),
			v.failure(err),
		)}},
	})
}

// tree is the steps of a run in the order in which they are shown: each below the step in which it
// began.
type tree struct {
	f      *followedRun
	r      project.RunState
	active bool
	steps  []project.StepInfo
	rows   []treeRow
}

// treeRow is a step in a tree.
type treeRow struct {
	index int // in steps
	depth int
	name  string // the path below the step around it
}

func newTree(f *followedRun, r project.RunState, active bool) *tree {
	t := &tree{f: f, r: r, active: active, steps: f.journal.Steps()}
	if len(f.rows) != len(t.steps) || f.rowsBegan != f.began {
		f.rows = treeRows(t.steps)
		f.rowsBegan = f.began
	}
	t.rows = f.rows
	return t
}

// treeRows puts each step below the one in which it began.
func treeRows(steps []project.StepInfo) []treeRow {
	at := make(map[string]int, len(steps))
	for i, s := range steps {
		at[s.Path] = i
	}

	const top = -1
	children := make(map[int][]treeRow, len(steps))
	for i, s := range steps {
		parent := top
		name := s.Path
		for _, cut := range slices.Backward(cuts(s.Path)) {
			if up, ok := at[s.Path[:cut]]; ok && up < i {
				parent = up
				name = strings.TrimLeft(s.Path[cut:], "/.")
				break
			}
		}
		children[parent] = append(children[parent], treeRow{index: i, name: plainName(name)})
	}

	rows := make([]treeRow, 0, len(steps))
	var add func(parent, depth int)
	add = func(parent, depth int) {
		for _, one := range children[parent] {
			one.depth = depth
			rows = append(rows, one)
			add(one.index, depth+1)
		}
	}
	add(top, 0)
	return rows
}

// cuts are the places of a path at which the path of a step around it may end.
func cuts(path string) (out []int) {
	for i, r := range path {
		if i > 0 && (r == '/' || r == '[' || r == '.') {
			out = append(out, i)
		}
	}
	return out
}

// plainName is a part of a path as it is shown: without the number of the first visit.
func plainName(name string) string {
	name = strings.ReplaceAll(name, "#1/", "/")
	name = strings.TrimSuffix(name, "#1")
	return strings.ReplaceAll(strings.ReplaceAll(name, "]/", "] "), "/", " / ")
}

// chosen is the step whose detail is shown: the one of the address, else the one that is at work,
// that waits or that failed, else the last.
func (t *tree) chosen(wanted string) string {
	last := ""
	for _, s := range t.steps {
		if s.Path == wanted {
			return wanted
		}
		last = s.Path
	}
	for _, s := range slices.Backward(t.steps) {
		if s.Outcome == "" && s.Calls+len(s.Agent) > 0 {
			return s.Path
		}
	}
	for _, s := range slices.Backward(t.steps) {
		if s.Outcome == "" || !isPassing(s.Outcome) {
			return s.Path
		}
	}
	return last
}

// runHead is the command, its state, what it waits for, and what can be done.
func (v *view) runHead(r project.RunState, f *followedRun, active bool) h.Node {
	id := r.Run.ID
	state := v.site.runState(r)
	total := int64(0)
	cost := 0.0
	for _, s := range f.journal.Steps() {
		total += s.Tokens
		cost += s.Cost
	}

	facts := []h.Node{h.Span(h.Class("mono"), line(id))}
	fact := func(node h.Node) { facts = append(facts, h.Span(node)) }
	if r.Run.Task > 0 {
		n := strconv.Itoa(r.Run.Task)
		fact(h.A(h.Href(v.site.path("tasks", n)), h.Text("task "+n)))
	}
	fact(h.Group{h.Text("began "), v.ago(r.Run.Started)})
	seconds := r.Run.Last.Sub(r.Run.Started).Seconds()
	fact(v.span(r.Run.Started, seconds, active))
	if r.Run.Number > 0 {
		fact(h.Text(fmt.Sprintf("step %d of %d", r.Run.Number, r.Run.Of)))
	}
	for _, used := range []string{tokens(total), dollars(max(cost, r.Run.Cost))} {
		if used != "" {
			fact(h.Text(used))
		}
	}

	return h.Div(h.Class("lead run-lead"),
		h.P(state.badge()),
		h.H1(h.Class("command"), line(r.Run.Line)),
		h.P(h.Class("facts aside"), h.Group(facts)),
		v.outcome(r, f),
		v.waits(r),
		v.actions(r),
	)
}

// outcome is what a run that ended says, and recommends.
func (v *view) outcome(r project.RunState, f *followedRun) h.Node {
	end := f.journal.Finish()
	if end == nil {
		return h.Text("")
	}
	more := h.Group{}
	if end.Next != "" {
		more = append(more, aside(h.Text("Next: "), h.Code(line(end.Next))))
	}
	if !isPassing(end.Status) {
		if d, err := v.site.current().Detail(r.Run.ID); err == nil && d.Reopen != "" {
			more = append(more, aside(text("To "+d.ReopenDoes+": "), h.Code(line(d.Reopen))))
		}
	}

	summary := h.If(end.Summary != "", h.P(h.Class("summary"), text(end.Summary)))
	return h.Div(h.Class("outcome"), summary, more)
}

// waits says what a run waits for, and how it goes on.
func (v *view) waits(r project.RunState) h.Node {
	id := r.Run.ID
	v.site.mu.Lock()
	failed := v.site.failed[id]
	v.site.mu.Unlock()

	var list h.Group
	if failed != "" {
		list = append(list, alarm(h.P(words(failed))))
	}
	switch {
	case r.ReadError != "":
		list = append(list, alarm(h.P(words(r.ReadError))))
	case r.Answer != "":
		list = append(list, notice(h.P(
			h.Text("Answered by "),
			line(r.Answer),
			h.Text(". The run goes on when it is resumed: here, or by "),
			h.Code(line("tercet resume "+id)),
			h.Text("."),
		)))
	case r.Gate != nil:
		list = append(list, h.Div(h.Class("notice asks"),
			h.P(h.Class("question"), line(r.Gate.Question)),
			h.P(v.answerButton(id, h.Data("key", "a"))),
		))
	case r.State == project.StateRunning && r.Run.Queue != "":
		list = append(list, notice(h.P(
			h.Text("It waits for its turn: as much is at work as your limits allow. "+
				"It goes on by itself."),
		)))
	case r.State == project.StateWaiting:
		why := cmp.Or(r.Run.WaitReason(), "its process is gone")
		list = append(list, notice(h.P(
			line(why),
			h.Text(". To go on in a terminal: "),
			h.Code(line("tercet resume "+id)),
		)))
	}
	return list
}

// answerButton leads to the question of a run.
func (v *view) answerButton(run string, more ...h.Node) h.Node {
	return h.A(
		h.Class("button primary"),
		h.Group(more),
		h.Href(v.site.path("runs", run, "question")),
		h.Text("Answer"),
	)
}

// actions are the forms of a run.
func (v *view) actions(r project.RunState) h.Node {
	id := r.Run.ID
	if r.State == project.StateFinished || r.ReadError != "" {
		return h.Text("")
	}
	v.site.mu.Lock()
	resuming := v.site.resuming[id]
	v.site.mu.Unlock()

	var list []h.Node
	switch {
	case resuming:
	case r.Live:
		pause := h.Button(h.Text("Pause"), h.TitleAttr("after what it does now"))
		list = append(list, v.form(v.site.path("runs", id, "pause"), pause))
	default:
		resume := h.Button(h.Class(goOnLook(r)), h.Data("key", "r"), h.Text("Go on"))
		list = append(list, v.form(v.site.path("runs", id, "resume"), resume))
	}

	list = append(list, h.Details(h.Class("menu"), h.ID("cancel-run"),
		h.Summary(h.Class("button quiet"), h.Text("Cancel")),
		h.Div(h.Class("menu-body"),
			h.P(h.Text("Its Error Handling runs, and what it holds goes back.")),
			v.form(v.site.path("runs", id, "cancel"),
				h.Button(h.Class("danger"), h.Text("Cancel the run"))),
		),
	))

	return h.Div(h.Class("actions"), h.Group(list))
}

// goOnLook is the look of the button that resumes: the first thing to do, unless a question waits.
func goOnLook(r project.RunState) string {
	if r.Gate != nil && r.Answer == "" {
		return ""
	}
	return "primary"
}

// steps is the list of all steps.
func (v *view) steps(t *tree, chosen string) h.Node {
	rows := make([]h.Node, len(t.rows))
	for i := range t.rows {
		rows[i] = v.step(t, i, chosen)
	}
	return h.Group{
		h.H2(h.Class("small"), h.Text("Steps")),
		h.Ol(h.ID("steps"), h.Class("steps"), h.Group(rows)),
		// the sheet shows it while the list is empty: the script adds the rows one by one
		h.P(h.Class("aside no-step"), h.Text("No step has begun.")),
	}
}

// maxDepth is the deepest indentation of a step.
const maxDepth = 8

// step is a row of the list of steps.
func (v *view) step(t *tree, i int, chosen string) h.Node {
	one := t.rows[i]
	s := t.steps[one.index]
	place := t.f.seen[one.index].place
	title := phrase.Title(v.site.current().Config.Language, cmp.Or(t.f.titles[place], one.name))
	asks := t.r.Gate != nil && t.r.Answer == "" && t.r.Gate.Step == s.Path
	state := stepState(s.Outcome, t.active, asks)

	after := ""
	if i > 0 {
		after = "s" + strconv.Itoa(t.rows[i-1].index)
	}
	class := fmt.Sprintf("step d%d", min(one.depth, maxDepth))
	if s.Path == chosen {
		class += " chosen"
	}

	detail := one.name
	if s.Outcome == "" && t.active {
		if doing := t.f.doing[place]; doing != "" {
			detail = doing
		}
	}

	address := v.stepAddress(t.r.Run.ID, s.Path, v.r.URL.Query().Get("pane"))
	return h.Li(
		h.ID("s"+strconv.Itoa(one.index)),
		h.Class(class),
		h.Data("in", "steps"),
		h.Data("after", after),
		h.A(
			h.Class("step-link"),
			h.Data("go", ""),
			h.Href(address),
			h.If(s.Path == chosen, h.Aria("current", "true")),
			h.Span(
				h.Class("state "+state.look),
				h.TitleAttr(state.word),
				h.Span(h.Class("shape"), h.Aria("hidden", "true"), h.Text(state.shape)),
				h.Span(h.Class("word"), h.Text(" "), line(state.word)),
			),
			h.Span(
				h.Class("step-main"),
				h.Span(h.Class("step-title"), line(clip(title, maxTitle))),
				h.Span(h.Class("step-detail"), line(clip(detail, maxTitle))),
			),
			h.Span(
				h.Class("step-facts"),
				h.Span(v.span(s.Began, s.Seconds, s.Outcome == "" && t.active)),
				h.Span(h.Text(join(tokens(s.Tokens), dollars(s.Cost)))),
			),
		),
	)
}

// join puts facts into one line.
func join(facts ...string) string {
	return strings.Join(slices.DeleteFunc(facts, func(s string) bool { return s == "" }), " · ")
}

// The panes beside the steps, as the address names them.
const (
	paneStep     = ""
	paneStepDiff = "diff"
	paneRunDiff  = "run"
)

// pane is beside the steps: the detail of one, what it changed, or what the run changed.
func (v *view) pane(r project.RunState, f *followedRun, chosen string) h.Node {
	at := v.r.URL.Query().Get("pane")
	tab := func(name, title string) h.Node {
		return h.A(
			h.Href(v.stepAddress(r.Run.ID, chosen, name)),
			h.If(at == name, h.Aria("current", "page")),
			h.Text(title),
		)
	}

	tabs := h.Nav(
		h.Class("tabs"),
		h.Aria("label", "Beside the steps"),
		tab(paneStep, "Step"),
		tab(paneStepDiff, "Diff of the step"),
		tab(paneRunDiff, "Diff of the run"),
	)

	var body h.Node
	switch {
	case at == paneRunDiff:
		body = v.runDiff(r.Run.ID, f)
	case chosen == "":
		body = aside(h.Text("No step has begun."))
	case at == paneStepDiff:
		body = v.stepDiff(r.Run.ID, f, chosen)
	default:
		d := f.step(v.site.current(), chosen, v.server.config.Now())
		if d.err != nil {
			body = v.failure(d.err)
		} else {
			body = v.detail(r, f, d.step)
		}
	}
	return h.Group{tabs, body}
}

// stepAddress is the address of a pane of a step.
func (v *view) stepAddress(run, step, pane string) string {
	query := "?step=" + url.QueryEscape(step)
	if pane != paneStep {
		query += "&pane=" + url.QueryEscape(pane)
	}
	return v.site.path("runs", run) + query + "#pane"
}

// stepDiff is what a step changed, and from when to when.
func (v *view) stepDiff(run string, f *followedRun, step string) h.Node {
	c, err := v.site.current().StepChanges(v.r.Context(), run, step)
	if err != nil {
		return v.failure(err)
	}
	title := h.H2(line(cmp.Or(f.titles[placeOf(step)], plainName(step))))
	if c.Unknown != "" {
		whole := v.stepAddress(run, step, paneRunDiff)
		return h.Group{title, aside(
			h.Text("What this step changed cannot be told: "),
			words(c.Unknown),
			h.Text(". "),
			h.A(h.Href(whole), h.Text("What the whole run changed")),
			h.Text("."),
		)}
	}

	span := "What changed in the worktree from the start of this step " + c.Until + "."
	if len(c.Commits) > 0 {
		span = "What this step committed: " + strings.Join(c.Commits, ", ") + "."
	}
	body := h.P(h.Text("Nothing."))
	if strings.TrimSpace(c.Patch) != "" {
		body = diff(c.Patch)
	}

	return h.Group{
		title,
		aside(line(span)),
		h.If(len(c.Beside) > 0, h.P(
			h.Class("notice"),
			h.Text("In the same worktree other steps were at work meanwhile, and what they "+
				"changed is here too: "),
			line(strings.Join(c.Beside, ", ")),
		)),
		body,
	}
}

// runDiff is what the whole run changed: its worktree as it is now, or what it left.
func (v *view) runDiff(run string, f *followedRun) h.Node {
	p := v.site.current()
	span := "What the whole run changed: its worktree as it is now."
	patch, err := p.WorktreeChanges(v.r.Context(), run)
	if err == nil && strings.TrimSpace(patch) == "" && f.journal.Finish() != nil {
		var made project.RunChanges
		made, err = p.RunChanges(v.r.Context(), run)
		patch = made.Patch
		span = "What the whole run changed: its commits."
		if made.Branch != "" {
			span = "What the whole run changed, on branch " + made.Branch + "."
		}
	}
	switch {
	case err != nil:
		return v.failure(err)
	case strings.TrimSpace(patch) == "":
		return aside(h.Text("Nothing has changed in a worktree of the run, and it made no commit."))
	}
	return h.Group{aside(line(span)), diff(patch)}
}

// detail is what one step did.
func (v *view) detail(r project.RunState, f *followedRun, d project.StepDetail) h.Node {
	s := d.Step
	place := placeOf(s.Path)
	asks := r.Gate != nil && r.Answer == "" && r.Gate.Step == s.Path
	active := r.State != project.StateFinished && r.State != project.StateWaiting
	facts := join(s.Agent, s.Model, tokens(s.Tokens), dollars(s.Cost))

	var calls []h.Node
	for i, c := range d.Calls {
		calls = append(calls, v.call(r.Run.ID, s.Path, i, len(d.Calls), c))
	}

	return h.Article(
		h.P(
			stepState(s.Outcome, active, asks).badge(),
			h.Text(" "),
			muted(line(facts)),
		),
		h.H2(line(cmp.Or(f.titles[place], plainName(s.Path)))),
		h.P(h.Class("mono aside"), line(s.Path)),
		h.If(s.Summary != "", h.P(h.Class("summary"), text(s.Summary))),
		h.If(asks, h.P(v.answerButton(r.Run.ID))),
		h.Group(calls),
	)
}

// call is one call of a subagent.
func (v *view) call(run, step string, i, of int, c project.CallDetail) h.Node {
	id := func(what string) string {
		return fmt.Sprintf("%s-%s-%d", what, formats.FolderName(placeOf(step)), i)
	}

	title := c.Agent
	if of > 1 {
		title = fmt.Sprintf("%s, attempt %d", c.Agent, i+1)
	}

	var body []h.Node
	if c.Return != nil {
		body = append(body, v.returned(run, c.Return))
	}
	if len(c.Transcript) > 0 {
		body = append(body, v.transcript(c))
	} else if !c.Ended {
		body = append(body, aside(h.Text("It has said nothing yet.")))
	}

	folded := func(what, title, content string) {
		if content != "" {
			body = append(body, h.Details(
				h.ID(id(what)),
				h.Summary(h.Text(title)),
				h.Pre(h.Class("code"), h.TabIndex("0"), text(content)),
			))
		}
	}
	folded("prompt", "Prompt", c.Prompt)

	values := func(what, title string, data []byte) {
		var v any
		if json.Unmarshal(data, &v) == nil && v != nil {
			body = append(body, h.Details(h.ID(id(what)), h.Summary(h.Text(title)), value(v)))
		}
	}
	values("input", "Input", []byte(c.Input))

	if c.Return != nil {
		data, err := json.Marshal(c.Return)
		if err == nil {
			values("return", "Return", data)
		}
	}
	return h.Section(h.Class("call"), h.H3(line(title)), h.Group(body))
}

// value shows a value of JSON as text: the members of an object by their names, and texts with
// their lines.
func value(v any) h.Node {
	switch v := v.(type) {
	case map[string]any:
		rows := make([]h.Node, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			rows = append(rows, h.Dt(h.Class("mono"), line(name)), h.Dd(value(v[name])))
		}
		return h.Dl(h.Class("facts-list values"), h.Group(rows))
	case []any:
		items := make([]h.Node, len(v))
		for i, one := range v {
			items[i] = h.Li(value(one))
		}
		return h.Ol(h.Class("values"), h.Group(items))
	case string:
		if strings.Contains(v, "\n") {
			return h.Pre(h.Class("passage"), text(v))
		}
		return text(v)
	case float64:
		return h.Text(strconv.FormatFloat(v, 'f', -1, 64))
	case bool:
		return h.Text(strconv.FormatBool(v))
	}
	return muted(h.Text("none"))
}

// returned is what a subagent gave back.
func (v *view) returned(run string, ret *formats.Return) h.Node {
	var list []h.Node
	if ret.Text != "" {
		list = append(list, passage(ret.Text))
	}

	for _, e := range ret.Errors {
		list = append(list, alarm(
			h.P(words(e.Message), h.Text(" "), muted(line("("+string(e.Code)+")"))),
			h.If(e.Recommendation != "", aside(words(e.Recommendation))),
		))
	}
	if ret.BlockedReason != "" {
		list = append(list, notice(h.P(words(ret.BlockedReason))))
	}

	if len(ret.Issues) > 0 {
		items := make([]h.Node, len(ret.Issues))
		for i, issue := range ret.Issues {
			items[i] = v.issue(issue)
		}
		list = append(list, h.H4(h.Text("Issues")), h.Ul(h.Class("issues"), h.Group(items)))
	}

	if len(ret.Artifacts) > 0 {
		items := make([]h.Node, len(ret.Artifacts))
		for i, a := range ret.Artifacts {
			address := v.site.document("run", run, a.Path)
			items[i] = h.Li(
				h.A(h.Class("mono"), h.Href(address), line(a.Path)),
				h.Text(" "),
				muted(line(a.Summary)),
			)
		}
		list = append(list, h.H4(h.Text("Artifacts")), h.Ul(h.Group(items)))
	}
	return h.Group(list)
}

// issue is one defect.
func (v *view) issue(i formats.Issue) h.Node {
	look := state{"waits", "◐", string(i.Level)}
	switch i.Level {
	case formats.LevelError:
		look = state{"bad", "✗", string(i.Level)}
	case formats.LevelSuggestion:
		look = state{"skip", "–", string(i.Level)}
	case formats.LevelWarning:
	}

	where := strings.Join(i.Files, ", ")
	if i.Line > 0 {
		where += ":" + strconv.Itoa(i.Line)
	}

	return h.Li(
		look.badge(),
		h.Text(" "),
		text(i.Description),
		h.If(where != "", h.Span(h.Class("mono aside"), h.Text(" "), line(where))),
		h.If(i.SuggestedFix != "", aside(text(i.SuggestedFix))),
	)
}

// spokenTitles are what stands above the parts of a transcript.
var spokenTitles = map[string]string{
	"says": "says", "thinks": "thinks", "uses": "uses", "gets": "gets", "fails": "fails",
	"prints": "prints",
}

// transcript is what an agent said and did, as text.
func (v *view) transcript(c project.CallDetail) h.Node {
	items := make([]h.Node, 0, len(c.Transcript)+1)
	if c.Cut {
		items = append(items, h.Li(h.Class("aside"),
			h.Text("What came before is left out: it is too long.")))
	}

	for _, s := range c.Transcript {
		kind := string(s.Kind)
		body := h.Pre(h.Class("passage"), text(strings.TrimRight(s.Text, "\n")))
		if kind == "gets" && len(s.Text) > maxResult {
			body = h.Details(h.Summary(line(clip(s.Text, maxTitle))), body)
		}
		items = append(items, h.Li(
			h.Class("said "+kind),
			h.Span(
				h.Class("who"),
				h.Text(spokenTitles[kind]),
				h.If(s.Tool != "", h.Group{h.Text(" "), h.Code(line(s.Tool))}),
			),
			h.If(s.Text != "", body),
		))
	}
	return h.Group{h.H4(h.Text("Transcript")), h.Ol(h.Class("transcript"), h.Group(items))}
}

// maxResult is the length of the result of a tool that is folded, in bytes.
const maxResult = 400

// document is the address of a document of a run or a task.
func (o *site) document(kind, of, path string) string {
	return o.path("document") + "?" + url.Values{kind: {of}, "path": {path}}.Encode()
}

// pause suspends a run.
func (s *Server) pause(v *view) error {
	id := v.r.PathValue("run")
	if _, err := v.site.current().Pause(v.r.Context(), id); err != nil {
		return err
	}
	return v.redirect(v.site.path("runs", id))
}

// resume goes on with a run.
func (s *Server) resume(v *view) error {
	id := v.r.PathValue("run")
	if err := v.site.resume(id); err != nil {
		return v.resumeFailed(err, v.site.path("runs", id))
	}
	return v.redirect(v.site.path("runs", id))
}

// cancel ends a run.
func (s *Server) cancel(v *view) error {
	id := v.r.PathValue("run")
	if _, err := v.site.current().Cancel(s.runs, id, options()); err != nil {
		return err
	}
	return v.redirect(v.site.path("runs", id))
}
