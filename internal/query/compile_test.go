package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/query"
)

func vars() []string {
	return []string{
		"$args", "$state", "$task", "$item", "$index", "$steps", "$feedback", "$run", "$it",
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()

	type found struct {
		Offset int
		Msg    string
		Meant  string
	}

	tests := []struct {
		src  string
		opt  query.Options
		want []found
	}{
		{
			`$stpes.plan`,
			query.Options{Vars: vars()},
			[]found{{0, "unknown variable $stpes", "$steps"}},
		},
		{`.a # $b` + "\n" + `| $b`, query.Options{}, []found{{10, "unknown variable $b", ""}}},
		{
			`"$x \($y) \"$z" + $w`,
			query.Options{},
			[]found{{6, "unknown variable $y", ""}, {18, "unknown variable $w", ""}},
		},
		{`. as $item1 | $item2`, query.Options{}, []found{{14, "unknown variable $item2", ""}}},
		{
			`(. as $total | $total), $totl`,
			query.Options{},
			[]found{{24, "unknown variable $totl", "$total"}},
		},
		{`(1 as $x | $x) | $x`, query.Options{}, []found{{17, "unknown variable $x", ""}}},
		{
			`reduce .[] as $x ($x; . + $x)`,
			query.Options{},
			[]found{{18, "unknown variable $x", ""}},
		},
		{`{$nope}`, query.Options{}, []found{{1, "unknown variable $nope", ""}}},
		{`map(selct(.a))`, query.Options{}, []found{{4, "unknown function selct/1", "select"}}},
		{
			`.select | select`,
			query.Options{},
			[]found{{10, "unknown function select/0, known: select/1", ""}},
		},
		{
			`test(1;2;3)`,
			query.Options{},
			[]found{{0, "unknown function test/3, known: test/1, test/2", ""}},
		},
		{
			`{length: 1} | lengt`,
			query.Options{},
			[]found{{14, "unknown function lengt/0", "length"}},
		},
		{
			`defalt(1)`,
			query.Options{Funcs: query.Workflow},
			[]found{{0, "unknown function defalt/1", "default"}},
		},
		{`default(1)`, query.Options{}, []found{{0, "unknown function default/1", ""}}},
		{`_match("a";null;true)`, query.Options{}, []found{{0, "unknown function _match/3", ""}}},
		{`_tercet_small`, query.Options{}, []found{{0, "unknown function _tercet_small/0", ""}}},
		{`$_tercet_left * 2`, query.Options{}, []found{{0, "unknown variable $_tercet_left", ""}}},
		{`@jsn`, query.Options{}, []found{{0, "unknown format @jsn", "@json"}}},
		{`break $out`, query.Options{}, []found{{6, "unknown label $out", ""}}},
		{
			`$ENV.HOME, env.HOME`,
			query.Options{},
			[]found{{0, "$ENV is not available", ""}, {11, "env is not available", ""}},
		},
		{`$__loc__`, query.Options{}, []found{{0, "$__loc__ is not available", ""}}},
		{`import "a" as a; .`, query.Options{}, []found{{0, "modules are not available", ""}}},
		{`include "a"; .`, query.Options{}, []found{{0, "modules are not available", ""}}},
		{`input`, query.Options{}, []found{{-1, "input is not available", ""}}},
		{
			`.a | now`,
			query.Options{Strict: true},
			[]found{{
				5,
				"now depends on when and where it runs, it is not available in a workflow",
				"",
			}},
		},
		{`[inputs, input, halt, debug, ("x"|halt_error)]`, query.Options{Strict: true}, []found{
			{1, "inputs is not available in a workflow", ""},
			{9, "input is not available in a workflow", ""},
			{16, "halt is not available in a workflow", ""},
			{22, "debug is not available in a workflow", ""},
			{34, "halt_error is not available in a workflow", ""},
		}},
		{
			`gmtime | localtime`,
			query.Options{Strict: true},
			[]found{{
				9,
				"localtime depends on when and where it runs, it is not available in a workflow",
				"",
			}},
		},
		{``, query.Options{}, []found{{0, "query is empty", "."}}},
		{`# nothing`, query.Options{}, []found{{9, "query is empty", "."}}},
		{`def f: 1;`, query.Options{}, []found{{9, "query is empty", "."}}},
		{`.a == `, query.Options{}, []found{{6, "unexpected end of the query", ""}}},
		{`.a && .b`, query.Options{}, []found{{3, `unexpected token "&"`, "and"}}},
		{`.a || .b`, query.Options{}, []found{{4, `unexpected token "|"`, "or"}}},
		{`!.a`, query.Options{}, []found{{0, `unexpected token "!"`, "| not"}}},
		{`.a === 1`, query.Options{}, []found{{5, `unexpected token "="`, "=="}}},
		{`.a == 'x'`, query.Options{}, []found{{6, `unexpected token "'"`, `"`}}},
		{`if .a else 1 end`, query.Options{}, []found{{6, `unexpected token "else"`, "then"}}},
		{".a ==\n  1 +\n", query.Options{}, []found{{11, "unexpected end of the query", ""}}},
		{`"a\(1`, query.Options{}, []found{{5, "unexpected end of the query", ""}}},
		{`. + "a`, query.Options{}, []found{{4, "string without its closing quote", ""}}},
		{
			`"\q"`,
			query.Options{},
			[]found{{1, `invalid escape sequence "\q" in string literal`, ""}},
		},
		{`1e`, query.Options{}, []found{{0, `invalid token "1e"`, ""}}},
		{
			strings.Repeat(" ", query.MaxSource) + ".",
			query.Options{},
			[]found{{-1, "query of 65537 bytes is over the limit of 65536", ""}},
		},
	}

	for _, tt := range tests {
		_, err := query.Compile(tt.src, tt.opt)

		var got []found
		if list, ok := errors.AsType[query.Errors](err); ok {
			for _, e := range list {
				got = append(got, found{e.Offset, e.Msg, e.DidYouMean})
			}
		} else if one, ok := errors.AsType[*query.Error](err); ok {
			got = append(got, found{one.Offset, one.Msg, one.DidYouMean})
		}

		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Compile(%.60q) = %v (-want +got):\n%s", tt.src, err, diff)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"\"é\" | $x":  "column 7: unknown variable $x",
		".a\n| é":     "line 2 column 3: unexpected token \"é\"",
		"$x, $y":      "column 1: unknown variable $x\ncolumn 5: unknown variable $y",
		"input":       "input is not available",
		"1 as $q | $": "column 11: unexpected token \"$\"",
	} {
		if _, err := query.Compile(src, query.Options{}); err == nil || err.Error() != want {
			t.Errorf("Compile(%q) = %v, want %s", src, err, want)
		}
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()

	tests := []struct {
		src  string
		want []query.Ref
	}{
		{
			`$steps.plan.artifacts`,
			[]query.Ref{{Var: "$steps", Path: []string{"plan", "artifacts"}}},
		},
		{
			`$steps["plan"]."fields"["x"]?.y[0].z`,
			[]query.Ref{{Var: "$steps", Path: []string{"plan", "fields", "x", "y"}}},
		},
		{`$steps | .plan.status`, []query.Ref{{Var: "$steps", Path: []string{"plan", "status"}}}},
		{`$steps.a | .b | .c`, []query.Ref{{Var: "$steps", Path: []string{"a", "b"}}}},
		{`$steps.a[] | .b`, []query.Ref{{Var: "$steps", Path: []string{"a"}}}},
		{`$steps[$it] | .x`, []query.Ref{{Var: "$steps"}, {Var: "$it", Offset: 7}}},
		{`{$task, a: $args.x, "k\($run.id)": 1, ($it): 2}`, []query.Ref{
			{Var: "$task", Offset: 1},
			{Var: "$args", Path: []string{"x"}, Offset: 11},
			{Var: "$run", Path: []string{"id"}, Offset: 24},
			{Var: "$it", Offset: 39},
		}},
		{
			`"$args \($task.number) #$x" # $state`,
			[]query.Ref{{Var: "$task", Path: []string{"number"}, Offset: 9}},
		},
		{
			`"\(($it)) $args" + $args`,
			[]query.Ref{{Var: "$it", Offset: 4}, {Var: "$args", Offset: 19}},
		},
		{
			`. as $item | $item.a + $index`,
			[]query.Ref{
				{Var: "$item", Path: []string{"a"}, Offset: 13, Bound: true},
				{Var: "$index", Offset: 23},
			},
		},
		{`$item | . as [$index, {a: $it, $run}] | $index + $it + $run`, []query.Ref{
			{Var: "$item"},
			{Var: "$index", Offset: 40, Bound: true},
			{Var: "$it", Offset: 49, Bound: true},
			{Var: "$run", Offset: 55, Bound: true},
		}},
		{`reduce $steps.a[] as $it ($it; . + $it)`, []query.Ref{
			{Var: "$steps", Path: []string{"a"}, Offset: 7},
			{Var: "$it", Offset: 26},
			{Var: "$it", Offset: 35, Bound: true},
		}},
		{`foreach .[] as $it (0; $it; $it) | $it`, []query.Ref{
			{Var: "$it", Offset: 23, Bound: true},
			{Var: "$it", Offset: 28, Bound: true},
			{Var: "$it", Offset: 35},
		}},
		{`def f($it; $run): $it + $run + $args; f($it; 1)`, []query.Ref{
			{Var: "$it", Offset: 18, Bound: true},
			{Var: "$run", Offset: 24, Bound: true},
			{Var: "$args", Offset: 31},
			{Var: "$it", Offset: 40},
		}},
		{`if $it then $run elif $args then 1 else $task end`, []query.Ref{
			{Var: "$it", Offset: 3},
			{Var: "$run", Offset: 12},
			{Var: "$args", Offset: 22},
			{Var: "$task", Offset: 40},
		}},
		{`try -$it catch $run, label $out | $args[$index:$task] // $feedback`, []query.Ref{
			{Var: "$it", Offset: 5},
			{Var: "$run", Offset: 15},
			{Var: "$args", Offset: 34},
			{Var: "$index", Offset: 40},
			{Var: "$task", Offset: 47},
			{Var: "$feedback", Offset: 57},
		}},
		{
			`@base64 "x\($it)" | .[] as [$run] ?// $run | $run`,
			[]query.Ref{{Var: "$it", Offset: 12}, {Var: "$run", Offset: 45, Bound: true}},
		},
		{
			`all($steps.review.children[]; .status == "x")`,
			[]query.Ref{{Var: "$steps", Path: []string{"review", "children"}, Offset: 4}},
		},
	}

	for _, tt := range tests {
		c, err := query.Compile(tt.src, query.Options{Vars: vars(), Strict: true})
		if err != nil {
			t.Errorf("Compile(%q) = %v", tt.src, err)
			continue
		}

		if diff := cmp.Diff(tt.want, c.Refs()); diff != "" {
			t.Errorf("Refs(%q) (-want +got):\n%s", tt.src, diff)
		}
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()

	c, err := query.Compile(`def f(g): g | map(.a); all, f(any(passed)), {all: 1}`, query.Options{
		Funcs: query.Workflow,
	})
	if err != nil {
		t.Fatal(err)
	}

	want := []query.Call{
		{Function: query.Function{Name: "map", Args: 1}, Offset: 14},
		{Function: query.Function{Name: "all"}, Offset: 23},
		{Function: query.Function{Name: "any", Args: 1}, Offset: 30},
		{Function: query.Function{Name: "passed"}, Offset: 34},
	}

	if diff := cmp.Diff(want, c.Calls()); diff != "" {
		t.Errorf("Calls (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string(nil), c.Vars()); diff != "" {
		t.Errorf("Vars (-want +got):\n%s", diff)
	}
}

// TestPaths: the static paths from the query's own input are found, and no others.
func TestPaths(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		".fields.a > 1 and (.status == \"x\")": "0 fields.a, 19 status",
		".a[0].b, .[\"c\"].d":                  "0 a, 9 c.d",
		".a | .b":                              "0 a",
		".a.b? // 1":                           "0 a.b",
		"[.a] + {b: .c}":                       "1 a, 11 c",
		".fields.F | any(.x)":                  "0 fields.F",
		"any(.a)":                              "",
		"$task.x | .y":                         "",
		"if .a then .b else .c | .d end":       "3 a, 11 b, 19 c",
		"(.a | .b) and .c":                     "1 a, 14 c",
		"length":                               "",
		"\"a.b \\(.a)\" + .5 + .b | .. | .c":   "7 a, 19 b",
		". as $x | .a.b + $x.c + (.d?.e) ":     "10 a.b, 25 d.e",
		"reduce .a[] as $x (.b; . + .c)":       "7 a, 19 b",
		"try .a catch .b, def f: .c; f, .d":    "4 a, 31 d",
		".":                                    "",
	} {
		code, err := query.Compile(src, query.Options{Vars: vars(), Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, ref := range code.Paths() {
			got = append(got, fmt.Sprint(ref.Offset)+" "+strings.Join(ref.Path, "."))
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("paths of %s are %q, want %q", src, all, want)
		}
	}
}

// TestMembers: what is taken from the elements of a list that a variable leads to.
func TestMembers(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"$steps.l.children | map(.a.b, .c)": "2 l.children.a.b, 2 " +
			"l.children.c",
		"$steps.l.children[].a, $steps.l.children[0]?.b.c[1].d": "2 l.children.a, 2 " +
			"l.children.b.c",
		"$steps.l.children[] | .a | .b": "2 l.children.a",
		"$steps.l.children | .[] | select(.a == 1) | .b": "2 l.children.a, 2 " +
			"l.children.b",
		"[$steps.l.children[]? | {x: .a, y: (.b + 1)}] | map(.x)": "2 l.children.a, 2 " +
			"l.children.b",
		"$steps.l.children | .[-1].a, .[].b, length, any(.c), (.[0].d?)": "2 l.children.a, 2 " +
			"l.children.b, 2 l.children.c, 2 l.children.d",
		"$steps.l.children | map(select(.a)) | map(.b)": "2 l.children.a",
		"$steps.l.children | map(.a | .b, map(.c))":     "2 l.children.a",
		"$steps.l.children | first | .a":                "",
		"def map(f): 1; $steps.l.children | map(.a)":    "",
		"$steps.l | .children | map(.a)":                "",
		"$steps.l.children[1:] | map(.a)":               "",
		"$steps | map(.a), [.[] | .x], map(.b)":         "0 a, 0 x, 0 b",
		". as [$steps] | $steps.l[].a":                  "1 l.a bound",
	} {
		code, err := query.Compile(src, query.Options{Vars: vars(), Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range code.Members() {
			one := fmt.Sprint(m.From) + " " + strings.Join(m.Path, ".")
			if m.Bound {
				one += " bound"
			}
			got = append(got, one)
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("members of %s are %q, want %q", src, all, want)
		}
	}
}

// TestRisky: what a deadline does not stop is known, and filters of every day are not taken for it.
func TestRisky(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{
		`.tasks[] | select(.number == 3)`:          false,
		`.tasks[] | .number * 2 - 1`:               false,
		`.tasks[] | select(.title | test("^a+$"))`: false,
		`.title | split(" ")`:                      false,
		`reduce .tasks[] as $t (0; . + 1)`:         false,
		`.a[3] = 0`:                                false,
		`def match(f): f; match(1)`:                false,
		`"x" * 1000000000`:                         true,
		`.a * .b`:                                  true,
		`.a *= .n`:                                 true,
		`[match(""; "g")]`:                         true,
		`test($p)`:                                 true,
		`splits("a")`:                              true,
		`gsub("a"; "b")`:                           true,
		`split("a"; "g")`:                          true,
		`.a[536870911] = 1`:                        true,
		`.[1e9] = 1`:                               true,
	} {
		if got := query.Risky(compile(t, src, query.Options{Vars: []string{"$p"}})); got != want {
			t.Errorf("risky(%s) = %v, want %v", src, got, want)
		}
	}
}

// FuzzCompile: nothing panics, every error is ours and points into the source, every reference is
// where it says.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		`.a | map(select(.b == $args.x)) | length`, `"\("\($it)" + "x")"`,
		`reduce .[] as [$a, {b: $c}] (0; . * $a)`, `def f($x): $x + 1; f(2) # c`,
		`{$task, "a\(1)": 2, (.b): 3, if: 4}`, `label $out | 1, break $out`,
		`.[1:2], .[-1], .["a"], ."b"?`, `@base64 "\(.)"`, `.a |= . * 2 | .b += 1 | .c *= 3`,
		`try error("x") catch .`, "1e1000 .5 1..2", `$__loc__`, `"\u00`, `. as [$a] ?// $a | $a`,
		`join(",") | add | test("x"; "g")`, "\xff", `$x::y`, `a::b(1)`,
	} {
		f.Add(s, true)
	}

	f.Fuzz(func(t *testing.T, src string, strict bool) {
		c, err := query.Compile(src, query.Options{
			Vars:   vars(),
			Strict: strict,
			Funcs:  query.Workflow,
		})
		if err != nil {
			var list query.Errors
			var one *query.Error
			if !errors.As(err, &list) && !errors.As(err, &one) {
				t.Fatalf("Compile(%q) = %T", src, err)
			}
			if one != nil && one.Offset > len(src) {
				t.Fatalf("Compile(%q) = offset %d", src, one.Offset)
			}
			return
		}

		for _, r := range c.Refs() {
			if r.Offset < 0 || !strings.HasPrefix(src[r.Offset:], r.Var) {
				t.Fatalf("Refs(%q) has %s at %d", src, r.Var, r.Offset)
			}
		}

		for _, r := range c.Paths() {
			if r.Offset < 0 || src[r.Offset] != '.' {
				t.Fatalf("Paths(%q) has %v at %d", src, r.Path, r.Offset)
			}
		}

		for _, call := range c.Calls() {
			if call.Offset < 0 || !strings.HasPrefix(src[call.Offset:], call.Name) {
				t.Fatalf("Calls(%q) has %s at %d", src, call.Name, call.Offset)
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := query.Compile(
			`$steps.review.children | all(passed) and ($task.status | IN("planned", "revised"))`,
			query.Options{
				Vars:   vars(),
				Strict: true,
				Funcs:  query.Workflow,
			},
		)
		if err != nil {
			b.Fatal(err)
		}
	}
}
