package md

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// BlockKind says what a Block is, in the word for messages.
type BlockKind string

// The kinds of a Block.
const (
	Heading   BlockKind = "heading"
	Paragraph BlockKind = "paragraph"
	Fence     BlockKind = "code block" // a fenced block, or text indented by four columns
	Item      BlockKind = "list item"
	HTML      BlockKind = "HTML"
	Quote     BlockKind = "quote"
	Rule      BlockKind = "rule"
)

// Block is one block of the body. A container (item or quote) comes before its content, which has a
// greater Depth. The first paragraph of an item is the item's Text, not a block.
type Block struct {
	Kind     BlockKind
	Pos, End Pos // of its first character, and after its last; for a fence both fences included
	Depth    int // number of items and quotes around it
	Level    int // of a heading, 1 to 6
	// of heading, item: one line, without escapes, code and emphasis marks and check box
	Text string
	Raw  string // of heading, paragraph, item, HTML: source text, lines separated by line feeds

	Fenced  bool   // of code
	Info    string // of a fence: what follows the opening backticks
	Indent  int    // of a fence: columns before it
	Body    []byte // of code: its lines, without the indentation of the fence
	BodyPos Pos    // of code: place of the first byte of Body

	Ordered bool  // of an item
	Checked *bool // of an item with a check box
}

// Plain is Text without markup; for a paragraph it is computed here, because few callers need it.
func (b *Block) Plain() string {
	if b.Kind == Paragraph {
		return plainText(b.Raw)
	}
	return b.Text
}

// maxWork bounds the number of container visits, lines times depth, of one file.
const maxWork = 1 << 20

// guard bounds the cost of nested containers and keeps fences out of HTML blocks. It serves one
// parse.
type guard struct {
	work      int
	deepAt    int   // offset of the first container that was refused, -1: none
	swallowed []int // offsets of fences that an HTML block would have swallowed
}

func (g *guard) refuse(at text.Segment) {
	if g.deepAt < 0 {
		g.deepAt = at.Start
	}
}

// container is a list, item or quote parser under the guard.
type container struct {
	parser.BlockParser
	guard *guard
}

// Open refuses a container above the limit; its text stays in the open block.
func (c container) Open(
	parent ast.Node,
	reader text.Reader,
	pc parser.Context,
) (ast.Node, parser.State) {
	open := 0
	for _, b := range pc.OpenedBlocks() {
		if k := b.Node.Kind(); k == ast.KindListItem || k == ast.KindBlockquote {
			open++
		}
	}

	if c.guard.work > maxWork {
		return nil, parser.NoChildren
	}

	_, at := reader.Position()

	node, state := c.BlockParser.Open(parent, reader, pc)
	if node != nil && node.Kind() != ast.KindListItem && open >= maxDepth {
		c.guard.refuse(at)
		return nil, parser.NoChildren
	}
	return node, state
}

// Continue closes all blocks when the work limit is reached.
func (c container) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	c.guard.work++
	if c.guard.work > maxWork {
		_, at := reader.Position()
		c.guard.refuse(at)
		return parser.Close
	}
	return c.BlockParser.Continue(node, reader, pc)
}

// tagBlock is the HTML parser, except that a fence ends a block which only a blank line would end.
type tagBlock struct {
	parser.BlockParser
	guard *guard
}

// Continue checks for a fence before the parser does.
func (t tagBlock) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	if h, ok := node.(*ast.HTMLBlock); ok && h.HTMLBlockType >= ast.HTMLBlockType6 {
		line, segment := reader.PeekLine()
		if indent, run, _ := fenceLine(string(line)); run != "" && indent < 4 {
			t.guard.swallowed = append(t.guard.swallowed, segment.Start+indent)
			return parser.Close
		}
	}
	return t.BlockParser.Continue(node, reader, pc)
}

// fenceLine reads a line that could open or close a fence: columns before it, the run of backticks
// or tildes, the info.
func fenceLine(line string) (indent int, run, info string) {
	line = strings.TrimRight(line, "\r\n")
	indent = indentOf(line)

	rest := line[indent:]
	if rest == "" || rest[0] != '`' && rest[0] != '~' {
		return 0, "", ""
	}

	run = rest[:len(rest)-len(strings.TrimLeft(rest, rest[:1]))]
	info = strings.TrimSpace(rest[len(run):])
	if len(run) < 3 || run[0] == '`' && strings.Contains(info, "`") {
		return 0, "", ""
	}
	return indent, run, info
}

