package jsonx_test

import (
	"strconv"
	"strings"
	"testing"

	"tercet/internal/jsonx"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func parse(tb testing.TB, src string) *jsonx.Value {
	tb.Helper()
	v, err := jsonx.Parse([]byte(src), jsonx.Limits{})
	if err != nil {
		tb.Fatalf("Parse(%q) = %v", src, err)
	}
	return v
}

func splice(tb testing.TB, src string, edits ...jsonx.Edit) string {
	tb.Helper()
	out, err := jsonx.Splice([]byte(src), edits)
	if err != nil {
		tb.Fatalf("Splice(%q, %v) = %v", src, edits, err)
	}
	parse(tb, string(out))
	return string(out)
}

const multi = "{\n  \"k\": [\n    1,\n    2\n  ]\n}"

func TestSetMember(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, src, key, raw, want string }{
		{"replace compact", `{"a":1,"b":2}`, "a", `"x"`, `{"a":"x","b":2}`},
		{"add compact", `{"a":1,"b":2}`, "c", `3`, `{"a":1,"b":2,"c":3}`},
		{"add to one compact", `{"a":1}`, "c", `3`, `{"a":1,"c":3}`},
		{"add to one spaced", `{"a": 1}`, "c", `3`, `{"a": 1, "c": 3}`},
		{"add to one padded", `{ "a": 1 }`, "c", `3`, `{ "a": 1, "c": 3 }`},
		{"inline a raw of lines", `{"a": 1}`, "c", multi, `{"a": 1, "c": {"k": [1, 2]}}`},
		{"inline a raw of lines compact", `{"a":1}`, "a", multi, `{"a":{"k":[1,2]}}`},
		{"add pretty", "{\n  \"a\": 1\n}\n", "b", `2`, "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
		{
			"indent a raw", "{\n    \"a\": 1\n}", "b", multi,
			"{\n    \"a\": 1,\n    \"b\": {\n        \"k\": [\n            1,\n            2\n" +
				"        ]\n    }\n}",
		},
		{
			"indent a raw in place", "{\n\t\"a\": 1,\n\t\"b\": 2\n}", "a", multi,
			"{\n\t\"a\": {\n\t\t\"k\": [\n\t\t\t1,\n\t\t\t2\n\t\t]\n\t},\n\t\"b\": 2\n}",
		},
		{
			"line ends kept", "{\r\n  \"a\": 1\r\n}", "b", multi,
			"{\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"k\": [\r\n      1,\r\n      2\r\n    ]\r\n" +
				"  }\r\n}",
		},
		{"odd colon kept", "{\"a\" : 1,\"b\" :2}", "c", `3`, "{\"a\" : 1,\"b\" :2,\"c\" :3}"},
		{
			"odd comma kept", "{\n  \"a\": 1\n, \"b\": 2\n}", "c", `3`,
			"{\n  \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}",
		},
		{"empty alone", `{}`, "a", `1`, `{"a": 1}`},
		{"empty with line break", "{}\n", "a", `1`, "{\n  \"a\": 1\n}\n"},
		{"key escaped", `{}`, "a\"\n", `1`, `{"a\"\n": 1}`},
		{
			"number text of siblings", `{"x":1.00,"y":1e400}`, "z", `0.10`,
			`{"x":1.00,"y":1e400,"z":0.10}`,
		},
		{"after a byte order mark", "\xef\xbb\xbf{}\n", "a", `1`, "\xef\xbb\xbf{\n  \"a\": 1\n}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := splice(
				t, tt.src,
				jsonx.SetMember([]byte(tt.src), parse(t, tt.src), tt.key, []byte(tt.raw)),
			)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("SetMember(%q) (-want +got):\n%s", tt.src, diff)
			}
		})
	}
}

