package md_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/md"
)

// show prints a node with its spans, one scalar or collection a line.
func show(n *md.Node) string {
	var b strings.Builder
	var walk func(n *md.Node, name, indent string)
	walk = func(n *md.Node, name, indent string) {
		span := fmt.Sprintf("%s-%s", n.Pos, n.End)
		switch n.Kind {
		case md.Map:
			fmt.Fprintf(&b, "%s%smap %s\n", indent, name, span)
			for _, e := range n.Entries {
				walk(
					e.Value,
					fmt.Sprintf("%s(%s-%s) ", e.Key.Value, e.Key.Pos, e.Key.End),
					indent+" ",
				)
			}
		case md.List:
			fmt.Fprintf(&b, "%s%slist %s\n", indent, name, span)
			for _, it := range n.Items {
				walk(it, "", indent+" ")
			}
		case md.Scalar:
			fmt.Fprintf(&b, "%s%s%s %q %s\n", indent, name, n.Type, n.Value, span)
		}
	}
	if n == nil {
		return "nil\n"
	}

	walk(n, "", "")
	return b.String()
}

func TestParseYAMLPositions(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"empty", "", "nil\n"},
		{"comment", "# only\n", "nil\n"},
		{"scalars", "a: 1\nb:\nc: ~\n", `map 1:1-3:5
 a(1:1-1:2) integer "1" 1:4-1:5
 b(2:1-2:2) null "" 2:3-2:3
 c(3:1-3:2) null "~" 3:4-3:5
`},
		{"bytes, not characters", "é: {ü: 1, v: \"x\ny\"} # c\nk: ä b\n", `map 1:1-3:8
 é(1:1-1:3) map 1:5-2:4
  ü(1:6-1:8) integer "1" 1:10-1:11
  v(1:13-1:14) string "x y" 1:16-2:3
 k(3:1-3:2) string "ä b" 3:4-3:8
`},
		{"quotes", "a: 'it''s' # x\nb: \"q\\\"q\"\n", `map 1:1-2:10
 a(1:1-1:2) string "it's" 1:4-1:11
 b(2:1-2:2) string "q\"q" 2:4-2:10
`},
		{"many lines", "a: one\n  two # c\nb: 'x\n\n  y'\n", `map 1:1-5:5
 a(1:1-1:2) string "one two" 1:4-2:6
 b(3:1-3:2) string "x\ny" 3:4-5:5
`},
		{
			"block scalars",
			"a: | # c\n  x\n\n   y\n\nb: >-\n  p\n  q\nc: |\nd: |2\n   z\n",
			`map 1:1-11:5
 a(1:1-1:2) string "x\n\n y\n" 1:4-4:5
 b(6:1-6:2) string "p q" 6:4-8:4
 c(9:1-9:2) string "" 9:4-9:5
 d(10:1-10:2) string " z\n" 10:4-11:5
`,
		},
		{"lists", "a:\n- b\n- - c\n  -\n- {k: v}\n- [1, [2], x: y]\n", `map 1:1-6:17
 a(1:1-1:2) list 2:1-6:17
  string "b" 2:3-2:4
  list 3:3-4:4
   string "c" 3:5-3:6
   null "" 4:4-4:4
  map 5:3-5:9
   k(5:4-5:5) string "v" 5:7-5:8
  list 6:3-6:17
   integer "1" 6:4-6:5
   list 6:7-6:10
    integer "2" 6:8-6:9
   map 6:12-6:16
    x(6:12-6:13) string "y" 6:15-6:16
`},
		{"flow over lines", "a: {\n  b: 1, # }\n  c: [ ],\n}\n", `map 1:1-4:2
 a(1:1-1:2) map 1:4-4:2
  b(2:3-2:4) integer "1" 2:6-2:7
  c(3:3-3:4) list 3:6-3:9
`},
		{"crlf", "a: 1\r\nb: |\r\n  x\r\nc: y\r\n", `map 1:1-4:5
 a(1:1-1:2) integer "1" 1:4-1:5
 b(2:1-2:2) string "x\n" 2:4-3:4
 c(4:1-4:2) string "y" 4:4-4:5
`},
		{"byte order mark", "\ufeffa: 1", `map 1:1-1:5
 a(1:1-1:2) integer "1" 1:4-1:5
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, problems := md.ParseYAML([]byte(tt.in), md.Pos{})
			if len(problems) > 0 {
				t.Fatalf("ParseYAML(%q) has problems %v", tt.in, problems)
			}
			if diff := cmp.Diff(tt.want, show(n)); diff != "" {
				t.Errorf("ParseYAML(%q) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestParseYAMLAt(t *testing.T) {
	t.Parallel()
	n, _ := md.ParseYAML([]byte("a: 1\nb: 2\n"), md.Pos{Line: 7, Col: 3})
	want := "map 7:3-8:5\n a(7:3-7:4) integer \"1\" 7:6-7:7\n b(8:1-8:2) integer \"2\" 8:4-8:5\n"
	if diff := cmp.Diff(want, show(n)); diff != "" {
		t.Errorf("ParseYAML at 7:3 (-want +got):\n%s", diff)
	}
}

func TestScalarTypes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		typ  md.ScalarType
		want any
	}{
		{"on", md.Str, "on"},
		{"yes", md.Str, "yes"},
		{"y", md.Str, "y"},
		{"true", md.Bool, true},
		{"False", md.Bool, false},
		{"tRUE", md.Str, "tRUE"},
		{"null", md.Null, nil},
		{"~", md.Null, nil},
		{"nUll", md.Str, "nUll"},
		{"12", md.Int, 12},
		{"-7", md.Int, -7},
		{"+7", md.Int, 7},
		{"010", md.Int, 10},
		{"0x1F", md.Int, 31},
		{"0o17", md.Int, 15},
		{"0b11", md.Str, "0b11"},
		{"1_000", md.Str, "1_000"},
		{"99999999999999999999", md.Float, 1e20},
		{"0xffffffffffffffffff", md.Str, "0xffffffffffffffffff"},
		{"1.10", md.Float, 1.1},
		{"1e3", md.Float, 1000.0},
		{".5", md.Float, .5},
		{"5.", md.Float, 5.0},
		{".", md.Str, "."},
		{"-", md.Str, "-"},
		{"1e", md.Str, "1e"},
		{"1e999", md.Str, "1e999"},
		{".inf", md.Str, ".inf"},
		{"1.2.3", md.Str, "1.2.3"},
		{"2026-01-02", md.Str, "2026-01-02"},
		{"'12'", md.Str, "12"},
		{`"true"`, md.Str, "true"},
	}
	for _, tt := range tests {
		n, problems := md.ParseYAML([]byte("k: "+tt.in), md.Pos{})
		if tt.in == "-" { // alone it opens a list; as an item of a flow list it is refused
			continue
		}
		if len(problems) > 0 {
			t.Errorf("ParseYAML(%q) has problems %v", tt.in, problems)
			continue
		}
		v := n.Get("k")
		if v.Type != tt.typ || v.Any() != tt.want {
			t.Errorf("ParseYAML(%q) = %v %#v, want %v %#v", tt.in, v.Type, v.Any(), tt.typ, tt.want)
		}
	}
}

func TestNodeAny(t *testing.T) {
	t.Parallel()
	n, _ := md.ParseYAML([]byte("a: [1, x, 2.5, ~, {b: true}]\nc: {}\n"), md.Pos{})
	want := map[string]any{
		"a": []any{1, "x", 2.5, nil, map[string]any{"b": true}},
		"c": map[string]any{},
	}
	if diff := cmp.Diff(any(want), n.Any()); diff != "" {
		t.Errorf("Any (-want +got):\n%s", diff)
	}
	var none *md.Node
	if none.Any() != nil || none.Get("x") != nil || none.Absent() || none.IsStr() {
		t.Error("a nil node is not empty")
	}
	if got := n.Get("a").Get("x"); got != nil {
		t.Errorf("Get on a list = %v, want nil", got)
	}
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	n, _ := md.ParseYAML([]byte("a:\nb: ~\nc: ''\nd: {e: }\n"), md.Pos{})
	got := map[string]bool{
		"a": n.Get("a").Absent(),
		"b": n.Get("b").Absent(),
		"c": n.Get("c").Absent(),
		"e": n.Get("d").Get("e").Absent(),
	}
	diff := cmp.Diff(map[string]bool{"a": true, "b": false, "c": false, "e": true}, got)
	if diff != "" {
		t.Errorf("Absent (-want +got):\n%s", diff)
	}
}

func TestValuePos(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, find, want string }{
		{"plain", "k: $a.b + 1", "+", "1:9"},
		{"single", "k: '$a | \"b\"'", "|", "1:8"},
		{"single with quote", "k: 'it''s $x'", "$x", "1:11"},
		{"double with escapes", `k: "a\"\u00e9\\ $x"`, "$x", "1:17"},
		{"literal", "k: |\n    one\n    $x two\n", "$x", "3:5"},
		{"literal after blank", "k: |\n\n  one\n   $x\n", "$x", "4:4"},
		{"folded", "k: >-\n  one\n  two $x\n", "$x", "3:7"},
		{"folded start", "k: >-\n   $x\n   y\n", "$x", "2:4"},
		{"folded paragraph", "k: >\n  one\n\n  two $x\n", "$x", "4:7"},
		{"plain over lines", "k: one\n  two\n    $x", "$x", "3:5"},
		{"double over lines", "k: \"one\n  $x\"", "$x", "2:3"},
		{"double with joined lines", "k: \"one\\\n  $x\"", "$x", "2:3"},
		{"start", "k: '$x'", "$x", "1:5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, problems := md.ParseYAML([]byte(tt.in), md.Pos{})
			if len(problems) > 0 {
				t.Fatalf("ParseYAML(%q) has problems %v", tt.in, problems)
			}
			v := n.Get("k")
			i := strings.Index(v.Value, tt.find)
			if i < 0 {
				t.Fatalf("value %q does not hold %q", v.Value, tt.find)
			}
			if got := v.ValuePos(i).String(); got != tt.want {
				t.Errorf("ValuePos of %q in %q = %s, want %s", tt.find, tt.in, got, tt.want)
			}
		})
	}
}

func TestAnchorAndAlias(t *testing.T) {
	t.Parallel()
	n, problems := md.ParseYAML([]byte("a: &x 1\nb: *x\nc: &y [*x]\n<<: *x"), md.Pos{})
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		"1:4: E222: anchor &x", "2:4: E223: alias *x", "3:4: E222: anchor &y",
		"3:8: E223: alias *x", "4:5: E223: alias *x", "4:1: E224: merge key <<",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	want2 := `map 1:1-4:7
 a(1:1-1:2) integer "1" 1:4-1:8
 b(2:1-2:2) string "*x" 2:4-2:6
 c(3:1-3:2) list 3:4-3:11
  string "*x" 3:8-3:10
 <<(4:1-4:3) string "*x" 4:5-4:7
`
	if diff := cmp.Diff(want2, show(n)); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
}

func TestYAMLProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want, help string }{
		{
			"colon in value", "a: b: c\n", "1:5: E220: colon inside an unquoted value",
			"quote the value: a: 'b: c'",
		},
		{
			"indentation", "a: 1\n  b: 2\n", "2:3: E220: key indented more than the keys before it",
			"indent keys",
		},
		{
			"dedent", "a:\n  b: 1\n c: 2\n", "3:2: E220: expected a key of the same indentation",
			"check the indentation",
		},
		{
			"lost colon", "a 1\nb: 2\n", "1:1: E220: expected a colon after the key",
			"write key: value",
		},
		{
			"lost colon before a map", "a\n  b: 2\n", "1:1: E220: expected a colon after the key",
			"write key: value",
		},
		{
			"first key indented", " a: 1\nb: 2\n",
			"1:2: E220: first key is indented, one after it is not", "alike",
		},
		{
			"open brace before a key with one", "a: {b: [x]\nc: {d: e}\n",
			`1:4: E220: "{" is not closed before line 2`, "close the bracket",
		},
		{
			"wrong bracket", "a: [b: {c: d]\n",
			`1:13: E220: expected ',' or the end of the "{" at 1:8`, "close the bracket",
		},
		{
			"missing comma", "a: ['b' 'c']\n",
			`1:9: E220: expected ',' or the end of the "[" at 1:4`, "close the bracket",
		},
		{
			"no colon", "a: 1\nfoo\nb: 2\n", "2:1: E220: expected a colon after the key",
			"write key: value",
		},
		{
			"at sign", "a: @x\n", `1:4: E220: an unquoted value cannot start with "@"`,
			"quote the value: a: '@x'",
		},
		{
			"back tick", "a: `x`\n", "1:4: E220: an unquoted value cannot start with \"`\"",
			"quote the value: a: '`x`'",
		},
		{"glob", "a: *.ts\n", "1:4: E223: alias without an anchor", "quote the value: a: '*.ts'"},
		{
			"two lists", "a: [A] [B]\n", "1:8: E220: text after the end of a value",
			"quote the value: a: '[A] [B]'",
		},
		{"text after quotes", "a: 'x' y\n", "1:8: E220: text after the end of a value", "check"},
		{
			"open quote", "a: 'x\nb: 1\n", "1:4: E220: quoted text without a closing quote",
			"close the quote",
		},
		{
			"open brace", "a: {b: 1\nc: 2\n", `1:4: E220: "{" is not closed before line 2`,
			"close the bracket",
		},
		{"escape", `a: "\q"`, "1:5: E220: found unknown escape character", "check"},
		{"tab", "a:\n\tb: 1\n", "2:1: E227: tab used for indentation", "spaces"},
		{
			"tab after spaces", "a:\n  \tb: 1\n\tc: 2", "2:3: E227: tab used for indentation",
			"spaces",
		},
		{
			"duplicate", "a: 1\nb: 2\na: 3\n", `3:1: E221: duplicate key "a", first at 1:1`,
			"keep one",
		},
		{
			"duplicate with quotes", "{a: 1, 'a': 2}", `1:8: E221: duplicate key "a", first at 1:2`,
			"keep one",
		},
		{"anchor", "a: &x 1\n", "1:4: E222: anchor &x", "write the value"},
		{"alias without anchor", "a: *x\n", "1:4: E223", "quote the value: a: '*x'"},
		{"tag", "a: !foo bar\n", "1:4: E225: tag !foo", "quote"},
		{"bare tag", "a: ! bar\n", "1:4: E225: tag !", "quote"},
		{"core tag", "a: !!str 1\n", "1:4: E225: tag !!str", "quote"},
		{"tag on a map", "a: !x {b: 1}\n", "1:4: E225: tag !x", "quote"},
		{"merge", "a: 1\n<<: {b: 1}\n", "2:1: E224: merge key <<", "write the keys out"},
		{"map as key", "{a: b}: c\n", "1:1: E228: a key is text, got a map", "quote the key"},
		{"no key", ": c\n", "1:1: E228: a value without a key", "write key: value"},
		{
			"second document", "a: 1\n---\nb: 2\n",
			`2:1: E226: document marker "---" inside a YAML block`, "one document",
		},
		{
			"document end", "a: 1\n...\n", `2:1: E226: document marker "..." inside a YAML block`,
			"one document",
		},
		{
			"control character", "a: \"\x1b\"",
			"1:5: E003: text holds the control character U+001B", "escape",
		},
		{
			"carriage return", "a: 1\rb: 2",
			"1:5: E003: text holds a carriage return inside a line", "remove",
		},
		{
			"line separator", "a: x\u2028y", "1:5: E003: text holds the control character U+2028",
			"remove",
		},
		{
			"not UTF-8", "a: \xff", "1:4: E003: text holds the byte 0xff, which is not UTF-8",
			"remove",
		},
		{
			"depth",
			strings.Repeat("[", 101) + strings.Repeat("]", 101),
			"1:101: E229: maps and lists nested too deeply",
			"flatten",
		},
		{
			"size",
			strings.Repeat("#", md.DefaultBytes+1),
			"1:1: E002: text of 262145 bytes, the limit is 262144",
			"split",
		},

		{
			"index in braces", "with: {path: $steps.plan.artifacts[0].path}\n", "1:14: E205",
			"quote the value: '$steps.plan.artifacts[0].path'",
		},
		{
			"template in braces", "return: {message: Plan ${{ $x.y }} done, next_steps: a}\n",
			"1:19: E205", "quote the value: 'Plan ${{ $x.y }} done'",
		},
		{
			"comma", "return: {message: hello, world, code: 1}\n",
			`1:19: E205: ", " ends an unquoted value inside {...}`,
			"quote the value: 'hello, world'",
		},
		{
			"commas", "{m: a, b, c}", `1:5: E205: ", " ends an unquoted value inside {...}`,
			"quote the value: 'a, b, c'",
		},
		{
			"join", "a: {x: $a | join(\", \"), y: 1}", "1:8: E205",
			"quote the value: '$a | join(\", \")'",
		},
		{
			"object", "a: {x: $a | map({b: .c}), y: 1}", "1:8: E205",
			"quote the value: '$a | map({b: .c})'",
		},
		{"ternary colon", "a: {x: b: c}", "1:8: E205", "quote the value: 'b: c'"},
		{
			"entry without colon", "{a, b: 1}", "1:2: E205: entry without a colon inside {...}",
			"write key: value",
		},
		{"brackets in list", "a: [x[0], y]", "1:5: E205", "quote the value: 'x[0]'"},
		{
			"after a block scalar", "t: |\n  { [ it's\nw: {p: $x[0]}\n", "3:8: E205",
			"quote the value: '$x[0]'",
		},
		{
			"after quotes and comments", "# {[\na: '{[' # [\nb: \"[\"\nw: {p: $x[0], q: 1}\n",
			"4:8: E205", "quote the value: '$x[0]'",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, problems := md.ParseYAML([]byte(tt.in), md.Pos{})
			if len(problems) != 1 {
				t.Fatalf("ParseYAML(%q) = %v, want one problem", tt.in, problems)
			}
			if got := problems[0].String(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("ParseYAML(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if got := problems[0].Help; got == "" || !strings.Contains(got, tt.help) {
				t.Errorf("help of %q = %q, want %q in it", tt.in, got, tt.help)
			}
		})
	}
}

