package checks_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/testkit"
	"tercet/subagents/checks"
)

var update = flag.Bool("update", false, "write the golden files")

// render is one line per issue: level, place, text.
func render(list []formats.Issue) string {
	var b strings.Builder
	for _, i := range list {
		fmt.Fprintf(&b, "%s %s:%d: %s\n",
			i.Level, strings.Join(i.Files, ","), i.Line, i.Description)
	}
	return b.String()
}

func TestParseOutputs(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/output/*.txt")
	if err != nil || len(files) < 15 {
		t.Fatalf("Glob = %d files, %v, want the outputs", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			stack, _, _ := strings.Cut(name, "-")
			got := render(checks.Parse(stack, out))
			golden := strings.TrimSuffix(file, ".txt") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("Parse(%s) (-want +got)\n%s", name, d)
			}
		})
	}
}

func TestParseCleans(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{
			"colours",
			"\x1b[31ma.c:1:2:\x1b[0m error: \x1b]0;title\x07bad \x1b[1mthing\x1b[m\n",
			"error a.c:1: bad thing\n",
		},
		{"control characters", "a.c:1: b\x00a\x07d\u202e\u009b!\r\n", "error a.c:1: bad!\n"},
		{"no UTF-8", "a.c:1: b\xffad\n", "error a.c:1: b\ufffdad\n"},
		{"unterminated title", "\x1b]0;a.c:1: x\nb.c:2: y\n", "error b.c:2: y\n"},
		{"repeated", "a.c:1: x\na.c:1: x\n", "error a.c:1: x\n"},
		{"file URL", "file:///src/a.c:3:4: x\n", "error /src/a.c:3: x\n"},
		{
			"no file",
			"12:30:59: x\nlocalhost:80: x\nhttp://h.org:80: x\nratio 1:2: x\na.c:0: x\na.c:: x\n" +
				"a.c:1x\n",
			"",
		},
		{"huge number", "a.c:99999999999999999999: x\n", ""},
		{
			"long",
			"a.c:1: " + strings.Repeat("é", 600),
			"error a.c:1: " + strings.Repeat("é", 499) + "…\n",
		},
	}
	for _, tt := range tests {
		got := render(checks.Parse("c", []byte(tt.in)))
		if tt.name != "unterminated title" && got != tt.want {
			t.Errorf("Parse(%s) = %q, want %q", tt.name, got, tt.want)
		} else if tt.name == "unterminated title" && !strings.HasSuffix(got, tt.want) {
			t.Errorf("Parse(%s) = %q, want it to end with %q", tt.name, got, tt.want)
		}
	}
}

func TestParseIsCapped(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "a.c:%d: x\n", i+1)
	}
	if got := len(checks.Parse("make", []byte(b.String()))); got != checks.MaxIssues {
		t.Errorf("Parse(1000 lines) = %d issues, want %d", got, checks.MaxIssues)
	}
}

// TestParseIsLinear ends in a moment if the cost of every line is bounded, and not in this life
// otherwise.
func TestParseIsLinear(t *testing.T) {
	t.Parallel()
	size := 1 << 16
	if !testkit.Deep() {
		size = 1 << 14 // the race detector makes patterns 20 times as slow
	}
	for _, unit := range []string{
		"\x1b]", "\x1b[", "panic: x\n", "--- FAIL: a\npanic: x\n", "a.go:1: x\n\t\n", "\t\n",
		"=== RUN a\n    a.go:1: x\n     y\n", "    y\n", "thread 'a' panicked at a.rs:1:1:\nx\n",
		"not ok 1 - a\n---\nerror: |-\n", "Error: x:\n", "x:\n", "E   a\n",
		"File \"a.py\", line 1\n", "a:1", "● a\nExpected\n", "--- FAIL: a/a/a/a/a/a/a/a\n",
		"check: ", "a.c:1:1: error: ",
	} {
		out := []byte("a.go:1: x\n=== RUN a\n    a.go:1: x\nError: x:\n" +
			strings.Repeat(unit, size/len(unit)))
		for _, stack := range checks.Stacks() {
			checks.Parse(stack.String(), out)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/output/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		out, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out)
	}

	f.Fuzz(func(t *testing.T, out []byte) {
		for _, stack := range append(checks.Stacks(), "other") {
			list := checks.Parse(stack.String(), out)
			if len(list) > checks.MaxIssues {
				t.Errorf("Parse(%s) = %d issues, want at most %d",
					stack, len(list), checks.MaxIssues)
			}
			for _, i := range list {
				if i.Description == "" || i.Source != "check" || i.Level == "" || i.Line < 0 ||
					!utf8.ValidString(i.Description) ||
					strings.ContainsAny(i.Description, "\n\x1b\x00") ||
					utf8.RuneCountInString(i.Description) > 500 {
					t.Errorf("Parse(%s, %q) has %+v", stack, out, i)
				}
				if len(i.Files) > 0 && i.Files[0] == "" || len(i.Files) == 0 && i.Line != 0 ||
					len(i.Files) > 1 {
					t.Errorf("Parse(%s, %q) has the place %+v", stack, out, i)
				}
			}
		}
	})
}
