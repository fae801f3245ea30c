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

	runs map[string]*run
	list []*run // in the order in which they began
	news []line
	told []string // issues below steps
	last *node    // below which the last news stands; nil: below a run
	old  int      // terminals that were drawn on before
}

// Limits of what a View keeps of a run: texts in runes, substeps of a step, and the length of a
// path.
const (
	mostText    = 400
	mostBelow   = 200
	mostPlace   = 2000
	mostShown   = 10   // issues of a step
	mostTold    = 1000 // issues of all steps that are kept
	mostAbreast = 5000 // steps below one that did not end
)

// run is one run.
type run struct {
	node // what it began and ended with

	id       string
	part     string           // what begins its lines
	nodes    map[string]*node // by place
	spent    budget           // by workers that have ended
	most     budget           // what it may use
	workers  int
	changed  []Changed
	made     []formats.Artifact
	question string    // that waits for an answer
	asked    time.Time // when it began to wait; zero: none does
}

// budget is an amount of tokens and money; a bound of 0 is none.
type budget struct {
	tokens int64
	cost   float64
}

// node is a step, or one element or round of a loop.
type node struct {
	run   *run
	up    *node // nil: it stands in the run itself
	below []*node
	gone  int // of the steps below it that are over and no longer kept
	name  string
	place string

	span
	work
	pass
	phase
	headed int // the terminal on which its head was told, from 1
}

// span is when something ran, and how it ended.
type span struct {
	began, ended time.Time
	away         time.Duration // of it the run waited for the user
	over         bool
	outcome      formats.Outcome // empty: it was stopped, or goes on
}

// work is what the worker of a step says of itself.
type work struct {
	agent, doing string
	used         budget
	issues       []formats.Issue
}

// pass is which element or round of a loop a node is, and for a loop how long its passes took.
type pass struct {
	number, of int
	flat       bool // it has a single step and stands for it
	took       []time.Duration
}

// phase is the one of a flow that a step is; 0: it is none.
type phase struct {
	Phase  int    `json:"phase"`
	Phases int    `json:"phases"`
	Agent  string `json:"agent"`
}

// Changed is a file of a commit with its counts of lines.
type Changed struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
}

// facts are the attributes of events that are drawn.
type facts struct {
	count
	Issues    []formats.Issue    `json:"issues"`
	Tokens    int64              `json:"tokens"`
	Cost      float64            `json:"cost_usd"`
	Runner    string             `json:"runner"`
	Limits    formats.Budget     `json:"limits"`
	Artifacts []formats.Artifact `json:"artifacts"`
	Changed   []Changed          `json:"changed"`
	act
	phase
}

// count is which pass or round begins, of how many.
type count struct {
	Number  int  `json:"number"`
	Of      int  `json:"of"`
	Steps   int  `json:"steps"`
	Abreast bool `json:"abreast"`
}

// act is what an agent does with a tool.
type act struct {
	Kind string `json:"did"`
	Tool string `json:"tool"`
	On   string `json:"on"`
}

func factsOf(e trace.Event) (f facts) {
	if len(e.Attrs) > 0 {
		doc, err := json.Marshal(e.Attrs)
		if err == nil {
			_ = json.Unmarshal(doc, &f) //nolint:errcheck // reason: what is of another shape is not drawn
		}
	}
	f.Tokens = max(0, f.Tokens)
	f.Cost = max(0, f.Cost)
	return f
}

// visits are the numbers of visits in a step's path.
var visits = lazy.Regexp(`#[0-9]+`)

// said is a text of a stranger as it is kept.
func said(text string) string {
	return plain.Line(formats.Clip(text, mostText))
}

// Apply adds an event.
func (v *View) Apply(e trace.Event) {
	r := v.of(e)
	f := factsOf(e)
	place := visits().ReplaceAllString(e.Step[:min(len(e.Step), mostPlace)], "")
	const command = 1 // the depth of a command; deeper ones are the steps of a subagent
	switch e.Kind {
	case trace.Run:
		if e.ToDepth <= command {
			v.lived(r, e, f)
		}
	case trace.Step:
		if e.Outcome == "" {
			v.started(r.at(place), e, f.phase)
		} else {
			v.finished(r.at(place), e, f)
		}
	case trace.Pass:
		v.passed(r.at(place), e, f)
	case trace.Round:
		v.round(r.at(place), e, f)
	case trace.Agent:
		if n := r.nodes[place]; n != nil {
			v.works(n, e, f)
		}
	case trace.Delegate:
		r.answered(r.nodes[place], e, f)
	case trace.Gate:
		v.gate(r, r.nodes[place], e)
	case trace.Mismatch:
		if v.Verbose {
			v.news = append(v.news, line{
				in:   1,
				mark: markAside,
				text: said(e.Name + ": " + e.Message),
			})
		}
	case trace.Warning:
		v.warning(r.nodes[place], e)
	case trace.Route, trace.State:
	}
}

