package interp

import (
	"slices"

	"tercet/formats"
)

// Vote is the result of one child. Check marks a check: a check that rejects is a veto under every
// predicate.
type Vote struct {
	Return formats.Return
	Check  bool
}

// Predicate reports whether the children that ran pass together; nil means all(approved).
type Predicate func(ran []formats.Return) (bool, error)

// Decide gives the outcome of several children from their results alone. A child without a verdict,
// or one that failed or is blocked, has not approved.
func Decide(holds Predicate, votes []Vote) (_ formats.Outcome, err error) {
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
	passed := !slices.ContainsFunc(ran, func(ret formats.Return) bool {
		return !ret.Outcome().Passes()
	})
	if holds != nil {
		passed, err = holds(ran)
		if err != nil {
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
		formats.OutcomeRejected, formats.OutcomeFailed, formats.OutcomeBlocked,
		formats.OutcomeSuspended, formats.OutcomePartial,
	} {
		if slices.ContainsFunc(ran, func(ret formats.Return) bool {
			return ret.Outcome() == worst
		}) {
			return worst, nil
		}
	}

	return formats.OutcomeRejected, nil // all passed, and the predicate asks for more
}
