package interp

import (
	"cmp"
	"fmt"
	"maps"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
	"tercet/internal/trace"
)

// foreach runs the body once for each element. Without a merge it stops at the first element that
// does not pass. Elements that run side by side are joined in their order, not in that in which
// they end.
func (s step) foreach(f *syntax.Foreach) (result, error) {
	r := s.run
	items, err := s.elements(f)
	if err != nil {
		return result{}, err
	}

	passes := make([]pass, len(items))
	stubs := len(r.dry.stubbed)
	stopped := false
	siblings := &childGroup{}
	err = s.frame.runBranches(branches{
		n:         len(items),
		maxActive: min(max(1, f.Parallel), r.limits.Parallel),
		mayStart:  func() bool { return !stopped },
		body: func(fr frame, i int) (err error) {
			fr, tree := siblings.assignTree(fr, fmt.Sprintf("%s-%d", s.info.ID, i))
			s := s.withFrame(fr)
			event := trace.Event{Name: f.As.Text, Message: labelOf(items[i])}
			s.queuePass(event, i, len(items))
			passes[i], err = s.pass(i, object{f.As.Text: items[i]})
			passes[i].tree = tree
			end := passes[i].end
			stopped = stopped || err != nil || end.leaves() || end != nil && f.Merge == nil
			return err
		},
	})
	if err != nil {
		return result{}, err
	}

	// what a pass brought is in the pass
	joining := s.withFrame(s.frame.withCollector(&[]formats.Artifact{}))
	if err := joinAll(joining, f, items, passes); err != nil {
		return result{}, err
	}

	var out loop
	if f.Delegate != nil {
		out.shownID = s.info.Step.Body[0].ID.Text
	}
	for i, p := range passes {
		if p.in == nil {
			continue
		}
		*s.frame.collector = append(*s.frame.collector, p.files...)
		if p.end.leaves() {
			return out.earlyResult(p.end), nil
		}
		out.add(i, items[i], p)
	}

	if r.dry.on && len(r.dry.stubbed) > stubs {
		r.dry.markStubbed(s.info.ID)
	}
	return s.loopResult(f, out, len(items))
}

// pass is one run of a loop's body.
type pass struct {
	in    *scope // nil: not started
	end   *ending
	files []formats.Artifact
	tree  *subtree // that it has to itself
}

// pass runs the body in a scope of its own, which has the index and some values.
func (s step) pass(i int, values object) (pass, error) {
	r := s.run
	r.counts.passes++

	in := bodyScope(s, s.info.Step.Body, fmt.Sprintf("[%d]/", i))
	in.setVar("index", i)
	for name, v := range values {
		in.setVar(name, v)
	}

	var files []formats.Artifact
	end, err := in.walk(s.frame.withCollector(&files), in.list, "")
	r.events.dropPass(fmt.Sprintf("%s[%d]", s.path, i))
	return pass{
		in:    in,
		end:   end,
		files: files,
	}, err
}

// loopResult is the result of a loop that came to its end.
func (s step) loopResult(f *syntax.Foreach, out loop, items int) (_ result, err error) {
	ret := formats.Return{
		Status: formats.StatusCompleted,
		Summary: fmt.Sprintf("%d of %d done", len(out.lists[formats.OutcomeCompleted]),
			items),
		Issues:    out.issues,
		Artifacts: out.files,
	}
	outcome := formats.OutcomeCompleted
	switch {
	case f.Merge != nil:
		if len(out.votes) == 0 {
			break
		}
		outcome, err = Decide(s.predicate(f.Merge, out.children), out.votes)
		if err != nil {
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
		ret = *out.last
		outcome = out.outcome
	}

	return summaryResult(outcome, ret, out.value()), nil
}

// predicate is `merge` over the children that ran.
func (s step) predicate(e *syntax.Expr, ran []any) Predicate {
	if e == nil {
		return nil
	}
	return func([]formats.Return) (bool, error) { return s.env().holds(e, ran) }
}

// elements reads the array when the loop is entered, and journals it.
func (s step) elements(f *syntax.Foreach) ([]any, error) {
	r := s.run
	if r.dry.isUnknown(f.In) {
		s.plan("run for each $%s of %s, which only a run knows", f.As.Text, sourceOf(f.In))
		r.dry.taint("$" + f.As.Text)
		return []any{nil}, nil
	}

	items, err := s.env().array(f.In, "an array for foreach")
	if err != nil {
		return nil, err
	}

	if len(items) > r.limits.Elements {
		const help = "filter the list of the loop"
		return nil, errLimit("elements of one loop", help, r.limits.Elements)
	}
	s.plan("run for each $%s of %d", f.As.Text, len(items))
	return items, s.record(formats.EntryLoopEntered, object{"items": items})
}

// array evaluates an expression that must give an array, or null.
func (in env) array(e *syntax.Expr, want string) ([]any, error) {
	v, err := in.eval(e, nil)
	list, ok := v.([]any)
	if err == nil && !ok && v != nil {
		err = formats.Fail(formats.CodeValidationFailed, "the expression is "+e.Src,
			"%s: expected %s, got %s", in.frame.run.placeOf(e.Pos), want, kindOf(v))
	}
	return list, err
}

func (r *run) placeOf(pos formats.Pos) string {
	return fmt.Sprintf("%s:%d:%d", r.prog.File.Name, pos.Line, pos.Col)
}

// kindOf names the type of a value as jq does.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "an array"
	case object:
		return "an object"
	}
	return "the number " + query.Text(v)
}

