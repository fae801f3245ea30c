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
	finished
	shown any // what expressions see of it
	files []formats.Artifact
	tree  *subtree // that it has to itself
}

// parallel runs the children side by side. Their results stand in the order of the file, whichever
// came first.
func (s step) parallel(p *syntax.Parallel) (result, error) {
	in := inside(s, s.Body, "/")
	children := make([]child, len(s.Body))
	among := &siblings{}
	err := s.side(branches{
		n:    len(children),
		most: s.limits.Parallel,
		more: func() bool { return true },
		body: func(i int) error {
			one := in.at(s.prog.Info(s.Body[i]))
			var tree *subtree
			if !one.checks() { // a check looks at what all have
				tree = among.part(s, one.ID)
			}
			res, ran, err := one.once()
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
				finished: finished{one, res},
				files:    s.made,
				tree:     tree,
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
		vote := c.ret
		if vote.Outcome() != c.outcome {
			vote.Verdict = ""
			vote.Said = c.outcome
		}
		votes = append(votes, Vote{Return: vote, Check: c.checks()})
		value := map[string]any{"id": c.ID, "status": c.outcome.String()}
		maps.Copy(value, c.value)
		children[i].shown = query.Prepare(value)
		if c.outcome != formats.OutcomeSkipped {
			ran = append(ran, children[i].shown)
		}
		s.results[c.ID] = in.results[c.ID]
		c.conditions()
		if err := c.post(); err != nil {
			return result{}, err
		}
		s.made = append(s.made, c.files...)
		if slices.Contains(s.dry.stubbed, c.ID) {
			s.dry.stubbed = append(s.dry.stubbed, s.ID)
		}
	}

	outcome, err := Decide(s.predicate(p.Merge, ran), votes)
	if err != nil {
		return result{}, err
	}
	return joined(outcome, children), nil
}

// checks tells whether the step is a check.
func (s step) checks() bool {
	_, ok := s.Action.(*syntax.Check)
	return ok
}

// joined is the result of several children: their issues and artifacts in order, and one child's
// words. These are of the first child with the same outcome, else of the first that did not pass.
func joined(outcome formats.Outcome, children []child) result {
	ret := formats.Return{Status: formats.StatusCompleted}
	passed := 0
	ran := 0
	decided := false
	values := make([]any, len(children))
	for i, c := range children {
		values[i] = c.shown
		if c.outcome == formats.OutcomeSkipped {
			continue
		}
		ran++
		its := c.ret
		ret.Issues = append(ret.Issues, its.Issues...)
		ret.Artifacts = append(ret.Artifacts, its.Artifacts...)
		if c.outcome.Passes() {
			passed++
			continue
		}
		if ret.Summary == "" || c.outcome == outcome && !decided {
			decided = c.outcome == outcome
			ret.Summary = c.ID + ": " + its.Summary
			ret.Errors = its.Errors
			ret.Class = its.Class
			ret.BlockedReason = its.BlockedReason
			ret.BlockedTarget = its.BlockedTarget
		}
		if len(its.Issues) == 0 {
			ret.Issues = append(ret.Issues, formats.Issue{
				Level:       formats.LevelError,
				Description: fmt.Sprintf("%s is %s: %s", c.ID, c.outcome, its.Summary),
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

	out := summed(outcome, ret, returned(ret, 1).value)
	out.value["children"] = values
	return out
}