// warning adds a warning at the depth of the step that it is about; n is nil if the run itself made
// the call.
func (v *View) warning(n *node, e trace.Event) {
	depth := 1
	if n != nil {
		v.heads(n, false)
		depth = n.depth()
	}
	v.news = append(v.news, line{
		in:    depth,
		text:  "warning: " + said(e.Message),
		whole: true,
	})
}

// of is the run of an event.
func (v *View) of(e trace.Event) *run {
	r := v.runs[e.Run]
	if r == nil {
		r = &run{id: e.Run, nodes: map[string]*node{}}
		r.node = node{
			run:  r,
			name: said(e.Run),
			span: span{began: e.Time},
		}
		if v.runs == nil {
			v.runs = map[string]*run{}
		}
		v.runs[e.Run] = r
		v.list = append(v.list, r)
	}
	r.part = v.Parts[e.Run]
	return r
}

// at is what runs at a place; it is made below the nearest place that is known.
func (r *run) at(place string) *node {
	if n := r.nodes[place]; n != nil {
		return n
	}
	n := &node{
		run:   r,
		place: place,
		name:  said(place),
	}
	at := place
	for n.up == nil {
		cut := strings.LastIndexAny(at, "/[")
		if cut <= 0 {
			break
		}
		at = at[:cut]
		n.up = r.nodes[at]
	}

	r.nodes[place] = n
	home := n.home()
	home.below = append(home.below, n)
	if len(home.below) > mostBelow {
		i := slices.IndexFunc(home.below, func(n *node) bool { return n.over })
		if i >= 0 || len(home.below) > mostAbreast {
			i = max(0, i)
			r.forget(home.below[i])
			home.below = slices.Delete(home.below, i, i+1)
			home.gone++
		}
	}
	return n
}

// home is what a node stands below.
func (n *node) home() *node {
	if n.up == nil {
		return &n.run.node
	}
	return n.up
}

// forget drops a node with all below it.
func (r *run) forget(n *node) {
	if r.nodes[n.place] == n {
		delete(r.nodes, n.place)
	}
	for _, one := range n.below {
		r.forget(one)
	}
	n.below = nil
}

// lived takes in that a run began, or went on in another process, or ended.
func (v *View) lived(r *run, e trace.Event, f facts) {
	if e.Outcome == "" {
		for _, n := range r.below { // what another process did not end
			n.stop(e.Time)
		}
		if r.over || r.name == said(r.id) {
			r.began = e.Time
		}
		r.over = false
		r.outcome = ""
		r.asked = time.Time{}
		r.most = budget{max(0, f.Limits.Tokens), max(0, f.Limits.Cost)}
		r.name = said(e.Message)
		if r.name == "" {
			r.name = said(e.Name)
		}
		return
	}

	r.over = true
	r.ended = e.Time
	r.outcome = formats.Outcome(said(e.Outcome))
	r.made = f.Artifacts
	r.question = ""
	if r.name == said(r.id) {
		r.name = said(e.Name)
	}
	if e.Duration > 0 && !e.Time.IsZero() {
		r.began = e.Time.Add(-e.Duration)
	}
	for _, n := range r.below {
		n.stop(e.Time)
	}

	v.news = append(v.news, r.summary()...)
}

// stop ends what has no end of its own.
func (n *node) stop(at time.Time) {
	if !n.over {
		n.over = true
		n.ended = at
		n.used = budget{}
	}
	for _, one := range n.below {
		one.stop(at)
	}
}

// started takes in that a step began, for the first time or once more.
func (v *View) started(n *node, e trace.Event, p phase) {
	for _, one := range n.below {
		n.run.forget(one)
	}
	*n = node{
		run:   n.run,
		up:    n.up,
		place: n.place,
		name:  said(e.Name),
		span:  span{began: e.Time},
		phase: p,
	}
	v.heads(n, false)
	if p.Phase > 0 {
		v.news = append(v.news, line{
			in:   n.depth(),
			mark: markHead,
			text: "Phase {N}/{M}: launching {agent}",
			with: append(p.places(), "{M}", strconv.Itoa(p.Phases)),
		})
	}
}

