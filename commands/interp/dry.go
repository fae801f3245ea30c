package interp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// dryRun tells what a run would do. Delegations are stubbed with a return that their contract allows; what hangs on
// such a return is marked as known only at run time.
type dryRun struct {
	on      bool
	returns map[string][]formats.Return // given for steps and subagents, taken in order
	taken   []string                    // keys of returns that were taken
	stubbed []string                    // ids whose results are stubs
	tainted []string                    // variables that were made of such results
	lines   []string
}

// unknown tells whether an expression reads a stubbed result.
func (r *run) unknown(e *syntax.Expr) bool {
	d := &r.dry
	if e == nil || !d.on {
		return false
	}
	reads := r.prog.Reads(e)
	return reads.AllSteps && len(d.stubbed) > 0 ||
		slices.ContainsFunc(reads.Steps, func(id string) bool { return slices.Contains(d.stubbed, id) }) ||
		slices.ContainsFunc(reads.Vars, func(name string) bool { return slices.Contains(d.tainted, name) })
}

func (d *dryRun) taint(name string) { d.tainted = append(d.tainted, name) }

// add writes one line of the tree.
func (d *dryRun) add(sc *scope, op *compile.Info, what string) {
	depth := strings.Count(sc.path, "/")
	d.lines = append(d.lines, strings.Repeat("  ", depth)+op.ID+": "+what)
}

// stub is the return that stands in for a delegation.
func (d *dryRun) stub(r *run, c call, req formats.Request) formats.Return {
	what := []string{"delegate", c.agent}
	if op, ok := req.Input["operation"].(string); ok {
		what = append(what, op)
		for _, key := range []string{"task_number", "status", "phase"} {
			if v, ok := req.Input[key]; ok {
				what = append(what, fmt.Sprintf("%s=%v", key, v))
			}
		}
	}
	d.add(c.sc, c.op, strings.Join(what, " "))
	if ret, ok := d.given(c); ok {
		for _, a := range ret.Artifacts {
			r.brought(a)
		}
		return ret
	}
	d.stubbed = append(d.stubbed, c.op.ID)
	ret := formats.Return{Status: formats.StatusCompleted, Summary: "(known at run time)", Fields: map[string]any{}}
	if isCheck(c.op) || c.info.Role == formats.RoleReviewer {
		ret.Verdict = formats.VerdictApproved
	}
	for name, f := range c.info.Fields {
		ret.Fields[name] = zero(f.Type)
	}
	for _, a := range c.info.Artifacts {
		ret.Artifacts = append(ret.Artifacts, formats.Artifact{Type: a.Type, Path: "(" + string(a.Type) + ")"})
	}
	for _, a := range ret.Artifacts {
		r.brought(a)
	}
	return ret
}

// given takes the next return that the caller gave for the step's path, its id or the subagent.
func (d *dryRun) given(c call) (formats.Return, bool) {
	for _, key := range []string{c.path, c.op.ID, c.agent} {
		list := d.returns[key]
		if len(list) == 0 {
			continue
		}
		if len(list) > 1 {
			d.returns[key] = list[1:]
		}
		d.taken = append(d.taken, key)
		return list[0], true
	}
	return formats.Return{}, false
}

// left lists the keys of returns that nothing asked for, in order.
func (d *dryRun) left() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.returns)),
		func(key string) bool { return slices.Contains(d.taken, key) })
}

// decides tells whether the result of a step is known, so that a rule over it may be followed.
func (d *dryRun) decides(op *compile.Info) bool {
	return len(d.returns) > 0 && !slices.Contains(d.stubbed, op.ID)
}

func zero(t formats.InputType) any {
	switch t {
	case formats.TypeString:
		return ""
	case formats.TypeInteger, formats.TypeNumber:
		return 0
	case formats.TypeBoolean:
		return false
	case formats.TypeArray, formats.TypeList:
		return []any{}
	case formats.TypeObject:
		return map[string]any{}
	case formats.TypeAny:
	}
	return nil
}

// assume tells whether a check hangs on a stubbed result, or on a file that is not there yet; it is then taken to hold.
func (r *run) assume(sc *scope, op *compile.Info, a *syntax.Check) bool {
	d := &r.dry
	switch {
	case a.Document != nil:
		d.add(sc, op, "check document "+a.Document.Text)
		return true
	case a.File != nil:
		d.add(sc, op, "check file")
		return true
	case r.unknown(a.Expr):
		d.add(sc, op, "check "+a.Expr.Src+" (decided at run time)")
		return true
	}
	d.add(sc, op, "check "+a.Expr.Src)
	return false
}

// tell makes the dry run's return: the tree of steps as text.
func (d *dryRun) tell(ret formats.Return) formats.Return {
	ret.Artifacts = []formats.Artifact{}
	ret.Text = strings.Join(d.lines, "\n")
	if !ret.Outcome().Passes() {
		return ret
	}
	ret.NextSteps = ""
	ret.Summary = fmt.Sprintf("dry run: %d steps, nothing was written", len(d.lines))
	return ret
}
