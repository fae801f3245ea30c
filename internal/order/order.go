// Package order sorts lists of structs.
package order

import "sort"

// Stable sorts list by compare, which gives a negative number, zero or a positive number as
// slices.SortStableFunc has it. Equal elements keep their order.
//
// It is for lists that are short beside the work done for them. The compiler makes the sort of
// package slices anew for each type of element, about 20 KB in the program; this one it makes once,
// and calls compare through an interface, which takes about twice the time.
func Stable[T any](list []T, compare func(a, b T) int) {
	sort.Stable(byCompare[T]{list, compare})
}

type byCompare[T any] struct {
	list    []T
	compare func(a, b T) int
}

func (s byCompare[T]) Len() int { return len(s.list) }

func (s byCompare[T]) Less(i, j int) bool { return s.compare(s.list[i], s.list[j]) < 0 }

func (s byCompare[T]) Swap(i, j int) { s.list[i], s.list[j] = s.list[j], s.list[i] }
