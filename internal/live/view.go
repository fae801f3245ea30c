package live

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/plain"
	"tercet/internal/trace"
)

// View is the progress of one run or several. Its zero value is ready.
type View struct {
	Parts   map[string]string // prefix of a run's lines, by run id; nil: none
	Verbose bool              // also shows what agents do

	runs            map[string]*run
	list            []*run // in the order of their beginning
	finished        []line
	seenIssues      []string // issues of steps that did not pass
	shownIssues     []string // of these, those that were shown below their step
	last            *node    // the last finished line is below this node; nil: below a run
	previousScreens int      // number of screens drawn on before
}

// Limits of what a View stores of a run: texts in runes, children of a step, and the length of a
// path in bytes.
const (
	maxText        = 400
	maxChildren    = 200
	maxPath        = 2000
	maxIssues      = 10   // issues shown of a step
	maxShownIssues = 1000 // issues remembered for all steps
	maxParallel    = 5000 // unfinished children of a step
)

// run is one run.
type run struct {
	root node // its own start and end; its children are the steps

	id        string
	prefix    string           // prefix of its lines
	nodes     map[string]*node // by path without visits
	spent     budget           // by finished workers
	limits    budget           // limits of the run
	workers   int
	changed   []Changed
	artifacts []formats.Artifact
	question  string    // of the open gate
	asked     time.Time // when the question was asked; zero: none is open
}

// budget is an amount of tokens and cost; as a limit, 0 means none.
type budget struct {
	tokens int64
	cost   float64
}

// node is a step, or one element or round of a loop.
type node struct {
	run      *run
	parent   *node // nil: a step of the run itself
	children []*node
	dropped  int // number of finished children that were dropped
	name     string
	place    string

	span
	work
	pass
	phase       phase
	headShownOn int // the screen on which its head was shown, from 1
}

// span is when something ran, and its outcome.
type span struct {
	start, end time.Time
	waiting    time.Duration // part of it that waited for the user
	finished   bool
	outcome    formats.Outcome // empty: stopped or unfinished
}

// work is what the worker of a step reports.
type work struct {
	agent, doing string
	said         string // the last sentence
	used         budget
	issues       []formats.Issue
}

// pass is the element or round of a loop that a node is; for a loop, the durations of its passes.
type pass struct {
	number, of int
	single     bool // it has a single step and is shown as that step
	durations  []time.Duration
}

// phase is the phase of a flow that a step is; 0: none.
type phase struct {
	Phase  int    `json:"phase"`
	Phases int    `json:"phases"`
	Agent  string `json:"agent"`
}

// Changed is a file of a commit with its line counts.
type Changed struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
}

// attrs are the attributes of events that are shown.
type attrs struct {
	count
	Issues    []formats.Issue    `json:"issues"`
	Tokens    int64              `json:"tokens"`
	Cost      float64            `json:"cost_usd"`
	Runner    string             `json:"runner"`
	Limits    formats.Budget     `json:"limits"`
	Artifacts []formats.Artifact `json:"artifacts"`
	Changed   []Changed          `json:"changed"`
	Said      string             `json:"said"`
	action
	phase
}

// count is the number of a pass or round, and how many there are.
type count struct {
	Number   int  `json:"number"`
	Of       int  `json:"of"`
	Steps    int  `json:"steps"`
	Parallel bool `json:"abreast"`
}

// action is what an agent does with a tool.
type action struct {
	Kind string `json:"did"`
	Tool string `json:"tool"`
	On   string `json:"on"`
}

func attrsOf(e trace.Event) (f attrs) {
	if len(e.Attrs) > 0 {
		doc, err := json.Marshal(e.Attrs)
		if err == nil {
			_ = json.Unmarshal(doc, &f) //nolint:errcheck // other shapes stay hidden
		}
	}
	f.Tokens = max(0, f.Tokens)
	f.Cost = max(0, f.Cost)
	return f
}

// visits matches the visit numbers in a step's path.
var visits = lazy.Regexp(`#[0-9]+`)

// clean limits and sanitizes an untrusted text.
func clean(text string) string {
	return plain.Line(formats.Clip(text, maxText))
}

