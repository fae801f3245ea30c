package statefile

import (
	"bytes"
	"encoding/json"
	"strings"

	"tercet/internal/jsonx"
)

// Value returns the JSON of a task, or nil if there is none.
func (d *Document) Value(n int) *jsonx.Value {
	if d == nil {
		return nil
	}
	if i, ok := d.Index[n]; ok {
		return d.Full(i)
	}
	return nil
}

// Compact encodes a value for comparison: without layout, and with sorted members. An absent value
// is empty.
func Compact(v *jsonx.Value) string {
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

// UnionKeys lists the keys of both objects, in the order of the first, then of the second.
func UnionKeys(a, b *jsonx.Value) []string {
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

// Plain returns the document as plain JSON.
func (d *Document) Plain() map[string]any {
	out := make(map[string]any, len(d.Tree.Members))
	for _, m := range d.Tree.Members {
		if m.Value != d.List {
			out[m.Key] = m.Value.Any()
			continue
		}
		list := make([]any, len(d.Values))
		for i := range d.Values {
			list[i] = d.Full(i).Any()
		}
		out[m.Key] = list
	}
	return out
}

// TextOf returns a member that is a text; anything else is empty.
func TextOf(v *jsonx.Value, key string) string {
	s, _ := v.Get(key).Str() // absent is empty
	return s
}
