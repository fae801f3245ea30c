package outline

import (
	"maps"
	"reflect"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// Compiled is a program as plain data for JSON: names in lower case with underscores, empty members left out,
// expressions as {jq, line, col}, texts as they are written, subagents by name.
func Compiled(p *compile.Program) map[string]any {
	e := encoder{p}
	front, args, own := &p.File.Front, &p.File.Args, &p.Own
	out := object{
		"name": p.Name, "description": front.Description.Text, "file": p.File.Name, "hash": p.Hash(),
		"examples": front.Examples,
		"hidden":   front.Hidden, "tiers": p.Tiers, "workflow": p.Workflow, "allow": p.Allow, "env": words(front.Env),
		"args": list(p.Args, argument), "loads": list(args.Load, load), "requires": list(args.Require, require),
		"ops": e.steps(p.File.Steps), "always": e.steps(p.File.Errors), "back": call(own.Back, true),
		"limits": limits(p.Limits),
	}
	if status, _ := p.During(); status != "" {
		begin, failed := call(own.Begin, true), call(own.Failed, true)
		begin["to"] = status
		if failed != nil {
			failed["to"] = literal(own.Failed.With, "status")
		}
		out["during"] = small(object{
			"pos": pos(front.During.Pos), "status": status, "when": expr(front.During.When), "begin": begin, "failed": failed,
		})
	}
	if own.Open != nil {
		out["worktree"] = object{"open": call(own.Open, false), "close": call(own.Close, false)}
	}
	if p.Output != nil {
		out["output"] = p.Output.JSON()
	}
	return small(out)
}

// object is a map on the way to JSON.
type object = map[string]any

// small leaves out what says nothing.
func small(o object) object {
	maps.DeleteFunc(o, func(_ string, v any) bool { return v == nil || reflect.ValueOf(v).IsZero() })
	return o
}

// some is a map of numbers without those that are not set; nil if none is.
func some(o object) object {
	if small(o); len(o) == 0 {
		return nil
	}
	return o
}

// list gives each of some as data; nil for none.
func list[T any](in []T, one func(*T) any) []any {
	var out []any
	for i := range in {
		out = append(out, one(&in[i]))
	}
	return out
}

func words(in []syntax.Word) []string {
	var out []string
	for _, w := range in {
		out = append(out, w.Text)
	}
	return out
}

func word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	return w.Text
}

func pos(p formats.Pos) any {
	if p.IsZero() {
		return nil
	}
	return []int{p.Line, p.Col}
}

func expr(e *syntax.Expr) any {
	if e == nil {
		return nil
	}
	return object{"jq": e.Src, "line": e.Pos.Line, "col": e.Pos.Col}
}

func value(v *syntax.Value) any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case syntax.Jq:
		return expr(v.Expr)
	case syntax.Template:
		return verbatim(v.Text)
	case syntax.Map:
		return fields(v.Fields)
	case syntax.List:
		out := []any{}
		for _, item := range v.Items {
			out = append(out, value(item))
		}
		return out
	case syntax.Literal:
	}
	return v.Lit
}

func fields(in []syntax.Field) object {
	out := object{}
	for _, f := range in {
		out[f.Key.Text] = value(f.Value)
	}
	return out
}

func argument(s *argspec.Spec) any {
	out := small(object{
		"pos": pos(s.Pos), "name": s.Name, "type": s.Type, "required": s.Required, "description": s.Description,
		"flag":  s.Flag,
		"short": s.Short, "values": s.Values, "min": s.Min, "max": s.Max, "repeat": s.Repeat, "complete": s.Complete,
	})
	if s.Default != nil {
		out["default"] = s.Default
	}
	if s.Pattern != nil {
		out["pattern"] = s.Pattern.String()
	}
	return out
}