// readBlocks runs the block phase of the markdown parser over the body.
func (d *Document) readBlocks() []Problem {
	base := d.bodyStart()
	g := &guard{deepAt: -1}
	w := walker{
		doc:  d,
		body: d.Text[base:],
		base: base,
		last: -1,
	}
	root, err := parseBlocks(w.body, g)
	if err != nil {
		return []Problem{d.problem(
			CodeTooDeep,
			base,
			base,
			err.Error(),
			"report this text; it should have been read",
		)}
	}

	w.walk(root, 0)
	if g.deepAt >= 0 {
		w.report(
			CodeTooDeep,
			g.deepAt,
			g.deepAt,
			fmt.Sprintf("lists and quotes nested more than %d deep, or too many of them", maxDepth),
			"flatten the list",
		)
	}
	for _, off := range g.swallowed {
		w.report(
			CodeFenceInHTML,
			off,
			off+3,
			"fence directly after an HTML tag is part of the HTML",
			"put a blank line between the tag and the fence",
		)
	}

	return w.problems
}

// parseBlocks runs the third-party parser without inline parsers and link definitions, whose cost
// is more than linear. A panic in it is an error.
func parseBlocks(body []byte, g *guard) (root ast.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root = nil
			err = fmt.Errorf("%w: %v", errParser, r)
		}
	}()

	values := parser.DefaultBlockParsers()
	for i := range values {
		p, ok := values[i].Value.(parser.BlockParser)
		if !ok {
			continue
		}
		trigger := p.Trigger()
		switch {
		case bytes.IndexByte(trigger, '>') >= 0, bytes.IndexByte(trigger, '+') >= 0:
			values[i].Value = container{p, g}
		case bytes.IndexByte(trigger, '<') >= 0:
			values[i].Value = tagBlock{p, g}
		}
	}
	return parser.NewParser(parser.WithBlockParsers(values...)).Parse(text.NewReader(body)), nil
}

// walker turns parser nodes into Blocks.
type walker struct {
	doc      *Document
	body     []byte
	base     int // offset of body in the text
	last     int // offset in body of the block before, -1 without one
	problems []Problem
}

func (w *walker) pos(off int) Pos {
	return w.doc.pos(w.base + off)
}

// lineEnd is the place behind the last character of a line.
func (w *walker) lineEnd(line int) Pos {
	return Pos{line, len(strings.TrimRight(w.doc.Line(line), " \t")) + 1}
}

func (w *walker) report(code Code, from, to int, msg, help string) {
	w.problems = append(w.problems, w.doc.problem(code, w.base+from, w.base+to, msg, help))
}

// startOffset gives the offset of a block that begins with one of the given bytes. Behind a tab
// that the margin of a container cuts, the parser counts columns. Its offset is then up to seven
// bytes too large.
func (w *walker) startOffset(n ast.Node, first string) int {
	at := min(max(n.Pos(), 0), len(w.body)-1)
	if at < 0 {
		return 0
	}

	begins := func(i int) bool {
		return strings.IndexByte(first, w.body[i]) >= 0 &&
			(i == 0 || strings.IndexByte(" \t\n>", w.body[i-1]) >= 0)
	}

	line := bytes.LastIndexByte(w.body[:at], '\n') + 1
	if bytes.IndexByte(w.body[line:at], '\t') < 0 && begins(at) {
		return at
	}

	// Blocks come in order, so that the first place behind the block before is the one.
	for i := max(at-7, w.last+1); i <= at; i++ {
		if begins(i) {
			return i
		}
	}
	return at
}

// add appends a block that begins at an offset.
func (w *walker) add(b Block, at int) {
	b.Pos = w.pos(at)
	w.last = at
	w.doc.Blocks = append(w.doc.Blocks, b)
}

// walk adds what is in a node.
func (w *walker) walk(parent ast.Node, depth int) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			b, at := w.textBlock(n, Heading, depth)
			b.Level = n.Level
			b.Text = plainText(b.Raw)
			if mark := w.startOffset(n, "#"); mark < len(w.body) && w.body[mark] == '#' {
				at = mark
				b.End = w.lineEnd(w.pos(mark).Line)
			}
			w.add(b, at)
		case *ast.Paragraph, *ast.TextBlock:
			w.add(w.textBlock(n, Paragraph, depth))
		case *ast.HTMLBlock:
			w.add(w.textBlock(n, HTML, depth))
		case *ast.CodeBlock:
			b, at := w.textBlock(n, Fence, depth)
			b.Body = n.Lines().Value(w.body)
			b.Raw = ""
			b.BodyPos = w.pos(at)
			w.add(b, at)
		case *ast.FencedCodeBlock:
			w.addFence(n, depth)
		case *ast.ThematicBreak:
			at := w.startOffset(n, "-*_")
			w.add(Block{
				Kind:  Rule,
				Depth: depth,
				End:   w.lineEnd(w.pos(at).Line),
			}, at)
		case *ast.Blockquote:
			w.addContainer(n, Block{Kind: Quote, Depth: depth}, w.startOffset(n, ">"))
		case *ast.List:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				w.addContainer(c, Block{
					Kind:    Item,
					Depth:   depth,
					Ordered: n.IsOrdered(),
				}, w.startOffset(c, "-+*0123456789"))
			}
		}
	}
}

