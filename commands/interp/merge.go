package interp

import (
	"slices"

	"tercet/formats"
)

// Vote is what one child came to. Check marks a check: one that rejects is a veto under every predicate.
type Vote struct {
	Return formats.Return
	Check  bool
}

// Predicate tells whether the children that ran may pass together; nil is all(approved).
type Predicate func(ran []formats.Return) (bool, error)

// Decide gives the outcome of children that ran side by side or one after the other. It is a pure function of what they
// returned: a child that is missing a verdict, failed or is blocked has not approved.
func Decide(holds Predicate, votes []Vote) (formats.Outcome, error) {
	var ran []formats.Return
	veto := false
	for _, v := range votes {
		outcome := v.Return.Outcome()
		if outcome == formats.OutcomeSkipped {
			continue
		}
		ran = append(ran, v.Return)
		veto = veto || v.Check && outcome == formats.OutcomeRejected
	}
	if len(ran) == 0 {
		return formats.OutcomeSkipped, nil
	}
	passed := !slices.ContainsFunc(ran, func(ret formats.Return) bool { return !ret.Outcome().Passes() })
	if holds != nil {
		var err error
		if passed, err = holds(ran); err != nil {
			return "", err
		}
	}
	switch {
	case veto:
		return formats.OutcomeRejected, nil
	case passed:
		return formats.OutcomeCompleted, nil
	}
	for _, worst := range []formats.Outcome{
		formats.OutcomeRejected, formats.OutcomeFailed, formats.OutcomeBlocked, formats.OutcomeSuspended,
		formats.OutcomePartial,
	} {
		if slices.ContainsFunc(ran, func(ret formats.Return) bool { return ret.Outcome() == worst }) {
			return worst, nil
		}
	}
	return formats.OutcomeRejected, nil // all passed, and the predicate asks for more
}