// Apply updates the view with an event.
func (v *View) Apply(e trace.Event) {
	r := v.runOf(e)
	f := attrsOf(e)
	place := visits().ReplaceAllString(e.Step[:min(len(e.Step), maxPath)], "")

	const command = 1 // deeper runs are the workflows of subagents
	switch e.Kind {
	case trace.Run:
		if e.ToDepth <= command {
			v.updateRun(r, e, f)
		}
	case trace.Step:
		if e.Outcome == "" {
			v.startStep(r.nodeAt(place), e, f.phase)
		} else {
			v.endStep(r.nodeAt(place), e, f)
		}
	case trace.Pass:
		v.startPass(r.nodeAt(place), e, f)
	case trace.Round:
		v.addRound(r.nodeAt(place), e, f)
	case trace.Agent:
		if n := r.nodes[place]; n != nil {
			v.updateWorker(n, e, f)
		}
	case trace.Delegate:
		r.endDelegation(r.nodes[place], e, f)
	case trace.Gate:
		v.updateGate(r, r.nodes[place], e)
	case trace.Mismatch:
		if v.Verbose {
			v.finished = append(v.finished, line{
				indent: 1,
				symbol: markAside,
				text:   clean(e.Name + ": " + e.Message),
			})
		}
	case trace.Warning:
		v.addWarning(r.nodes[place], e)
	case trace.Route, trace.State:
	}
}

// addWarning adds a warning at the depth of its step; n is nil if the run itself made the call.
func (v *View) addWarning(n *node, e trace.Event) {
	depth := 1
	if n != nil {
		v.showHeads(n, false)
		depth = n.depth()
	}
	v.finished = append(v.finished, line{
		indent: depth,
		text:   "warning: " + clean(e.Message),
		wrap:   true,
	})
}

// runOf returns the run of an event.
func (v *View) runOf(e trace.Event) *run {
	r := v.runs[e.Run]
	if r == nil {
		r = &run{id: e.Run, nodes: map[string]*node{}}
		r.root = node{
			run:  r,
			name: clean(e.Run),
			span: span{start: e.Time},
		}
		if v.runs == nil {
			v.runs = map[string]*run{}
		}
		v.runs[e.Run] = r
		v.list = append(v.list, r)
	}
	r.prefix = v.Parts[e.Run]
	return r
}

// nodeAt returns the node at a path, and creates it below its nearest known ancestor.
func (r *run) nodeAt(place string) *node {
	if n := r.nodes[place]; n != nil {
		return n
	}
	n := &node{
		run:   r,
		place: place,
		name:  clean(place),
	}
	at := place
	for n.parent == nil {
		cut := strings.LastIndexAny(at, "/[")
		if cut <= 0 {
			break
		}
		at = at[:cut]
		n.parent = r.nodes[at]
	}

	r.nodes[place] = n
	home := n.parentNode()
	home.children = append(home.children, n)
	if len(home.children) > maxChildren {
		i := slices.IndexFunc(home.children, func(n *node) bool { return n.finished })
		if i >= 0 || len(home.children) > maxParallel {
			i = max(0, i)
			r.forget(home.children[i])
			home.children = slices.Delete(home.children, i, i+1)
			home.dropped++
		}
	}
	return n
}

// parentNode is the parent of a node, or the node of its run.
func (n *node) parentNode() *node {
	if n.parent == nil {
		return &n.run.root
	}
	return n.parent
}

// forget drops a node with all descendants.
func (r *run) forget(n *node) {
	if r.nodes[n.place] == n {
		delete(r.nodes, n.place)
	}
	for _, one := range n.children {
		r.forget(one)
	}
	n.children = nil
}

