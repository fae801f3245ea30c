package jsonx

import "fmt"

// Edit replaces the bytes Start to End of a source by Text; Start == End inserts, an empty Text removes.
type Edit struct {
	Start, End int
	Text       []byte
}

// Splice applies edits that are sorted and do not overlap; everything else of src is copied byte for byte into a fresh
// slice. Insertions at one place are made in their order. An edit that does not fit is refused.
func Splice(src []byte, edits []Edit) ([]byte, error) {
	out, at := make([]byte, 0, len(src)+1024), 0
	for i, e := range edits {
		if e.Start < 0 || e.End < e.Start || e.End > len(src) {
			return nil, fmt.Errorf("edit %d [%d:%d]: range is not inside the source", i, e.Start, e.End)
		}
		if e.Start < at {
			return nil, fmt.Errorf("edit %d [%d:%d]: starts before the end of the edit before it", i, e.Start, e.End)
		}
		out = append(append(out, src[at:e.Start]...), e.Text...)
		at = e.End
	}
	return append(out, src[at:]...), nil
}
