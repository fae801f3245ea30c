package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
	"tercet/internal/query"
	"tercet/internal/testkit"
)

func compile(tb testing.TB, src string, opt query.Options) *query.Code {
	tb.Helper()
	c, err := query.Compile(src, opt)
	if err != nil {
		tb.Fatalf("Compile(%.80q) = %v", src, err)
	}
	return c
}

func parse(tb testing.TB, src string) *jsonx.Value {
	tb.Helper()
	v, err := jsonx.Parse([]byte(src), jsonx.Limits{})
	if err != nil {
		tb.Fatalf("Parse(%q) = %v", src, err)
	}
	return v
}

func texts(list []any) string {
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			v = []any{s}
		}
		out = append(out, query.Text(v))
	}
	return strings.Join(out, " ")
}

// TestRun also checks that a strict query, with its checks on every step, gives the same as one
// without.
func TestRun(t *testing.T) {
	t.Parallel()

	tests := []struct{ input, src, want string }{
		{`null`, `1, "a", [1,{"b":2}]`, `1 ["a"] [1,{"b":2}]`},
		{
			`{"a":9007199254740993,"b":1.0,"c":1e400,"d":12345678901234567890123}`,
			`.a, .b, .c, .d, .a + 1`,
			`9007199254740993 1.0 1e400 12345678901234567890123 9007199254740994`,
		},
		{
			`{"a":[3,1,2]}`,
			`.a | sort, add, (map(. * 2) | join("-")), max, (.[1:] | length)`,
			`[1,2,3] 6 ["6-2-4"] 3 2`,
		},
		{
			`[[1,2],[3]]`,
			`flatten, (.[] | length), transpose, (.. | numbers)`,
			`[1,2,3] 2 1 [[1,3],[2,null]] 1 2 3`,
		},
		{
			`{"a":"x"}`,
			`"\(.a)-\(.)", @json, @base64 "\(.a)!", @text`,
			`["x-{\"a\":\"x\"}"] ["{\"a\":\"x\"}"] ["eA==!"] ["{\"a\":\"x\"}"]`,
		},
		{`null`, `[(1,2) * (10,100)], [(1,2) + (10,20)]`, `[10,20,100,200] [11,12,21,22]`},
		{
			`null`,
			`"ab" * 3, {"a":{"b":1}} * {"a":{"c":2}}, 1.5 * 2, 99999999999 * 99999999999`,
			`["ababab"] {"a":{"b":1,"c":2}} 3 9999999999800000000001`,
		},
		{
			`{"a":[1],"n":2}`,
			`(.a += [2]), (.n *= 4), (.n += .a[0]), (.a[3] = 0), (.a[-1] |= . + 1), ` +
				`setpath(["a",1]; 5)`,
			`{"a":[1,2],"n":2} {"a":[1],"n":8} {"a":[1],"n":3} {"a":[1,null,null,0],` +
				`"n":2} {"a":[2],"n":2} {"a":[1,5],"n":2}`,
		},
		{
			`{"a":[1,2]}`,
			`def add(f): [f]; def join(g): "mine", g; add(.a[]), join(1, 2)`,
			`[1,2] ["mine"] 1 2`,
		},
		{
			`["a","b"]`,
			`join(",", ";"), add, add(.[] + "!"), (.[0] | test("A"; "i")), (.[1] | sub("b"; ` +
				`"c")), first(.[] | match("b").offset)`,
			`["a,b"] ["a;b"] ["ab"] ["a!b!"] true ["c"] 0`,
		},
		{
			`[1,[2]]`,
			`contains([1]), index([[2]]), IN(1, [1,[2]]), (.[1] == [2]), . - [1], ` +
				`(try error({"x":1}) catch .x), [paths]`,
			`true 1 true true [[2]] 1 [[0],[1],[1,0]]`,
		},
		{
			`[{"k":"b"},{"k":"a"}]`,
			`sort_by(.k)[0].k, (group_by(.k) | length), (map({(.k): ` +
				`1}) | add), path(.[0].k), [path(.[("x" | 0, 1)])], to_entries[0].key`,
			`["a"] 2 {"a":1,"b":1} [0,"k"] [[0],[1]] 0`,
		},
		{
			`{"a":1}`,
			`.["a"], ."a", .[("a","b")], (.a as $x | $x * $x), ([limit(3; ` +
				`repeat(1))] | length), reduce range(5) as $i (0; . + $i)`,
			`1 1 1 null 1 3 10`,
		},
		{
			`null`,
			`[fromstream(([["a",0],1],[["a",0]],[["a"]]))], [splits("a";"b")]?, ` +
				`("a,b" | [splits(",")], split(",";null), [scan("[a-z]")])`,
			`[{"a":[1]}] ["a","b"] ["a","b"] ["a","b"]`,
		},
		{
			`"x"`,
			`test("x")?, (1 | test("x")? // "no"), .a?, try .a catch "caught"`,
			`true ["no"] ["caught"]`,
		},
	}

	for _, tt := range tests {
		for _, strict := range []bool{true, false} {
			c := compile(t, tt.src, query.Options{Strict: strict})

			got, err := c.Run(t.Context(), parse(t, tt.input), nil)
			if err != nil {
				t.Errorf("Run(%s, strict %v) = %v", tt.src, strict, err)
				continue
			}
			if s := texts(got); s != tt.want {
				t.Errorf("Run(%s, strict %v) = %s, want %s", tt.src, strict, s, tt.want)
			}
		}

		// And the same as gojq by itself.
		q, err := gojq.Parse(tt.src)
		if err != nil {
			t.Fatal(err)
		}

		var all []any
		it := q.Run(parse(t, tt.input).Any())
		for v, ok := it.Next(); ok; v, ok = it.Next() {
			all = append(all, v)
		}

		if s := texts(all); s != tt.want {
			t.Errorf("gojq(%s) = %s, want %s", tt.src, s, tt.want)
		}
	}
}