// updateRun handles that a run began, continued in another process, or ended.
func (v *View) updateRun(r *run, e trace.Event, f attrs) {
	if e.Outcome == "" {
		for _, n := range r.root.children { // left unfinished by another process
			n.stop(e.Time)
		}
		if r.root.finished || r.root.name == clean(r.id) {
			r.root.start = e.Time
		}
		r.root.finished = false
		r.root.outcome = ""
		r.asked = time.Time{}
		r.limits = budget{max(0, f.Limits.Tokens), max(0, f.Limits.Cost)}
		r.root.name = clean(e.Message)
		if r.root.name == "" {
			r.root.name = clean(e.Name)
		}
		return
	}

	r.root.finished = true
	r.root.end = e.Time
	r.root.outcome = formats.Outcome(clean(e.Outcome))
	r.artifacts = f.Artifacts
	r.question = ""
	if r.root.name == clean(r.id) {
		r.root.name = clean(e.Name)
	}
	if e.Duration > 0 && !e.Time.IsZero() {
		r.root.start = e.Time.Add(-e.Duration)
	}
	for _, n := range r.root.children {
		n.stop(e.Time)
	}

	v.finished = append(v.finished, r.summary()...)
}

// stop ends a node and its descendants that have no end of their own.
func (n *node) stop(at time.Time) {
	if !n.finished {
		n.finished = true
		n.end = at
		n.used = budget{}
	}
	for _, one := range n.children {
		one.stop(at)
	}
}

// startStep handles that a step began, possibly again.
func (v *View) startStep(n *node, e trace.Event, p phase) {
	for _, one := range n.children {
		n.run.forget(one)
	}
	*n = node{
		run:    n.run,
		parent: n.parent,
		place:  n.place,
		name:   clean(e.Name),
		span:   span{start: e.Time},
		phase:  p,
	}
	v.showHeads(n, false)
	if p.Phase > 0 {
		v.finished = append(v.finished, line{
			indent:       n.depth(),
			symbol:       markHead,
			text:         "Phase {N}/{M}: launching {agent}",
			placeholders: append(p.placeholders(), "{M}", strconv.Itoa(p.Phases)),
		})
	}
}

// placeholders are the placeholders of the fixed texts of a phase.
func (p phase) placeholders() []string {
	return []string{"{N}", strconv.Itoa(p.Phase), "{agent}", clean(p.Agent)}
}

// phaseResult lists the result of a phase.
func (n *node) phaseResult(e trace.Event, made []formats.Artifact) (out []line) {
	if n.phase.Phase == 0 || !n.outcome.Passes() {
		return nil
	}
	tell := func(text, end string, with ...string) {
		l := n.remark(text)
		l.suffix = end
		l.placeholders = append([]string{}, with...)
		out = append(out, l)
	}

	tell("Phase {N} complete: {agent}", "", n.phase.placeholders()...)

	var files []string
	for _, a := range made[:min(len(made), maxChildren)] {
		files = append(files, clean(a.Path))
	}
	if files != nil {
		tell("Generated artifacts", ": "+strings.Join(files, ", "))
	}

	if e.Message != "" {
		tell("Summary", ": "+clean(e.Message))
	}
	return out
}

// endStep handles that a step ended.
func (v *View) endStep(n *node, e trace.Event, f attrs) {
	switch {
	case n.start.IsZero():
		n.name = clean(e.Name)
		n.start = e.Time
	case n.finished && n.outcome == "": // another process began it
		n.start = n.end
		n.waiting = 0
	}

	n.stop(e.Time)
	n.end = e.Time
	n.outcome = formats.Outcome(clean(e.Outcome))
	n.issues = f.Issues
	n.doing = ""
	n.said = ""

	if n.outcome == formats.OutcomeSkipped {
		return
	}

	v.showHeads(n, true)
	v.finished = append(v.finished, n.renderLine(time.Time{}))
	v.finished = append(v.finished, v.newIssues(n)...)
	v.finished = append(v.finished, n.phaseResult(e, f.Artifacts)...)
}

// newIssues are the issues of a step that ended. Those that a step showed before, such as the round
// before this one, are only counted.
func (v *View) newIssues(n *node) (out []line) {
	var list []formats.Issue
	var before int
	for _, i := range n.openIssues() {
		if slices.Contains(v.seenIssues, formatIssue(i)) {
			before++
		} else {
			list = append(list, i)
		}
	}

	for i, one := range list {
		v.seenIssues = append(v.seenIssues, formatIssue(one))
		if i < maxIssues {
			v.shownIssues = append(v.shownIssues, formatIssue(one))
		}
	}

	v.seenIssues = v.seenIssues[max(0, len(v.seenIssues)-maxShownIssues):]
	v.shownIssues = v.shownIssues[max(0, len(v.shownIssues)-maxShownIssues):]

	out = n.issueLines(list)
	if before > 0 {
		out = append(out, n.remark(formats.Count(before, "issue")+" as before"))
	}
	return out
}

