package query_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"

	"tercet/internal/query"
)

// TestIndexTable: INDEX gives what gojq's own gives, which takes quadratic time.
func TestIndexTable(t *testing.T) {
	t.Parallel()

	inputs := []any{
		nil,
		[]any{},
		[]any{map[string]any{"n": 1}, map[string]any{"n": "1", "m": 2}, map[string]any{}},
		[]any{1, 2, 1},
		map[string]any{"a": 3, "b": 4},
		"x",
	}

	for _, src := range []string{
		"INDEX(.n)", "INDEX(.)", "INDEX(.n, .m)", "INDEX(empty)", "INDEX(.[]?; .n?)",
		"INDEX(.[]?; .)", "INDEX((1, 2, 3); . % 2)", "INDEX(empty; .)", "INDEX(.[]?; empty)",
		"INDEX(.[]?; 1, 2)", "INDEX(.[]?; error)", "try INDEX(.n) catch .", "INDEX(.[]?; .).x?",
		"[INDEX(.[]?; .)[]]", "INDEX(.[]?; .) | keys",
		"def add: 7; def tostring: null; INDEX(.[]?; .)",
	} {
		q, err := gojq.Parse(src)
		if err != nil {
			t.Fatal(err)
		}

		c := compile(t, src, query.Options{})
		for _, in := range inputs {
			var want []any
			it := q.Run(in)
			failed := false
			for v, ok := it.Next(); ok && !failed; v, ok = it.Next() {
				if _, failed = v.(error); !failed {
					want = append(want, v)
				}
			}

			got, err := c.Run(t.Context(), in, nil)
			if diff := cmp.Diff(want, got); !failed && diff != "" || failed != (err != nil) {
				t.Errorf("%s of %v (-want +got), %v:\n%s", src, in, err, diff)
			}
		}
	}
}

// TestIndexLinear: a table of many elements takes time in proportion. gojq's own would take minutes
// for these.
func TestIndexLinear(t *testing.T) {
	t.Parallel()
	const n = 100_000
	c := compile(t, "INDEX(to_entries[]; .key) | length", query.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for got, err := range c.Iter(ctx, parse(t, "[0"+strings.Repeat(",{}", n)+"]"), nil) {
		if got != n+1 || err != nil {
			t.Errorf("INDEX = %v, %v, want %d in far less than half a minute", got, err, n+1)
		}
	}
}
