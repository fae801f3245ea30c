package query_test

import (
	"strings"
	"testing"

	"tercet/internal/query"
)

// TestLinear: filters of every day are known to be linear, and nothing that can run away is.
func TestLinear(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{
		`.`: true, `.serial`: true, `.tasks[] | select(.number == 3)`: true, `.tasks[] | select(.number == $n) | {number, title}`: true,
		`[.tasks[] | select(.status == "completed")] | length`: true, `.tasks | group_by(.status) | map({status: .[0].status, count: length})`: true,
		`.tasks | map({key: (.number | tostring), value: .status}) | from_entries`: true, `.tasks | sort_by(.created) | reverse | .[0:5] | map(.number)`: true,
		`.tasks[] | "\(.number)\t\(.title)"`: true, `.tasks[] | [.number, .title] | @tsv`: true, `.tasks[] | select(.title | test("^a+$"))`: true,
		`first(.tasks[] | select(any(.artifacts[]?; .type == "plan")))`: true, `.tasks[] | .number * 2 - 1`: true, `del(.tasks)`: true, `[inputs]`: true,
		`.tasks[] | if .status == "x" then 1 else 2 end`: true, `.tasks[] | . as $t | $t.title`: true, `.. | numbers`: true, `.a // .b // "x"`: true,
		`[limit(3; .tasks[])]`: true, `.tasks[] | select(.status | IN("a", "b"))`: true, `[paths] | length`: true, `$o | length`: true, `INDEX(.tasks[]; .number)`: true, `.tasks | INDEX(.number) | keys`: true,
		`ready`: true, `ready | {number, title}`: true, `[ready.number] | length`: true, `ready | ready`: true,

		`repeat(.)`: false, `range(infinite)`: false, `def f: f; f`: false, `[range(1e9)]`: false, `last(range(1e12))`: false, `reduce range(9) as $x (.; . + .)`: false,
		`"x" * 1000000000`: false, `("a" * 1000000) | [match(""; "g")]`: false, `.a[536870911] = 1`: false, `.[1e9] = 1`: false, `until(false; .)`: false, `while(true; .)`: false,
		`recurse(.)`: false, `[.,.]|[.,.]|[.,.]|[.,.]|[.,.]|[.,.]|[.,.]|[.,.]`: false, `.+.|.+.|.+.|.+.|.+.|.+.|.+.|.+.`: false, `([.,.]|[.,.]|[.,.]|[.,.]|[.,.]|[.,.]|[.,.]) == 1`: false,
		`(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)|(.,.)`: false, `{a: .tasks[], b: .tasks[]}`: false, `[.tasks[] == .tasks[]]`: false, `.tasks[] as $a | .tasks[] as $b | 1`: false,
		`. as $d | .tasks[] | $d`: false, `.tasks[] | $o`: false, `. as $d | .tasks | map($d)`: false, `"\(.tasks[])\(.tasks[])"`: false, `.tasks - .tasks`: false, `[.tasks[] | .number] as $done | .tasks[] | select(.dependencies - $done == []) | .number`: false, `. as $d | .tasks[] | select(all(.a[]; $d.b[tostring] == 1))`: false,
		`. as $d | .tasks[] | if $d then 1 end`: false, `. as $d | .tasks[] | {a: [$d]}`: false, `. as $d | .tasks[] | limit(3; $d)`: false, `. as $d | .tasks[] | .a[$d]`: false, `.tasks | contains(.)`: false,
		`.tasks[] | select(.a[] == 1)`: false, `reduce .tasks[] as $t ({}; .[$t.a] = 1)`: false, `def f: 1; INDEX(.number)`: false, `combinations`: false, `[splits("a")]`: false, `gsub("a"; "b")`: false,
		`tojson | tojson | tojson`: false, `.tasks |= map(1)`: false, `.a *= 2`: false, `explode | explode`: false, `input as $x | walk(.)`: false, `.tasks[.tasks[].number]`: false,
		`.tasks[][.tasks[].number]`: false, `[.tasks[] | {a: ., b: .} | {a: ., b: .} | {a: ., b: .} | {a: ., b: .} | {a: ., b: .} | {a: ., b: .} | {a: ., b: .}]`: false, `label $f | repeat(.)`: false,
		`with_entries(.value |= 1)`: false, `tostream`: false, `env | 1`: false, `getpath(["a"])`: false, `.tasks | index(.tasks)`: false, `limit(.n; .tasks[])`: false,
	} {
		c, _, err := query.NewCommand(query.CLIRequest{Filter: src, Args: corpusArgs(), Statuses: corpusStatuses()})
		if err != nil {
			if want {
				t.Errorf("NewCommand(%s) = %v", src, err)
			}
			continue
		}
		if got := c.Linear(); got != want {
			t.Errorf("Linear(%s) = %v, want %v", src, got, want)
		}
	}
}

// TestCounts: what counts while it reads needs no bound of its own; where it cannot, nothing is printed.
func TestCounts(t *testing.T) {
	t.Parallel()
	const tasks, odd = `{"tasks":[{"status":"a"},{"status":"b"},{"status":"a"}]}`, `{"tasks":[{"status":"a"},{"status":1}]}`
	for _, tt := range []struct {
		filter, in string
		counts, ok bool
		want       string
	}{
		{`reduce .tasks[] as $t ({}; .[$t.status] += 1)`, tasks, true, true, `{"a":2,"b":1}` + "\n"},
		{`reduce .tasks[] as $t ({}; .[$t.status] += 1) | to_entries | map(.value) | add`, tasks, true, true, "3\n"},
		{`reduce .tasks[] as $t ({}; .[$t.status] += 1)`, odd, true, false, ""},
		{`reduce .tasks[] as $t ({}; .[$t.status] += 1) | reduce range(9) as $i (.; . + {a: $i})`, tasks, false, false, ""},
		{`[.tasks[].status] | group_by(.)`, tasks, false, false, ""},
		{`reduce .tasks[] as $t ({}; .[$t.status] += 2)`, tasks, false, false, ""},
	} {
		var out strings.Builder
		c, _, err := query.NewCommand(query.CLIRequest{Filter: tt.filter, Compact: true, Out: &out, Inputs: []query.Input{{Data: []byte(tt.in)}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Counts(); got != tt.counts {
			t.Errorf("Counts of %s = %t, want %t", tt.filter, got, tt.counts)
		}
		if !tt.counts {
			continue
		}
		if exit, err, ok := c.RunCounting(t.Context()); exit != 0 || err != nil || ok != tt.ok || out.String() != tt.want {
			t.Errorf("RunCounting of %s = %d, %v, %t, %q, want %t, %q", tt.filter, exit, err, ok, out.String(), tt.ok, tt.want)
		}
	}
}
