package md

import (
	"slices"
	"strings"
)

// simpleBlocks reads a body that is made of headings, paragraphs and closed fences at the left margin, as command files are. It
// gives the very blocks that the third-party parser and the walk over its tree give. false for any other body: with a list, a
// quote, a table, HTML, a rule, an indented line, an underlined heading, a tab in its text, or anything that has to be reported.
func simpleBlocks(d *Document) ([]Block, bool) {
	r := blockReader{doc: d, line: d.BodyLine, out: slices.Grow(d.Blocks[:0], 1+d.blankLines())}
	for ; r.line <= len(d.starts); r.line++ {
		text := d.Line(r.line)
		switch kind := r.lineKind(text); kind {
		case lineBlank:
		case lineHeading:
			r.heading(text)
		case lineFence:
			if !r.fence(text) {
				return nil, false
			}
		case lineText:
			if !r.paragraph() {
				return nil, false
			}
		case lineOther:
			return nil, false
		}
	}
	return r.out, true
}

// blankLines counts the empty lines of the body.
func (d *Document) blankLines() int {
	count := 0
	for n := d.BodyLine; n < len(d.starts); n++ {
		if d.starts[n]-d.starts[n-1] == 1 {
			count++
		}
	}
	return count
}

// blockReader reads the lines of a body one after the other.
type blockReader struct {
	doc  *Document
	line int // the present one, from 1
	out  []Block
}

// lineSort is what a line starts.
type lineSort uint8

const (
	lineOther lineSort = iota // not simple
	lineBlank
	lineHeading
	lineFence
	lineText
)

// lineKind sorts a line that stands outside of fences.
func (r *blockReader) lineKind(text string) lineSort {
	if text == "" {
		return lineBlank
	}
	for i := 0; i < len(text) && !r.doc.clean; i++ {
		if c := text[i]; c < ' ' || c == 0x7f {
			return lineOther
		}
	}
	if text[len(text)-1] == ' ' {
		return lineOther
	}
	switch c := text[0]; c {
	case '#':
		marks := len(text) - len(strings.TrimLeft(text, "#"))
		if marks > 6 || len(text) < marks+2 || text[marks] != ' ' || text[marks+1] == ' ' || text[len(text)-1] == '#' {
			return lineOther
		}
		return lineHeading
	case '`', '~':
		if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
			return lineFence
		}
		return lineText
	case '*', '_':
		// Emphasis, not a list or a rule.
		if rest := strings.TrimLeft(text, text[:1]); rest != "" && (isWordByte(rest[0]) || rest[0] == '`') && len(text)-len(rest) < 3 {
			return lineText
		}
		return lineOther
	case ' ', '>', '-', '+', '<', '=', '|':
		return lineOther
	default:
		if c >= '0' && c <= '9' {
			if rest := strings.TrimLeft(text, "0123456789"); rest == "" || rest[0] == '.' || rest[0] == ')' {
				return lineOther
			}
		}
		return lineText
	}
}

func (r *blockReader) heading(text string) {
	marks := len(text) - len(strings.TrimLeft(text, "#"))
	raw := text[marks+1:]
	r.out = append(r.out, Block{
		Kind: Heading, Level: marks, Raw: raw, Text: plainText(raw), Pos: Pos{r.line, 1}, End: Pos{r.line, len(text) + 1},
	})
}

// paragraph reads lines up to a blank one, a heading or a fence.
func (r *blockReader) paragraph() bool {
	first := r.line
	for r.line < len(r.doc.starts) {
		kind := r.lineKind(r.doc.Line(r.line + 1))
		if kind == lineOther {
			return false
		}
		if kind != lineText {
			break
		}
		r.line++
	}
	raw := r.doc.text[r.doc.starts[first-1]:r.doc.lineEnd(r.line)]
	r.out = append(r.out, Block{Kind: Paragraph, Raw: raw, Pos: Pos{first, 1}, End: Pos{r.line, len(r.doc.Line(r.line)) + 1}})
	return true
}

// fence reads a block of code with its closing fence; false when it is not simple.
func (r *blockReader) fence(open string) bool {
	_, run, info := fenceLine(open)
	if run == "" || strings.IndexByte(info, '\\') >= 0 {
		return false
	}
	b := Block{Kind: Fence, Fenced: true, Info: info, Pos: Pos{r.line, 1}, BodyPos: Pos{r.line + 1, 1}}
	if r.line++; r.line > len(r.doc.starts) {
		return false
	}
	// The run comes next in the line that closes the fence.
	at := strings.Index(r.doc.text[r.doc.starts[r.line-1]:], run)
	if at < 0 {
		return false
	}
	at += r.doc.starts[r.line-1]
	for r.line < len(r.doc.starts) && r.doc.starts[r.line] <= at {
		r.line++
	}
	if r.doc.Line(r.line) != run {
		return false
	}
	from, to := r.doc.starts[b.Pos.Line], r.doc.starts[r.line-1]
	if from < to {
		b.Body = r.doc.Text[from:to:to]
	}
	b.End = Pos{r.line, len(run) + 1}
	r.out = append(r.out, b)
	return true
}
