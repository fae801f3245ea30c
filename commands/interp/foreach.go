package interp

import (
	"context"
	"fmt"
	"slices"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/query"
)

// foreach runs the body once an element, one at a time, and stops at the first element that does not pass unless the file
// says merge: true.
func (r *run) foreach(ctx context.Context, sc *scope, op *compile.Op, path string, f *compile.Foreach) (result, error) {
	items, err := r.elements(ctx, sc, op, path, f)
	if err != nil {
		return result{}, err
	}
	out := loop{lists: map[formats.Outcome][]any{}}
	stubs := len(r.dry.stubbed)
	for i, item := range items {
		r.entered++
		in := newScope(sc, f.Body, fmt.Sprintf("%s[%d]/", path, i))
		in.set(f.As, item)
		in.set("index", i)
		first := len(r.artifacts)
		end, err := r.sequence(ctx, in)
		if err != nil {
			return result{}, err
		}
		if end != nil && end.told {
			value := out.value()
			value["status"], value["summary"] = end.ret.Outcome().String(), end.ret.Summary
			return result{outcome: end.ret.Outcome(), ret: end.ret, value: value, end: end}, nil
		}
		out.add(i, item, in, end, r.artifacts[first:])
		if out.last != nil && !f.Merge {
			break
		}
	}
	if r.dry.on && len(r.dry.stubbed) > stubs {
		r.dry.stubbed = append(r.dry.stubbed, op.ID)
	}
	ret := formats.Return{
		Status: formats.StatusCompleted, Summary: fmt.Sprintf("%d of %d done", len(out.lists[formats.OutcomeCompleted]), len(items)), Issues: out.issues, Artifacts: out.files,
	}
	outcome := formats.OutcomeCompleted
	if out.last != nil && !f.Merge {
		ret, outcome = *out.last, out.outcome
	}
	value := out.value()
	value["status"], value["summary"] = outcome.String(), ret.Summary
	return result{outcome: outcome, ret: ret, attempts: 1, value: value}, nil
}

// elements reads the array at each entry of the loop and keeps it in the journal.
func (r *run) elements(ctx context.Context, sc *scope, op *compile.Op, path string, f *compile.Foreach) ([]any, error) {
	if r.dry.on && r.dry.unknown(f.In) {
		r.dry.add(sc, op, fmt.Sprintf("for each %s in %s (known at run time)", f.As, f.In.Src))
		r.dry.taint("$" + f.As)
		return []any{nil}, nil
	}
	v, err := r.eval(ctx, sc, f.In, nil)
	if err != nil {
		return nil, err
	}
	items, ok := v.([]any)
	if !ok && v != nil {
		return nil, &formats.Failure{
			Code: formats.CodeValidationFailed, Help: "the expression is " + f.In.Src,
			Message: fmt.Sprintf("%s:%d:%d: expected an array for foreach, got %s", r.prog.File, f.In.Pos.Line, f.In.Pos.Col, kindOf(v)),
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

// kindOf names the type of a value as jq does.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	case query.Prepared:
		return "a value"
	default:
		return "the number " + query.Text(v)
	}
}

// loop collects the children of a foreach.
type loop struct {
	children []any
	lists    map[formats.Outcome][]any // completed, partial, failed, blocked
	issues   []formats.Issue
	files    []formats.Artifact
	last     *formats.Return // of the last child that did not pass
	outcome  formats.Outcome // of that child
}

func (l *loop) add(index int, item any, in *scope, end *ending, artifacts []formats.Artifact) {
	outcome, summary := formats.OutcomeCompleted, ""
	if end != nil {
		outcome, summary = end.ret.Outcome(), end.ret.Summary
		if len(end.ret.Errors) > 0 && end.ret.Errors[0].Code == formats.CodeRejected {
			outcome = formats.OutcomeRejected
		}
		l.last, l.outcome = &end.ret, outcome
		l.issues = append(l.issues, end.ret.Issues...)
	}
	child := query.Prepare(map[string]any{"index": index, "item": item, "status": outcome.String(), "summary": summary, "steps": in.steps})
	l.children = append(l.children, child)
	key := outcome
	switch outcome {
	case formats.OutcomeRejected, formats.OutcomeFailed:
		key = formats.OutcomeFailed
	case formats.OutcomeSuspended, formats.OutcomeBlocked:
		key = formats.OutcomeBlocked
	case formats.OutcomePartial:
	case formats.OutcomeCompleted, formats.OutcomeApproved, formats.OutcomeConditional, formats.OutcomeSkipped:
		key = formats.OutcomeCompleted
	}
	l.lists[key] = append(l.lists[key], child)
	l.files = append(l.files, newest(slices.Clone(artifacts))...)
}

func (l *loop) value() map[string]any {
	list := func(v []any) []any {
		if v == nil {
			return []any{}
		}
		return v
	}
	out := map[string]any{"children": list(l.children), "artifacts": []any{}, "issues": []any{}}
	if v, ok := normal(l.files).([]any); ok && v != nil {
		out["artifacts"] = v
	}
	if v, ok := normal(l.issues).([]any); ok && v != nil {
		out["issues"] = v
	}
	for _, key := range []formats.Outcome{formats.OutcomeCompleted, formats.OutcomePartial, formats.OutcomeFailed, formats.OutcomeBlocked} {
		out[key.String()] = list(l.lists[key])
	}
	return out
}
