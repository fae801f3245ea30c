package interp

import (
	"cmp"

	"tercet/formats"
)

// Lower takes the smaller of each pair of limits if the second is set. AutoResume limits no work,
// so there the second wins.
func Lower(a, b formats.Limits) formats.Limits {
	lowerTo(&a.Rollbacks, b.Rollbacks)
	lowerTo(&a.Retries, b.Retries)
	lowerTo(&a.Visits, b.Visits)
	lowerTo(&a.Steps, b.Steps)
	lowerTo(&a.Elements, b.Elements)
	lowerTo(&a.Parallel, b.Parallel)
	lowerTo(&a.Spawns, b.Spawns)
	lowerTo(&a.Tokens, b.Tokens)
	lowerTo(&a.Cost, b.Cost)
	lowerTo(&a.Duration, b.Duration)
	a.AutoResume = cmp.Or(b.AutoResume, a.AutoResume)
	return a
}

// lowerTo lowers a limit; 0 is no limit.
func lowerTo[T cmp.Ordered](limit *T, by T) {
	var none T
	if by != none && (*limit == none || by < *limit) {
		*limit = by
	}
}
