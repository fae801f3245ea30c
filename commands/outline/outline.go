package outline

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"tercet/commands/compile"
	"tercet/formats"
)

// Outline is a program as a person looks at it.
type Outline struct {
	Command     string
	Description string
	File        string
	Tiers       []string // in order, empty without the key
	During      string   // status of the task while it runs, empty without one
	Allow       []string
	Loads       []string // names in order
	Steps       []*Node
	Errors      []*Node
}

// Node is one step.
type Node struct {
	ID, Title string
	Kind      string // delegate, status, gate, check, set, foreach, parallel, ..., return, table
	Does      string // what it does with it: the subagent, the status, the question
	When      string // jq, empty if it always runs
	Tiers     []string
	Line      int
	Agents    []string // whom the step itself may call, the fallback behind the agent
	Attempts  int      // of the agent, at most, and one of the fallback
	Timeout   time.Duration
	Ways      []Way // where outcomes lead that do not simply go on
	Role      string
	Side      bool   // the children run side by side
	Many      string // what the children run once for, empty for once
	Most      int    // passes, 0 if the program does not bound them by a number
	Children  []*Node
}

// Way is where an outcome leads. Back names the steps that are run again.
type Way struct {
	On   string
	To   string
	Back []string
	Ask  []string // the subagents that a question may go to
	If   string
	Max  int
}

// Of makes the outline of a program.
func Of(p *compile.Program) *Outline {
	o := &Outline{Command: p.Name, Description: p.Description, File: p.File, Tiers: p.Tiers}
	if p.During != nil {
		o.During = p.During.Status.String()
	}
	for _, s := range p.Allow {
		o.Allow = append(o.Allow, s.String())
	}
	for _, l := range p.Loads {
		o.Loads = append(o.Loads, l.Name)
	}
	o.Steps, o.Errors = nodes(p.Ops, ""), nodes(p.Always, "")
	return o
}

// nodes makes the nodes of a sequence; what runs around a step stands before and behind it, as it runs.
func nodes(ops []*compile.Op, role string) []*Node {
	out := make([]*Node, 0, len(ops))
	for _, op := range ops {
		if op == nil {
			continue
		}
		out = append(out, within(nodes(op.Before, "before"), op.Tiers)...)
		out = append(out, node(op, role))
		out = append(out, within(nodes(op.After, "after"), op.Tiers)...)
	}
	return out
}

// within limits nodes to the tiers of the step that they stand around; one that shares none of them never runs there.
func within(list []*Node, tiers []string) []*Node {
	return slices.DeleteFunc(list, func(n *Node) bool {
		if len(n.Tiers) == 0 || len(tiers) == 0 {
			n.Tiers = append(n.Tiers, tiers...)
			return false
		}
		n.Tiers = slices.DeleteFunc(slices.Clone(n.Tiers), func(t string) bool { return !slices.Contains(tiers, t) })
		return len(n.Tiers) == 0
	})
}

func node(op *compile.Op, role string) *Node {
	attempts := 1
	if op.Retry != nil {
		attempts += op.Retry.Max
	}
	n := &Node{ID: op.ID, Title: op.Title, Line: op.Pos.Line, Role: role, Tiers: op.Tiers, Attempts: attempts, Timeout: op.Timeout.Total}
	if op.When != nil {
		n.When = op.When.Src
	}
	n.act(op)
	if op.Fallback != "" {
		n.Agents = append(n.Agents, op.Fallback)
		n.Attempts++
	}
	if op.Always != "" {
		n.Ways = append(n.Ways, Way{On: "runs when", To: map[string]string{"any": "the command ends"}[op.Always]})
		if op.Always != "any" {
			n.Ways[len(n.Ways)-1].To = "the command " + op.Always
		}
	}
	for _, r := range op.On {
		n.ways(cmp.Or(r.Outcome.String(), string(r.Class)), r.Targets)
	}
	n.below(reflect.ValueOf(op).Elem())
	if op.Do != nil {
		n.below(reflect.ValueOf(op.Do).Elem())
	}
	return n
}

// act fills in what the step does.
func (n *Node) act(op *compile.Op) {
	switch a := op.Do.(type) {
	case nil:
		n.Kind = "table"
		if op.Return != nil {
			n.Kind, n.Does = "return", brief(op.Return.Message)
		}
	case *compile.Delegate:
		n.delegate(a)
	case *compile.Gate:
		n.Kind, n.Does = "gate", brief(a.Question)
		for _, c := range a.Choices {
			n.ways(c.Label, []*compile.Target{c.Target})
		}
		if a.Wait != nil {
			n.Ways = append(n.Ways, Way{On: "no answer in " + span(a.Wait.After), To: "the choice " + a.Wait.Choose})
		}
	case *compile.Check:
		n.Kind, n.Does = "check", checked(a)
	case *compile.Foreach:
		n.Kind, n.Does, n.Many = "foreach", "$"+a.As+" of "+source(a.In), a.As
	case *compile.Parallel:
		n.Kind, n.Does, n.Side = "parallel", "all(approved)", true
		if a.Merge != nil {
			n.Does = source(a.Merge)
		}
	case *compile.Until:
		n.Kind, n.Does, n.Many, n.Most = "until", fmt.Sprintf("%s, at most %d times", source(a.Cond), a.Max), "pass", a.Max
	case *compile.Group:
		n.Kind = "group"
	case *compile.Set:
		n.Kind = "set"
		names := make([]string, len(a.Values))
		for i, v := range a.Values {
			names[i] = "$" + v.Name
		}
		n.Does = strings.Join(names, ", ")
	case *compile.Fail:
		n.Kind, n.Does = "fail", brief(a.Message)
	default: // a kind of step that is new here
		n.Kind = strings.ToLower(reflect.TypeOf(a).Elem().Name())
	}
	if op.Do != nil && op.Return != nil {
		n.Ways = append(n.Ways, Way{On: "then", To: "return"})
	}
}