func TestWorkflowFunctions(t *testing.T) {
	t.Parallel()

	children := map[string]any{"children": []any{
		map[string]any{"status": "completed"},
		map[string]any{"status": "approved"},
		map[string]any{"status": "conditional"},
		map[string]any{"status": "skipped"},
		map[string]any{"status": "rejected"},
		map[string]any{"status": "failed"},
		map[string]any{"status": "partial"},
		nil, "approved",
	}}

	for _, tt := range []struct{ src, want string }{
		{`.children | map(passed)`, `[true,true,true,true,false,false,false,false,true]`},
		{`.children | map(approved)`, `[true,true,true,true,false,false,false,false,true]`},
		{`.children | map(rejected)`, `[false,false,false,false,true,false,false,false,false]`},
		{`.children | map(failed)`, `[false,false,false,false,false,true,false,false,false]`},
		{`.children | all(approved), any(approved)`, `false true`},
		{`.children[:4] | all(approved)`, `true`},
		{`.children | any(rejected) | not`, `false`},
		{`.children | quorum(5), quorum(6)`, `true false`},
		{`{a: .children[0], b: .children[4]} | quorum(1)`, `true`},
		{`[] | all(approved), any(approved), quorum(0)`, `true false true`},
		{
			`null | default(1), (false | default(1)), (0 | default(error("not evaluated")))`,
			`1 false 0`,
		},
		{`def passed: 7; [passed], quorum(1)?`, `[7] false`},
		{`$x.children | length | default(3)`, `9`},
	} {
		c := compile(t, tt.src, query.Options{
			Strict: true,
			Funcs:  query.Workflow,
			Vars:   []string{"$x"},
		})

		got, err := c.Run(t.Context(), children, map[string]any{"$x": children})
		if err != nil || texts(got) != tt.want {
			t.Errorf("Run(%s) = %s, %v, want %s", tt.src, texts(got), err, tt.want)
		}
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	c := compile(t, `$steps.a, $none, ($big | length), .x`, query.Options{
		Vars: []string{"$unused", "$steps", "$none", "$big"},
	})
	if diff := cmp.Diff([]string{"$steps", "$none", "$big"}, c.Vars()); diff != "" {
		t.Errorf("Vars (-want +got):\n%s", diff)
	}
	type step struct {
		A int64 `json:"a"`
	}
	vars := map[string]any{
		"$steps":  step{A: math.MaxInt64},
		"$big":    query.Prepare([]string{"x", "y"}),
		"$unused": func() {},
		"$more":   1,
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := c.Run(t.Context(), map[string]uint8{"x": 3}, vars)
			if err != nil || texts(got) != `9223372036854775807 null 2 3` {
				t.Errorf("Run = %s, %v", texts(got), err)
			}
		})
	}

	wg.Wait()
	_, err := c.Run(t.Context(), func() {}, vars)
	if want := "input: unsupported type: func()"; err == nil || err.Error() != want {
		t.Errorf("Run of a function = %v, want %s", err, want)
	}
}

