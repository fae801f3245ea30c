package syntax

import (
	"slices"

	"tercet/internal/md"
)

// This file holds what a kind of step is in the format: its row, its place among the other keys,
// its node, and how its value becomes that node.

// stepForm has a row for each key of a step, that of each kind of step among them.
var stepForm = Form{
	Name: "step",
	What: "a step",
	Keys: []Key{
		{"id", "word", "to be referred to; else the title in lower case"},
		{"when", "jq", "the step is skipped when it is false"},
		{"tier", "word|words", "the tiers in which it runs; Light+ is that one and later ones"},
		{"delegate", "word|text", "the subagent that does the work"},
		{"among", "words", "the subagents that an expression may name"},
		{"parallel", "children", "steps side by side, by name"},
		{"foreach", "jq", "an array; the body runs for each element"},
		{"as", "word", "name of the element, else item"},
		{"max_parallel", "integer", "elements side by side"},
		{"until", "jq", "the body is repeated until it holds"},
		{"max", "integer", "passes at most"},
		{"do", "steps", "the body as a list"},
		{"merge", "jq", "whether the children together pass"},
		{"status", "word|form:status", "the task's new status"},
		{"wait", "duration", "goes on after it; more than a minute suspends the run until then"},
		{"gate", "text", "a question to you"},
		{"show", "list|jq", "what is shown with it"},
		{"choices", "choices", "labels with where they lead"},
		{"auto", "word", "the choice when tercet cannot ask"},
		{"evidence", "list|text|jq", "paths, patterns or steps whose files the answer is bound to"},
		{"quorum", "integer", "how many people have to make the same choice"},
		{
			"consent",
			"boolean",
			"without a terminal only --yes and the auto-approve file answer it; auto does not",
		},
		{"check", "jq|form:check", "approved or rejected"},
		{"else", "text", "the message of a check that fails"},
		{"set", "map", "names with jq"},
		{"publish", "form:publish", "brings the work of the worktree to a branch"},
		{"fail", "text", "ends the command as failed"},
		{"code", "word", "of the failure"},
		{"table", "jq", "rows to show"},
		{"columns", "words", "of the table"},
		{"title", "text", "of the table"},
		{"return", "text|form:return", "ends the command"},
		{"with", "map", "input of the subagent"},
		{"timeout", "duration|form:timeout|form:wait", "of the work, or of a gate"},
		{
			"retry",
			"integer|form:retry",
			"further attempts of a failure that may pass by itself (2)",
		},
		{"fallback", "word", "a subagent tried once after the retries"},
		{"on", "rules", "where outcomes lead"},
		{"expect", "form:expect", "what the result must hold"},
		{"prompt", "text", "a further instruction"},
		{"always", "word", "in Error Handling: failed, completed or any"},
		{"in", "word", "worktree, main or none"},
		{"session", "word", "keep: its further rounds go on in the agent's own session"},
		{"board", "word|form:board", "topic to which the result is posted"},
		{"compensate", "form:step", "takes the effect back"},
		{"after", "words", "in Between Steps: runs after these"},
		{"before", "words", "in Between Steps: runs before these"},
	},
}

// partOf names the keys that a key of a step is read with, beside those of which one must stand in
// the step with it.
var partOf = map[string][]string{
	"as":           {"foreach"},
	"max_parallel": {"foreach"},
	"merge":        {"foreach", "parallel"},
	"max":          {"until"},
	"among":        {"delegate"},
	"show":         {"gate"},
	"choices":      {"gate"},
	"auto":         {"gate"},
	"evidence":     {"gate"},
	"quorum":       {"gate"},
	"consent":      {"gate"},
	"else":         {"check"},
	"code":         {"fail"},
	"columns":      {"table"},
	"title":        {"table"},
}

var allowedBeside = map[string][]string{
	"with":       workers,
	"fallback":   workers,
	"prompt":     workers,
	"board":      workers,
	"session":    {"delegate"},
	"retry":      {"delegate", "foreach", "parallel", "until", "check", "publish"},
	"expect":     {"delegate", "foreach", "parallel", "until", "check"},
	"in":         {"delegate", "foreach", "parallel", "until", "check", "publish"},
	"compensate": {"delegate", "foreach", "parallel", "until", "status", "publish", "check"},
}

