package interp

import (
	"fmt"
	"maps"
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/trace"
)

// until runs the body until the condition holds after a pass. Afterwards it shows the results of
// the last pass.
func (s step) until(u *syntax.Until) (_ result, err error) {
	r := s.run
	var out loop
	var p pass
	var hint *formats.Feedback // the user's, for the next pass
	done := false
	stalled := ""

	for i := 0; i < u.Max && !done && out.last == nil && stalled == ""; i++ {
		if err := s.record(formats.EntryLoopEntered, object{"pass": i}); err != nil {
			return result{}, err
		}
		s.queuePass(trace.Event{Name: "round"}, i, u.Max)
		p, err = passWithHint(s, i, hint)
		*s.frame.collector = append(*s.frame.collector, p.files...)
		if err != nil {
			return result{}, err
		}
		if p.end.leaves() {
			return out.earlyResult(p.end), nil
		}

		out.add(i, nil, p)
		switch {
		case p.end != nil:
		case r.dry.isUnknown(u.Cond):
			s.plan("go on until %s, which only a run knows", sourceOf(u.Cond))
			done = true
		default:
			done, err = p.in.env(s.frame).holds(u.Cond, nil)
			if err != nil {
				return result{}, err
			}
			if done || u.Max <= formats.StallRounds || i+1 >= u.Max || r.finishing ||
				!r.prog.CallsWorker(s.info.Step.Body...) {
				break
			}
			next, err := checkPass(s, i, p)
			if err != nil {
				return result{}, err
			}
			if next.end != nil {
				return out.earlyResult(next.end), nil
			}
			hint = next.hint
			stalled = next.stalled
		}
	}

	maps.Copy(s.scope.results, p.in.results)
	ret := formats.Return{
		Status:    formats.StatusCompleted,
		Issues:    out.issues,
		Artifacts: out.files,
		Summary:   fmt.Sprintf("%d passes", len(out.children)),
	}
	outcome := formats.OutcomeCompleted
	switch {
	case out.last != nil:
		ret = *out.last
		outcome = out.outcome
	case !done:
		outcome = formats.OutcomePartial
		ret.Status = formats.StatusPartial
		ret.Summary = fmt.Sprintf("not reached in %d passes: %s", len(out.children), u.Cond.Src)
		if stalled != "" {
			ret.Summary += "; " + stalled
		}
		if words := p.in.lastSummary(); words != "" {
			ret.Summary += "; last: " + words
		}
	}

	return summaryResult(outcome, ret, out.value()), nil
}

// passWithHint runs a pass with the hint that the user gave after the one before.
func passWithHint(s step, i int, hint *formats.Feedback) (pass, error) {
	if hint != nil {
		s = s.withFeedback(hint)
	}
	return s.pass(i, nil)
}

// nextPass says how a loop goes on after a pass.
type nextPass struct {
	hint    *formats.Feedback // of the user, for the next pass
	stalled string            // why there is no next pass
	end     *ending           // the user ends the command
}

// checkPass counts a pass that is to be followed by another. If too many had the same result, the
// user gives a hint for the next one or ends the command. Without a decision the loop ends as after
// its last pass if the file has a rule for that.
func checkPass(s step, i int, p pass) (nextPass, error) {
	var issues []formats.Issue
	for _, id := range slices.Sorted(maps.Keys(p.in.results)) {
		shown := p.in.shownResult(id)
		o := formats.Outcome(formats.As[string](shown["status"]))
		if o != "" && !o.Passes() {
			var some []formats.Issue
			if err := decode(shown["issues"], &some); err != nil {
				return nextPass{}, err
			}
			issues = append(issues, some...)
		}
	}

	why, err := checkProgress(s, i == 0, issues, p.in.workOutput(p.in.list), p.files)
	if err != nil || why == "" {
		return nextPass{}, err
	}

	d, err := askStalled(s, why, issues)
	switch {
	case err != nil:
		return nextPass{}, err
	case d.Answer == choiceGoOn:
		return nextPass{hint: &formats.Feedback{
			From:    s.info.ID,
			Issues:  nonNil(issues),
			Note:    d.Note,
			Attempt: i + 1,
		}}, nil
	case !d.Person && slices.ContainsFunc(s.info.On, func(r syntax.Rule) bool {
		return r.Status.Text == formats.OutcomePartial.String()
	}):
		return nextPass{stalled: why}, nil
	}

	failed := result{
		outcome: formats.OutcomeFailed,
		ret:     formats.Return{Summary: why, Issues: issues},
	}
	tr := transition{s, failed}
	return nextPass{end: final(tr.noProgressReturn(why))}, nil
}
