// Package huge makes large lists cheap to fill.
package huge

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePagesFrom is the size in bytes from which a list is put into huge pages.
const hugePagesFrom = 8 << 20

// List makes an empty list of a capacity, in huge pages if it is large. The system takes a fault
// for each page at its first use: with pages of 4 KiB that costs more than to read and check a
// state of 100,000 tasks.
func List[T any](capacity int) []T {
	list := make([]T, 0, capacity)
	size := uintptr(capacity) * unsafe.Sizeof(*new(T))
	if size >= hugePagesFrom {
		memory := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), size)
		_ = unix.Madvise(memory, unix.MADV_HUGEPAGE) //nolint:errcheck // only slower without
	}
	return list
}
