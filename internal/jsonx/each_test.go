package jsonx_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/jsonx"
)

// TestParseEach: the elements that are handed over are those of Parse, at the same places; the tree
// has all but what is in them, and what is wrong with a text is said in the same words.
func TestParseEach(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		`{"tasks": [{"a": 1, "b": {"c": ["x", "\u00e9", {}]}}, {"a": [1, 2.50]}, 3, "four", [], {}], "next": 7}`,
		"\xef\xbb\xbf{\"before\": {\"tasks\": [1]}, \"tasks\": [\n {\"a\": \"b\"}\n]}",
		`{"tasks": []}`, `{"tasks": {"a": 1}}`, `{"tasks": "none"}`, `{"other": [{"a": 1}]}`,
		`[{"tasks": [1]}]`, `7`, `{"tasks": [{"a": 1, "a": 2}]}`, `{"tasks": [1], "tasks": [2]}`,
		`{"tasks": [1,]}`, `{"tasks": [{"a": nope}]}`, `{"tasks": [1`, `{"tasks": [{"a": "b}]}`,
		`{"tasks": [1]} x`, ``,
	} {
		whole, wantErr := jsonx.Parse([]byte(src), jsonx.Limits{})
		var seen []string
		show := func(v *jsonx.Value) string {
			text := fmt.Sprintf("%d-%d %s", v.Start, v.End, jsonx.AppendValue(nil, v))
			for _, m := range v.Members {
				text += fmt.Sprintf(" %s@%d:%d", m.Key, m.KeyStart, m.Value.Start)
			}
			return text
		}
		tree, err := jsonx.ParseEach(
			[]byte(src),
			jsonx.Limits{},
			"tasks",
			func(i int, v *jsonx.Value) {
				if i == 0 {
					seen = nil // a text with the key twice is refused in the end
				}
				if i != len(seen) {
					t.Errorf("%s: element %d came as %d", src, len(seen), i)
				}
				seen = append(seen, show(v))
			},
		)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: ParseEach = %v, want %v", src, err, wantErr)
		}
		if wantErr != nil || err != nil {
			continue
		}
		list := whole.Get("tasks")
		if !list.Is(jsonx.Array) {
			if diff := cmp.Diff(show(whole), show(tree)); diff != "" || seen != nil {
				t.Errorf("%s: %q, tree (-want +got):\n%s", src, seen, diff)
			}
			continue
		}
		var want []string
		for i, e := range list.Elems {
			want = append(want, show(e))
			hollow := tree.Get("tasks").Elems[i]
			if hollow.Start != e.Start || hollow.End != e.End || hollow.Kind != e.Kind ||
				hollow.Members != nil || hollow.Elems != nil {
				t.Errorf("%s: element %d = %+v, want its place only", src, i, hollow)
			}
			again, err := jsonx.ParseAt([]byte(src), hollow, jsonx.Limits{})
			if err != nil || show(again) != show(e) {
				t.Errorf("%s: ParseAt %d = %v, %v; want %s", src, i, again, err, show(e))
			}
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s: elements (-want +got):\n%s", src, diff)
		}
		for i, m := range whole.Members {
			got := tree.Members[i]
			if got.Key != m.Key || got.KeyStart != m.KeyStart ||
				m.Key != "tasks" && show(got.Value) != show(m.Value) {
				t.Errorf("%s: member %s = %+v", src, m.Key, got)
			}
		}
	}
}
