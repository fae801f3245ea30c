// Package slab makes many small values of one type in few pieces of memory, for trees of which every part lives as long as the
// others: one allocation instead of dozens. It promises that a value is zero when it is given, is never moved and is given once.
// It takes nothing back: a piece lives as long as anything in it. A slab serves one goroutine; what it gave is the receiver's.
package slab

// Of makes values of T. The zero value is ready.
type Of[T any] struct {
	free  []T // what is left of the present piece
	given int
}

// The number of values of a piece: half of what was given so far, so that at most a third is left over.
const (
	fewest = 4
	most   = 64
)

// Reserve makes room for exactly n values more.
func (s *Of[T]) Reserve(n int) {
	if n > len(s.free) {
		s.free = make([]T, n)
	}
}

// Given is how many values were given.
func (s *Of[T]) Given() int { return s.given }

// New gives one value.
func (s *Of[T]) New() *T {
	if len(s.free) == 0 {
		s.free = make([]T, min(max(s.given/2, fewest), most))
	}
	v := &s.free[0]
	s.free = s.free[1:]
	s.given++
	return v
}

// List gives a slice of no values, not nil, with room for n. Beyond n it grows elsewhere.
func (s *Of[T]) List(n int) []T {
	if n == 0 {
		return []T{}
	}
	if n > len(s.free) {
		size := min(max(s.given/2, fewest), most)
		if n > size/2 {
			s.given += n
			return make([]T, 0, n) // the rest of the present piece is not lost
		}
		s.free = make([]T, size)
	}
	out := s.free[:0:n]
	s.free = s.free[n:]
	s.given += n
	return out
}
