package query_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/query"
)

// plainSeeds are queries as workflows have them, and some that only look like it.
func plainSeeds() []string {
	return []string{
		`$task.artifacts | map(select(.type == "plan")) | last | .path`, `$plan.phases | map(select(.status != "completed"))`, `$run.worktree != null`, `$steps.a.b | .c[0] | .d`,
		`$args.request`, `.a and .b or .c == 1 // null`, `if $it.a then 1 elif .b == "x" then [2] else {a: 3} end`, `{$task, a: $args.x, "k": .b | .c, (.d): 2, if: 1}`,
		`$steps["plan"]."fields"["x"]?.y[0].z`, `$steps[$it] | .x`, `$steps.a[] | .b`, `$steps | .plan.status`, `$steps.a | (.b | .c)`, `$steps | $args | .c`, `$steps, $args | .c`,
		`.[1:2], .[-1], .[:3], .[2:]`, `all($steps.review.children[]; .status == "x")`, `$task.status | IN("planned", "revised")`, `passed and (approved | not) or failed`, `default("x") + quorum(2)`,
		`-$it.a.b * 2 - 1 / 3 % 4`, `.a == .b == .c`, `.a.["b"].c?`, `."a b" | ."c\"d"`, `["a\n"]`, `.["a\n"]`, `.a .b`, `. [0]`, `1.5 + 1.`, `$x`, `.a # c`, `"\(.a)"`, `..`, `1 as $x | $x`,
		`.a |= 1`, `.a += 1`, `.a || .b`, `a::b`, `$a::b`, `{a::b}`, `.[.a:.b]`, `map(.a; .b)`, `{"a"}`, `{a,}`, `{$it.a}`, `{$it?}`, `- 1`, `--1`, `- -1`, `1and 2`, `.a?//.b`, `.and`, `{and: .or}`,
		`.a.b.c|.d`, `"é" + "\u00e9"`, `[]`, `{}`, `[.a, .b | .c]`, `if . then . end`, `if . then . else end`, `$steps.if`, `.a[]?.b | length`, `"a".b`, `$it | ."x" | .y`, `"$"`, `007`, `10000000000000000000000`,
	}
}

// samePlain holds the fast way against gojq: what it takes, gojq takes, with the same references, calls and marks, and the
// code that is made later runs. It tells whether the query is plain.
func samePlain(t *testing.T, src string, opt query.Options) bool {
	t.Helper()
	got, ok := query.PlainCompile(src, opt)
	if !ok {
		return false
	}
	want, err := query.CompileFully(src, opt)
	if err != nil {
		t.Errorf("fast way takes %q: %v", src, err)
		return true
	}
	if diff := cmp.Diff(want.Refs(), got.Refs()); diff != "" {
		t.Errorf("refs of %q (-gojq +fast):\n%s", src, diff)
	}
	if diff := cmp.Diff(want.Calls(), got.Calls()); diff != "" {
		t.Errorf("calls of %q (-gojq +fast):\n%s", src, diff)
	}
	wantUsed, wantNamed := want.Marks()
	gotUsed, gotNamed := got.Marks()
	if diff := cmp.Diff([][]bool{wantUsed, wantNamed}, [][]bool{gotUsed, gotNamed}); diff != "" {
		t.Errorf("marks of %q (-gojq +fast):\n%s", src, diff)
	}
	return true
}

func plainOptions() []query.Options {
	return []query.Options{{Vars: vars(), Strict: true, Funcs: query.Workflow}, {Vars: append(vars(), "$plan", "$it", "$x"), Funcs: query.NoFuncs}}
}

func TestPlainSame(t *testing.T) {
	t.Parallel()
	plain := 0
	for _, src := range plainSeeds() {
		for _, opt := range plainOptions() {
			if samePlain(t, src, opt) {
				plain++
			}
			for i := range src {
				samePlain(t, src[:i], opt)
				samePlain(t, src[:i]+src[i+1:], opt)
				samePlain(t, src[:i]+" "+src[i:], opt)
				samePlain(t, src[:i]+src[i:i+1]+src[i:], opt)
			}
		}
	}
	if plain < 60 {
		t.Errorf("only %d queries are plain", plain)
	}
}

// TestPlainCalls: a plain query may call as many functions of gojq as the lists name, so that each of them is one of gojq with
// that number of arguments, and gojq takes each.
func TestPlainCalls(t *testing.T) {
	t.Parallel()
	const listed = 100
	count := 0
	for _, f := range query.Builtins() {
		src, number, _ := strings.Cut(f, "/")
		args, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		if !query.PlainCalls(src, args) {
			continue
		}
		count++
		if args > 0 {
			src += "(" + strings.TrimSuffix(strings.Repeat(".;", args), ";") + ")"
		}
		for _, opt := range plainOptions() {
			if !samePlain(t, src, opt) {
				t.Errorf("%s is not plain", src)
			}
		}
	}
	if count != listed {
		t.Errorf("%d functions of gojq are listed, want %d", count, listed)
	}
}

// TestPlainRuns: code that is made at its first run gives what code that was made at once gives, from any goroutine.
func TestPlainRuns(t *testing.T) {
	t.Parallel()
	code, err := query.Compile(`$task.n | {a: (. + 1), b: [., "x"]}`, query.Options{Vars: vars(), Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			got, err := code.One(context.Background(), nil, map[string]any{"$task": map[string]any{"n": i}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(any(map[string]any{"a": i + 1, "b": []any{i, "x"}}), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzPlainSame: whatever the fast way takes, gojq takes with the same meaning.
func FuzzPlainSame(f *testing.F) {
	for _, src := range plainSeeds() {
		f.Add(src, true)
		f.Add(src, false)
	}
	f.Fuzz(func(t *testing.T, src string, strict bool) {
		samePlain(t, src, query.Options{Vars: vars(), Strict: strict, Funcs: query.Workflow})
	})
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
		".":                                    "",
	} {
		code, err := query.Compile(src, query.Options{Vars: vars(), Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for ref := range code.EachPath {
			got = append(got, fmt.Sprint(ref.Offset)+" "+strings.Join(ref.Path, "."))
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("paths of %s are %q, want %q", src, all, want)
		}
	}
}
