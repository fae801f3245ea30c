package commands_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/adrg/frontmatter"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/text"

	"tercet/commands"
	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
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

// bare is the yardstick: the frontmatter as a map and a markdown tree, nothing looked at. The parser has no extensions: the
// format needs none.
func bare(tb testing.TB, src []byte) {
	tb.Helper()
	var front map[string]any
	body, err := frontmatter.Parse(bytes.NewReader(src), &front)
	if err != nil || len(front) == 0 {
		tb.Fatal(err)
	}
	goldmark.DefaultParser().Parse(text.NewReader(body))
}

// checkFile parses and checks a file, with everything reported, as the program does with one file after the other.
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

// BenchmarkPairs measures the yardstick and the check of one file in turns and gives the medians and their ratio, which other
// work on the machine touches least: for a file of about 10 KB, for each file of the library, and for the larger examples.
func BenchmarkPairs(b *testing.B) {
	library, err := commands.Embedded()
	if err != nil {
		b.Fatal(err)
	}
	lib := checker(b)
	examples, err := filepath.Glob("syntax/testdata/flows/*-flow.md")
	if err != nil || len(examples) == 0 {
		b.Fatal(examples, err)
	}
	pair := func(name string, src []byte, lib *commands.Library) {
		b.Run(fmt.Sprintf("%s-%d", name, len(src)), func(b *testing.B) {
			var yard, ours []float64
			timed := func(to *[]float64, work func()) {
				start := time.Now()
				work()
				*to = append(*to, float64(time.Since(start).Microseconds()))
			}
			for b.Loop() {
				timed(&yard, func() { bare(b, src) })
				timed(&ours, func() { checkFile(b, name, src, lib) })
			}
			slices.Sort(yard)
			slices.Sort(ours)
			b.ReportMetric(yard[len(yard)/2], "bare-us")
			b.ReportMetric(ours[len(ours)/2], "check-us")
			b.ReportMetric(ours[len(ours)/2]/max(yard[len(yard)/2], 1), "ratio")
		})
	}
	pair("implement.md", command10K(b), lib)
	files, err := fs.Glob(library, "*.md")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range files {
		src, err := fs.ReadFile(library, name)
		if err != nil {
			b.Fatal(err)
		}
		pair(name, src, lib)
	}
	for _, name := range examples {
		src, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		pair(filepath.Base(name), src, &commands.Library{Env: anyone{lib.Env}})
	}
}

// anyone knows a subagent of every name, so that the examples can be checked whose subagents are elsewhere.
type anyone struct{ compile.Env }

func (a anyone) Agent(name string) (formats.AgentInfo, bool) {
	info, ok := a.Env.Agent(name)
	switch {
	case name == "tester" || name == "reviewer" || name == "security-auditor" || name == "doc-reviewer":
		return formats.AgentInfo{Name: name, Role: formats.RoleReviewer, Tools: []string{"read", "shell"}}, true
	case !ok || name == "architect" || name == "test-designer" || name == "researcher":
		return formats.AgentInfo{Name: name, Tools: []string{"write", "shell"}}, true
	}
	return info, true
}

// BenchmarkBare is the yardstick alone.
// BenchmarkFlows checks the larger examples.
func BenchmarkFlows(b *testing.B) {
	lib := checker(b)
	examples, err := filepath.Glob("syntax/testdata/flows/*-flow.md")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range examples {
		src, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(filepath.Base(name), func(b *testing.B) {
			one := &commands.Library{Env: anyone{lib.Env}}
			b.ReportAllocs()
			for b.Loop() {
				checkFile(b, name, src, one)
			}
		})
	}
}

func BenchmarkBare(b *testing.B) {
	src := command10K(b)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		bare(b, src)
	}
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
		c.Entries = append(c.Entries, commands.Entry{Name: fmt.Sprint("c", i), File: file, Source: "library"})
	}
	for b.Loop() {
		if list := c.List(); len(list) == 0 {
			b.Fatal("no command is listed")
		}
	}
}
