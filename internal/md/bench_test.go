package md_test

import (
	"bytes"
	"os"
	"testing"

	"tercet/internal/md"
)

// command10K is a command file of about 10 KB: the implement example with its workflow repeated.
func command10K(tb testing.TB) []byte {
	tb.Helper()
	src, err := os.ReadFile("testdata/implement.md")
	if err != nil {
		tb.Fatal(err)
	}
	i := bytes.Index(src, []byte("### Step 1:"))
	for len(src) < 10_000 {
		src = append(src, src[i:]...)
		if len(src) > 10_500 {
			break
		}
	}
	return src
}

func BenchmarkParse(b *testing.B) {
	src := command10K(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		d, problems := md.Parse(src)
		if len(problems) > 0 {
			b.Fatal(problems)
		}
		for i := range d.Blocks {
			if bl := &d.Blocks[i]; bl.Kind == md.Fence {
				md.ParseYAML(bl.Body, bl.BodyPos)
			}
		}
	}
}

func BenchmarkParseDocument(b *testing.B) {
	src := command10K(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		md.Parse(src)
	}
}
