package outline

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// Compiled is a program as plain data for JSON. Names are in lower case with underscores, and empty
// members are left out. Expressions are {jq, line, col}, texts are as written, and subagents appear
// by name.
func Compiled(p *compile.Program) map[string]any {
	e := encoder{prog: p}
	front := &p.File.Front
	args := &p.File.Args
	own := &p.EngineCalls

	out := e.members(p, "Name", "Tiers", "Workflow", "Allow", "Args", "Limits")
	maps.Copy(out, e.members(front, "Description", "Examples", "Hidden", "Env"))
	maps.Copy(out, object{
		"file":     p.File.Name,
		"hash":     p.Hash(),
		"loads":    e.data(args.Load),
		"requires": e.data(args.Require),
		"ops":      e.data(p.File.Steps),
		"always":   e.data(p.File.Errors),
		"back":     e.engineCall(own.Back, ""),
	})

	if own.Open != nil {
		out["worktree"] = object{"open": e.call(own.Open), "close": e.call(own.Close)}
	}

	if status, _ := p.During(); status != "" {
		during := e.members(front.During, "Pos", "When")
		during["status"] = status
		during["begin"] = e.engineCall(own.Begin, status.String())
		if own.Failed != nil {
			during["failed"] = e.engineCall(own.Failed, literal(own.Failed.With, "status"))
		}
		out["during"] = during
	}

	if p.Output != nil {
		out["output"] = p.Output.JSON()
	}
	return dropEmpty(out)
}

// object is a map on the way to JSON.
type object = map[string]any

// dropEmpty leaves out what says nothing.
func dropEmpty(o object) object {
	maps.DeleteFunc(o, func(_ string, v any) bool {
		return v == nil || reflect.ValueOf(v).IsZero()
	})
	return o
}

// encoder gives parts of a program as data.
type encoder struct {
	prog *compile.Program
	at   *compile.Info // the step that a target belongs to
}

// data gives a part of the tree for JSON; nil for one that is not there.
func (e encoder) data(v any) any {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
		return nil
	}
	switch v := v.(type) {
	case *syntax.Expr:
		return object{"jq": v.Src, "line": v.Pos.Line, "col": v.Pos.Col}
	case *syntax.Text:
		return v.String()
	case *syntax.Value:
		return e.value(v)
	case []syntax.Field:
		out := object{}
		for _, f := range v {
			out[f.Key.Text] = e.value(f.Value)
		}
		return out
	case syntax.Word:
		return v.Text
	case formats.Pos:
		if v.IsZero() {
			return nil
		}
		return []int{v.Line, v.Col}
	case time.Duration:
		return v.Seconds()
	case *regexp.Regexp:
		return v.String()
	case *syntax.Shape:
		return e.prog.Schema(v).JSON()
	case *syntax.Step:
		return e.step(e.prog.Info(v))
	case *compile.Info:
		return e.step(v)
	case argspec.Spec:
		out := e.members(v)
		if !v.Pos.IsZero() {
			out["pos"] = e.data(v.Pos)
		}
		return out
	case syntax.Load:
		return e.load(v)
	case syntax.Require:
		out := e.members(v, "Pos", "When", "Else")
		out["code"], _ = compile.ExitCode(v.Exit)
		return out
	case syntax.Rule:
		key := "outcome"
		if compile.IsClass(v.Status.Text) {
			key = "class"
		}
		return object{key: v.Status.Text, "targets": e.data(v.Targets)}
	case *syntax.Target:
		return e.target(v)
	}

	switch r := reflect.ValueOf(v); r.Kind() { //nolint:exhaustive // the others are data already
	case reflect.Pointer:
		return e.data(r.Elem().Interface())
	case reflect.Slice:
		var out []any
		for i := range r.Len() {
			out = append(out, e.data(r.Index(i).Interface()))
		}
		return out
	case reflect.Struct:
		return e.members(v)
	}

	return v
}

func (e encoder) value(v *syntax.Value) any {
	switch {
	case v == nil:
		return nil
	case v.Kind == syntax.Jq:
		return e.data(v.Expr)
	case v.Kind == syntax.Template:
		return v.Text.String()
	case v.Kind == syntax.Map:
		return e.data(v.Fields)
	case v.Kind == syntax.List:
		out := []any{}
		for _, item := range v.Items {
			out = append(out, e.value(item))
		}
		return out
	}
	return v.Lit
}