// loop collects the passes of a loop.
type loop struct {
	// id of the one step of the body, whose result each child shows; empty: the body has headings
	// or do
	shownID  string
	children []any
	lists    map[formats.Outcome][]any // completed, partial, failed, blocked
	issues   []formats.Issue
	files    []formats.Artifact
	votes    []Vote
	last     *formats.Return // of the first child that did not pass
	outcome  formats.Outcome // of that child
}

// add takes the result of one pass: its vote, its documents, and its place in the lists by outcome.
func (l *loop) add(index int, item any, p pass) {
	outcome := formats.OutcomeCompleted
	summary := ""
	issues := []formats.Issue(nil)
	if p.end != nil {
		ret := &p.end.ret
		outcome = ret.Outcome()
		summary = ret.Summary
		issues = ret.Issues
		if len(ret.Errors) > 0 && ret.Errors[0].Code == formats.CodeRejected {
			outcome = formats.OutcomeRejected
		}
		if l.last == nil {
			l.last = ret
			l.outcome = outcome
		}
		l.issues = append(l.issues, issues...)
	}

	l.votes = append(l.votes, Vote{Return: formats.Return{Said: outcome}})
	made := newest(p.files)
	all := object{"artifacts": listOf(made), "issues": listOf(issues)}
	maps.Copy(all, p.in.shownResult(l.shownID))
	maps.Copy(all, object{
		"index":   index,
		"item":    item,
		"status":  outcome.String(),
		"summary": cmp.Or(summary, p.in.lastSummary()),
		"steps":   p.in.results,
	})
	child := query.Prepare(all)
	l.children = append(l.children, child)

	switch {
	case outcome.Passes():
		outcome = formats.OutcomeCompleted
	case outcome == formats.OutcomeRejected:
		outcome = formats.OutcomeFailed
	case outcome == formats.OutcomeSuspended:
		outcome = formats.OutcomeBlocked
	}

	if l.lists == nil {
		l.lists = map[formats.Outcome][]any{}
	}
	l.lists[outcome] = append(l.lists[outcome], child)
	l.files = append(l.files, made...)
}

// value is what the loop shows. A child is in several lists; it is prepared once for all of them.
func (l *loop) value() object {
	out := object{
		"children":  query.Prepare(nonNil(l.children)),
		"artifacts": listOf(l.files),
		"issues":    listOf(l.issues),
	}

	for _, key := range []formats.Outcome{
		formats.OutcomeCompleted, formats.OutcomePartial, formats.OutcomeFailed,
		formats.OutcomeBlocked,
	} {
		out[key.String()] = query.Prepare(nonNil(l.lists[key]))
	}
	return out
}

// earlyResult is the result of a loop that a return, a fail or a jump ended: the children up to
// then.
func (l *loop) earlyResult(end *ending) result {
	outcome := formats.OutcomeCompleted
	if end.jump == "" {
		outcome = end.ret.Outcome()
	}
	out := summaryResult(outcome, end.ret, l.value())
	out.end = end
	return out
}
