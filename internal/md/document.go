package md

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/adrg/frontmatter"
)

// DefaultBytes bounds a file or a block: 256 KiB.
const DefaultBytes = 256 << 10

// maxDepth is how deep lists and quotes of a body, and maps and lists of YAML, may be nested.
const maxDepth = 100

// Document is a parsed markdown file. Text is Src without byte order mark and with line feeds only;
// positions are the same in both.
type Document struct {
	Src, Text []byte

	HasFront  bool   // the file starts with a closed front matter block
	Front     *Node  // its map; nil if it is empty, not a map, or unreadable
	FrontSpan Span   // from the opening to the end of the closing delimiter
	FrontText []byte // the text between the delimiters
	BodyLine  int    // first line after the front matter

	Blocks []Block // of the body, in order

	lines // of Text
}

// Parse reads a file. The Document is never nil: for a file that is too large or not text it has
// only Src, for other problems everything readable.
func Parse(src []byte) (*Document, []Problem) {
	return ParseUpTo(src, DefaultBytes)
}

// ParseUpTo is Parse with another size limit, in bytes.
func ParseUpTo(src []byte, limit int) (*Document, []Problem) {
	l, problem, ok := readText(src, Pos{1, 1}, limit, false)
	d := &Document{
		Src:      src,
		BodyLine: 1,
		lines:    l,
	}
	if !ok {
		return d, []Problem{problem}
	}

	text := bytes.ReplaceAll(bytes.TrimPrefix(src, []byte(bom)), []byte("\r\n"), []byte{'\n'})
	if text == nil {
		text = []byte{} // an empty file is text; only one that cannot be read has none
	}
	// The third-party parser ends the last line by an append: without a bound it would write behind
	// the caller's text.
	d.Text = slices.Clip(text)
	d.lines = linesOf(string(text), Pos{1, 1})

	problems := append(d.readFront(limit), d.readBlocks()...)
	return d, problems
}

// readFront splits off and reads the front matter.
func (d *Document) readFront(limit int) []Problem {
	first := d.openingLine()
	if first == 0 {
		if i := strings.IndexByte(d.text, '\r'); i >= 0 && !strings.Contains(d.text[:i], "\n") {
			return []Problem{d.problem(
				CodeLineEnds,
				i,
				i+1,
				"line ends with a bare carriage return",
				"end lines with a line feed",
			)}
		}
		return nil
	}

	open := d.starts[first-1]
	unclosed := func(msg string) []Problem {
		return []Problem{d.problem(
			CodeFrontUnclosed,
			open,
			open+3,
			msg,
			"end it with a line that holds only ---",
		)}
	}
	closing := first + 1
	delimiter := ""
	for ; closing <= d.LineCount(); closing++ {
		delimiter = strings.TrimRight(d.Line(closing), " \t")
		if delimiter == "---" || delimiter == "..." {
			break
		}
	}

	if closing > d.LineCount() {
		return unclosed("front matter opened here is not closed")
	}

	end := d.starts[closing-1]
	d.HasFront = true
	d.BodyLine = closing + 1
	d.FrontText = d.Text[d.starts[first]:end]
	d.FrontSpan = Span{Pos{first, 1}, Pos{closing, 4}}
	var problems []Problem

	// The library takes an indented delimiter inside a text for the end, so what it cut is not
	// used.
	decode := func(_ []byte, _ any) error {
		d.Front, problems = parseYAML(d.FrontText, Pos{first + 1, 1}, limit, false)
		if n := d.Front; n != nil && n.Kind != Map {
			d.Front = nil
			problems = append(problems, Problem{
				CodeFrontNotMap, n.Pos, n.End, "front matter is not a map of keys",
				"write key: value lines, or remove the --- lines",
			})
		}
		return nil
	}

	block := strings.NewReader(d.text[open : end+len(d.Line(closing))])
	_, err := frontmatter.MustParse(block, nil, frontmatter.NewFormat("---", delimiter, decode))
	if err != nil {
		problems = append(problems, unclosed("front matter cannot be read: "+err.Error())...)
	}
	return problems
}

// openingLine returns the line of the delimiter that opens front matter, or 0. Blank lines and one
// comment may stand before it.
func (d *Document) openingLine() int {
	comment := false
	for n := 1; n <= d.LineCount(); n++ {
		line := strings.TrimRight(d.Line(n), " \t")
		switch {
		case line == "---":
			return n
		case line == "":
		case strings.HasPrefix(line, "<!--") && !comment:
			comment = true
			for !strings.HasSuffix(line, "-->") {
				n++
				if n > d.LineCount() {
					return 0
				}
				line = strings.TrimRight(d.Line(n), " \t")
			}
		default:
			return 0
		}
	}
	return 0
}

// ProseLines yields the lines of the body that belong to no code block, with their numbers, as they
// stand in the file.
func (d *Document) ProseLines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for n := d.BodyLine; n <= d.LineCount(); n++ {
			if !d.InCode(n) && !yield(n, d.Line(n)) {
				return
			}
		}
	}
}

// Prose gives the text after the front matter.
func (d *Document) Prose() string {
	return d.text[d.bodyStart():]
}

func (d *Document) bodyStart() int {
	if d.BodyLine > d.LineCount() {
		return len(d.text)
	}
	return d.starts[d.BodyLine-1]
}

// InCode reports whether a line belongs to a code block, its fences included.
func (d *Document) InCode(line int) bool {
	i := sort.Search(len(d.Blocks), func(i int) bool {
		return d.Blocks[i].Pos.Line > line
	})
	return i > 0 && d.Blocks[i-1].Kind == Fence && line <= d.Blocks[i-1].End.Line
}

// errParser is what a panic of the markdown parser becomes.
var errParser = errors.New("markdown parser stopped")