// addContainer adds an item or a quote and what is in it.
func (w *walker) addContainer(n ast.Node, b Block, at int) {
	b.End = w.pos(at + 1)

	text := []ast.NodeKind{ast.KindTextBlock, ast.KindParagraph}
	if c := n.FirstChild(); b.Kind == Item && c != nil && slices.Contains(text, c.Kind()) {
		own, _ := w.textBlock(c, Item, b.Depth)
		b.Raw = own.Raw
		b.End = own.End
		b.Text, b.Checked = checkBox(own.Raw)
		n.RemoveChild(n, c)
	}

	i := len(w.doc.Blocks)
	w.add(b, at)
	w.walk(n, b.Depth+1)
	if last := w.doc.Blocks[len(w.doc.Blocks)-1].End; b.End.Before(last) {
		w.doc.Blocks[i].End = last
	}
}

// checkBox splits "[x] text".
func checkBox(raw string) (string, *bool) {
	if len(raw) > 3 && raw[0] == '[' && raw[2] == ']' && (raw[3] == ' ' || raw[3] == '\n') {
		if c := raw[1]; c == ' ' || c == 'x' || c == 'X' {
			done := c != ' '
			return plainText(raw[4:]), &done
		}
	}
	return plainText(raw), nil
}

// textBlock reads a block that is made of lines, and gives the offset of the first.
func (w *walker) textBlock(n ast.Node, kind BlockKind, depth int) (Block, int) {
	b := Block{Kind: kind, Depth: depth}
	lines := n.Lines()
	if lines.Len() == 0 {
		at := min(max(n.Pos(), 0), len(w.body))
		b.End = w.pos(at)
		return b, at
	}

	b.Raw = strings.TrimRight(string(lines.Value(w.body)), "\n")
	last := lines.At(lines.Len() - 1)
	if h, ok := n.(*ast.HTMLBlock); ok && h.HasClosure() {
		last = h.ClosureLine
		b.Raw += "\n" + strings.TrimRight(string(last.Value(w.body)), "\n")
	}

	b.End = w.pos(last.Start + len(bytes.TrimRight(w.body[last.Start:last.Stop], " \t\n")))
	return b, lines.At(0).Start
}

// addFence adds a fenced block, whose end the parser does not tell.
func (w *walker) addFence(n *ast.FencedCodeBlock, depth int) {
	at := w.startOffset(n, "`~")
	lines := n.Lines()
	pos := w.pos(at)
	b := Block{
		Kind:    Fence,
		Fenced:  true,
		Depth:   depth,
		Indent:  pos.Col - 1,
		Body:    lines.Value(w.body),
		BodyPos: Pos{pos.Line + 1, 1},
	}
	if n.Info != nil {
		b.Info = string(n.Info.Segment.Value(w.body))
	}
	if lines.Len() > 0 {
		b.BodyPos = w.pos(lines.At(0).Start)
	}

	open := w.doc.Line(pos.Line)[pos.Col-1:]
	_, run, _ := fenceLine(open)
	run = cmp.Or(run, "```") // its place is not known for sure

	end := pos.Line + lines.Len()
	closing := strings.TrimRight(strings.TrimLeft(w.doc.Line(end+1), " \t>"), " \t")
	if end < w.doc.LineCount() && len(closing) >= len(run) && strings.Trim(closing, run[:1]) == "" {
		end++
	} else {
		w.report(
			CodeFenceOpen,
			at,
			at+len(open),
			"fence is not closed",
			"end it with a line of "+run,
		)
	}

	b.End = w.lineEnd(end)
	w.add(b, at)

	// A fence that holds what looks like the start of another one lacks its own end.
	line := b.BodyPos.Line
	for l := range strings.Lines(string(b.Body)) {
		indent, inner, info := fenceLine(l)
		if indent < 4 && info != "" && strings.HasPrefix(inner, run) {
			w.report(
				CodeFenceOpen,
				at,
				at+len(run),
				fmt.Sprintf("fence holds the start of another one on line %d", line),
				fmt.Sprintf("close it before line %d, or open it with more of %q", line, run[:1]),
			)
			return
		}
		line++
	}
}
