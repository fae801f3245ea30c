package md_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/internal/md"
	"tercet/internal/testkit"
)

// blocks prints the blocks of a document, one a line.
func blocks(d *md.Document) string {
	var b strings.Builder
	for _, bl := range d.Blocks {
		fmt.Fprintf(&b, "%s%s %s-%s", strings.Repeat(" ", bl.Depth), bl.Kind, bl.Pos, bl.End)
		if bl.Level > 0 {
			fmt.Fprintf(&b, " level %d", bl.Level)
		}
		if bl.Kind == md.Fence {
			fmt.Fprintf(&b, " fenced=%v info=%q indent=%d body=%q at %s",
				bl.Fenced, bl.Info, bl.Indent, bl.Body, bl.BodyPos)
		}
		if bl.Ordered {
			b.WriteString(" ordered")
		}
		if bl.Checked != nil {
			fmt.Fprintf(&b, " checked=%v", *bl.Checked)
		}
		if text := bl.Plain(); text != "" {
			fmt.Fprintf(&b, " %q", text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func errs(problems []md.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

func TestParseBlocks(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"headings", "# One #\n\n  ## Two `x` \n### \nSet\n===\n", `heading 1:1-1:8 level 1 "One"
heading 3:3-3:13 level 2 "Two x"
heading 4:1-4:4 level 3
heading 5:1-5:4 level 1 "Set"
`},
		{"paragraphs", "one\n  two\n\nthree\n", `paragraph 1:1-2:6 "one two"
paragraph 4:1-4:6 "three"
`},
		{
			"fences",
			"```yaml step\na: 1\n\nb: 2\n```\n~~~\n~~~\n  ````sh\n  x\n   y\n  ````\n",
			`code block 1:1-5:4 fenced=true info="yaml step" indent=0 body="a: 1\n\nb: 2\n" at 2:1
code block 6:1-7:4 fenced=true info="" indent=0 body="" at 7:1
code block 8:3-11:7 fenced=true info="sh" indent=2 body="x\n y\n" at 9:3
`,
		},
		{"heading inside a fence", "```\n# no\n```\n# yes\n", `code block 1:1-3:4 fenced=true info="" indent=0 body="# no\n" at 2:1
heading 4:1-4:6 level 1 "yes"
`},
		{"indented code", "a\n\n    b\n     c\n\nd\n", `paragraph 1:1-1:2 "a"
code block 3:5-4:7 fenced=false info="" indent=0 body="b\n c\n" at 3:5
paragraph 6:1-6:2 "d"
`},
		{
			"lists",
			"- **Task**: 7\n- [ ] open\n  more\n- [x] done\n  - deep `c`\n\n    para\n1. one\n" +
				"2) two\n",
			`list item 1:1-1:14 "Task: 7"
list item 2:1-3:7 checked=false "open more"
list item 4:1-7:9 checked=true "done"
 list item 5:3-7:9 "deep c"
  paragraph 7:5-7:9 "para"
list item 8:1-8:7 ordered "one"
list item 9:1-9:7 ordered "two"
`,
		},
		{
			"fence in a list",
			"1. do\n   ```sh\n   x\n   ```\n- ~~~\n  y\n  ~~~\n",
			`list item 1:1-4:7 ordered "do"
 code block 2:4-4:7 fenced=true info="sh" indent=3 body="x\n" at 3:4
list item 5:1-7:6
 code block 5:3-7:6 fenced=true info="" indent=2 body="y\n" at 6:3
`,
		},
		{
			"quotes, rules, HTML",
			"> a\n> # b\n> ```\n> c\n> ```\n\n---\n<details>\n<b>\n\n<!-- x\n```\n-->\n",
			`quote 1:1-5:6
 paragraph 1:3-1:4 "a"
 heading 2:3-2:6 level 1 "b"
 code block 3:3-5:6 fenced=true info="" indent=2 body="c\n" at 4:3
rule 7:1-7:4
HTML 8:1-9:4
HTML 11:1-13:4
`,
		},
		{"bytes", "# é ü\n\n- ä b\n", `heading 1:1-1:8 level 1 "é ü"
list item 3:1-3:7 "ä b"
`},
		{"crlf", "# a\r\n\r\n```x\r\nb\r\n```\r\n", `heading 1:1-1:4 level 1 "a"
code block 3:1-5:4 fenced=true info="x" indent=0 body="b\n" at 4:1
`},
		{"byte order mark", "\ufeff# a\n", "heading 1:1-1:4 level 1 \"a\"\n"},
		{"nested on one line", "- - a\n  - b\n", `list item 1:1-2:6
 list item 1:3-1:6 "a"
 list item 2:3-2:6 "b"
`},
		{"no inline parsing", "[a]: b\n*x [y](z) <a@b.c>\n", `paragraph 1:1-2:18 "[a]: b *x [y](z) <a@b.c>"
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, problems := md.Parse([]byte(tt.in))
			if len(problems) > 0 {
				t.Fatalf("Parse(%q) has problems %v", tt.in, problems)
			}
			if diff := cmp.Diff(tt.want, blocks(d)); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

func TestFront(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, front string
		span            string
		body            int
		problems        []string
	}{
		{"none", "# a\n", "nil\n", "", 1, nil},
		{
			"plain", "---\na: 1\n---\nbody\n", "map 2:1-2:5\n a(2:1-2:2) integer \"1\" 2:4-2:5\n",
			"1:1-3:4", 4, nil,
		},
		{
			"spaces and dots", "--- \na: 1\n...\t\nbody\n",
			"map 2:1-2:5\n a(2:1-2:2) integer \"1\" 2:4-2:5\n", "1:1-3:4", 4, nil,
		},
		{
			"blank lines and a comment first", "\n<!-- c\nd -->\n\n---\na: 1\n---\n",
			"map 6:1-6:5\n a(6:1-6:2) integer \"1\" 6:4-6:5\n", "5:1-7:4", 8, nil,
		},
		{
			"crlf and mark", "\ufeff---\r\na: 1\r\n---\r\nbody\r\n",
			"map 2:1-2:5\n a(2:1-2:2) integer \"1\" 2:4-2:5\n", "1:1-3:4", 4, nil,
		},
		{
			"no body", "---\na: 1\n---", "map 2:1-2:5\n a(2:1-2:2) integer \"1\" 2:4-2:5\n",
			"1:1-3:4", 4, nil,
		},
		{"empty", "---\n---\n", "nil\n", "1:1-2:4", 3, nil},
		{
			"delimiter inside a text", "---\na: |\n  x\n  ---\n  y\n---\nbody",
			"map 2:1-5:4\n a(2:1-2:2) string \"x\\n---\\ny\\n\" 2:4-5:4\n", "1:1-6:4", 7, nil,
		},
		{
			"dots inside a text", "---\na: |\n  ...\n---\nbody",
			"map 2:1-3:6\n a(2:1-2:2) string \"...\\n\" 2:4-3:6\n", "1:1-4:4", 5, nil,
		},
		{
			"unclosed",
			"---\na: 1\n",
			"nil\n",
			"",
			1,
			[]string{"1:1: E001: front matter opened here is not closed"},
		},
		{
			"unclosed after blank lines",
			"\n\n---\na: 1\n ---\n",
			"nil\n",
			"",
			1,
			[]string{"3:1: E001: front matter opened here is not closed"},
		},
		{"four dashes", "----\na: 1\n----\n", "nil\n", "", 1, nil},
		{
			"list",
			"---\n- a\n---\n",
			"nil\n",
			"1:1-3:4",
			4,
			[]string{"2:1: E004: front matter is not a map of keys"},
		},
		{
			"text between rules",
			"---\nhello\n---\n",
			"nil\n",
			"1:1-3:4",
			4,
			[]string{"2:1: E004: front matter is not a map of keys"},
		},
		{
			"syntax",
			"---\na: 1\nb: c: d\n---\nx",
			"nil\n",
			"1:1-4:4",
			5,
			[]string{"3:5: E220: colon inside an unquoted value"},
		},
		{
			"duplicate",
			"---\na: 1\na: 2\n---\n",
			"map 2:1-3:5\n a(2:1-2:2) integer \"1\" 2:4-2:5\n a(3:1-3:2) integer \"2\" 3:4-3:5\n",
			"1:1-4:4",
			5,
			[]string{`3:1: E221: duplicate key "a", first at 2:1`},
		},
		{
			"carriage returns only",
			"---\ra: 1\r---\r",
			"nil\n",
			"",
			1,
			[]string{"1:4: E005: line ends with a bare carriage return"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, problems := md.Parse([]byte(tt.in))
			if diff := cmp.Diff(tt.problems, errs(problems)); diff != "" {
				t.Errorf("problems of %q (-want +got):\n%s", tt.in, diff)
			}
			if diff := cmp.Diff(tt.front, show(d.Front)); diff != "" {
				t.Errorf("front of %q (-want +got):\n%s", tt.in, diff)
			}
			span := ""
			if d.HasFront {
				span = d.FrontSpan.Start.String() + "-" + d.FrontSpan.End.String()
			}
			if span != tt.span || d.BodyLine != tt.body {
				t.Errorf("Parse(%q): front at %q, body at line %d, want %q and %d",
					tt.in, span, d.BodyLine, tt.span, tt.body)
			}
			if !bytes.Equal(d.Src, []byte(tt.in)) {
				t.Errorf("Src = %q, want %q", d.Src, tt.in)
			}
		})
	}
}

func TestMarkdownProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"NUL", "a\nb\x00", []string{"2:2: E003: file holds a NUL byte"}},
		{
			"not UTF-8",
			"a\xffb",
			[]string{"1:2: E003: file holds the byte 0xff, which is not UTF-8"},
		},
		{"open fence", "a\n\n```sh\nx\n", []string{"3:1: E202: fence is not closed"}},
		{
			"fence ended by its list",
			"- ```\n  x\n\ny\n",
			[]string{"1:3: E202: fence is not closed"},
		},
		{
			"fence in a fence",
			"```yaml step\na: 1\n\n```yaml step\nb: 2\n```\n",
			[]string{"1:1: E202: fence holds the start of another one on line 4"},
		},
		{"longer fence around", "````text\n```yaml step\nb: 2\n```\n````\n", nil},
		{
			"tag before a fence",
			"<stage id=\"1\">\n```yaml step\na: 1\n\nb: 2\n```\n</stage>\n",
			[]string{"2:1: E203: fence directly after an HTML tag is part of the HTML"},
		},
		{
			"block tag before a fence",
			"<details>\n <b>\n  ~~~\nx\n~~~\n",
			[]string{"3:3: E203: fence directly after an HTML tag is part of the HTML"},
		},
		{"tag, blank line, fence", "<details>\n\n```\nx\n```\n</details>\n", nil},
		{"unknown tag", "<argument_parsing>\n```yaml args\na: 1\n```\n</argument_parsing>\n", nil},
		{"fence in a comment", "<!--\n```\n-->\n", nil},
		{
			"nesting",
			strings.Repeat("> ", 101) + "a\n",
			[]string{
				"1:201: E201: lists and quotes nested more than 100 deep, or too many of them",
			},
		},
		{"nesting at the limit", strings.Repeat("> ", 100) + "a\n", nil},
		{
			"list nesting",
			strings.Repeat("- ", 101) + "a\n",
			[]string{
				"1:201: E201: lists and quotes nested more than 100 deep, or too many of them",
			},
		},
		{"deep list nesting at the limit", strings.Repeat("- ", 100) + "a\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, problems := md.Parse([]byte(tt.in))
			if diff := cmp.Diff(tt.want, errs(problems)); diff != "" {
				t.Errorf("problems of %q (-want +got):\n%s", tt.in, diff)
			}
			for _, p := range problems {
				if p.Help == "" {
					t.Errorf("%v has no help", p)
				}
			}
		})
	}
}

func TestFenceSurvivesTag(t *testing.T) {
	t.Parallel()
	d, _ := md.Parse([]byte("<stage id=\"1\">\n```yaml step\na: 1\n\nb: 2\n```\n# h\n"))
	want := `HTML 1:1-1:15
code block 2:1-6:4 fenced=true info="yaml step" indent=0 body="a: 1\n\nb: 2\n" at 3:1
heading 7:1-7:4 level 1 "h"
`
	if diff := cmp.Diff(want, blocks(d)); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("a\n"), md.DefaultBytes)
	d, problems := md.Parse(big)
	if len(problems) != 1 || problems[0].Code != md.CodeTooLarge || d == nil || d.Blocks != nil {
		t.Errorf("Parse of %d bytes has problems %v", len(big), problems)
	}
	d, problems = md.ParseUpTo(big, 4*md.DefaultBytes)
	if len(problems) != 0 || len(d.Blocks) != 1 {
		t.Errorf("Parse with a larger limit has problems %v", problems)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	d, _ := md.Parse([]byte("---\na: 1\n---\n<x>\n\n```\nin\n```\nout"))
	var got []string
	for n, line := range d.ProseLines() {
		got = append(got, fmt.Sprintf("%d %q", n, line))
	}
	want := []string{`4 "<x>"`, `5 ""`, `9 "out"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if got := d.Prose(); got != "<x>\n\n```\nin\n```\nout" {
		t.Errorf("Body = %q", got)
	}
	if d.Line(0) != "" || d.Line(10) != "" || d.Line(2) != "a: 1" || d.LineCount() != 9 {
		t.Errorf("Line(2) = %q, LineCount = %d", d.Line(2), d.LineCount())
	}
}

func TestSections(t *testing.T) {
	t.Parallel()
	d, _ := md.Parse([]byte("intro\n# T\n## A\np\n### a1\nq\n### a2\n## B\n- x\n# U\n## C\n"))
	var got []string
	for _, s := range d.Sections(2) {
		got = append(
			got,
			fmt.Sprintf("%s %d-%d blocks=%d", s.Title(), s.Line(), s.EndLine, len(s.Blocks)),
		)
	}
	want := []string{"A 3-7 blocks=4", "B 8-9 blocks=1", "C 11-12 blocks=0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
	a, ok := d.Section(2, "a")
	if !ok || a.Title() != "A" {
		t.Fatalf("Section(2, a) = %v, %v", a, ok)
	}
	if _, ok := d.Section(2, "none"); ok {
		t.Error("Section(2, none) was found")
	}
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"**Task**: *a* __b__ _c_ ***d***", "Task: a b c d"},
		{"snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"},
		{"a\\*b\\* `*c*` \\`d\\`", "a*b* *c* `d`"},
		{"**open and *one* [x](y_z_) [NOT STARTED]", "**open and one [x](y_z_) [NOT STARTED]"},
		{"Goals & Non-Goals", "Goals & Non-Goals"},
		{"*a**b*", "a**b"},
		{"**`a` b.** c", "a b. c"},
		{"a  b", "a  b"},
	}
	for _, tt := range tests {
		d, _ := md.Parse([]byte("# " + tt.in))
		if got := d.Blocks[0].Text; got != tt.want {
			t.Errorf("text of %q = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	steps := map[string]int{"plan.md": 5, "implement.md": 11, "todo.md": 6}
	for name, want := range steps {
		src, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		d, problems := md.Parse(src)
		if len(problems) > 0 {
			t.Errorf("%s has problems %v", name, problems)
		}
		if got := d.Front.Get("command").Value + ".md"; got != name {
			t.Errorf("%s: command = %q", name, got)
		}
		fences := 0
		for _, b := range d.Blocks {
			if b.Kind != md.Fence {
				continue
			}
			fences++
			n, problems := md.ParseYAML(b.Body, b.BodyPos)
			if len(problems) > 0 || n == nil {
				t.Errorf("%s: fence on line %d has problems %v", name, b.Pos.Line, problems)
				continue
			}
			checkPlaces(t, d, n)
		}
		if fences != want {
			t.Errorf("%s has %d fences, want %d", name, fences, want)
		}
		if _, ok := d.Section(2, "workflow execution"); !ok {
			t.Errorf("%s has no section Workflow Execution", name)
		}
	}
}

// checkPlaces compares every plain scalar with the text of the file at its place.
func checkPlaces(t *testing.T, d *md.Document, n *md.Node) {
	t.Helper()
	switch n.Kind {
	case md.Map:
		for _, e := range n.Entries {
			checkPlaces(t, d, e.Key)
			checkPlaces(t, d, e.Value)
		}
	case md.List:
		for _, it := range n.Items {
			checkPlaces(t, d, it)
		}
	case md.Scalar:
		if n.Style == md.Plain && n.Pos.Line == n.End.Line {
			if got := d.Line(n.Pos.Line)[n.Pos.Col-1 : n.End.Col-1]; got != n.Value {
				t.Errorf("text at %s is %q, want %q", n.Pos, got, n.Value)
			}
		}
	}
}

// TestBounded feeds the shapes that cost a parser more than linear time, at a quarter of the size
// that a file may have: what is quadratic takes 16 times as long there. The bound is a guard
// against minutes, far above what is measured.
func TestBounded(t *testing.T) {
	t.Parallel()
	testkit.OnlyDeep(t, "takes seconds")
	for _, unit := range hostile() {
		for _, wrap := range []string{"%s", "{%s", strings.Repeat("- ", 99) + "a\n%s"} {
			in := []byte(strings.Replace(wrap, "%s",
				strings.Repeat(unit, (md.DefaultBytes/4-300)/len(unit)), 1))
			start := time.Now()
			md.Parse(in)
			md.ParseYAML(in, md.Pos{})
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%q in %.20q took %v", unit, wrap, took)
			} else if took > 100*time.Millisecond {
				t.Logf("%q in %.20q took %v", unit, wrap, took)
			}
		}
	}
}

func hostile() []string {
	return []string{
		"[a](", "*a_ ", "> ", "- ", "1. ", "[a]: b\n", "> > >\n", "- a\n  ", "```\n", "```a\n", "`",
		"`` ` ", "<a ", "<a>\n", "#\n", "# a\n", "\n", "a\n", "- a\n\n", "    a\n", "a\n=\n",
		"a\n---\n", "* * *\n", "\\", "<!--", "> ```\n", "- ```\n", "\t- ", "[", "{", "a: ", "? ",
		"[a,", "{a: b, ", "{a: [", "a: b\n", "'x' ", "a: |\n", "*a ", "&a ", "!a ", "x,", "{a,",
		"é", "a: {x(,", "\"", "'", "**a", "_a_", "a: |\n ", "---\n",
	}
}

// TestParseLeavesItsSource: nothing is written into the source, nor behind it where its memory goes
// on.
func TestParseLeavesItsSource(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"\t\t]", "- a", "    code", "> quote", "| a |\n|---|\n| b", "---\na: 1\n---\n\tx", "# a",
		"```\nx", "<b>", "\ufeffx\r\n\ty",
	} {
		memory := []byte(src + "####")
		md.Parse(memory[:len(src)])
		if got := string(memory); got != src+"####" {
			t.Errorf("Parse(%q) leaves %q in its memory", src, got)
		}
	}
}

// TestTabbedBlocks: the place of a block that a tab indents inside a list or a quote is that of its
// first character.
func TestTabbedBlocks(t *testing.T) {
	t.Parallel()
	kinds := map[string]md.BlockKind{
		"#":                 md.Heading,
		"## a":              md.Heading,
		"***":               md.Rule,
		"> x":               md.Quote,
		"```sh\n\tx\n\t```": md.Fence,
		"~~~":               md.Fence,
		"+ x":               md.Item,
	}
	for _, before := range []string{"* \n\t", "* a\n\n\t", ">\t", "1.\ta\n\n\t", " *\n\t"} {
		for text, kind := range kinds {
			src := before + text + "\n"
			d, _ := md.Parse([]byte(src))
			first := md.Pos{
				Line: strings.Count(before, "\n") + 1,
				Col:  len(before) - strings.LastIndexByte(before, '\n'),
			}
			found := false
			for _, b := range d.Blocks {
				found = found || b.Kind == kind && b.Pos == first
			}
			if !found {
				t.Errorf("no %s at %s of %q: %+v", kind, first, src, d.Blocks)
			}
		}
	}
}
