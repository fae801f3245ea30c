package outline

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// Outline is a program in a form for display.
type Outline struct {
	*compile.Program
	Steps, Errors []*Node
}

// Node is one step.
type Node struct {
	Info     *compile.Info
	Kind     string // delegate, status, gate, check, set, foreach, parallel, ..., return, table
	Does     string // its object: the subagent, the status, the question
	Role     string // before, after, compensate; empty for any other step
	Tiers    []string
	Agents   []string // subagents that the step itself may call, the fallback last
	Attempts int      // at most, of the agent and one of the fallback
	Timeout  time.Duration
	Ways     []Way  // targets of outcomes that do not simply go on
	Many     string // what the children loop over; empty: they run once
	Most     int    // passes; 0 if no number bounds them
	Children []*Node
}

// Way is where an outcome leads. Back names the steps that run again.
type Way struct {
	On   string
	To   string
	Back []string
	Ask  []string // the subagents that may answer a question
	If   string
	Max  int
}

// Of makes the outline of a program.
func Of(p *compile.Program) *Outline {
	return &Outline{
		Program: p,
		Steps:   nodes(p, p.File.Steps),
		Errors:  nodes(p, p.File.Errors),
	}
}

// forLine leaves out the steps that run only with a flag which the line does not have.
func (o *Outline) forLine(line argspec.Values) *Outline {
	var some func([]*Node) []*Node
	some = func(list []*Node) (out []*Node) {
		for _, n := range list {
			if n.Info.Step.When != nil {
				name, ok := strings.CutPrefix(n.Info.Step.When.Src, "$args.")
				if v, _ := line.Get(name); ok && v == false {
					continue
				}
			}
			one := *n
			one.Children = some(n.Children)
			out = append(out, &one)
		}
		return out
	}
	return &Outline{
		Program: o.Program,
		Steps:   some(o.Steps),
		Errors:  some(o.Errors),
	}
}

// nodes makes the nodes of a sequence; what runs around a step stands before and behind it, as it
// runs.
func nodes(p *compile.Program, list []*syntax.Step) []*Node {
	out := make([]*Node, 0, len(list))
	for _, s := range list {
		info := p.Info(s)
		for _, b := range info.Before {
			out = append(out, limitToTiers(node(p, b, "before"), info.Tiers)...)
		}
		out = append(out, node(p, info, ""))
		for _, b := range info.After {
			out = append(out, limitToTiers(node(p, b, "after"), info.Tiers)...)
		}
	}
	return out
}

// limitToTiers limits a node to the tiers of the step that it stands around; one that shares none
// of them never runs there.
func limitToTiers(n *Node, tiers []string) []*Node {
	switch {
	case len(tiers) == 0:
	case len(n.Tiers) == 0:
		n.Tiers = tiers
	default:
		n.Tiers = slices.DeleteFunc(slices.Clone(
			n.Tiers,
		), func(t string) bool { return !slices.Contains(tiers, t) })
		if len(n.Tiers) == 0 {
			return nil
		}
	}
	return []*Node{n}
}

func node(p *compile.Program, i *compile.Info, role string) *Node {
	n := &Node{
		Info:     i,
		Role:     role,
		Tiers:    i.Tiers,
		Attempts: 1,
		Timeout:  i.Terms.Timeout.Total,
	}
	if i.Terms.Retry != nil {
		n.Attempts += i.Terms.Retry.Max
	}
	n.fillAction()
	if i.Fallback != nil {
		n.Agents = append(n.Agents, i.Fallback.Agent)
		n.Attempts++
	}
	if always := i.Step.Always.String(); always == "any" {
		n.addWay("runs when", "the command ends")
	} else if always != "" {
		n.addWay("runs when", "the command "+always)
	}

	for _, r := range i.On {
		n.addWays(r.Status.Text, r.Targets...)
	}
	if i.Undo != nil {
		n.Children = append(n.Children, node(p, i.Undo, "compensate"))
	}
	n.Children = append(n.Children, nodes(p, i.Step.Body)...)
	return n
}