func limits(l formats.Limits) object {
	return some(object{
		"rollbacks": l.Rollbacks, "retries": l.Retries, "visits": l.Visits, "steps": l.Steps, "elements": l.Elements,
		"parallel": l.Parallel,
		"spawns":   l.Spawns, "duration": l.Duration.Seconds(), "tokens": l.Tokens, "cost": l.Cost,
	})
}

func texts(in []*syntax.Text) []any {
	return list(in, func(t **syntax.Text) any { return verbatim(*t) })
}

func load(l *syntax.Load) any {
	e := l.Expr
	if l.Task != nil {
		e = l.Task
	}
	out := object{
		"pos": pos(l.Name.Pos), "name": l.Name.Text, "optional": l.Optional, "task": compile.IsTask(l), "expr": expr(e),
		"files": texts(l.Files),
	}
	if d := l.Document; d != nil {
		out["document"] = small(object{"profile": d.Profile.Text, "path": texts(d.Path), "expr": expr(d.Expr)})
	}
	return small(out)
}

func require(r *syntax.Require) any {
	code, _ := compile.ExitCode(r.Exit)
	return small(object{"pos": pos(r.Pos), "when": expr(r.When), "else": verbatim(r.Else), "code": code})
}

func call(c *compile.Call, sync bool) object {
	if c == nil {
		return nil
	}
	return small(object{"agent": c.Agent, "with": fields(c.With), "link": c.Link, "sync": sync})
}

func give(r *syntax.Return) object {
	if r == nil {
		return nil
	}
	out := small(object{
		"status": value(r.Status), "message": verbatim(r.Message), "text": value(r.Text), "artifacts": value(r.Artifacts),
		"next_steps": verbatim(r.NextSteps),
	})
	if r.Fields != nil {
		out["fields"] = fields(r.Fields)
	}
	return out
}

// encoder writes steps.
type encoder struct{ prog *compile.Program }

func (e encoder) steps(in []*syntax.Step) []any {
	return list(in, func(s **syntax.Step) any { return e.step(e.prog.Info(*s)) })
}

func (e encoder) hosted(in []*compile.Info) []any {
	return list(in, func(i **compile.Info) any { return e.step(*i) })
}

func (e encoder) step(i *compile.Info) object {
	if i == nil {
		return nil
	}
	out := object{
		"pos": pos(i.Pos), "id": i.ID, "title": i.Title, "when": expr(i.When), "tiers": i.Tiers, "do": e.action(i),
		"return": give(i.Return),
		"always": word(i.Always), "in": i.Terms.In, "board": i.Terms.Board, "compensate": e.step(i.Undo),
		"before": e.hosted(i.Before),
		"after":  e.hosted(i.After), "host": i.Host, "timeout": some(object{
			"total": i.Terms.Timeout.Total.Seconds(), "idle": i.Terms.Timeout.Idle.Seconds(),
		}),
		"on": list(i.On, func(r *syntax.Rule) any {
			key := "outcome"
			if compile.IsClass(r.Status.Text) {
				key = "class"
			}
			return object{key: r.Status.Text, "targets": list(r.Targets, func(t **syntax.Target) any { return e.target(i, *t) })}
		}),
	}
	if t := i.Table; t != nil {
		out["table"] = small(object{"rows": expr(t.Rows), "columns": words(t.Columns), "title": verbatim(t.Title)})
	}
	if r := i.Terms.Retry; r != nil {
		out["retry"] = small(object{"max": r.Max, "on": words(r.On), "backoff": r.Backoff, "factor": r.Factor, "cap": r.Cap})
	}
	if f := i.Fallback; f != nil {
		out["fallback"], out["fallback_with"] = f.Agent, fields(f.With)
	}
	if x := i.Expect; x != nil {
		expect := small(object{"artifact": word(x.Artifact), "if": expr(x.If)})
		if schema := e.prog.Schema(x.Schema); schema != nil {
			expect["schema"] = schema.JSON()
		}
		out["expect"] = expect
	}
	return small(out)
}