// members gives the exported members of a struct that say something: those that are named, else all
// but its place.
func (e encoder) members(of any, names ...string) object {
	r := reflect.Indirect(reflect.ValueOf(of))
	out := object{}
	for i := range r.NumField() {
		f := r.Field(i)
		field := r.Type().Field(i)

		wanted := slices.Contains(names, field.Name) ||
			names == nil && field.Type != reflect.TypeFor[formats.Pos]()
		if !wanted || f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
			continue
		}

		name := cmp.Or(field.Tag.Get("json"), strings.ToLower(field.Name))
		if one := e.data(f.Interface()); one != nil && one != "" || f.Kind() == reflect.Interface {
			out[name] = one
		}
	}
	return out
}

func (e encoder) load(l syntax.Load) object {
	out := e.members(l)
	if task, ok := out["task"]; ok {
		out["expr"] = task
	}
	out["pos"] = e.data(l.Name.Pos)
	out["task"] = compile.IsTask(&l)
	return dropEmpty(out)
}

func (e encoder) call(c *compile.Call) object {
	if c == nil {
		return nil
	}
	return dropEmpty(object{
		"agent": c.Agent,
		"with":  e.data(c.With),
		"link":  c.Link,
	})
}

// engineCall is a call that the engine makes beside the steps, and the status that it gives.
func (e encoder) engineCall(c *compile.Call, to string) object {
	if c == nil {
		return nil
	}
	out := e.call(c)
	out["sync"] = true
	out["to"] = to
	return dropEmpty(out)
}

func (e encoder) step(i *compile.Info) object {
	if i == nil {
		return nil
	}
	e.at = i

	out := e.members(i.Step, "Pos", "Title", "When", "Table", "Return", "Always")
	maps.Copy(out, e.members(i, "ID", "Host", "Tiers", "Expect", "Before", "After", "On"))
	maps.Copy(out, e.members(i.Terms))
	out["do"] = e.action(i)

	out["compensate"] = e.step(i.Undo)
	if f := i.Fallback; f != nil {
		out["fallback"] = f.Agent
		out["fallback_with"] = e.data(f.With)
	}
	return dropEmpty(out)
}

// action writes what a step does: the members of the node, and what is said otherwise of some
// kinds.
func (e encoder) action(i *compile.Info) object {
	if i.Step.Action == nil {
		return nil
	}
	var out object
	if i.Call != nil {
		out = e.call(i.Call)
		out["kind"] = "delegate"
	} else {
		out = e.members(i.Step.Action)
		out["kind"] = i.Step.Kind().Word
		body := "body"
		if i.Step.Kind().Body == syntax.Concurrent {
			body = "children"
		}
		out[body] = e.data(i.Step.Body)
	}

	e.ofKind(i, out)
	return dropEmpty(out)
}

// ofKind changes what the JSON says of some kinds of steps.
func (e encoder) ofKind(i *compile.Info, out object) {
	switch a := i.Step.Action.(type) {
	case *syntax.Foreach:
		delete(out, "parallel")
		delete(out, "delegate")
		out["rule"] = out["merge"]
		out["merge"] = a.Merge != nil
		out["side"] = max(1, a.Parallel)
	case *syntax.Fail:
		out["code"], _ = compile.ExitCode(a.Code)
	case *syntax.Status:
		out["sync"] = true
		if a.Phase == nil && a.To.Kind == syntax.Literal {
			out["to"] = a.To.Lit
		}
	case *syntax.Check:
		if i.Call != nil {
			out["checks"] = true
			out["else"] = a.Else.String()
		}
	case *syntax.Delegate:
		if i.Call.Agent == "" {
			delete(out, "with")
		}
		out["prompt"] = i.Step.Prompt.String()
		out["pick"] = a.Pick.String()
		var among []any
		for _, c := range i.Call.Among {
			one := e.call(c)
			one["prompt"] = out["prompt"]
			among = append(among, dropEmpty(one))
		}
		out["among"] = among
	}
}

func (e encoder) target(t *syntax.Target) object {
	out := e.members(t, "Pos", "Kind", "If", "Max", "Return", "Gate")
	out["redo"] = e.at.Reruns(t)
	out["back"] = e.at.GoesBack(t)
	var ask []any
	for _, w := range t.Agents {
		ask = append(ask, object{"name": w.Text})
	}
	out["ask"] = ask
	if t.Kind == syntax.ToGoto {
		out["goto"] = t.Steps[0].Text
	}
	return dropEmpty(out)
}