// places are what the fixed texts of a phase are filled in with.
func (p phase) places() []string {
	return []string{"{N}", strconv.Itoa(p.Phase), "{agent}", said(p.Agent)}
}

// complete tells what a phase came to.
func (n *node) complete(e trace.Event, made []formats.Artifact) (out []line) {
	if n.Phase == 0 || !n.outcome.Passes() {
		return nil
	}
	tell := func(text, end string, with ...string) {
		l := n.remark(text)
		l.end = end
		l.with = append([]string{}, with...)
		out = append(out, l)
	}
	tell("Phase {N} complete: {agent}", "", n.places()...)
	var files []string
	for _, a := range made[:min(len(made), mostBelow)] {
		files = append(files, said(a.Path))
	}
	if files != nil {
		tell("Generated artifacts", ": "+strings.Join(files, ", "))
	}
	if e.Message != "" {
		tell("Summary", ": "+said(e.Message))
	}
	return out
}

// finished takes in that a step ended.
func (v *View) finished(n *node, e trace.Event, f facts) {
	switch {
	case n.began.IsZero():
		n.name = said(e.Name)
		n.began = e.Time
	case n.over && n.outcome == "": // another process began it
		n.began = n.ended
		n.away = 0
	}
	n.stop(e.Time)
	n.ended = e.Time
	n.outcome = formats.Outcome(said(e.Outcome))
	n.issues = f.Issues
	n.doing = ""
	if n.outcome == formats.OutcomeSkipped {
		return
	}
	v.heads(n, true)
	v.news = append(append(v.news, n.line(time.Time{})), n.complaints()...)
	v.news = append(v.news, n.complete(e, f.Artifacts)...)
	if !n.outcome.Passes() {
		for _, i := range n.issues {
			v.told = append(v.told, issue(i))
		}
		v.told = v.told[max(0, len(v.told)-mostTold):]
	}
}

// complaints are the issues of a step that did not pass, but for those that stand below a step
// inside of it.
func (n *node) complaints() (out []line) {
	if !n.over || n.outcome == "" || n.outcome.Passes() {
		return nil
	}
	own := slices.DeleteFunc(slices.Clone(n.issues), func(i formats.Issue) bool {
		return slices.ContainsFunc(n.below, func(one *node) bool {
			return one.complains(i.Description)
		})
	})
	for _, i := range own[:min(len(own), mostShown)] {
		out = append(out, n.remark(issue(i)))
	}
	if more := len(own) - mostShown; more > 0 {
		out = append(out, n.remark("... and "+formats.Count(more, "more issue")))
	}
	return out
}

func (n *node) complains(of string) bool {
	return slices.ContainsFunc(n.issues, func(i formats.Issue) bool {
		return i.Description == of
	}) ||
		slices.ContainsFunc(n.below, func(one *node) bool {
			return one.complains(of)
		})
}

// heads shows the heads above a node. When something begins there, it shows those never shown. When
// something was done, it also shows those that the last news does not stand below.
func (v *View) heads(n *node, done bool) {
	for up := n.up; up != nil && !done; up = up.up {
		// another process had left it
		up.over = false
		up.outcome = ""
	}
	for _, up := range n.chain() {
		if up.headed <= v.old || done && !up.holds(v.last) {
			v.news = append(v.news, up.head())
			up.headed = v.old + 1
			v.last = up
		}
	}
	if done {
		v.last = n.up
	}
}

// chain is what a node stands below, from the outside in, without passes that stand for a step.
func (n *node) chain() (out []*node) {
	for up := n.up; up != nil; up = up.up {
		if !up.flat {
			out = append(out, up)
		}
	}
	slices.Reverse(out)
	return out
}

// holds tells whether a node is inside of another, or that one.
func (n *node) holds(inner *node) bool {
	for ; inner != nil; inner = inner.up {
		if inner == n {
			return true
		}
	}
	return false
}