// fillAction fills in what the step does.
func (n *Node) fillAction() {
	i := n.Info
	n.Kind = "table"
	if i.Step.Action != nil {
		n.Kind = i.Step.Kind().Word
		n.Does = plainOf(i.Step.Action)
	} else if i.Step.Return != nil {
		n.Kind = "return"
		n.Does = brief(i.Step.Return.Message)
	}

	switch a := i.Step.Action.(type) {
	case *syntax.Delegate, *syntax.Publish:
		n.Kind = "delegate"
		n.Does = i.Call.Agent
		action := literal(i.Call.With, "action")
		if i.Call.Agent == compile.GitWorkflow && action != "" {
			n.Does += " " + action
			if literal(i.Call.With, "as") == "pr" {
				n.Does += ": pushes the branch and opens a request"
			} else if action == "issue" {
				n.Does += ": asks gh or glab"
			}
		}
	case *syntax.Status:
		n.Does = cmp.Or(literal(i.Call.With, "status"), "what the expression gives")
		if phase := literal(i.Call.With, "phase"); phase != "" {
			n.Does = "phase " + phase + " " + n.Does
		}
	case *syntax.Gate:
		n.Does = brief(a.Question)
		for _, c := range a.Choices {
			n.addWays(c.Label.Text, c.Target)
		}
		if t := a.Timeout; t != nil {
			n.addWay(
				"no answer in "+Span(time.Duration(t.After*float64(time.Second))),
				"the choice "+t.Choose.String(),
			)
		}
	case *syntax.Check:
		switch {
		case i.Call != nil:
			n.Does = "by " + i.Call.Agent
		case a.Document != nil:
			n.Does = "a valid " + a.Document.Text
		case a.File != nil:
			n.Does = "a file"
		default:
			n.Does = source(a.Expr)
		}
	case *syntax.Foreach:
		n.Does = "$" + a.As.Text + " of " + source(a.In)
		n.Many = a.As.Text
	case *syntax.Parallel:
		n.Does = cmp.Or(source(a.Merge), "all(approved)")
	case *syntax.Until:
		n.Does = fmt.Sprintf("%s, at most %d times", source(a.Cond), a.Max)
		n.Many = "pass"
		n.Most = a.Max
	case *syntax.Set:
		for _, v := range a.Values {
			n.Does += ", $" + v.Name.Text
		}
		n.Does = strings.TrimPrefix(n.Does, ", ")
	case *syntax.Fail:
		n.Does = brief(a.Message)
	}

	if i.Call != nil {
		n.fillCalls(i.Call)
	}
	if i.Step.Action != nil && i.Step.Return != nil {
		n.addWay("then", "return")
	}
}

// plainOf is what is told of a kind that is new here: a number with a fraction is seconds.
func plainOf(a syntax.Action) string {
	for v, at := reflect.ValueOf(a).Elem(), 0; at < v.NumField(); at++ {
		if seconds, ok := reflect.TypeAssert[float64](v.Field(at)); ok {
			return Span(time.Duration(seconds * float64(time.Second)))
		}
	}
	return ""
}

func (n *Node) addWay(on, to string) {
	n.Ways = append(n.Ways, Way{On: on, To: to})
}

// fillCalls fills in whom the step may call, and how long that may take.
func (n *Node) fillCalls(c *compile.Call) {
	n.Agents = []string{c.Agent}
	switch {
	case c.Agent == "" && len(c.Among) == 0:
		n.Does = "the one that the line names"
		n.Agents = []string{"the one that the line names"}
	case len(c.Among) > 0:
		n.Agents = nil
		for _, one := range c.Among {
			n.Agents = append(n.Agents, one.Agent)
		}
		n.Does = "one of " + strings.Join(n.Agents, ", ")
	}

	n.Timeout = cmp.Or(n.Timeout, c.Info.Timeout.Total, formats.DefaultStepTimeout)
	if c.Info.Builtin {
		n.Timeout = 0 // Go code, done at once
	}
}

// literal is the text of a member of an input, the source of an expression.
func literal(with []syntax.Field, key string) string {
	for _, f := range with {
		if f.Key.Text != key || f.Value == nil {
			continue
		}
		v := f.Value
		switch {
		case v.Expr != nil:
			return v.Expr.Src
		case v.Text != nil:
			return brief(v.Text)
		case v.Lit != nil:
			return fmt.Sprint(v.Lit)
		}
	}
	return ""
}

func source(e *syntax.Expr) string {
	if e == nil {
		return ""
	}
	return strings.Join(strings.Fields(e.Src), " ")
}

// brief is a text on one line.
func brief(t *syntax.Text) string {
	return strings.Join(strings.Fields(t.String()), " ")
}

// addWays adds where an outcome leads; the first that matches counts, so all of them are shown.
func (n *Node) addWays(on string, targets ...*syntax.Target) {
	for _, t := range targets {
		w := Way{
			On:   on,
			To:   string(t.Kind),
			If:   source(t.If),
			Max:  t.Max,
			Back: n.Info.Reruns(t),
		}
		switch {
		case t.Kind == syntax.ToGoto && n.Info.GoesBack(t):
			w.Back = []string{t.Steps[0].Text}
		case t.Kind == syntax.ToGoto:
			w.To += " " + t.Steps[0].Text
		case t.Gate != nil && t.Gate.Question != nil:
			w.To += ": " + brief(t.Gate.Question)
		}
		for _, one := range t.Agents {
			w.Ask = append(w.Ask, one.Text)
		}
		if w.To != "next" || w.If != "" {
			n.Ways = append(n.Ways, w)
		}
	}
}

// Walk visits the nodes, each before its children.
func (o *Outline) Walk(visit func(n *Node)) {
	var each func([]*Node)
	each = func(list []*Node) {
		for _, n := range list {
			visit(n)
			each(n.Children)
		}
	}
	each(o.Steps)
	each(o.Errors)
}

