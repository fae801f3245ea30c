package md_test

import (
	"bytes"
	"slices"
	"testing"

	"tercet/internal/md"
)

// FuzzLines holds the reader that looks at eight bytes at a time against one that looks at each, and the walk over the lines
// outside of code against the question that is asked of each line.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "\n", "a\nb", "0123456\n", "01234567\n", "\x7f~\x80\x1f \n\n\n\n\n\n\n\n\n", "é\r\n\x00", "x\n```\ny\n```\nz\n- ```\n  a\n  ```\n> q\n\n    code\nend"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want, wantClean := []int{0}, true
		for i, c := range text {
			if c == '\n' {
				want = append(want, i+1)
			} else if c < ' ' || c > '~' {
				wantClean = false
			}
		}
		if starts, clean := md.ScanLines(text); !slices.Equal(starts, want) || clean != wantClean {
			t.Errorf("ScanLines(%q) = %v, %v, want %v, %v", text, starts, clean, want, wantClean)
		}
		d, _ := md.Parse(bytes.Clone(text))
		var lines, prose []string
		for n, line := range d.Lines() {
			if !d.InCode(n) {
				lines = append(lines, line)
			}
		}
		for _, line := range d.ProseLines() {
			prose = append(prose, line)
		}
		if !slices.Equal(prose, lines) {
			t.Errorf("ProseLines of %q = %q, want %q", text, prose, lines)
		}
		for i := range d.Prose() {
			if n := d.LineAt(i); n != d.BodyLine+bytes.Count(d.Body()[:i], []byte{'\n'}) {
				t.Errorf("LineAt(%d) of %q = %d", i, text, n)
			}
		}
	})
}