// action writes what a step does. Of a kind that nothing is said of here, the members of the node are written.
func (e encoder) action(i *compile.Info) object {
	if i.Call != nil {
		return e.delegate(i)
	}
	if i.Action == nil {
		return nil
	}
	out := members(i.Action)
	switch a := i.Action.(type) {
	case *syntax.Parallel:
		out["children"] = e.steps(i.Body)
		return small(out)
	case *syntax.Foreach:
		delete(out, "parallel")
		out["merge"], out["rule"], out["side"] = a.Merge != nil, expr(a.Merge), max(1, a.Parallel)
	case *syntax.Gate:
		maps.Copy(out, e.gate(i, a))
	case *syntax.Set:
		out["values"] = list(a.Values, func(v *syntax.SetValue) any {
			return object{"name": v.Name.Text, "expr": expr(v.Expr)}
		})
	case *syntax.Fail:
		out["code"], _ = compile.ExitCode(a.Code)
	}
	out["body"] = e.steps(i.Body)
	return small(out)
}

// members are the plain members of a node, and which kind it is.
func members(a syntax.Action) object {
	node := reflect.ValueOf(a).Elem()
	out := object{"kind": kindOf(a)}
	for n := range node.NumField() {
		key := strings.ToLower(node.Type().Field(n).Name)
		switch v := node.Field(n).Interface().(type) {
		case *syntax.Expr:
			out[key] = expr(v)
		case *syntax.Text:
			out[key] = verbatim(v)
		case *syntax.Value:
			out[key] = value(v)
		case syntax.Word:
			out[key] = v.Text
		case *syntax.Word:
			out[key] = word(v)
		case []syntax.Word:
			out[key] = words(v)
		case int, bool, float64:
			out[key] = v
		}
	}
	return out
}

// kindOf is the word of the language for a kind of step.
func kindOf(a syntax.Action) string { return strings.ToLower(reflect.TypeOf(a).Elem().Name()) }

func (e encoder) delegate(i *compile.Info) object {
	out := call(i.Call, false)
	out["kind"] = "delegate"
	if i.Call.Agent == "" {
		delete(out, "with")
	}
	switch a := i.Action.(type) {
	case *syntax.Status:
		out["sync"] = true
		if a.Phase == nil && a.To.Kind == syntax.Literal {
			out["to"] = a.To.Lit
		}
	case *syntax.Check:
		out["checks"], out["else"] = true, verbatim(a.Else)
	case *syntax.Delegate:
		out["prompt"], out["pick"] = verbatim(i.Prompt), verbatim(a.Pick)
		out["among"] = list(i.Call.Among, func(c **compile.Call) any {
			one := call(*c, false)
			one["prompt"] = verbatim(i.Prompt)
			return small(one)
		})
	}
	return small(out)
}

func (e encoder) gate(i *compile.Info, g *syntax.Gate) object {
	out := object{
		"question": verbatim(g.Question), "show": list(g.Show, func(x **syntax.Expr) any { return expr(*x) }),
		"auto": word(g.Auto),
		"choices": list(g.Choices, func(ch *syntax.GateChoice) any {
			return object{"label": ch.Label.Text, "target": e.target(i, ch.Target)}
		}),
	}
	if t := g.Timeout; t != nil {
		out["wait"] = object{"after": t.After, "choose": word(t.Choose)}
	}
	return small(out)
}

func (e encoder) target(i *compile.Info, t *syntax.Target) object {
	out := object{
		"pos": pos(t.Pos), "kind": targetWords[t.Kind], "if": expr(t.If), "max": t.Max, "redo": i.Again(t),
		"back":   i.GoesBack(t),
		"return": give(t.Return), "ask": list(t.Agents, func(w *syntax.Word) any { return object{"name": w.Text} }),
	}
	if t.Kind == syntax.ToGoto {
		out["goto"] = t.Steps[0].Text
	}
	if t.Gate != nil {
		out["gate"] = e.gate(i, t.Gate)
	}
	return small(out)
}