func TestOne(t *testing.T) {
	t.Parallel()

	for src, want := range map[string]any{
		`empty`:             nil,
		`1, error("later")`: 1,
		`.[]`:               "a",
		`false, true`:       false,
	} {
		got, err := compile(t, src, query.Options{}).One(t.Context(), []any{"a", "b"}, nil)
		if err != nil || got != want {
			t.Errorf("One(%s) = %v, %v, want %v", src, got, err, want)
		}
	}

	_, err := compile(t, `error("now")`, query.Options{}).One(t.Context(), nil, nil)
	if err == nil || err.Error() != "now" {
		t.Errorf("One = %v, want now", err)
	}
}

func TestRunErrors(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`"x" | .a`:             `expected an object but got: string ("x")`,
		`1 + "a"`:              `cannot add: number (1) and string ("a")`,
		`error("my message")`:  `my message`,
		`error({a: [1]})`:      `{"a":[1]}`,
		`error(null)`:          `null`,
		`"bye" | halt_error`:   `bye`,
		`1, 2, error("after")`: `after`,
		`"x" | test("(")`: "invalid regular expression \"(\": error parsing regexp: " +
			"missing closing ): `(`",
		`[] | implode | .a`:         `expected an object but got: string ("")`,
		`[range(200000)|"x"]|error`: `value is too large to show`,
	} {
		if !testkit.Deep() && strings.HasPrefix(src, "[range") {
			continue // under the race detector it may meet the limit of time first
		}
		c := compile(t, src, query.Options{})
		got, err := c.Run(t.Context(), nil, nil)
		if err == nil || err.Error() != want || got != nil {
			t.Errorf("Run(%s) = %v, %v, want the error %s", src, got, err, want)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(fmt.Sprintf("%T", e), "gojq") {
				t.Errorf("Run(%s) leaks %T", src, e)
			}
		}
	}

	got, err := compile(t, `1, halt, 2`, query.Options{}).Run(t.Context(), nil, nil)
	if err != nil || texts(got) != "1" {
		t.Errorf("Run of halt = %v, %v, want 1", got, err)
	}
}

func TestQueryLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		src  string
		what query.Bound
		msg  string
	}{
		{`range(10001)`, query.BoundResults, "query gave more than 10000 results"},
		{
			`"x" * 1000000 | range(9) as $i | .`,
			query.BoundOutput,
			"query gave more than 8388608 bytes",
		},
		{
			`["x" * 1000000 as $s | range(9) | $s]`,
			query.BoundOutput,
			"query gave more than 8388608 bytes",
		},
		{`def f: f; f`, query.BoundTime, "query took longer than 1s"},
		{`last(range(1e12))`, query.BoundTime, "query took longer than 1s"},
	}
	for _, tt := range tests {
		_, err := compile(t, tt.src, query.Options{Strict: true}).Run(t.Context(), nil, nil)
		var le *query.LimitError
		if !errors.As(err, &le) || le.What != tt.what || err.Error() != tt.msg {
			t.Errorf("Run(%s) = %v, want %s", tt.src, err, tt.msg)
		}
	}

	got, err := compile(t, `range(10000)`, query.Options{}).Run(t.Context(), nil, nil)
	if err != nil || len(got) != query.MaxResults {
		t.Errorf("Run of 10000 results = %d, %v", len(got), err)
	}
	why := errors.New("stopped by the user")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err = compile(t, `def f: f; f`, query.Options{}).Run(ctx, nil, nil)
	if !errors.Is(err, why) {
		t.Errorf("Run with a cancelled context = %v, want %v", err, why)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err = compile(t, `def f: f; f`, query.Options{}).Run(ctx, nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run past the caller's deadline = %v, want that deadline", err)
	}
}