// workers are the keys that may start workers. actions are the keys of which a step has exactly
// one.
var (
	workers = []string{"delegate", "foreach", "parallel", "until"}
	actions = []string{
		"delegate", "parallel", "foreach", "until", "status", "wait", "gate", "check", "set",
		"publish", "fail",
	}
)

// ActionWords are the keys that say what a step does.
func ActionWords() []string {
	return slices.Clone(actions)
}

// The keys of a nested step.
var (
	childKeys = []string{
		"when", "tier", "delegate", "among", "check", "else", "with", "timeout", "retry",
		"fallback", "expect", "prompt", "in", "board", "session",
	}
	compensationKeys = []string{
		"when", "delegate", "among", "status", "check", "else", "publish", "with", "timeout",
		"retry", "fallback", "prompt", "in",
	}
)

// Action is what a step does: one of Delegate, Parallel, Foreach, Until, Group, Status, Wait, Gate,
// Check, Set, Publish and Fail.
type Action interface{ Kind() Kind }

// Kind is a row of the table of kinds of steps: the word for the kind, and its traits. A trait is
// what code asks about a step that does not care which kind it is.
type Kind struct {
	Word      string // its key; "group" for a step with a body and no key
	Body      Body
	Delegates bool // its work is that of a subagent that the file names
	Judges    bool // it tests something by itself
	Waits     bool // it lets time pass, so that something else can change
	Asks      bool // it asks the user
	Fails     bool // it never passes, and nothing runs after it
}

// Body says how the steps run that are inside a step.
type Body uint8

// The bodies of steps.
const (
	NoBody     Body = iota
	Inline          // once, as a part of the sequence that the step is in
	Concurrent      // once, side by side, each in a scope of its own
	Repeated        // in passes, each with a scope of its own
)

// Kind is the row of its kind.
func (*Delegate) Kind() Kind { return Kind{Word: "delegate", Delegates: true} }

// Kind is the row of its kind.
func (*Parallel) Kind() Kind { return Kind{Word: "parallel", Body: Concurrent} }

// Kind is the row of its kind.
func (*Foreach) Kind() Kind { return Kind{Word: "foreach", Body: Repeated} }

// Kind is the row of its kind.
func (*Until) Kind() Kind { return Kind{Word: "until", Body: Repeated} }

// Kind is the row of its kind.
func (*Group) Kind() Kind { return Kind{Word: "group", Body: Inline} }

// Kind is the row of its kind.
func (*Status) Kind() Kind { return Kind{Word: "status"} }

// Kind is the row of its kind.
func (*Wait) Kind() Kind { return Kind{Word: "wait", Waits: true} }

// Kind is the row of its kind.
func (*Gate) Kind() Kind { return Kind{Word: "gate", Asks: true} }

// Kind is the row of its kind.
func (*Check) Kind() Kind { return Kind{Word: "check", Judges: true} }

// Kind is the row of its kind.
func (*Set) Kind() Kind { return Kind{Word: "set"} }

// Kind is the row of its kind.
func (*Publish) Kind() Kind { return Kind{Word: "publish"} }

// Kind is the row of its kind.
func (*Fail) Kind() Kind { return Kind{Word: "fail", Fails: true} }

// Kind is the row of the step's kind; the zero row if it has no action.
func (s *Step) Kind() Kind {
	if s.Action == nil {
		return Kind{}
	}
	return s.Action.Kind()
}

// Delegation is the delegation in the block of the step: the step itself, or what a loop does for
// each element. It is nil if there is none.
func (s *Step) Delegation() *Delegate {
	switch a := s.Action.(type) {
	case *Delegate:
		return a
	case *Foreach:
		return a.Delegate
	}
	return nil
}

// Binds are the names that the step gives to values.
func (s *Step) Binds() []string {
	var out []string
	if set, ok := s.Action.(*Set); ok {
		for _, v := range set.Values {
			out = append(out, v.Name.Text)
		}
	}
	return out
}

