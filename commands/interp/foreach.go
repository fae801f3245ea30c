package interp

import (
	"context"
	"fmt"

	"tercet/commands/compile"
	"tercet/formats"
)

// foreach runs the body once an element, one at a time, and stops at the first element that does not pass unless the file
// says merge: true.
func (r *run) foreach(ctx context.Context, sc *scope, op *compile.Op, path string, f *compile.Foreach) (result, error) {
	items, err := r.elements(ctx, sc, op, path, f)
	if err != nil {
		return result{}, err
	}
	out := loop{passed: formats.OutcomeCompleted}
	for i, item := range items {
		if err := r.count(1); err != nil {
			return result{}, err
		}
		in := newScope(sc, f.Body, fmt.Sprintf("%s[%d]/", path, i))
		in.vars["$"+f.As], in.vars["$index"] = item, i
		first := len(r.artifacts)
		end, err := r.sequence(ctx, in)
		if err != nil {
			return result{}, err
		}
		if end != nil && end.told {
			return result{outcome: end.ret.Outcome(), value: out.value(), end: end}, nil
		}
		out.add(i, item, in, end, r.artifacts[first:])
		if out.last != nil && !f.Merge {
			break
		}
	}
	outcome := out.passed
	ret := formats.Return{Status: formats.StatusCompleted, Summary: fmt.Sprintf("%d of %d done", len(out.lists["completed"]), len(items)), Issues: out.issues}
	if out.last != nil && !f.Merge {
		ret, outcome = *out.last, out.last.Outcome()
		if len(ret.Errors) > 0 && ret.Errors[0].Code == formats.CodeRejected {
			outcome = formats.OutcomeRejected
		}
	}
	value := out.value()
	value["status"], value["summary"] = outcome.String(), ret.Summary
	return result{outcome: outcome, ret: ret, value: value}, nil
}

// elements reads the array at each entry of the loop and keeps it in the journal.
func (r *run) elements(ctx context.Context, sc *scope, op *compile.Op, path string, f *compile.Foreach) ([]any, error) {
	if r.dry.on && r.dry.unknown(f.In) {
		r.dry.add(sc, op, fmt.Sprintf("for each %s in %s (known at run time)", f.As, f.In.Src))
		return []any{nil}, nil
	}
	v, err := r.eval(ctx, sc, f.In, nil)
	if err != nil {
		return nil, err
	}
	items, ok := v.([]any)
	if !ok {
		if v == nil {
			items = nil
		} else {
			return nil, &formats.Failure{
				Code: formats.CodeValidationFailed, Message: fmt.Sprintf("%s:%d:%d: expected an array for foreach, got %T", r.prog.File, f.In.Pos.Line, f.In.Pos.Col, v),
			}
		}
	}
	if len(items) > r.limits.Elements {
		return nil, &LimitError{What: "elements of one loop", Limit: r.limits.Elements}
	}
	if r.dry.on {
		r.dry.add(sc, op, fmt.Sprintf("for each of %d %s", len(items), f.As))
	}
	return items, r.journal(ctx, formats.Entry{Type: formats.EntryLoopEntered, Step: path, Data: map[string]any{"items": items}})
}

// loop collects the children of a foreach.
type loop struct {
	passed   formats.Outcome
	children []any
	lists    map[string][]any
	issues   []formats.Issue
	files    []any
	last     *formats.Return // of the last child that did not pass
}

func (l *loop) add(index int, item any, in *scope, end *ending, artifacts []formats.Artifact) {
	outcome, summary := formats.OutcomeCompleted, ""
	if end != nil {
		outcome, summary = end.ret.Outcome(), end.ret.Summary
		l.last = &end.ret
		l.issues = append(l.issues, end.ret.Issues...)
	}
	child := map[string]any{"index": index, "item": item, "status": outcome.String(), "summary": summary, "steps": in.steps}
	l.children = append(l.children, child)
	if l.lists == nil {
		l.lists = map[string][]any{}
	}
	key := outcome.String()
	switch outcome {
	case formats.OutcomeRejected, formats.OutcomeFailed:
		key = "failed"
	case formats.OutcomeSuspended, formats.OutcomeBlocked:
		key = "blocked"
	case formats.OutcomePartial:
	case formats.OutcomeCompleted, formats.OutcomeApproved, formats.OutcomeConditional, formats.OutcomeSkipped:
		key = "completed"
	}
	l.lists[key] = append(l.lists[key], child)
	for _, a := range newest(artifacts) {
		l.files = append(l.files, normal(a))
	}
}

func (l *loop) value() map[string]any {
	list := func(v []any) []any {
		if v == nil {
			return []any{}
		}
		return v
	}
	out := map[string]any{"status": l.passed.String(), "children": list(l.children), "artifacts": list(l.files), "issues": []any{}}
	if n, ok := normal(l.issues).([]any); ok && n != nil {
		out["issues"] = n
	}
	for _, key := range []string{"completed", "partial", "failed", "blocked"} {
		out[key] = list(l.lists[key])
	}
	return out
}
