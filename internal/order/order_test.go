package order_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"tercet/internal/order"
)

type pair struct{ key, place int }

func byKey(a, b pair) int { return cmp.Compare(a.key, b.key) }

// TestStable compares with the sort of package slices.
func TestStable(t *testing.T) {
	t.Parallel()
	for n := range 200 {
		list := make([]pair, n)
		for i := range list {
			list[i] = pair{rand.IntN(1 + n/4), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		got := slices.Clone(list)
		order.Stable(got, byKey)
		if !slices.Equal(got, want) {
			t.Fatalf("%v sorted\ngot  %v\nwant %v", list, got, want)
		}
	}
}
