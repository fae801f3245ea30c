package statefile_test

import (
	"strings"
	"testing"

	"tercet/state/statefile"
)

// TestPlaces: a place is the one that Position finds, also outside of the text and in a text of one
// line.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, src := range []string{"", "a", "\n", "a\n", "\n\n", "ab\nc\n\nd", "{\"ü\": 1}\r\n{}"} {
		p := statefile.PlacesIn([]byte(src))
		for at := -1; at <= len(src)+1; at++ {
			if got, want := p.At(at), statefile.Position([]byte(src), at); got != want {
				t.Errorf("%q at %d is %v, want %v", src, at, got, want)
			}
		}
	}
}

// BenchmarkPlaces finds a place for each of many records of a file without line feeds.
func BenchmarkPlaces(b *testing.B) {
	src := []byte(strings.Repeat(`{"project_number":1},`, 20_000))
	for b.Loop() {
		p := statefile.PlacesIn(src)
		for at := 0; at < len(src); at += 21 {
			p.At(at)
		}
	}
}