// passed takes in that a loop began with an element or a round.
func (v *View) passed(n *node, e trace.Event, f facts) {
	if up := n.up; up != nil && !f.Abreast {
		at := len(up.below) - 2
		if at >= 0 && up.below[at].number > 0 && !up.below[at].over && up.below[at] != n {
			before := up.below[at]
			before.stop(e.Time)
			up.took = append(up.took, e.Time.Sub(before.began)-before.away)
		}
	}
	if n.number > 0 && n.number == f.Number { // another process began it
		n.span = span{began: e.Time}
		v.heads(n, false)
		return
	}

	for _, one := range n.below {
		n.run.forget(one)
	}
	*n = node{
		run:   n.run,
		up:    n.up,
		place: n.place,
		name:  counted(said(e.Name), f),
		span:  span{began: e.Time},
	}
	n.pass = pass{
		number: max(1, f.Number),
		of:     f.Of,
		flat:   f.Steps <= 1,
	}
	if words := said(formats.Clip(e.Message, mostItem)); words != "" {
		n.name += " " + words
	}
	if !n.flat {
		v.heads(n, false)
		n.headed = v.old + 1
		v.last = n
		v.news = append(v.news, n.head())
	}
}

// round takes in that a step is done once more.
func (v *View) round(n *node, e trace.Event, f facts) {
	words := counted("round", f)
	if e.Message != "" {
		words += ": " + said(e.Message)
	}
	v.news = append(v.news, n.remark(words))
}

// works takes in that a worker was started, and what it does.
func (v *View) works(n *node, e trace.Event, f facts) {
	n.agent = said(e.Name)
	if f.Runner != "" {
		n.agent = said(f.Runner)
	}
	n.used = budget{max(n.used.tokens, f.Tokens), max(n.used.cost, f.Cost)}
	if doing := f.words(); doing != "" && doing != n.doing {
		n.doing = doing
		if v.Verbose {
			v.news = append(v.news, line{
				in:   1,
				mark: markAside,
				text: n.title() + ": " + n.doing,
			})
		}
	}
}

// doings are the words for what an agent does, by its kind.
var doings = map[string]string{
	"edit": "edits", "run": "runs", "read": "reads", "search": "searches", "fetch": "fetches",
}

// Doing describes an agent's current action from an event; empty if the event has none.
func Doing(e trace.Event) string {
	if e.Kind != trace.Agent {
		return ""
	}
	return factsOf(e).words()
}

// words say what an agent does.
func (a act) words() string {
	words := doings[a.Kind]
	switch {
	case a.Tool == "":
		return ""
	case words == "":
		words = "uses " + a.Tool
	case a.On == "":
		words += " (" + a.Tool + ")"
	}
	return said(strings.TrimSpace(words + " " + a.On))
}

// answered takes in that a delegation ended; the step may go on.
func (r *run) answered(n *node, e trace.Event, f facts) {
	if f.Runner != "workflow" { // whose workers were counted one by one
		r.spent.tokens += f.Tokens
		r.spent.cost += f.Cost
		if f.Runner != "" && f.Runner != "builtin" {
			r.workers++
		}
	}
	for _, c := range f.Changed[:min(len(f.Changed), mostBelow)] {
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
	if n != nil && !n.over && e.Outcome != "" {
		n.used = budget{}
		n.doing = ""
		n.agent = ""
		n.outcome = formats.Outcome(said(e.Outcome))
		n.ended = e.Time.Add(e.Duration)
	}
}

// gate takes in that a question was asked, or answered.
func (v *View) gate(r *run, n *node, e trace.Event) {
	var text string
	asks := said(e.Name)
	if e.Message == "asked" {
		r.question = asks
		r.asked = e.Time
		return
	}
	r.waited(n, e.Time)
	switch {
	case e.Message == trace.CannotAsk:
		text = asks + " tercet cannot ask here; takes '" + said(e.Outcome) + "' in " +
			e.Duration.String()
	case strings.HasPrefix(e.Message, trace.AskedAnew):
		text = asks + " is " + said(e.Message)
	case e.Message == trace.InTime:
		r.question = ""
		text = asks + " " + said(e.Outcome) + " (no answer in time)"
	default:
		r.question = ""
		return
	}
	v.news = append(v.news, line{in: 1, text: "gate: " + r.part + text})
}

// waited takes the time in which a question waited from its step, and from all around it where
// nothing else went on.
func (r *run) waited(n *node, until time.Time) {
	alone := len(r.leaves(nil)) < 2
	for away := until.Sub(r.asked); n != nil && !r.asked.IsZero() && away > 0; n = n.home() {
		n.away += away
		if !alone || n == &r.node {
			break
		}
	}
	r.asked = time.Time{}
}