// TestAliases: with aliases a node is what they stand for, at their own place; what expands without
// end is a problem.
func TestAliases(t *testing.T) {
	t.Parallel()
	n, problems := md.ParseYAMLWithAliases(
		[]byte("a: &x {p: 1, q: 2}\nb: *x\nc:\n  <<: [*x]\n  p: 3\n"),
		md.Pos{},
	)
	if len(problems) > 0 {
		t.Fatalf("problems %v, want none", problems)
	}
	want := map[string]any{
		"a": map[string]any{"p": 1, "q": 2},
		"b": map[string]any{"p": 1, "q": 2},
		"c": map[string]any{"p": 3, "q": 2},
	}
	if diff := cmp.Diff(any(want), n.Any()); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	if got := n.Get("b").Pos.String() + "-" + n.Get("b").End.String(); got != "2:4-2:6" {
		t.Errorf("place of the alias = %s, want 2:4-2:6", got)
	}
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'j'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+p+", ", 9) + "*" + p +
			"]\n"
	}

	for _, text := range []string{bomb, "a: &a [*a]\n", "a: &a {b: *a}\n"} {
		if _, problems := md.ParseYAMLWithAliases([]byte(text), md.Pos{}); len(problems) == 0 {
			t.Errorf("%.40q has no problem, want one", text)
		}
	}
}
