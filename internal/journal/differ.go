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
	Lines  [2]int `json:"lines"` // in the two journals; 0: that run lacks the entry
	Path   string `json:"path,omitempty"`
	Values [2]any `json:"values"`
}

// String is the difference in one line.
func (d *Difference) String() string {
	what := d.Type
	if d.Step != "" {
		what += " of step '" + d.Step + "'"
	}
	return fmt.Sprintf("%s%s: %s (line %d) and %s (line %d)", what, d.Path,
		quoted(d.Values[0], d.Lines[0]), d.Lines[0], quoted(d.Values[1], d.Lines[1]), d.Lines[1])
}

func quoted(v any, line int) string {
	if line == 0 {
		return "nothing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return formats.Clip(string(text), mostQuoted)
}

// Differ finds the first decision, prompt or return in which two runs differ; nil if there is none.
// It goes in the order of the first run, parallel entries by step. It ignores ids, times, usage,
// and observations: those count only by their effects.
func Differ(a, b []Record) *Difference {
	a = decisions(a)
	b = decisions(b)
	rest := map[string][]Record{}
	for _, r := range b {
		rest[what(r)] = append(rest[what(r)], r)
	}

	var found *Difference
	for _, r := range a {
		list := rest[what(r)]
		if len(list) == 0 {
			found = difference(r, [2]int{r.Seq, 0}, "", valueOf(r), nil)
			break
		}
		rest[what(r)] = list[1:]
		where, x, y := apart("", valueOf(r), valueOf(list[0]))
		if x != nil || y != nil {
			found = difference(r, [2]int{r.Seq, list[0].Seq}, where, x, y)
			break
		}
	}

	for _, r := range b { // one that only the second run has comes before a difference behind it
		left := rest[what(r)]
		if (found == nil || found.Lines[1] > r.Seq) && len(left) > 0 && left[0].Seq == r.Seq {
			return difference(r, [2]int{0, r.Seq}, "", nil, valueOf(r))
		}
	}

	return found
}

func difference(r Record, lines [2]int, where string, a, b any) *Difference {
	return &Difference{
		Type:   string(r.Type),
		Step:   r.Step,
		Lines:  lines,
		Path:   where,
		Values: [2]any{a, b},
	}
}

// decisions are the entries that say what a run decided, told and was answered.
func decisions(records []Record) []Record {
	return slices.DeleteFunc(slices.Clone(course(records)), func(r Record) bool {
		return aside(r.Type) || slices.Contains([]formats.EntryType{
			formats.EntryObserved, formats.EntryBudgetReserved, formats.EntryStateCommitted,
			formats.EntryWaited, formats.EntryWentBack,
		}, r.Type)
	})
}

func what(r Record) string {
	return fmt.Sprintf("%s %s %d", r.Type, r.Step, r.Attempt)
}

// own are the members that no two runs have in common.
var own = []string{
	"session_id", "run", "started_at", "seen", "duration_seconds", "tokens", "cost_usd",
	"prompt_sha256", "lease", "worktree", "created", "updated", "last_updated", "timeout_seconds",
	"tercet_version", "user", "txn", "serial", "digest", "raw", "words", "_raw",
}

// stampOf is a time, an id of a run or of a session in a text.
var stampOf = lazy.Regexp(
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\bsess_\d+_[a-z0-9]+\b|\br[a-z0-9]{9}\b`,
)

func valueOf(r Record) any {
	if raw := r.Raw(); raw != nil {
		return common(plainly(raw))
	}
	return map[string]any{}
}

// common is a value without what is own to a run.
func common(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range own {
			delete(v, key)
		}
		for key, one := range v {
			v[key] = common(one)
		}
	case []any:
		for i := range v {
			v[i] = common(v[i])
		}
	case string:
		return stampOf().ReplaceAllString(v, "…")
	}
	return v
}

// apart gives the first place in which two values differ, and what stands there; nil and nil for
// none.
func apart(where string, a, b any) (at string, x, y any) {
	one, ok := a.(map[string]any)
	other, both := b.(map[string]any)
	if ok && both {
		for _, key := range slices.Sorted(maps.Keys(one)) {
			if at, x, y = apart(where+"."+key, one[key], other[key]); x != nil || y != nil {
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