// openIssues are the issues of a step that did not pass, without those shown below a step inside
// it.
func (n *node) openIssues() []formats.Issue {
	if !n.finished || n.outcome == "" || n.outcome.Passes() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(n.issues), func(i formats.Issue) bool {
		return slices.ContainsFunc(n.children, func(one *node) bool {
			return one.hasIssue(i.Description)
		})
	})
}

// issueLines are the lines of issues below a step.
func (n *node) issueLines(list []formats.Issue) (out []line) {
	for _, i := range list[:min(len(list), maxIssues)] {
		out = append(out, n.remark(formatIssue(i)))
	}
	if more := len(list) - maxIssues; more > 0 {
		out = append(out, n.remark("... and "+formats.Count(more, "more issue")))
	}
	return out
}

func (n *node) hasIssue(of string) bool {
	return slices.ContainsFunc(n.issues, func(i formats.Issue) bool {
		return i.Description == of
	}) ||
		slices.ContainsFunc(n.children, func(one *node) bool {
			return one.hasIssue(of)
		})
}

// showHeads shows the heads of a node's ancestors. When something begins, it shows those that were
// never shown. When something finished, it also shows those that do not contain the last finished
// line.
func (v *View) showHeads(n *node, done bool) {
	for up := n.parent; up != nil && !done; up = up.parent {
		// another process had ended it
		up.finished = false
		up.outcome = ""
	}
	for _, up := range n.ancestors() {
		if up.headShownOn <= v.previousScreens || done && !up.contains(v.last) {
			v.finished = append(v.finished, up.headLine())
			up.headShownOn = v.previousScreens + 1
			v.last = up
		}
	}
	if done {
		v.last = n.parent
	}
}

// ancestors lists the ancestors of a node from the outside in, without passes that stand for a
// step.
func (n *node) ancestors() (out []*node) {
	for up := n.parent; up != nil; up = up.parent {
		if !up.single {
			out = append(out, up)
		}
	}
	slices.Reverse(out)
	return out
}

// contains reports whether a node is an ancestor of another, or the same.
func (n *node) contains(inner *node) bool {
	for ; inner != nil; inner = inner.parent {
		if inner == n {
			return true
		}
	}
	return false
}

// startPass handles that a loop began an element or a round.
func (v *View) startPass(n *node, e trace.Event, f attrs) {
	if up := n.parent; up != nil && !f.Parallel {
		at := len(up.children) - 2
		if at >= 0 && up.children[at].number > 0 && !up.children[at].finished &&
			up.children[at] != n {
			before := up.children[at]
			before.stop(e.Time)
			up.durations = append(up.durations, e.Time.Sub(before.start)-before.waiting)
		}
	}

	if n.number > 0 && n.number == f.Number { // another process began it
		n.span = span{start: e.Time}
		v.showHeads(n, false)
		return
	}

	for _, one := range n.children {
		n.run.forget(one)
	}
	*n = node{
		run:    n.run,
		parent: n.parent,
		place:  n.place,
		name:   withNumber(clean(e.Name), f),
		span:   span{start: e.Time},
	}
	n.pass = pass{
		number: max(1, f.Number),
		of:     f.Of,
		single: f.Steps <= 1,
	}
	if words := clean(formats.Clip(e.Message, maxItem)); words != "" {
		n.name += " " + words
	}
	if !n.single {
		v.showHeads(n, false)
		n.headShownOn = v.previousScreens + 1
		v.last = n
		v.finished = append(v.finished, n.headLine())
	}
}

// addRound handles that a step is done again.
func (v *View) addRound(n *node, e trace.Event, f attrs) {
	words := withNumber("round", f)
	if e.Message != "" {
		words += ": " + clean(e.Message)
	}
	v.finished = append(v.finished, n.remark(words))
}

