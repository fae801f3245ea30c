package interp

import (
	"cmp"

	"tercet/formats"
)

// Lower takes the smaller of each pair of limits if the second is set. AutoResume limits no work,
// so there the second wins.
func Lower(a, b formats.Limits) formats.Limits {
	least(&a.Rollbacks, b.Rollbacks)
	least(&a.Retries, b.Retries)
	least(&a.Visits, b.Visits)
	least(&a.Steps, b.Steps)
	least(&a.Elements, b.Elements)
	least(&a.Parallel, b.Parallel)
	least(&a.Spawns, b.Spawns)
	least(&a.Tokens, b.Tokens)
	least(&a.Cost, b.Cost)
	least(&a.Duration, b.Duration)
	a.AutoResume = cmp.Or(b.AutoResume, a.AutoResume)
	return a
}

// least lowers a limit; 0 is no limit.
func least[T cmp.Ordered](limit *T, by T) {
	var none T
	if by != none && (*limit == none || by < *limit) {
		*limit = by
	}
}
