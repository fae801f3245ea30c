package commands_test

import (
	"bytes"
	"io/fs"
	"strconv"
	"testing"

	"github.com/adrg/frontmatter"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/text"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/syntax"
)

// command10K is a command file of about 10 KB: the longest of the library with its steps repeated.
func command10K(tb testing.TB) []byte {
	tb.Helper()
	library, err := commands.Embedded()
	if err != nil {
		tb.Fatal(err)
	}
	src, err := fs.ReadFile(library, "implement.md")
	if err != nil {
		tb.Fatal(err)
	}
	open := bytes.Index(src, []byte("### Step 2:"))
	end := bytes.Index(src, []byte("### Step 3:"))
	loop := src[open:end]
	var out bytes.Buffer
	out.Write(src[:end])
	for n := 0; out.Len()+len(src)-end+len(loop) <= 10<<10; n++ {
		copied := bytes.ReplaceAll(loop, []byte("Step 2"), []byte("Step "+strconv.Itoa(20+n)))
		for _, id := range []string{"phases", "code", "commit"} {
			copied = bytes.ReplaceAll(copied, []byte("id: "+id), []byte("id: "+id+string(rune(97+n))))
		}
		out.Write(copied)
	}
	out.Write(src[end:])
	return out.Bytes()
}

// BenchmarkBare is the yardstick: frontmatter and a markdown tree alone.
func BenchmarkBare(b *testing.B) {
	src := command10K(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		var front map[string]any
		body, err := frontmatter.Parse(bytes.NewReader(src), &front)
		if err != nil || len(front) == 0 {
			b.Fatal(err)
		}
		goldmark.DefaultParser().Parse(text.NewReader(body))
	}
}

// BenchmarkCheck parses and checks the same file.
func BenchmarkCheck(b *testing.B) {
	src := command10K(b)
	env := shippedSet(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := syntax.Parse("implement.md", src)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := compile.Compile(f, env); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParse is the part of BenchmarkCheck that reads the file.
func BenchmarkParse(b *testing.B) {
	src := command10K(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := syntax.Parse("implement.md", src); err != nil {
			b.Fatal(err)
		}
	}
}