// updateWorker handles that a worker was started, and what it does.
func (v *View) updateWorker(n *node, e trace.Event, f attrs) {
	n.agent = clean(e.Name)
	if f.Runner != "" {
		n.agent = clean(f.Runner)
	}
	n.used = budget{max(n.used.tokens, f.Tokens), max(n.used.cost, f.Cost)}

	if said := clean(f.Said); said != "" && said != n.said {
		n.said = said
		if v.Verbose {
			v.finished = append(v.finished, line{
				indent: 1,
				symbol: markAside,
				text:   n.title() + ": \"" + n.said + "\"",
			})
		}
	}

	if doing := f.describe(); doing != "" && doing != n.doing {
		n.doing = doing
		if v.Verbose {
			v.finished = append(v.finished, line{
				indent: 1,
				symbol: markAside,
				text:   n.title() + ": " + n.doing,
			})
		}
	}
}

// verbs are the words for the actions of an agent, by kind.
var verbs = map[string]string{
	"edit": "edits", "run": "runs", "read": "reads", "search": "searches", "fetch": "fetches",
}

// Doing describes an agent's current action from an event; empty if the event has none.
func Doing(e trace.Event) string {
	if e.Kind != trace.Agent {
		return ""
	}
	return attrsOf(e).describe()
}

// describe says what an agent does.
func (a action) describe() string {
	words := verbs[a.Kind]
	switch {
	case a.Tool == "":
		return ""
	case words == "":
		words = "uses " + a.Tool
	case a.On == "":
		words += " (" + a.Tool + ")"
	}
	return clean(strings.TrimSpace(words + " " + a.On))
}

// endDelegation handles the end of a delegation; the step may continue.
func (r *run) endDelegation(n *node, e trace.Event, f attrs) {
	if f.Runner != "workflow" { // the workers of a workflow were counted
		r.spent.tokens += f.Tokens
		r.spent.cost += f.Cost
		if f.Runner != "" && f.Runner != "builtin" {
			r.workers++
		}
	}

	for _, c := range f.Changed[:min(len(f.Changed), maxChildren)] {
		at := slices.IndexFunc(r.changed, func(o Changed) bool {
			return o.Path == c.Path
		})
		if at < 0 {
			at = len(r.changed)
			r.changed = append(r.changed, Changed{Path: c.Path})
		}
		r.changed[at].Added += max(0, c.Added)
		r.changed[at].Deleted += max(0, c.Deleted)
	}

	if n != nil && !n.finished && e.Outcome != "" {
		n.used = budget{}
		n.doing = ""
		n.said = ""
		n.agent = ""
		n.outcome = formats.Outcome(clean(e.Outcome))
		n.end = e.Time.Add(e.Duration)
	}
}

// updateGate handles that a question was asked or answered.
func (v *View) updateGate(r *run, n *node, e trace.Event) {
	var text string
	asks := clean(e.Name)
	if e.Message == "asked" {
		r.question = asks
		r.asked = e.Time
		return
	}

	r.subtractWait(n, e.Time)

	switch {
	case e.Message == trace.CannotAsk:
		text = asks + " tercet cannot ask here; takes '" + clean(e.Outcome) + "' in " +
			e.Duration.String()
	case strings.HasPrefix(e.Message, trace.AskedAnew):
		text = asks + " is " + clean(e.Message)
	case e.Message == trace.InTime:
		r.question = ""
		text = asks + " " + clean(e.Outcome) + " (no answer in time)"
	default:
		r.question = ""
		return
	}

	v.finished = append(v.finished, line{indent: 1, text: "gate: " + r.prefix + text})
}

// subtractWait subtracts the time that a question waited from its step, and from the steps around
// it if nothing else was running.
func (r *run) subtractWait(n *node, until time.Time) {
	alone := len(r.root.appendRunning(nil)) < 2
	for away := until.Sub(r.asked); n != nil && !r.asked.IsZero() && away > 0; n = n.parentNode() {
		n.waiting += away
		if !alone || n == &r.root {
			break
		}
	}
	r.asked = time.Time{}
}
