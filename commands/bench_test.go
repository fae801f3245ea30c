package commands_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"tercet/commands"
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
		mark := string(rune('a' + n))
		copied = bytes.ReplaceAll(
			copied,
			[]byte("rollback: [code]"),
			[]byte("rollback: [code"+mark+"]"),
		)
		for _, child := range []string{"correctness", "security", "tests", "project"} {
			copied = bytes.ReplaceAll(copied, []byte("  "+child+": "), []byte("  "+child+mark+": "))
		}
		for _, id := range []string{"phases", "code", "review", "commit"} {
			copied = bytes.ReplaceAll(copied, []byte("id: "+id), []byte("id: "+id+mark))
			copied = bytes.ReplaceAll(copied, []byte("$steps."+id), []byte("$steps."+id+mark))
		}
		out.Write(copied)
	}

	out.Write(src[end:])
	return out.Bytes()
}

// checkFile parses and checks a file, with everything reported, as the program does with one file
// after the other.
func checkFile(tb testing.TB, name string, src []byte, lib *commands.Library) {
	tb.Helper()
	if _, err := lib.Compile(name, src); err != nil {
		tb.Fatal(err)
	}
}

func checker(tb testing.TB) *commands.Library {
	tb.Helper()
	return &commands.Library{Env: shippedSet(tb)}
}

// TestBenchmarked holds what BenchmarkCheck measures: a file without a finding.
func TestBenchmarked(t *testing.T) {
	t.Parallel()
	checkFile(t, "implement.md", command10K(t), checker(t))
}

// BenchmarkCheck parses and checks the same file.
func BenchmarkCheck(b *testing.B) {
	src := command10K(b)
	lib := checker(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		checkFile(b, "implement.md", src, lib)
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

// BenchmarkListing lists 200 commands of 4 to 10 KB, each of which is read and compiled.
func BenchmarkListing(b *testing.B) {
	lib := checker(b)
	files, err := filepath.Glob("library/*.md")
	if err != nil {
		b.Fatal(err)
	}
	lib.Open = func(_, file string) ([]byte, error) { return os.ReadFile(file) }
	c := &commands.Catalog{Library: lib}
	for i := range 200 {
		file := files[i%len(files)]
		c.Entries = append(c.Entries, commands.Entry{
			Name:   fmt.Sprint("c", i),
			File:   file,
			Source: "library",
		})
	}
	for b.Loop() {
		if list := c.List(); len(list) == 0 {
			b.Fatal("no command is listed")
		}
	}
}