func (n *Node) delegate(a *compile.Delegate) {
	n.Kind, n.Does, n.Agents = "delegate", a.Agent, []string{a.Agent}
	if len(a.Among) > 0 {
		n.Agents = nil
		for _, one := range a.Among {
			n.Agents = append(n.Agents, one.Agent)
		}
		n.Does = "one of " + strings.Join(n.Agents, ", ")
	}
	switch {
	case a.Agent == compile.GitWorkflow && literal(a.With, "action") != "":
		n.Does += " " + literal(a.With, "action")
	case a.Checks:
		n.Kind, n.Does = "check", "by "+a.Agent
	case a.Sync:
		n.Kind = "status"
		n.Does = cmp.Or(a.To.String(), literal(a.With, "status"), "what the expression gives")
		if phase := literal(a.With, "phase"); phase != "" {
			n.Does = "phase " + phase + " " + n.Does
		}
	}
	if n.Timeout == 0 {
		n.Timeout = a.Info.Timeout.Total
	}
	if n.Timeout == 0 {
		n.Timeout = formats.DefaultStepTimeout
	}
	if a.Info.Builtin {
		n.Timeout = 0 // Go code, done at once
	}
}

// literal is the text of a member of a map value, the source of an expression.
func literal(v *compile.Value, key string) string {
	if v == nil {
		return ""
	}
	for _, f := range v.Fields {
		if f.Key != key || f.Value == nil {
			continue
		}
		switch {
		case f.Value.Expr != nil:
			return f.Value.Expr.Src
		case f.Value.Text != nil:
			return brief(f.Value.Text)
		case f.Value.Lit != nil:
			return fmt.Sprint(f.Value.Lit)
		}
	}
	return ""
}

func checked(a *compile.Check) string {
	switch {
	case a.Document != "":
		return "a valid " + a.Document
	case a.File != nil:
		return "a file"
	default:
		return source(a.Expr)
	}
}

func source(e *compile.Expr) string {
	if e == nil {
		return ""
	}
	return strings.Join(strings.Fields(e.Src), " ")
}

// brief is a text with its expressions, on one line.
func brief(t *compile.Text) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Expr != nil {
			b.WriteString("${{ " + source(p.Expr) + " }}")
		} else {
			b.WriteString(p.Lit)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// ways adds where an outcome leads; the first that matches counts, so all of them are shown.
func (n *Node) ways(on string, targets []*compile.Target) {
	for _, t := range targets {
		if t == nil {
			continue
		}
		w := Way{On: on, To: targetWord(t), Max: t.Max}
		if t.If != nil {
			w.If = source(t.If)
		}
		w.Back = t.Redo
		switch {
		case t.Goto != "" && t.Back:
			w.Back = []string{t.Goto}
		case t.Goto != "":
			w.To += " " + t.Goto
		case t.Gate != nil && t.Gate.Question != nil:
			w.To += ": " + brief(t.Gate.Question)
		}
		for _, one := range t.Ask {
			w.Ask = append(w.Ask, one.Name)
		}
		if w.To != "next" || w.If != "" {
			n.Ways = append(n.Ways, w)
		}
	}
}

// targetWord is the word of the language for a target.
func targetWord(t *compile.Target) string {
	words := map[compile.TargetKind]string{
		compile.ToNext: "next", compile.ToFail: "fail", compile.ToRedo: "redo", compile.ToReturn: "return", compile.ToGate: "gate",
		compile.ToRollback: "rollback", compile.ToAsk: "ask", compile.ToGoto: "goto",
	}
	if w, ok := words[t.Kind]; ok {
		return w
	}
	return "another step"
}

// below adds the steps that a part of the program holds: a body, side by side, before, after, in compensation.
func (n *Node) below(v reflect.Value) {
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		role := strings.ToLower(v.Type().Field(i).Name)
		if role == "before" || role == "after" {
			continue // beside the step, not in it
		}
		if role == "body" || role == "children" || role == "ops" {
			role = ""
		}
		switch ops := v.Field(i).Interface().(type) {
		case []*compile.Op:
			n.Children = append(n.Children, nodes(ops, role)...)
		case *compile.Op:
			n.Children = append(n.Children, nodes([]*compile.Op{ops}, role)...)
		}
	}
}

// Walk visits the nodes of the outline, each before its children.
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

// Agents lists the subagents that the command may call, each once, in the order of the file.
func (o *Outline) Agents() []string {
	var out []string
	o.Walk(func(n *Node) {
		all := slices.Clone(n.Agents)
		for _, w := range n.Ways {
			all = append(all, w.Ask...)
		}
		for _, a := range all {
			if !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	})
	return out
}

// Gates lists the steps that ask a person, with their question or the outcome that asks.
func (o *Outline) Gates() []string {
	var out []string
	o.Walk(func(n *Node) {
		if n.Kind == "gate" {
			out = append(out, n.ID+": "+n.Does)
		}
		for _, w := range n.Ways {
			if strings.HasPrefix(w.To, "gate") {
				out = append(out, n.ID+": when "+w.On)
			}
		}
	})
	return out
}

// InTier tells whether a step runs in a tier; all do where the step names none.
func (n *Node) InTier(tier string) bool {
	return tier == "" || len(n.Tiers) == 0 || slices.Contains(n.Tiers, tier)
}