// TestHostile: no single step of a strict query takes long, so that each ends soon after its
// second.
func TestHostile(t *testing.T) {
	t.Parallel()
	for i, src := range []string{ //nolint:paralleltest // each has its second to itself
		`"x" * 1000000000`, `1000000000 * "x"`, `def f: "x"; f * 1000000000`,
		`{a: "x"} | .a *= 1000000000`,
		`reduce range(40) as $i ("x"; . + .)`, `reduce range(40) as $i ("x"; "\(.)\(.)")`,
		`reduce range(40) as $i ("x"; . * 2)`,
		`reduce range(40) as $i ([1]; . + .)`, `reduce range(40) as $i ({a: "x"}; .a += .a) | .a`,
		`reduce range(99) as $i (9999999999; . * .)`,
		`[] | .[536870911] = 1`, `[] | .[100001]`, `[] | .[100000 + 1] = 1`,
		`[] | setpath([536870911]; 1)`, `[] | setpath(["a" | 536870911]; 1)`,
		`fromstream([[536870911], 1], [[536870911]])`, `"x" * 1000000 | [match(""; "g")]`,
		`"x" * 20000 | gsub("a"; "bb")`, `"x" * 20000 | [splits("")]`, `"x" * 2000000 | test("y")`,
		`"x" * 1000000 as $s | [range(1000) | $s] | add`,
		`"x" * 1000000 as $s | add(range(1000) | $s)`,
		`"x" * 1000000 as $s | [range(1000) | ""] | join($s)`,
		`reduce range(60) as $i (0; [., .]) | tojson`,
		`reduce range(60) as $i (0; [., .]) | . == [.]`,
		`reduce range(60) as $i (0; [., .]) | "\(.)"`,
		`reduce range(60) as $i (0; [., .]) | @json`,
		`reduce range(60) as $i (0; [., .]) | flatten`,
		`reduce range(60) as $i (0; [., .]) | contains([1])`,
		`reduce range(60) as $i (0; [., .])`, `reduce range(60) as $i (0; [., .]) | error`,
		`reduce range(60) as $i (0; [., .]) | [., .] | sort`,
		`reduce range(60) as $i (0; [., .]) | [., .] | unique_by(.)`,
		`reduce range(60) as $i ({}; {a: ., b: .}) | . * .`,
		`reduce range(60) as $i (0; [., .]) | . - .`,
		`reduce range(60) as $i (0; [., .]) | IN([.])`,
		`repeat(.)`, `range(infinite)`, `[limit(1e9; repeat(1))]`, `def f: [f]; f`,
		`("[" * 100000) | fromjson`, `[range(1e9)]`, `.. |= (., .)`, `[recurse([.])]`,
		`[.[]?, range(1e5)] | combinations(9)`, `until(false; . + 1)`, `while(true; .)`,
		`label $f | range(1e12) | if . < 0 then break $f else empty end`,
	} {
		if !testkit.Deep() && i%3 != 0 {
			continue
		}
		t.Run(src, func(t *testing.T) {
			c := compile(t, src, query.Options{Strict: true})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err := c.Run(ctx, nil, nil)
			if ctx.Err() != nil {
				t.Errorf("Run(%s) did not end within two minutes, and its bound is a second", src)
			}
			if err == nil && !strings.Contains(src, "|=") {
				t.Errorf("Run(%s) = %v, want a limit", src, err)
			}
		})
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	type named string
	type inner struct {
		N  *int           `json:"n"`
		M  map[string]int `json:"m,omitempty"`
		No string         `json:"-"`
	}
	n := 5
	same := map[string]any{"a": []any{1, "x", 2.5, json.Number("1.0"), nil, true, map[string]any{}}}
	tests := []struct{ in, want any }{
		{nil, nil},
		{"x", "x"},
		{named("x"), "x"},
		{int64(7), 7},
		{uint64(math.MaxUint64), json.Number("18446744073709551615")},
		{float32(0.5), json.Number("0.5")},
		{big.NewInt(3), big.NewInt(3)},
		{json.Number("12"), 12},
		{json.Number("-12"), -12},
		{json.Number("-0"), json.Number("-0")},
		{json.Number("1.0"), json.Number("1.0")},
		{json.Number("1234567890123456789"), json.Number("1234567890123456789")},
		{[]string{"a"}, []any{"a"}},
		{map[string]named{"a": "b"}, map[string]any{"a": "b"}},
		{
			inner{N: &n, M: map[string]int{"z": 1}},
			map[string]any{"n": 5, "m": map[string]any{"z": 1}},
		},
		{[]any{1, int8(2), []any{uint(3)}}, []any{1, 2, []any{3}}},
		{map[string]any{"a": int32(1), "b": "x"}, map[string]any{"a": 1, "b": "x"}},
		{parse(t, `{"b":[1,2.50]}`), map[string]any{"b": []any{1, json.Number("2.50")}}},
		{json.RawMessage(`{"a":1e5}`), map[string]any{"a": json.Number("1e5")}},
		{[]any(nil), nil},
		{map[string]any(nil), nil},
		{(*big.Int)(nil), nil},
		{func() {}, nil},
		{same, same},
	}
	for _, tt := range tests {
		got := query.Normalize(tt.in)
		diff := cmp.Diff(
			tt.want,
			got,
			cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
		)
		if diff != "" {
			t.Errorf("Normalize(%#v) (-want +got):\n%s", tt.in, diff)
		}
	}

	loop := []any{nil}
	loop[0] = loop
	if got := query.Normalize(loop); got != nil {
		t.Error("Normalize of a value that holds itself is not null")
	}
}

func TestTruthText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v     any
		truth bool
		text  string
	}{
		{nil, false, "null"},
		{false, false, "false"},
		{true, true, "true"},
		{0, true, "0"},
		{"", true, ""},
		{"a\"b", true, "a\"b"},
		{math.NaN(), true, "null"},
		{math.Inf(-1), true, "-1.7976931348623157e+308"},
		{1.5, true, "1.5"},
		{big.NewInt(7), true, "7"},
		{json.Number("1.00"), true, "1.00"},
		{[]any{"a<b", nil}, true, `["a<b",null]`},
		{map[string]any{"b": 1, "a": []any{}}, true, `{"a":[],"b":1}`},
	} {
		if got := query.Truth(tt.v); got != tt.truth {
			t.Errorf("Truth(%v) = %v, want %v", tt.v, got, tt.truth)
		}
		if got := query.Text(tt.v); got != tt.text {
			t.Errorf("Text(%v) = %s, want %s", tt.v, got, tt.text)
		}
	}
}

