package interp

import (
	"context"
	"fmt"
	"slices"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// foreach runs the body once an element, and stops at the first that does not pass unless the file has a merge.
// Elements side by side are joined in their order, whichever ended first.
func (r *run) foreach(ctx context.Context, sc *scope, op *compile.Info, path string,
	f *syntax.Foreach,
) (result, error) {
	items, err := r.elements(ctx, sc, op, path, f)
	if err != nil {
		return result{}, err
	}
	rounds := make([]element, len(items))
	stubs := len(r.dry.stubbed)
	stopped := false
	outer := r.made
	err = r.side(ctx, branches{
		n: len(items), most: min(max(1, f.Parallel), r.limits.Parallel), more: func() bool { return !stopped },
		body: func(i int) error {
			r.entered++
			r.made = nil
			in := newScope(sc, op.Body, fmt.Sprintf("%s[%d]/", path, i))
			in.set(f.As.Text, items[i])
			in.set("index", i)
			end, err := r.sequence(ctx, in)
			rounds[i] = element{in: in, end: end, files: r.made}
			stopped = stopped || err != nil || end != nil && (end.leaves() || f.Merge == nil)
			return err
		},
	})
	if err != nil {
		return result{}, err
	}
	out := loop{lists: map[formats.Outcome][]any{}}
	r.made = outer
	for i, e := range rounds {
		if e.in == nil {
			continue
		}
		r.made = append(r.made, e.files...)
		if e.end != nil && e.end.leaves() {
			return left(out, e.end), nil
		}
		out.add(i, items[i], e.in, e.end, e.files)
	}
	if r.dry.on && len(r.dry.stubbed) > stubs {
		r.dry.stubbed = append(r.dry.stubbed, op.ID)
	}
	return r.merged(ctx, sc, f, out, len(items))
}

// element is one run of a loop's body.
type element struct {
	in    *scope // nil: not started
	end   *ending
	files []formats.Artifact
}

// merged is the result of a loop that came to its end.
func (r *run) merged(ctx context.Context, sc *scope, f *syntax.Foreach, out loop, items int) (result, error) {
	ret := formats.Return{
		Status: formats.StatusCompleted, Summary: fmt.Sprintf("%d of %d done", len(out.lists[formats.OutcomeCompleted]),
			items), Issues: out.issues, Artifacts: out.files,
	}
	outcome := formats.OutcomeCompleted
	switch {
	case f.Merge != nil:
		if len(out.votes) == 0 {
			break
		}
		var err error
		if outcome, err = Decide(r.overAll(ctx, sc, f.Merge, out.children), out.votes); err != nil {
			return result{}, err
		}
		if !outcome.Passes() {
			issues := ret.Issues
			ret.Summary += ", and 'merge' asks for more"
			if out.last != nil {
				ret = *out.last
			}
			ret.Issues = issues
		}
	case out.last != nil:
		ret, outcome = *out.last, out.outcome
	}
	value := out.value()
	value["status"], value["summary"] = outcome.String(), ret.Summary
	return result{outcome: outcome, ret: ret, attempts: 1, value: value}, nil
}

// overAll evaluates a loop's merge over its children.
func (r *run) overAll(ctx context.Context, sc *scope, e *syntax.Expr, children []any) Predicate {
	if e == nil {
		return nil
	}
	return func([]formats.Return) (bool, error) {
		v, err := r.eval(ctx, sc, e, children)
		return truth(v), err
	}
}

// elements reads the array at each entry of the loop and keeps it in the journal.
func (r *run) elements(ctx context.Context, sc *scope, op *compile.Info, path string,
	f *syntax.Foreach,
) ([]any, error) {
	if r.unknown(f.In) {
		r.dry.add(sc, op, fmt.Sprintf("for each %s in %s (known at run time)", f.As.Text, f.In.Src))
		r.dry.taint("$" + f.As.Text)
		return []any{nil}, nil
	}
	v, err := r.eval(ctx, sc, f.In, nil)
	if err != nil {
		return nil, err
	}
	items, ok := v.([]any)
	if !ok && v != nil {
		return nil, r.noArray(f.In, "an array for foreach", v)
	}
	if len(items) > r.limits.Elements {
		return nil, errLimit("elements of one loop", r.limits.Elements)
	}
	if r.dry.on {
		r.dry.add(sc, op, fmt.Sprintf("for each of %d %s", len(items), f.As.Text))
	}
	return items, r.journal(ctx, formats.Entry{
		Type: formats.EntryLoopEntered, Step: path,
		Data: map[string]any{"items": items},
	})
}

// noArray is the failure of an expression that must give an array.
func (r *run) noArray(e *syntax.Expr, want string, got any) error {
	help := "the expression is " + e.Src
	return formats.Fail(formats.CodeValidationFailed, help, "%s: expected %s, got %s", r.placeOf(e.Pos), want, kindOf(got))
}

func (r *run) placeOf(pos formats.Pos) string {
	return fmt.Sprintf("%s:%d:%d", r.prog.File.Name, pos.Line, pos.Col)
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
	votes    []Vote
	last     *formats.Return // of the first child that did not pass
	outcome  formats.Outcome // of that child
}

func (l *loop) add(index int, item any, in *scope, end *ending, artifacts []formats.Artifact) {
	outcome, summary := formats.OutcomeCompleted, ""
	if end != nil {
		outcome, summary = end.ret.Outcome(), end.ret.Summary
		if len(end.ret.Errors) > 0 && end.ret.Errors[0].Code == formats.CodeRejected {
			outcome = formats.OutcomeRejected
		}
		if l.last == nil {
			l.last, l.outcome = &end.ret, outcome
		}
		l.issues = append(l.issues, end.ret.Issues...)
	}
	vote := formats.Return{Status: formats.StatusCompleted, Said: outcome}
	if outcome == formats.OutcomeCompleted {
		vote.Said = ""
	}
	l.votes = append(l.votes, Vote{Return: vote})
	child := query.Prepare(map[string]any{
		"index": index, "item": item, "status": outcome.String(), "summary": summary,
		"steps": in.steps,
	})
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
	for _, key := range []formats.Outcome{
		formats.OutcomeCompleted, formats.OutcomePartial, formats.OutcomeFailed,
		formats.OutcomeBlocked,
	} {
		out[key.String()] = list(l.lists[key])
	}
	return out
}
