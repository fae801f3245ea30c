//go:build !linux

package state

// newList makes an empty list of a capacity.
func newList[T any](capacity int) []T {
	return make([]T, 0, capacity)
}
