package journal

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"tercet/formats"
	"tercet/internal/lazy"
)

// Difference is the first place in which two runs differ.
type Difference struct {
	Type   string `json:"type"`
	Step   string `json:"step_path"`
	Lines  [2]int `json:"lines"` // in the two journals; 0 if that run lacks the entry
	Path   string `json:"path,omitempty"`
	Values [2]any `json:"values"`
}

// String is the difference in one line.
func (d *Difference) String() string {
	what := d.Type
	if d.Step != "" {
		what += " of step '" + d.Step + "'"
	}
	a := quoteValue(d.Values[0], d.Lines[0])
	b := quoteValue(d.Values[1], d.Lines[1])
	return fmt.Sprintf("%s%s: %s (line %d) and %s (line %d)",
		what, d.Path, a, d.Lines[0], b, d.Lines[1])
}

func quoteValue(v any, line int) string {
	if line == 0 {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return formats.Clip(string(text), maxQuoted)
}

// Compare returns the first decision, prompt or return in which two runs differ, or nil. It follows
// the order of the first run; parallel entries are matched by step. It ignores ids, times, usage,
// and observations: observations count only by their effects.
func Compare(a, b []Record) *Difference {
	a = decisionEntries(a)
	b = decisionEntries(b)

	rest := map[string][]Record{}
	for _, r := range b {
		rest[entryKey(r)] = append(rest[entryKey(r)], r)
	}

	var found *Difference
	for _, r := range a {
		list := rest[entryKey(r)]
		if len(list) == 0 {
			found = newDifference(r, [2]int{r.Seq, 0}, "", valueOf(r), nil)
			break
		}
		rest[entryKey(r)] = list[1:]
		where, x, y := firstDifference("", valueOf(r), valueOf(list[0]))
		if x != nil || y != nil {
			found = newDifference(r, [2]int{r.Seq, list[0].Seq}, where, x, y)
			break
		}
	}

	for _, r := range b { // an extra entry of b precedes a later difference
		left := rest[entryKey(r)]
		if (found == nil || found.Lines[1] > r.Seq) && len(left) > 0 && left[0].Seq == r.Seq {
			return newDifference(r, [2]int{0, r.Seq}, "", nil, valueOf(r))
		}
	}

	return found
}

func newDifference(r Record, lines [2]int, where string, a, b any) *Difference {
	return &Difference{
		Type:   string(r.Type),
		Step:   r.Step,
		Lines:  lines,
		Path:   where,
		Values: [2]any{a, b},
	}
}

// decisionEntries are the entries with what a run decided, asked and was answered.
func decisionEntries(records []Record) []Record {
	return slices.DeleteFunc(slices.Clone(currentRecords(records)), func(r Record) bool {
		return isProcessEntry(r.Type) || slices.Contains([]formats.EntryType{
			formats.EntryObserved, formats.EntryBudgetReserved, formats.EntryStateCommitted,
			formats.EntryWaited, formats.EntryWentBack,
		}, r.Type)
	})
}

func entryKey(r Record) string {
	return fmt.Sprintf("%s %s %d", r.Type, r.Step, r.Attempt)
}

// volatileMembers are members that differ between any two runs.
var volatileMembers = []string{
	"session_id", "run", "started_at", "seen", "duration_seconds", "tokens", "cost_usd",
	"prompt_sha256", "lease", "worktree", "created", "updated", "last_updated", "timeout_seconds",
	"tercet_version", "user", "txn", "serial", "digest", "raw", "words", "_raw",
}

// volatileText matches times and the ids of runs and sessions.
var volatileText = lazy.Regexp(
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\bsess_\d+_[a-z0-9]+\b|\br[a-z0-9]{9}\b`,
)

func valueOf(r Record) any {
	if raw := r.Raw(); raw != nil {
		return dropVolatile(decodeJSON(raw))
	}
	return map[string]any{}
}

// dropVolatile removes from a value what differs between any two runs.
func dropVolatile(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range volatileMembers {
			delete(v, key)
		}
		for key, one := range v {
			v[key] = dropVolatile(one)
		}
	case []any:
		for i := range v {
			v[i] = dropVolatile(v[i])
		}
	case string:
		return volatileText().ReplaceAllString(v, "…")
	}
	return v
}

// firstDifference returns the path of the first difference of two values and what they have there;
// nil and nil if they are equal.
func firstDifference(where string, a, b any) (at string, x, y any) {
	one, ok := a.(map[string]any)
	other, both := b.(map[string]any)
	if ok && both {
		for _, key := range slices.Sorted(maps.Keys(one)) {
			at, x, y = firstDifference(where+"."+key, one[key], other[key])
			if x != nil || y != nil {
				return at, x, y
			}
		}
		for _, key := range slices.Sorted(maps.Keys(other)) {
			if _, ok := one[key]; !ok && other[key] != nil {
				return where + "." + key, nil, other[key]
			}
		}
		return "", nil, nil
	}

	if reflect.DeepEqual(a, b) {
		return "", nil, nil
	}
	return where, a, b
}
