package query_test

import (
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