// Agents lists the subagents that the command may call, each once, in file order.
func (o *Outline) Agents() []string {
	var out []string
	add := func(agents []string) {
		for _, a := range agents {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}

	o.Walk(func(n *Node) {
		add(n.Agents)
		for _, w := range n.Ways {
			add(w.Ask)
		}
	})
	return out
}

// Gates lists the steps that may ask the user, each with its question or what the question is
// about. That is an outcome, the command of a check, what a subagent asks before it works, or a
// gate of a workflow subagent.
func (o *Outline) Gates(known func(agent string) Facts) []string {
	var out []string
	// their outcomes ask nothing: another step decides, or the command has ended
	quiet := map[*Node]bool{}
	for _, n := range o.Errors {
		quiet[n] = true
	}
	stall := fmt.Sprintf("%d rounds come to the same", formats.StallRounds)
	steps := map[string]*syntax.Step{}
	o.Walk(func(n *Node) { steps[n.Info.ID] = n.Info.Step })
	o.Walk(func(n *Node) {
		add := func(words ...string) {
			out = append(out, n.Info.ID+": "+strings.Join(words, " "))
		}
		if n.Info.Step.Kind().Asks {
			add(n.Does)
		}
		if argv := checkCommand(n); argv != "" {
			add("before", argv, "runs")
		}
		for _, agent := range n.Agents {
			f := known(agent)
			if f.Asks != "" {
				add(f.Asks)
			}
			if f.Program != nil {
				leaf := func(agent string) Facts { // what has steps calls nothing that has
					f := known(agent)
					f.Program = nil
					return f
				}
				for _, inner := range Of(f.Program).Gates(leaf) {
					add(agent, inner)
				}
			}
		}

		for _, w := range n.Ways {
			switch {
			case strings.HasPrefix(w.To, "gate"):
				add("when", w.On)
			case len(w.Ask) > 0:
				add("when", w.On, "and", strings.Join(w.Ask, ", "), "does not answer")
			case w.To == string(syntax.ToRollback):
				add("when", w.On, "and the rollbacks are used up")
			}
			if !n.Info.Step.Kind().Asks && o.mayStall(w, steps) {
				add("when", w.On, "and", stall)
			}
		}

		if n.Most > formats.StallRounds && o.CallsWorker(n.Info.Step.Body...) {
			add("when", stall)
		}
		for _, child := range n.Children {
			quiet[child] = quiet[n] || n.Side() || child.Role == "compensate"
		}

		for _, outcome := range n.userOutcomes() {
			if !quiet[n] {
				add("when", outcome.String())
			}
		}
	})
	return out
}

// mayStall tells whether a way back may be taken so often that its rounds are compared.
func (o *Outline) mayStall(w Way, steps map[string]*syntax.Step) bool {
	var again []*syntax.Step
	for _, id := range w.Back {
		if s := steps[id]; s != nil {
			again = append(again, s)
		}
	}
	back := w.To == string(syntax.ToRollback) || w.To == string(syntax.ToRedo)
	return back && w.most(o.Limits.WithDefaults()) >= formats.StallRounds && o.CallsWorker(again...)
}

// userOutcomes are the outcomes that nothing but the user can settle, and of which the file says
// nothing.
func (n *Node) userOutcomes() []formats.Outcome {
	return slices.DeleteFunc(n.possibleUserOutcomes(), func(o formats.Outcome) bool {
		return slices.ContainsFunc(n.Info.On, func(r syntax.Rule) bool {
			always := slices.ContainsFunc(r.Targets, func(t *syntax.Target) bool {
				return t.If == nil
			})
			return always && r.Status.Text == o.String()
		})
	})
}

// possibleUserOutcomes are those that the step may have; side by side it is what its children have.
func (n *Node) possibleUserOutcomes() []formats.Outcome {
	var out []formats.Outcome
	for _, o := range []formats.Outcome{formats.OutcomeBlocked, formats.OutcomeSuspended} {
		ends := len(n.Agents) > 0 && slices.Contains(n.Info.Outcomes(), o)
		has := func(child *Node) bool {
			return slices.Contains(child.possibleUserOutcomes(), o)
		}
		if ends || n.Side() && slices.ContainsFunc(n.Children, has) {
			out = append(out, o)
		}
	}
	return out
}

// checkCommand is what a check itself names, which needs approval before it runs.
func checkCommand(n *Node) string {
	var argv []string
	if n.Info.Call != nil && n.Info.Call.Agent == compile.Gatekeeper {
		for _, f := range n.Info.Call.With {
			for _, word := range f.Value.Items {
				if f.Key.Text == "command" {
					argv = append(
						argv,
						literal([]syntax.Field{{Key: f.Key, Value: word}}, "command"),
					)
				}
			}
		}
	}
	return strings.Join(argv, " ")
}

// Condition is the jq condition of the step on one line; empty if it always runs.
func (n *Node) Condition() string {
	return source(n.Info.Step.When)
}

// Side reports whether the children run side by side.
func (n *Node) Side() bool {
	return n.Info.Step.Kind().Body == syntax.Concurrent
}

// InTier reports whether a step runs in a tier; a step that names no tier runs in all.
func (n *Node) InTier(tier string) bool {
	return tier == "" || len(n.Tiers) == 0 || slices.Contains(n.Tiers, tier)
}
