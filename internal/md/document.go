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

// Document is a markdown file that was read. Text is Src without byte order mark and with line feeds only; every place
// in the file is the same in both.
type Document struct {
	Src, Text []byte

	HasFront  bool   // the file starts with a closed front matter block
	Front     *Node  // the map it holds; nil when it is empty, not a map, or cannot be read
	FrontSpan Span   // from the opening to the end of the closing delimiter
	FrontText []byte // what stands between the delimiters, as it is
	BodyLine  int    // first line after the front matter

	Blocks []Block // of the body, in order

	text   string // the same as Text
	starts []int  // offset of each line of Text
}

// Parse reads a file with the default limits. The Document is never nil: of a file that is too large or not text it
// holds only Src, of one with other problems everything that could be read.
func Parse(src []byte) (*Document, []Problem) { return Limits{}.Parse(src) }

// Parse is the function of the same name with other limits.
func (l Limits) Parse(src []byte) (*Document, []Problem) {
	l = l.orDefault()
	d := &Document{Src: src, BodyLine: 1, starts: []int{0}}
	if p, ok := l.tooLarge(len(src), Pos{1, 1}); ok {
		return d, []Problem{p}
	}
	text := bytes.TrimPrefix(src, []byte(bom))
	if off, what := badText(text, false); off >= 0 {
		return d, []Problem{refusedText(text, off, what)}
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte{'\n'})
	if text == nil {
		text = []byte{} // an empty file is text; only one that cannot be read has none
	}
	// The third-party parser ends the last line by an append: without a bound it would write behind the caller's text.
	d.Text, d.text, d.starts = slices.Clip(text), string(text), lineStarts(text)
	problems := d.front(l)
	blocks, more := l.blocks(d)
	d.Blocks = blocks
	return d, append(problems, more...)
}

// refusedText is the problem of a text that is none.
func refusedText(text []byte, off int, what string) Problem {
	line := bytes.Count(text[:off], []byte{'\n'}) + 1
	at := Pos{line, off - bytes.LastIndexByte(text[:off], '\n')}
	return Problem{CodeBadText, at, Pos{at.Line, at.Col + 1}, "file holds " + what, "save the file as UTF-8 text"}
}

// front splits off and reads the front matter.
func (d *Document) front(l Limits) []Problem {
	first := d.opening()
	if first == 0 {
		if i := bytes.IndexByte(d.Text, '\r'); i >= 0 && bytes.IndexByte(d.Text[:i], '\n') < 0 {
			return []Problem{{
				CodeLineEnds,
				Pos{1, i + 1},
				Pos{1, i + 2},
				"line ends with a bare carriage return",
				"end lines with a line feed",
			}}
		}
		return nil
	}
	closing := 0
	for n := first + 1; n <= len(d.starts); n++ {
		if line := strings.TrimRight(d.Line(n), " \t"); line == "---" || line == "..." {
			closing = n
			break
		}
	}
	open := Pos{first, 1}
	if closing == 0 {
		return []Problem{{
			CodeFrontUnclosed, open,
			Pos{first, 4},
			"front matter opened here is not closed",
			"end it with a line that holds only ---",
		}}
	}
	end := d.lineEnd(closing)
	block := d.Text[d.starts[first-1]:end]
	d.HasFront = true
	d.FrontText = d.Text[d.starts[first]:d.starts[closing-1]]
	d.FrontSpan = Span{open, Pos{closing, 4}}
	d.BodyLine = closing + 1

	return d.frontByLibrary(l, block, open)
}

// frontByLibrary reads front matter of any kind; block is the text with its delimiters.
func (d *Document) frontByLibrary(l Limits, block []byte, open Pos) []Problem {
	var problems []Problem
	decode := func(_ []byte, _ any) error {
		// The library takes an indented delimiter inside a text for the end, so what it cut is not used.
		var n *Node
		n, problems = l.ParseYAML(d.FrontText, Pos{open.Line + 1, 1})
		switch {
		case n == nil:
		case n.Kind == Map:
			d.Front = n
		default:
			problems = append(problems,
				Problem{
					CodeFrontNotMap, n.Pos, n.End, "front matter is not a map of keys",
					"write key: value lines, or remove the --- lines",
				})
		}
		return nil
	}
	delimiter := strings.TrimRight(d.Line(d.FrontSpan.End.Line), " \t")
	if _, err := frontmatter.MustParse(bytes.NewReader(block), nil,
		frontmatter.NewFormat("---", delimiter, decode)); err != nil {
		problems = append(problems,
			Problem{
				CodeFrontUnclosed, open,
				Pos{open.Line, 4},
				"front matter cannot be read: " + err.Error(),
				"end it with a line that holds only ---",
			})
	}
	return problems
}

// opening returns the line of the delimiter that opens front matter, or 0. Blank lines and one comment may stand before
// it.
func (d *Document) opening() int {
	comment := false
	for n := 1; n <= len(d.starts); n++ {
		line := strings.TrimRight(d.Line(n), " \t")
		switch {
		case line == "---":
			return n
		case line == "":
		case strings.HasPrefix(line, "<!--") && !comment:
			comment = true
			for !strings.HasSuffix(line, "-->") {
				if n++; n > len(d.starts) {
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

// LineCount returns the number of lines; an empty file has one.
func (d *Document) LineCount() int { return len(d.starts) }

// Line returns a line, counted from 1, without its end; an empty string for a line that does not exist.
func (d *Document) Line(n int) string {
	if n < 1 || n > len(d.starts) {
		return ""
	}
	return d.text[d.starts[n-1]:d.lineEnd(n)]
}

// lineEnd returns the offset of the end of a line, before its line feed.
func (d *Document) lineEnd(n int) int {
	if n < len(d.starts) {
		return d.starts[n] - 1
	}
	return len(d.Text)
}

// ProseLines yields the lines of the body that belong to no code block, with their numbers, as they stand in the file.
func (d *Document) ProseLines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for n := d.BodyLine; n <= len(d.starts); n++ {
			if !d.InCode(n) && !yield(n, d.Line(n)) {
				return
			}
		}
	}
}

// LineAt returns the number of the line that holds a byte of Prose.
func (d *Document) LineAt(offset int) int {
	return d.pos(d.starts[d.BodyLine-1] + offset).Line
}

// Body returns the text after the front matter.
func (d *Document) Body() []byte {
	if d.BodyLine > len(d.starts) || d.Text == nil {
		return nil
	}
	return d.Text[d.starts[d.BodyLine-1]:]
}

// Prose is Body as a string.
func (d *Document) Prose() string {
	if d.BodyLine > len(d.starts) || d.Text == nil {
		return ""
	}
	return d.text[d.starts[d.BodyLine-1]:]
}

// InCode reports whether a line belongs to a code block, its fences included.
func (d *Document) InCode(line int) bool {
	i := sort.Search(len(d.Blocks), func(i int) bool { return d.Blocks[i].Pos.Line > line })
	return i > 0 && d.Blocks[i-1].Kind == Fence && line <= d.Blocks[i-1].End.Line
}

// pos turns an offset in Text into a place.
func (d *Document) pos(off int) Pos {
	i := sort.SearchInts(d.starts, off+1) - 1
	return Pos{i + 1, off - d.starts[i] + 1}
}

// errParser is what a panic of the markdown parser becomes.
var errParser = errors.New("markdown parser stopped")
