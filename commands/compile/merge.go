package compile

import (
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/query"
)

// decidableFuncs are the functions with which a predicate that reads only statuses can be judged
// before it runs.
var decidableFuncs = []string{
	"add", "all", "any", "approved", "failed", "first", "floor", "IN", "isempty", "last", "length",
	"map", "max", "min", "not", "passed", "quorum", "rejected", "select",
}

// elementCounts are the numbers of elements that a predicate over a loop is tried with.
var elementCounts = []int{1, 2, 3, 9}

// undecidable is what a predicate that is judged before it runs may not have: functions of its own,
// which may not end, and numbers above those that it is tried with.
var undecidable = lazy.Regexp(`\bdef\b|[0-9][0-9]`)

// checkMergeSense reports a predicate of merge that passes children which all reject, or fails
// children which all approve. The constant true is no predicate: it says that the step passes
// whatever the children return. What reads more of the children than their status is known only
// when they have run.
func (c *compiler) checkMergeSense(e *syntax.Expr, code *query.Code, ids []string) {
	if code == nil || strings.TrimSpace(e.Src) == "true" || len(code.Refs()) > 0 ||
		undecidable().MatchString(e.Src) {
		return
	}

	ofStatus := func(key string) bool {
		return key == "status" || key == "id" && ids != nil
	}
	known := func(f query.Call) bool {
		return slices.Contains(decidableFuncs, f.Name)
	}
	unread := func(key string) bool { return !ofStatus(key) }
	unknown := func(f query.Call) bool { return !known(f) }
	if slices.ContainsFunc(code.Keys(), unread) || slices.ContainsFunc(code.Calls(), unknown) {
		return
	}

	const help = "write all(approved), any(approved) or quorum(n)"
	always := func(o formats.Outcome, want bool) bool {
		counts := elementCounts
		if ids != nil {
			counts = []int{len(ids)}
		}
		return !slices.ContainsFunc(counts, func(n int) bool {
			got, ok := evalMerge(code, ids, n, o)
			return !ok || got != want
		})
	}
	switch {
	case len(ids) == 0 && ids != nil:
	case always(formats.OutcomeRejected, true):
		c.report(e.Pos, CodeBareMerge, help, "'merge' is true when all children reject")
	case always(formats.OutcomeApproved, false) && always(formats.OutcomeCompleted, false):
		c.report(e.Pos, CodeBareMerge, help, "'merge' is false when all children approve")
	}
}

// evalMerge is what a predicate gives for n children that all end the same; ok is false if it
// fails.
func evalMerge(code *query.Code, ids []string, n int, o formats.Outcome) (holds, ok bool) {
	children := make([]any, n)
	for i := range children {
		child := map[string]any{"status": o.String()}
		if ids != nil {
			child["id"] = ids[i]
		}
		children[i] = child
	}

	v, err := code.First(children)
	return query.Truth(v), err == nil
}
