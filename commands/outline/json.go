package outline

import (
	"maps"
	"reflect"
	"regexp"
	"strings"
	"time"

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
		"examples": front.Examples, "hidden": front.Hidden, "tiers": p.Tiers, "workflow": p.Workflow, "allow": p.Allow,
		"env": data(front.Env), "args": list(p.Args, argument), "loads": list(args.Load, load),
		"requires": list(args.Require, require), "ops": e.steps(p.File.Steps), "always": e.steps(p.File.Errors),
		"back": call(own.Back, true), "limits": some(p.Limits),
	}
	if status, _ := p.During(); status != "" {
		begin, failed := call(own.Begin, true), call(own.Failed, true)
		begin["to"] = status
		if failed != nil {
			failed["to"] = literal(own.Failed.With, "status")
		}
		out["during"] = small(object{
			"pos": pos(front.During.Pos), "status": status, "when": data(front.During.When), "begin": begin, "failed": failed,
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

// list gives each of some as data; nil for none.
func list[T any](in []T, one func(T) object) []any {
	var out []any
	for _, v := range in {
		out = append(out, one(v))
	}
	return out
}

// data gives a part of the tree for JSON; nil for one that is not there.
func data(v any) any {
	r := reflect.ValueOf(v)
	switch v := v.(type) {
	case *syntax.Expr:
		if v != nil {
			return object{"jq": v.Src, "line": v.Pos.Line, "col": v.Pos.Col}
		}
	case *syntax.Text:
		return verbatim(v)
	case *syntax.Value:
		return value(v)
	case []syntax.Field:
		out := object{}
		for _, f := range v {
			out[f.Key.Text] = value(f.Value)
		}
		return out
	case syntax.Word:
		return v.Text
	case time.Duration:
		return v.Seconds()
	case *regexp.Regexp:
		return v.String()
	}
	switch r.Kind() { //nolint:exhaustive // the others are data already
	case reflect.Pointer:
		if r.IsNil() {
			return nil
		}
		return data(r.Elem().Interface())
	case reflect.Slice:
		var out []any
		for i := range r.Len() {
			out = append(out, data(r.Index(i).Interface()))
		}
		return out
	case reflect.Struct:
		return members(v)
	}
	return v
}

func value(v *syntax.Value) any {
	switch {
	case v == nil:
		return nil
	case v.Kind == syntax.Jq:
		return data(v.Expr)
	case v.Kind == syntax.Template:
		return verbatim(v.Text)
	case v.Kind == syntax.Map:
		return data(v.Fields)
	case v.Kind == syntax.List:
		out := []any{}
		for _, item := range v.Items {
			out = append(out, value(item))
		}
		return out
	}
	return v.Lit
}

// members gives the exported members of a struct that say something; its place and its JSON Schema are none of them.
func members(of any) object {
	r, out := reflect.Indirect(reflect.ValueOf(of)), object{}
	for i := range r.NumField() {
		f := r.Field(i)
		name := strings.ToLower(r.Type().Field(i).Name)
		if name == "nextsteps" {
			name = "next_steps"
		}
		switch f.Interface().(type) {
		case formats.Pos, *syntax.Shape:
			continue
		}
		if f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
			continue
		}
		if one := data(f.Interface()); one != nil && (one != "" || f.Kind() == reflect.Interface) {
			out[name] = one
		}
	}
	return out
}

// some are the members of a struct, nil if none is set.
func some(of any) object {
	if out := members(of); len(out) > 0 {
		return out
	}
	return nil
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

func argument(s argspec.Spec) object {
	out := members(s)
	if at := pos(s.Pos); at != nil {
		out["pos"] = at
	}
	return out
}

func load(l syntax.Load) object {
	out := members(l)
	if task, ok := out["task"]; ok {
		out["expr"] = task
	}
	out["pos"], out["task"] = pos(l.Name.Pos), compile.IsTask(&l)
	return small(out)
}

func require(r syntax.Require) object {
	code, _ := compile.ExitCode(r.Exit)
	return small(object{"pos": pos(r.Pos), "when": data(r.When), "else": verbatim(r.Else), "code": code})
}

func call(c *compile.Call, sync bool) object {
	if c == nil {
		return nil
	}
	return small(object{"agent": c.Agent, "with": data(c.With), "link": c.Link, "sync": sync})
}

// encoder writes steps.
type encoder struct{ prog *compile.Program }

func (e encoder) steps(in []*syntax.Step) []any {
	return list(in, func(s *syntax.Step) object { return e.step(e.prog.Info(s)) })
}

func (e encoder) step(i *compile.Info) object {
	if i == nil {
		return nil
	}
	out := object{
		"pos": pos(i.Pos), "id": i.ID, "title": i.Title, "when": data(i.When), "tiers": i.Tiers, "do": e.action(i),
		"return": data(i.Return), "always": word(i.Always), "in": i.Terms.In, "board": i.Terms.Board,
		"compensate": e.step(i.Undo), "before": list(i.Before, e.step), "after": list(i.After, e.step), "host": i.Host,
		"timeout": some(i.Terms.Timeout), "table": data(i.Table), "retry": data(i.Terms.Retry),
		"on": list(i.On, func(r syntax.Rule) object {
			key := "outcome"
			if compile.IsClass(r.Status.Text) {
				key = "class"
			}
			targets := list(r.Targets, func(t *syntax.Target) object { return e.target(i, t) })
			return object{key: r.Status.Text, "targets": targets}
		}),
	}
	if f := i.Fallback; f != nil {
		out["fallback"], out["fallback_with"] = f.Agent, data(f.With)
	}
	if x := i.Expect; x != nil {
		expect := members(x)
		if schema := e.prog.Schema(x.Schema); schema != nil {
			expect["schema"] = schema.JSON()
		}
		out["expect"] = expect
	}
	return small(out)
}

// action writes what a step does: the members of the node, and what is said otherwise of some kinds.
func (e encoder) action(i *compile.Info) object {
	switch {
	case i.Call != nil:
		return e.delegate(i)
	case i.Action == nil:
		return nil
	}
	out, body := members(i.Action), "body"
	out["kind"] = kindOf(i.Action)
	switch a := i.Action.(type) {
	case *syntax.Parallel:
		body = "children"
	case *syntax.Foreach:
		delete(out, "parallel")
		delete(out, "delegate")
		out["merge"], out["rule"], out["side"] = a.Merge != nil, data(a.Merge), max(1, a.Parallel)
	case *syntax.Gate:
		delete(out, "timeout")
		maps.Copy(out, e.gate(i, a))
	case *syntax.Fail:
		out["code"], _ = compile.ExitCode(a.Code)
	}
	out[body] = e.steps(i.Body)
	return small(out)
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
		out["among"] = list(i.Call.Among, func(c *compile.Call) object {
			one := call(c, false)
			one["prompt"] = verbatim(i.Prompt)
			return small(one)
		})
	}
	return small(out)
}

func (e encoder) gate(i *compile.Info, g *syntax.Gate) object {
	return small(object{
		"question": verbatim(g.Question), "show": data(g.Show), "auto": word(g.Auto), "wait": data(g.Timeout),
		"choices": list(g.Choices, func(c syntax.GateChoice) object {
			return object{"label": c.Label.Text, "target": e.target(i, c.Target)}
		}),
	})
}

func (e encoder) target(i *compile.Info, t *syntax.Target) object {
	out := object{
		"pos": pos(t.Pos), "kind": t.Kind, "if": data(t.If), "max": t.Max, "redo": i.Again(t),
		"back": i.GoesBack(t), "return": data(t.Return),
		"ask": list(t.Agents, func(w syntax.Word) object { return object{"name": w.Text} }),
	}
	if t.Kind == syntax.ToGoto {
		out["goto"] = t.Steps[0].Text
	}
	if t.Gate != nil {
		out["gate"] = e.gate(i, t.Gate)
	}
	return small(out)
}
