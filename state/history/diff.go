package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/state/statefile"
)

// Difference is one difference between two states.
type Difference struct {
	Task  int    `json:"task"`  // 0: a member of the state itself
	Field string `json:"field"` // empty: the whole task
	From  string `json:"from"`  // as JSON; empty: missing
	To    string `json:"to"`    // as JSON; empty: missing
}

// String is the difference in one line: a sign for added or removed, the field, and the values.
func (d Difference) String() string {
	where := ""
	if d.Task != 0 {
		where = fmt.Sprintf("task %d", d.Task)
	}
	if d.Field != "" {
		where = strings.TrimPrefix(where+": ", ": ") + d.Field
	}

	switch {
	case d.From == "":
		return "+ " + where + ": " + d.To
	case d.To == "":
		return "- " + where + ": " + d.From
	}
	return "  " + where + ": " + d.From + " -> " + d.To
}

// Diff compares two states by task and field, unknown members included. It ignores layout and
// order.
func Diff(nameA string, a []byte, nameB string, b []byte) ([]Difference, error) {
	from, err := statefile.Parse(nameA, a)
	if err != nil {
		return nil, err
	}

	to, err := statefile.Parse(nameB, b)
	if err != nil {
		return nil, err
	}
	out := []Difference{}
	for _, key := range statefile.UnionKeys(from.Tree, to.Tree) {
		if key == "tasks" {
			continue
		}
		x := statefile.Compact(from.Tree.Get(key))
		y := statefile.Compact(to.Tree.Get(key))
		if x != y {
			out = append(out, Difference{
				Field: key,
				From:  x,
				To:    y,
			})
		}
	}

	numbers := map[int]bool{}
	for _, d := range []*statefile.Document{from, to} {
		for i := range d.Tasks {
			numbers[d.Tasks[i].Number] = true
		}
	}

	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		x := from.Value(n)
		y := to.Value(n)
		if x == nil || y == nil {
			out = append(out, Difference{
				Task: n,
				From: statefile.Compact(x),
				To:   statefile.Compact(y),
			})
			continue
		}
		for _, key := range statefile.UnionKeys(x, y) {
			before := statefile.Compact(x.Get(key))
			after := statefile.Compact(y.Get(key))
			if before != after {
				out = append(out, Difference{
					Task:  n,
					Field: key,
					From:  before,
					To:    after,
				})
			}
		}
	}

	return out, nil
}
