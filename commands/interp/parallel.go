package interp

import (
	"fmt"
	"maps"
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// child is one of the steps that run side by side.
type child struct {
	step   step
	result result
	shown  any // what expressions see of it
	files  []formats.Artifact
	tree   *subtree // that it has to itself
}

// parallel runs the children side by side. Their results are in the order of the file, not in that
// in which they came.
func (s step) parallel(p *syntax.Parallel) (result, error) {
	r := s.run
	in := bodyScope(s, s.info.Step.Body, "/")
	children := make([]child, len(s.info.Step.Body))
	siblings := &childGroup{}
	err := s.frame.runBranches(branches{
		n:         len(children),
		maxActive: r.limits.Parallel,
		mayStart:  func() bool { return true },
		body: func(fr frame, i int) error {
			info := r.prog.Info(s.info.Step.Body[i])
			one := in.step(s.frame, info)
			var tree *subtree
			if !info.Step.Kind().Judges { // a check is made in the tree of the run
				fr, tree = siblings.assignTree(fr, info.ID)
			}
			res, ran, err := one.withFrame(fr).executeOnce()
			if !ran {
				res = result{
					outcome: formats.OutcomeSkipped,
					ret: formats.Return{
						Said:   formats.OutcomeSkipped,
						Status: formats.StatusCompleted,
					},
				}
			}
			children[i] = child{
				step:   one,
				result: res,
				files:  *fr.collector,
				tree:   tree,
			}
			return err
		},
	})
	if err == nil {
		err = joinChildren(s, in, children)
	}
	if err != nil {
		return result{}, err
	}

	var votes []Vote
	var ran []any
	for i, c := range children {
		id := c.step.info.ID
		outcome := c.result.outcome
		vote := c.result.ret
		if vote.Outcome() != outcome {
			vote.Verdict = ""
			vote.Said = outcome
		}
		votes = append(votes, Vote{Return: vote, Check: c.step.info.Step.Kind().Judges})

		value := object{"id": id, "status": outcome.String()}
		maps.Copy(value, c.result.value)
		children[i].shown = query.Prepare(value)
		if outcome != formats.OutcomeSkipped {
			ran = append(ran, children[i].shown)
		}
		s.scope.results[id] = in.results[id]

		f := transition{c.step, c.result}
		f.warnConditions()
		if err := f.post(); err != nil {
			return result{}, err
		}
		*s.frame.collector = append(*s.frame.collector, c.files...)
		if slices.Contains(r.dry.stubbed, id) {
			r.dry.markStubbed(s.info.ID)
		}
	}

	outcome, err := Decide(s.predicate(p.Merge, ran), votes)
	if err != nil {
		return result{}, err
	}
	return joinedResult(outcome, children), nil
}

// joinedResult is the result of several children: their issues and artifacts in order, and the
// summary of one child. That is the first with the same outcome, else the first that did not pass.
func joinedResult(outcome formats.Outcome, children []child) result {
	ret := formats.Return{Status: formats.StatusCompleted}
	passed := 0
	ran := 0
	decided := false
	values := make([]any, len(children))
	for i, c := range children {
		values[i] = c.shown
		own := c.result.outcome
		if own == formats.OutcomeSkipped {
			continue
		}

		ran++
		its := c.result.ret
		ret.Issues = append(ret.Issues, its.Issues...)
		ret.Artifacts = append(ret.Artifacts, its.Artifacts...)
		if own.Passes() {
			passed++
			continue
		}

		if ret.Summary == "" || own == outcome && !decided {
			decided = own == outcome
			ret.Summary = c.step.info.ID + ": " + its.Summary
			ret.Errors = its.Errors
			ret.Class = its.Class
			ret.BlockedReason = its.BlockedReason
			ret.BlockedTarget = its.BlockedTarget
		}

		if len(its.Issues) == 0 {
			ret.Issues = append(ret.Issues, formats.Issue{
				Level:       formats.LevelError,
				Description: fmt.Sprintf("%s is %s: %s", c.step.info.ID, own, its.Summary),
				Source:      "agent",
			})
		}
	}

	switch {
	case outcome.Passes():
		ret.Summary = fmt.Sprintf("%d of %d passed", passed, ran)
	case ret.Summary == "":
		ret.Summary = fmt.Sprintf("%d of %d passed, and 'merge' asks for more", passed, ran)
	}

	out := summaryResult(outcome, ret, resultOf(ret, 1).value)
	out.value["children"] = values
	return out
}
