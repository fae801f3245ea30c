package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/internal/jsonx"
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
	from, err := parseDocument(nameA, a)
	if err != nil {
		return nil, err
	}

	to, err := parseDocument(nameB, b)
	if err != nil {
		return nil, err
	}
	out := []Difference{}
	for _, key := range unionKeys(from.tree, to.tree) {
		if key == "tasks" {
			continue
		}
		x := compact(from.tree.Get(key))
		y := compact(to.tree.Get(key))
		if x != y {
			out = append(out, Difference{
				Field: key,
				From:  x,
				To:    y,
			})
		}
	}

	numbers := map[int]bool{}
	for _, d := range []*document{from, to} {
		for i := range d.Tasks {
			numbers[d.Tasks[i].Number] = true
		}
	}

	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		x := from.value(n)
		y := to.value(n)
		if x == nil || y == nil {
			out = append(out, Difference{
				Task: n,
				From: compact(x),
				To:   compact(y),
			})
			continue
		}
		for _, key := range unionKeys(x, y) {
			before := compact(x.Get(key))
			after := compact(y.Get(key))
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

// value returns the JSON of a task, or nil if there is none.
func (d *document) value(n int) *jsonx.Value {
	if d == nil {
		return nil
	}
	if i, ok := d.index[n]; ok {
		return d.full(i)
	}
	return nil
}

// compact encodes a value for comparison: without layout, and with sorted members. An absent value
// is empty.
func compact(v *jsonx.Value) string {
	if v == nil {
		return ""
	}
	if !v.Is(jsonx.Dict) && !v.Is(jsonx.Array) {
		return string(jsonx.AppendValue(nil, v))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b) // sorts the members of objects
	e.SetEscapeHTML(false)
	if err := e.Encode(v.Any()); err != nil {
		return string(jsonx.AppendValue(nil, v))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// unionKeys lists the keys of both objects, in the order of the first, then of the second.
func unionKeys(a, b *jsonx.Value) []string {
	var out []string
	seen := map[string]bool{}
	for _, v := range []*jsonx.Value{a, b} {
		if !v.Is(jsonx.Dict) {
			continue
		}
		for i := range v.Members {
			if key := v.Members[i].Key; !seen[key] {
				seen[key] = true
				out = append(out, key)
			}
		}
	}
	return out
}

// splitConflict splits a text with conflict markers into its two sides, and the common base if the
// markers include it.
func splitConflict(src []byte) (ours, theirs, base []byte, ok bool) {
	const (
		both = iota
		inOurs
		inBase
		inTheirs
	)
	at := both
	based := false
	found := false
	for line := range bytes.Lines(src) {
		switch {
		case at == both && bytes.HasPrefix(line, []byte("<<<<<<< ")):
			at = inOurs
			found = true
			continue
		case at == inOurs && bytes.HasPrefix(line, []byte("||||||| ")):
			at = inBase
			based = true
			continue
		case (at == inOurs || at == inBase) &&
			bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("=======")):
			at = inTheirs
			continue
		case at == inTheirs && bytes.HasPrefix(line, []byte(">>>>>>> ")):
			at = both
			continue
		}
		if at == both || at == inOurs {
			ours = append(ours, line...)
		}
		if at == both || at == inTheirs {
			theirs = append(theirs, line...)
		}
		if at == both || at == inBase {
			base = append(base, line...)
		}
	}

	if !based {
		base = nil
	}
	return ours, theirs, base, found && at == both
}
