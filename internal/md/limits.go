package md

import "fmt"

// Default limits: a command file may have 256 KiB, and lists, quotes and YAML values may be nested 100 deep.
const (
	DefaultBytes = 256 << 10
	DefaultDepth = 100
)

// Limits bounds what is read. The zero value of a field means its default.
type Limits struct {
	Bytes int // of the whole file
	Depth int // of lists and quotes in the body, of maps and lists in YAML
}

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Depth <= 0 {
		l.Depth = DefaultDepth
	}
	return l
}

func (l Limits) tooLarge(size int, at Pos) (Problem, bool) {
	if size <= l.Bytes {
		return Problem{}, false
	}
	return Problem{
		CodeTooLarge, at, at, fmt.Sprintf("text of %d bytes, the limit is %d", size, l.Bytes),
		"split the file",
	}, true
}