func TestEmptyInside(t *testing.T) {
	t.Parallel()
	pretty := "{\n    \"lease\": {},\n    \"tasks\": []\n}\n"
	v := parse(t, pretty)
	got := splice(t, pretty,
		jsonx.SetMember([]byte(pretty), v.Get("lease"), "pid", []byte("1")),
		jsonx.AppendElem([]byte(pretty), v.Get("tasks"), []byte("{\n  \"n\": 1\n}")))
	want := "{\n    \"lease\": {\n        \"pid\": 1\n    },\n    \"tasks\": [\n        {\n" +
		"            \"n\": 1\n        }\n    ]\n}\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("empty in pretty (-want +got):\n%s", diff)
	}
	lines := "{\n  \"serial\": 1,\n  \"tasks\": [\n" +
		"    {\"number\": 1, \"lease\": {}, \"artifacts\": []}\n  ]\n}\n"
	v = parse(t, lines)
	task := v.Get("tasks").Elems[0]
	got = splice(t, lines,
		jsonx.SetMember([]byte(lines), task.Get("lease"), "pid", []byte("1")),
		jsonx.AppendElem([]byte(lines), task.Get("artifacts"), []byte("{\n  \"path\": \"x\"\n}")),
		jsonx.AppendElem([]byte(lines), v.Get("tasks"), []byte(`{"number": 2}`)))
	want = "{\n  \"serial\": 1,\n  \"tasks\": [\n" +
		"    {\"number\": 1, \"lease\": {\"pid\": 1}, \"artifacts\": [{\"path\": \"x\"}]},\n" +
		"    {\"number\": 2}\n  ]\n}\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("empty in lines (-want +got):\n%s", diff)
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	pretty := "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}"
	tests := []struct {
		src  string
		drop []string
		want string
	}{
		{`{"a":1,"b":2,"c":3}`, []string{"a"}, `{"b":2,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, []string{"b"}, `{"a":1,"c":3}`},
		{`{"a":1,"b":2,"c":3}`, []string{"c"}, `{"a":1,"b":2}`},
		{`{"a":1,"b":2,"c":3}`, []string{"a", "b"}, `{"c":3}`},
		{`{"a":1,"b":2,"c":3}`, []string{"c", "b"}, `{"a":1}`},
		{`{"a":1,"b":2,"c":3}`, []string{"a", "c"}, `{"b":2}`},
		{`{ "a":1 }`, []string{"a"}, `{}`},
		{`{"a":1}`, []string{"x"}, `{"a":1}`},
		{`{}`, []string{"x"}, `{}`},
		{pretty, []string{"a"}, "{\n  \"b\": 2,\n  \"c\": 3\n}"},
		{pretty, []string{"c"}, "{\n  \"a\": 1,\n  \"b\": 2\n}"},
		{pretty, []string{"a", "b", "c"}, "{}"},
	}
	for _, tt := range tests {
		var changes []jsonx.Change
		for _, k := range tt.drop {
			changes = append(changes, jsonx.Change{Key: k})
		}
		got := splice(t, tt.src, jsonx.EditMembers([]byte(tt.src), parse(t, tt.src), changes)...)
		if got != tt.want {
			t.Errorf("remove %v of %q = %q, want %q", tt.drop, tt.src, got, tt.want)
		}
		if len(tt.drop) == 1 {
			got := splice(
				t, tt.src,
				jsonx.RemoveMember([]byte(tt.src), parse(t, tt.src), tt.drop[0]),
			)
			if got != tt.want {
				t.Errorf("RemoveMember(%q, %v) = %q, want %q", tt.src, tt.drop, got, tt.want)
			}
		}
	}
}

func TestEditMembersTogether(t *testing.T) {
	t.Parallel()
	src := "{\n  \"a\": 1,\n  \"b\": 2\n}"
	got := splice(t, src, jsonx.EditMembers([]byte(src), parse(t, src), []jsonx.Change{
		{Key: "c", Raw: []byte("3")},
		{Key: "b"},
		{Key: "d", Raw: []byte("4")},
		{Key: "a", Raw: []byte("0")},
		{Key: "c", Raw: []byte("33")},
		{Key: "e", Raw: []byte("5")},
		{Key: "e"},
	})...)
	if want := "{\n  \"a\": 0,\n  \"c\": 33,\n  \"d\": 4\n}"; got != want {
		t.Errorf("EditMembers = %q, want %q", got, want)
	}
	got = splice(
		t, src,
		jsonx.EditMembers([]byte(src), parse(
			t, src,
		),
			[]jsonx.Change{
				{Key: "a"},
				{Key: "b"},
				{Key: "c", Raw: []byte("3")},
				{Key: "d", Raw: []byte("4")},
			})...,
	)
	if want := "{\n  \"c\": 3,\n  \"d\": 4\n}"; got != want {
		t.Errorf("EditMembers = %q, want %q", got, want)
	}
	if got := jsonx.EditMembers([]byte(
		`[1]`,
	), parse(t, `[1]`), []jsonx.Change{{Key: "a", Raw: []byte("1")}}); got != nil {
		t.Errorf("EditMembers of an array = %v, want nothing", got)
	}
}

func TestEditElems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src  string
		c    jsonx.ElemChanges
		want string
	}{
		{`[1,2,3]`, jsonx.ElemChanges{Remove: []int{1}}, `[1,3]`},
		{`[1,2,3]`, jsonx.ElemChanges{Remove: []int{0, 2, 7, -1}}, `[2]`},
		{`[1,2,3]`, jsonx.ElemChanges{Remove: []int{2, 1, 0}}, `[]`},
		{
			`[1, 2]`,
			jsonx.ElemChanges{Remove: []int{0, 1}, Append: [][]byte{[]byte("3"), []byte("4")}},
			`[3, 4]`,
		},
		{`[1, 2]`, jsonx.ElemChanges{Remove: []int{1}, Append: [][]byte{[]byte("3")}}, `[1, 3]`},
		{
			`[1,2]`,
			jsonx.ElemChanges{
				Replace: map[int][]byte{0: []byte("9"), 1: []byte("8")},
				Remove:  []int{1},
			},
			`[9]`,
		},
		{`{"a":[1]}`, jsonx.ElemChanges{Append: [][]byte{[]byte("2")}}, `{"a":[1,2]}`},
		{`{"a": [1]}`, jsonx.ElemChanges{Append: [][]byte{[]byte("2")}}, `{"a": [1, 2]}`},
		{
			`{"a":[{"x":1}]}`,
			jsonx.ElemChanges{Append: [][]byte{[]byte("{\n  \"x\": 2\n}")}},
			`{"a":[{"x":1},{"x":2}]}`,
		},
		{
			`{"a": []}`,
			jsonx.ElemChanges{Append: [][]byte{[]byte("2"), []byte("3")}},
			`{"a": [2, 3]}`,
		},
		{"[\n  1\n]", jsonx.ElemChanges{Append: [][]byte{[]byte("2")}}, "[\n  1,\n  2\n]"},
		{
			"[\n  1\n]",
			jsonx.ElemChanges{Remove: []int{0}, Append: [][]byte{[]byte("2"), []byte("3")}},
			"[\n  2,\n  3\n]",
		},
		{"[\n  1,\n  2\n]", jsonx.ElemChanges{Remove: []int{0}}, "[\n  2\n]"},
	}
	for _, tt := range tests {
		v := parse(t, tt.src)
		arr := v
		if v.Kind == jsonx.Dict {
			arr = v.Get("a")
		}
		if got := splice(t, tt.src, jsonx.EditElems([]byte(tt.src), arr, tt.c)...); got != tt.want {
			t.Errorf("EditElems(%q, %v) = %q, want %q", tt.src, tt.c, got, tt.want)
		}
	}

	src := `[1,2]`
	if got := splice(t, src, jsonx.RemoveElem([]byte(src), parse(t, src), 0)); got != `[2]` {
		t.Errorf("RemoveElem = %s, want [2]", got)
	}
}

func TestSpliceErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		edits []jsonx.Edit
		want  string
	}{
		{
			[]jsonx.Edit{{Start: 1, End: 2}, {Start: 1, End: 3}},
			"edit 1 [1:3]: starts before the end of the edit before it",
		},
		{[]jsonx.Edit{{Start: 2, End: 9}}, "edit 0 [2:9]: range is not inside the source"},
		{[]jsonx.Edit{{Start: 2, End: 1}}, "edit 0 [2:1]: range is not inside the source"},
		{[]jsonx.Edit{{Start: -1, End: 1}}, "edit 0 [-1:1]: range is not inside the source"},
	} {
		_, err := jsonx.Splice([]byte("abc"), tt.edits)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Splice(%v) = %v, want %s", tt.edits, err, tt.want)
		}
	}

	got, err := jsonx.Splice([]byte("abc"), []jsonx.Edit{
		{Start: 1, End: 1, Text: []byte("1")},
		{Start: 1, End: 1, Text: []byte("2")},
		{Start: 1, End: 2},
		{Start: 3, End: 3, Text: []byte("3")},
	})
	if err != nil || string(got) != "a12c3" {
		t.Errorf("Splice = %s, %v, want a12c3", got, err)
	}
}

// document draws a JSON text in one of several layouts, and with odd white space.
func document(t *rapid.T, depth int) string {
	ws := rapid.SampledFrom([]string{"", "", " ", "\n", "\n  ", "\t", "\r\n"})
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth == 0 {
		kind %= 6
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1, 2:
		return rapid.SampledFrom([]string{
			"0", "-0", "1.50", "1e400", "12345678901234567890", "7",
		}).Draw(t, "number")
	case 3, 4, 5:
		return rapid.SampledFrom([]string{`""`, `"a"`, `"\u00e9\n\"}],"`, `"é{[,:"`}).Draw(
			t,
			"string",
		)
	case 6:
		var b strings.Builder
		b.WriteString("[")
		n := rapid.IntRange(0, 4).Draw(t, "n")
		for i := range n {
			if i > 0 {
				b.WriteString(ws.Draw(t, "ws") + ",")
			}
			b.WriteString(ws.Draw(t, "ws") + document(t, depth-1))
		}
		b.WriteString(ws.Draw(t, "ws") + "]")
		return b.String()
	}

	return object(t, depth)
}

func object(t *rapid.T, depth int) string {
	ws := rapid.SampledFrom([]string{"", "", " ", "\n", "\n  ", "\t", "\r\n"})
	var b strings.Builder
	b.WriteString("{")
	n := rapid.IntRange(0, 4).Draw(t, "n")
	for i := range n {
		if i > 0 {
			b.WriteString(ws.Draw(t, "ws") + ",")
		}
		b.WriteString(ws.Draw(t, "ws") + `"k` + strconv.Itoa(i) + `"` + ws.Draw(t, "ws") + ":" +
			ws.Draw(t, "ws") + document(t, depth-1))
	}
	b.WriteString(ws.Draw(t, "ws") + "}")
	return b.String()
}

// TestSetOneMember: setting one member changes only that member's bytes, and the new text holds the
// new value and all the others with their very bytes.
func TestSetOneMember(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(object(t, 3))
		v, err := jsonx.Parse(src, jsonx.Limits{})
		if err != nil {
			t.Fatalf("Parse(%q) = %v", src, err)
		}
		key := "k" + strconv.Itoa(rapid.IntRange(0, 5).Draw(t, "key"))
		raw := []byte(document(t, 2))
		edit := jsonx.SetMember(src, v, key, raw)
		if old := v.Get(key); old != nil && (edit.Start != old.Start || edit.End != old.End) {
			t.Fatalf("SetMember(%q, %s) edits %d-%d, want %d-%d",
				src, key, edit.Start, edit.End, old.Start, old.End)
		}
		out, err := jsonx.Splice(src, []jsonx.Edit{edit})
		if err != nil {
			t.Fatal(err)
		}
		if string(out[:edit.Start]) != string(src[:edit.Start]) ||
			!strings.HasSuffix(string(out), string(src[edit.End:])) {
			t.Fatalf("SetMember(%q, %s) changed more than its range: %q", src, key, out)
		}
		w, err := jsonx.Parse(out, jsonx.Limits{})
		if err != nil {
			t.Fatalf("SetMember(%q, %s, %q) gives %q: %v", src, key, raw, out, err)
		}
		same(t, key, raw, w.Get(key))
		for _, m := range v.Members {
			if m.Key != key && string(w.Get(m.Key).Raw(out)) != string(m.Value.Raw(src)) {
				t.Fatalf("SetMember(%q, %s) gives %q: %s changed", src, key, out, m.Key)
			}
		}

		back, err := jsonx.Splice(out, []jsonx.Edit{jsonx.RemoveMember(out, w, key)})
		if err != nil {
			t.Fatal(err)
		}
		x, err := jsonx.Parse(back, jsonx.Limits{})
		if err != nil || x.Get(key) != nil || len(x.Members) != len(w.Members)-1 {
			t.Fatalf("RemoveMember(%q, %s) = %q, %v", out, key, back, err)
		}
	})
}

func same(t *rapid.T, key string, raw []byte, got *jsonx.Value) {
	want, err := jsonx.Parse(raw, jsonx.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Any(), got.Any()); diff != "" {
		t.Fatalf("%s after SetMember (-want +got):\n%s", key, diff)
	}
}

// TestEditElemsModel checks removals and additions of one array against a plain slice.
func TestEditElemsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		sep := rapid.SampledFrom([]string{",", ", ", ",\n  ", " ,"}).Draw(t, "sep")
		var words []string
		for i := range n {
			words = append(words, strconv.Itoa(i))
		}

		src := []byte("[" + strings.Join(words, sep) + "]")
		arr, err := jsonx.Parse(src, jsonx.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		c := jsonx.ElemChanges{
			Replace: map[int][]byte{},
			Remove:  rapid.SliceOf(rapid.IntRange(0, 6)).Draw(t, "remove"),
		}
		gone := map[int]bool{}
		for _, i := range c.Remove {
			gone[i] = true
		}

		var want []string
		for i, w := range words {
			if rapid.Bool().Draw(t, "replace") {
				w = "1" + w
				c.Replace[i] = []byte(w)
			}
			if !gone[i] {
				want = append(want, w)
			}
		}

		for i := range rapid.IntRange(0, 3).Draw(t, "append") {
			c.Append = append(c.Append, []byte(strconv.Itoa(100+i)))
			want = append(want, strconv.Itoa(100+i))
		}
		out, err := jsonx.Splice(src, jsonx.EditElems(src, arr, c))
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonx.Parse(out, jsonx.Limits{})
		if err != nil {
			t.Fatalf("EditElems(%q, %v) = %q: %v", src, c, out, err)
		}
		compact, err := jsonx.Marshal(v, "")
		if err != nil || string(compact) != "["+strings.Join(want, ",")+"]" {
			t.Fatalf("EditElems(%q, %v) = %s, %v, want %v", src, c, compact, err, want)
		}
	})
}