func tasks(n int) string {
	var b strings.Builder

	b.WriteString(`{"tasks":[`)

	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b,
			`{"number":%d,"title":"Fix the parser","status":"planned","dependencies":[%d],`+
				`"effort":1.50,"artifacts":[{"type":"plan","path":"a/b"}]}`,
			i, i/2)
	}

	b.WriteString(`]}`)
	return b.String()
}

func BenchmarkRun(b *testing.B) {
	state := query.Prepare(parse(b, tasks(1000)))
	for _, bb := range []struct{ name, src string }{
		{"lookup", `$state.tasks[] | select(.number == 700)`},
		{"condition", `$task.status == "planned" or ($task.status | IN("revised", "partial"))`},
	} {
		c := compile(b, bb.src, query.Options{Vars: []string{"$state", "$task"}, Strict: true})
		vars := map[string]any{"$state": state, "$task": map[string]any{"status": "planned"}}
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.One(b.Context(), nil, vars); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLongListsGetMore: what a run may take grows with the lists that it reads, so that work in
// proportion to them is done.
func TestLongListsGetMore(t *testing.T) {
	t.Parallel()
	const n = 20_000

	list := make([]any, n)
	for i := range list {
		list[i] = strings.Repeat("x", 500)
	}

	code, err := query.Compile("$state.tasks", query.Options{Vars: []string{"$state"}})
	if err != nil {
		t.Fatal(err)
	}

	state := query.Prepare(map[string]any{"tasks": list})
	if v, err := code.One(t.Context(), nil, map[string]any{"$state": state}); err != nil ||
		len(v.([]any)) != n {
		t.Errorf("One of %d elements = %v, want all of them", n, err)
	}

	few := query.Prepare(map[string]any{"tasks": []any{strings.Repeat("x", 500*n)}})
	_, err = code.One(t.Context(), nil, map[string]any{"$state": few})
	if limit, ok := errors.AsType[*query.LimitError](err); !ok || limit.What != query.BoundOutput {
		t.Errorf("One of as much text in one element = %v, want %s", err, query.BoundOutput)
	}
}
