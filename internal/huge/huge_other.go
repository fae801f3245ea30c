//go:build !linux

package huge

// List makes an empty list of a capacity.
func List[T any](capacity int) []T {
	return make([]T, 0, capacity)
}
