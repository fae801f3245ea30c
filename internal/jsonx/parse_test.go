package jsonx_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"tercet/internal/jsonx"

	"github.com/google/go-cmp/cmp"
)

func TestParseValid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src  string
		want any
	}{
		{`null`, nil},
		{" true\r\n", true},
		{"\tfalse", false},
		{`""`, ""},
		{`0`, json.Number("0")},
		{`-0`, json.Number("-0")},
		{`1.0`, json.Number("1.0")},
		{`1e400`, json.Number("1e400")},
		{`-12.50E-07`, json.Number("-12.50E-07")},
		{`12345678901234567890123`, json.Number("12345678901234567890123")},
		{`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, "\"\\/\b\f\n\r\té😀"},
		{`"\u0000"`, "\x00"},
		{"\"\x7f \u2028 \uffff\"", "\x7f \u2028 \uffff"},
		{`"héllo"`, "héllo"},
		{"\xef\xbb\xbf[1]", []any{json.Number("1")}},
		{`[]`, []any{}},
		{`[ 1 , [2] ]`, []any{json.Number("1"), []any{json.Number("2")}}},
		{`{}`, map[string]any{}},
		{`{"a":{"b":null},"A":1,"":2}`, map[string]any{
			"a": map[string]any{"b": nil},
			"A": json.Number("1"),
			"":  json.Number("2"),
		}},
		{strings.Repeat("[", 64) + strings.Repeat("]", 64), nest(64)},
	}
	for _, tt := range tests {
		v, err := jsonx.Parse([]byte(tt.src), jsonx.Limits{})
		if err != nil {
			t.Errorf("Parse(%q) = %v, want no error", tt.src, err)
			continue
		}
		// reflect.DeepEqual, because cmp takes exponential time on deep slices.
		if got := v.Any(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Parse(%q) = %v, want %v", tt.src, got, tt.want)
		}
		got := string(v.Raw([]byte(tt.src)))
		want := strings.TrimSpace(strings.TrimPrefix(tt.src, "\xef\xbb\xbf"))
		if got != want {
			t.Errorf("Raw of %q = %q, want %q", tt.src, got, want)
		}
	}
}

func nest(n int) any {
	v := []any{}
	for range n - 1 {
		v = []any{v}
	}
	return v
}

func TestParseInvalid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src    string
		offset int
		want   string
	}{
		{"", 0, "1:1: expected a value, got end of input"},
		{"\xef\xbb\xbf", 3, "1:1: expected a value, got end of input"},
		{" \n ", 3, "2:2: expected a value, got end of input"},
		{"nul", 0, `1:1: expected a value, got "nul"`},
		{"True", 0, `1:1: expected a value, got "True"`},
		{"[NaN]", 1, `1:2: expected a value, got "NaN"`},
		{"[\n  Infinity]", 4, `2:3: expected a value, got "Infinity"`},
		{"-Infinity", 0, `1:1: invalid number "-Infinity"`},
		{"+1", 0, `1:1: expected a value, got "+1"`},
		{"01", 0, `1:1: invalid number "01"`},
		{"[1.]", 1, `1:2: invalid number "1."`},
		{".5", 0, `1:1: expected a value, got ".5"`},
		{"1e", 0, `1:1: invalid number "1e"`},
		{"0x1F", 0, `1:1: invalid number "0x1F"`},
		{"1.2.3", 0, `1:1: invalid number "1.2.3"`},
		{"-", 0, `1:1: invalid number "-"`},
		{"-x", 0, `1:1: invalid number "-x"`},
		{"1 2", 2, `1:3: expected end of input, got "2"`},
		{"{}}", 2, `1:3: expected end of input, got "}"`},
		{"'a'", 0, `1:1: expected a value, got "'"`},
		{"[1,]", 2, `1:3: trailing comma, expected a value after it`},
		{"{\"a\":1,\n}", 6, `1:7: trailing comma, expected a key after it`},
		{"[,1]", 1, `1:2: expected a value, got ","`},
		{"[1 2]", 3, `1:4: expected "," or "]", got "2"`},
		{"[1", 2, `1:3: expected "," or "]", got end of input`},
		{"[1}", 2, `1:3: expected "," or "]", got "}"`},
		{`{a:1}`, 1, `1:2: expected a key in double quotes, got "a"`},
		{`{"a" 1}`, 5, `1:6: expected ":", got "1"`},
		{`{"a":}`, 5, `1:6: expected a value, got "}"`},
		{`{"a":1`, 6, `1:7: expected "," or "}", got end of input`},
		{`{`, 1, `1:2: expected a key in double quotes, got end of input`},
		{`{"a":1 "b":2}`, 7, `1:8: expected "," or "}", got "\""`},
		{`{"é":1,"b":2,"é":3}`, 14, `1:14: duplicate key "é", first at 1:2`},
		{"{\"a\":1,\n\"\\u0061\":3}", 8, `2:1: duplicate key "a", first at 1:2`},
		{`"abc`, 0, `1:1: string without its closing quote`},
		{`"ab\nc`, 0, `1:1: string without its closing quote`},
		{"\"a\nb\"", 2, `1:3: line break in a string`},
		{"\"a\tb\"", 2, `1:3: control character 0x09 in a string`},
		{`"\x"`, 1, `1:2: invalid escape "\\x"`},
		{`"\`, 1, `1:2: escape without its character`},
		{`"\u12g4"`, 1, `1:2: invalid escape "\\u12g4", expected four hexadecimal digits`},
		{`"é\ud800"`, 3, `1:3: lone surrogate \ud800`},
		{`"\udc00\ud800"`, 1, `1:2: lone surrogate \udc00`},
		{`"\ud800\u0041"`, 1, `1:2: lone surrogate \ud800`},
		{"\"a\xff\"", 2, `1:3: invalid UTF-8 byte 0xff`},
		{"\"\\n\xc3\"", 3, `1:4: invalid UTF-8 byte 0xc3`},
		{"\"\xed\xa0\x80\"", 1, `1:2: invalid UTF-8 byte 0xed`},
		{"\xff\xfe1", 0, `1:1: expected a value, got byte 0xff`},
		{"[1] // x", 4, `1:5: expected end of input, got "/"`},
		{"\u00a01", 0, `1:1: expected a value, got "\u00a0"`},
		{
			strings.Repeat("[", 65) + strings.Repeat("]", 65),
			64,
			"1:65: nesting is deeper than the limit of 64",
		},
		{
			"{\n<<<<<<< HEAD\n\"a\":1}",
			2,
			`2:1: expected a key in double quotes, got merge conflict marker "<<<<<<<"`,
		},
		{
			"{\"a\":1\n=======\n}",
			7,
			`2:1: expected "," or "}", got merge conflict marker "======="`,
		},
		{strings.Repeat("x", 30), 0, `1:1: expected a value, got "xxxxxxxxxxxxxxxxxxxx..."`},
	}
	for _, tt := range tests {
		_, err := jsonx.Parse([]byte(tt.src), jsonx.Limits{})
		var se *jsonx.SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("Parse(%q) = %v, want a *SyntaxError", tt.src, err)
			continue
		}
		if se.Error() != tt.want || se.Offset != tt.offset {
			t.Errorf("Parse(%q) = %q at %d, want %q at %d",
				tt.src, se, se.Offset, tt.want, tt.offset)
		}
		got := strings.Contains(tt.src, "\n<<<") || strings.Contains(tt.src, "\n===")
		if got != se.Conflict {
			t.Errorf("Parse(%q).Conflict = %v, want %v", tt.src, se.Conflict, got)
		}
	}
}

func TestParseLimits(t *testing.T) {
	t.Parallel()
	_, err := jsonx.Parse([]byte(`[1,2,3]`), jsonx.Limits{Bytes: 6})
	if want := "1:1: size 7 bytes exceeds the limit of 6"; err == nil || err.Error() != want {
		t.Errorf("Parse = %v, want %s", err, want)
	}
	if _, err := jsonx.Parse([]byte(`[1,2,3]`), jsonx.Limits{Bytes: 7, Depth: 1}); err != nil {
		t.Errorf("Parse = %v, want no error", err)
	}
	_, err = jsonx.Parse([]byte(`{"a":[]}`), jsonx.Limits{Depth: 1})
	if want := "1:6: nesting is deeper than the limit of 1"; err == nil || err.Error() != want {
		t.Errorf("Parse = %v, want %s", err, want)
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	many.WriteString(`{"k0":0`)
	for range 40 {
		many.WriteString(`,"k0":1,"k1":2`)
	}

	many.WriteString(`}`)
	for src, want := range map[string]string{
		`{"a":1,"b":2,"a":3}`:       `{"a":3,"b":2}`,
		`{"a":1,"a":2,"a":3,"c":4}`: `{"a":3,"c":4}`,
		many.String():               `{"k0":1,"k1":2}`,
	} {
		v, err := jsonx.Parse([]byte(src), jsonx.Limits{Duplicates: true})
		if err != nil {
			t.Fatalf("Parse(%q) = %v", src, err)
		}
		got, err := jsonx.Marshal(v, "")
		if err != nil || string(got) != want {
			t.Errorf("Parse(%q) = %s, %v, want %s", src, got, err, want)
		}
		var se *jsonx.SyntaxError
		_, err = jsonx.Parse([]byte(src), jsonx.Limits{})
		if !errors.As(err, &se) || !strings.Contains(se.Msg, "duplicate key") {
			t.Errorf("Parse(%q) without Duplicates = %v, want duplicate key", src, err)
		}
	}
}

// TestKeysOfAnotherObject: the keys of a large object are not those of a small one behind it.
func TestKeysOfAnotherObject(t *testing.T) {
	t.Parallel()
	var large strings.Builder
	for i := range 30 {
		fmt.Fprintf(&large, `"k%d": 0, `, i)
	}
	src := "[{" + large.String() + `"last": 0}, {"k7": 1}, {"x": 1, "k3": 2}]`
	v, err := jsonx.Parse([]byte(src), jsonx.Limits{})
	if err != nil {
		t.Fatalf("Parse = %v, want no error", err)
	}
	if got := jsonx.AppendValue(nil, v.Elems[2]); string(got) != `{"x":1,"k3":2}` {
		t.Errorf("the last object = %s", got)
	}
}

func TestManyKeys(t *testing.T) {
	t.Parallel()
	var b jsonx.Object
	for i := range 2000 {
		b.Set("key"+string(rune('a'+i%26))+strings.Repeat("x", i/26), i)
	}
	src, err := jsonx.Marshal(&b, "")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil || len(v.Members) != 2000 {
		t.Fatalf("Parse = %v members, %v, want %d", v, err, 2000)
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	v, err := jsonx.Parse(
		[]byte(`{"s":"x","i":-7,"f":1.0,"big":9223372036854775808,"t":true,"n":null,"a":[1,"2"]}`),
		jsonx.Limits{},
	)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := v.Get("s").Str(); s != "x" || !ok {
		t.Errorf("Str = %q, %v, want x", s, ok)
	}
	if i, ok := v.Get("i").Int(); i != -7 || !ok {
		t.Errorf("Int = %d, %v, want -7", i, ok)
	}
	for _, key := range []string{"f", "big", "s", "none"} {
		if i, ok := v.Get(key).Int(); ok {
			t.Errorf("Int of %s = %d, want none", key, i)
		}
	}

	if n, ok := v.Get("f").Num(); n != "1.0" || !ok {
		t.Errorf("Num = %q, %v, want 1.0", n, ok)
	}
	if b, ok := v.Get("t").Bool(); !b || !ok {
		t.Errorf("Bool = %v, %v, want true", b, ok)
	}
	if !v.Get("n").Is(jsonx.Null) || v.Get("none").Is(jsonx.Null) || v.Get("a").Get("x") != nil {
		t.Error("Is and Get do not tell null, absent and array apart")
	}
	if got := v.Get("none").Any(); got != nil {
		t.Errorf("Any of an absent value = %v, want nil", got)
	}
	if got := v.Get("a").Elems[1].Kind.String(); got != "string" {
		t.Errorf("Kind = %s, want string", got)
	}
	m := v.Members[1]
	if m.Key != "i" || m.KeyStart != 9 || m.Value.Start != 13 || m.Value.End != 15 {
		t.Errorf("member = %+v at %d-%d, want key i at 9, value at 13-15",
			m, m.Value.Start, m.Value.End)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	s := jsonx.NewStream([]byte("\xef\xbb\xbf1 [2]{\"a\":3}\n\"x\"null "), jsonx.Limits{})
	var got []string
	for {
		v, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := jsonx.Marshal(v, "")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}

	if diff := cmp.Diff([]string{"1", "[2]", `{"a":3}`, `"x"`, "null"}, got); diff != "" {
		t.Errorf("Next (-want +got):\n%s", diff)
	}
	s = jsonx.NewStream([]byte("1\n]"), jsonx.Limits{})
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Next(); err == nil || err.Error() != `2:1: expected a value, got "]"` {
			t.Errorf("Next = %v, want the error at 2:1", err)
		}
	}

	if _, err := jsonx.NewStream([]byte("[1]"), jsonx.Limits{Bytes: 2}).Next(); err == nil {
		t.Error("Next over the limit = nil, want an error")
	}
}

func TestPos(t *testing.T) {
	t.Parallel()
	src := []byte("\xef\xbb\xbfaé\nb\xffc")
	for _, tt := range []struct{ offset, line, col int }{
		{-1, 1, 1},
		{0, 1, 1},
		{3, 1, 1},
		{4, 1, 2},
		{6, 1, 3},
		{7, 2, 1},
		{9, 2, 3},
		{10, 2, 4},
		{99, 2, 4},
	} {
		if line, col := jsonx.Pos(src, tt.offset); line != tt.line || col != tt.col {
			t.Errorf("Pos(%d) = %d:%d, want %d:%d", tt.offset, line, col, tt.line, tt.col)
		}
	}
}