// Delegate hands work to a subagent: Agent, or the member of Among that Pick chooses.
type Delegate struct {
	Pos   Pos
	Agent Word // empty when Pick is set
	Pick  *Text
	Among []Word
}

// Parallel runs the body side by side. A child's name is its id.
type Parallel struct {
	Pos   Pos
	Merge *Expr
}

// Until repeats the body until the condition holds after a pass, at most Max times.
type Until struct {
	Pos  Pos
	Cond *Expr
	Max  int
}

// Group is a step with a body and no action of its own.
type Group struct{ Pos Pos }

// Publish brings the work of the worktree to a branch.
type Publish struct {
	Pos                  Pos
	To, As, Push, Closes *Value // nil if absent
}

// Foreach runs the body, or the delegate in the same block, for each element.
type Foreach struct {
	Pos      Pos
	In       *Expr
	As       Word // "item" without a position if absent
	Parallel int  // elements that run side by side, 0 if absent
	Delegate *Delegate
	Merge    *Expr
}

// Status changes the task's status, or with Phase the status of a phase.
type Status struct {
	Pos       Pos
	To        *Value
	Task      *Value
	Phase     *Value
	Artifacts *Value
	Reason    *Value
}

// Wait waits for a number of seconds.
type Wait struct {
	Pos Pos
	For float64
}

// Gate asks the user.
type Gate struct {
	Pos      Pos
	Question *Text
	Show     []*Expr
	Choices  []GateChoice // default: approve -> next, reject -> fail
	Auto     *Word
	Evidence *Value       // paths, patterns and step ids
	Quorum   int          // number of users who must make the same choice; 0: one
	Consent  bool         // auto alone does not answer the gate
	Timeout  *GateTimeout `json:"wait"`
}

// GateTimeout is the choice taken if no answer comes in time.
type GateTimeout struct {
	Pos    Pos
	After  float64 // seconds
	Choose *Word
}

// GateChoice is one label with its target.
type GateChoice struct {
	Label  Word
	Target *Target
}

// Check tests a condition. Exactly one of Expr, Document, File, Command and Project is set.
type Check struct {
	Pos      Pos
	Expr     *Expr
	Document *Word
	Path     *Value // with Document; nil: the newest artifact of that type
	File     *Value
	Nonempty bool
	Command  []*Value
	Project  []Word
	Else     *Text
}

// Set assigns values to names.
type Set struct {
	Pos    Pos
	Values []SetValue
}

// SetValue is one name with its jq.
type SetValue struct {
	Name Word
	Expr *Expr
}

// Fail ends the command as failed.
type Fail struct {
	Pos     Pos
	Message *Text
	Code    *Word
}

// newAction makes the node of a kind of step from the value of its key, with the keys that are a
// part of it.
func (b *block) newAction(key string, v *md.Node) Action {
	pos := v.Pos
	switch key {
	case "delegate":
		return b.delegate(v)
	case "parallel":
		b.step.Body = b.p.children(v)
		return withParts(b, key, &Parallel{Pos: pos})
	case "foreach":
		return b.loop(v)
	case "until":
		if b.node.Get("max") == nil {
			b.p.report(CodeValue, pos, "add max: 3", "expected 'max' beside 'until'")
		}
		return withParts(b, key, &Until{Pos: pos, Cond: b.p.jq(v)})
	case "status":
		return record[Status](b.p, statusForm, v)
	case "wait":
		return &Wait{Pos: pos, For: b.p.duration(v)}
	case "gate":
		return b.gate(v)
	case "check":
		return withParts(b, key, b.p.check(v))
	case "set":
		return b.p.set(v)
	case "publish":
		return record[Publish](b.p, publishForm, v)
	default:
		return withParts(b, key, &Fail{Pos: pos, Message: b.p.text(v)})
	}
}

// withParts reads the keys of the block that are a part of the one that an action has.
func withParts[T Action](b *block, key string, action T) T {
	b.readParts(key, action)
	return action
}
