package slab_test

import (
	"testing"

	"tercet/internal/slab"
)

func TestSlab(t *testing.T) {
	t.Parallel()
	var s slab.Of[int]
	var singles []*int
	var lists [][]int
	for i := range 500 {
		if i == 100 {
			s.Reserve(150)
		}
		v := s.New()
		if *v != 0 {
			t.Fatalf("value %d is %d before it is set", i, *v)
		}
		*v = i + 1
		singles = append(singles, v)
		list := s.List(i % 9)
		if len(list) != 0 || cap(list) != i%9 {
			t.Fatalf("List(%d) has %d of %d", i%9, len(list), cap(list))
		}
		for n := range i%9 + 2 { // two beyond its room
			list = append(list, -i-n)
		}
		lists = append(lists, list)
	}
	for i, v := range singles {
		if *v != i+1 {
			t.Errorf("value %d became %d", i, *v)
		}
		for n, got := range lists[i] {
			if got != -i-n {
				t.Errorf("list %d at %d is %d, want %d", i, n, got, -i-n)
			}
		}
	}
}

func TestSlabAllocates(t *testing.T) { //nolint:paralleltest // it counts allocations
	count := testing.AllocsPerRun(20, func() {
		var s slab.Of[[4]int]
		for range 100 {
			s.New()
		}
	})
	if count > 9 {
		t.Errorf("100 values in %.0f allocations, want at most 9", count)
	}
}
