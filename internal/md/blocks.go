package md

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// BlockKind says what a Block is.
type BlockKind uint8

// The kinds of a Block.
const (
	Heading BlockKind = iota + 1
	Paragraph
	Fence // a fenced block, or text indented by four columns
	Item  // of a list
	HTML
	Quote
	Rule
)

// String returns the word for messages.
func (k BlockKind) String() string {
	switch k {
	case Heading:
		return "heading"
	case Paragraph:
		return "paragraph"
	case Fence:
		return "code block"
	case Item:
		return "list item"
	case HTML:
		return "HTML"
	case Quote:
		return "quote"
	case Rule:
		return "rule"
	default:
		return "nothing"
	}
}

// Block is one block of the body. Containers (items and quotes) stand before what they contain, which has a greater
// Depth; the first paragraph of an item is the item's own text and no block.
type Block struct {
	Kind     BlockKind
	Pos, End Pos    // of its first character, after the last one; of a fence both fences included
	Depth    int    // number of items and quotes around it
	Level    int    // of a heading, 1 to 6
	Text     string // of heading, item: one line, without escapes, code and emphasis marks and check box
	Raw      string // of heading, paragraph, item, HTML: as it stands in the file, lines separated by line feeds

	Fenced  bool   // of code
	Info    string // of a fence: what follows the opening backticks
	Indent  int    // of a fence: columns before it
	Body    []byte // of code: its lines, without the indentation of the fence
	BodyPos Pos    // of code: place of the first byte of Body

	Ordered bool  // of an item
	Checked *bool // of an item with a check box
}

// Plain is Text of a heading or an item, and the same of a paragraph, whose text few ask for.
func (b *Block) Plain() string {
	if b.Kind == Paragraph {
		return plainText(b.Raw)
	}
	return b.Text
}

// maxWork bounds the number of container visits, lines times depth, of one file.
const maxWork = 1 << 20

// guard bounds the cost of nested containers and keeps fences out of HTML blocks. It serves one parse.
type guard struct {
	depth   int
	work    int
	deepAt  int   // offset of the first container that was refused, -1: none
	swallow []int // offsets of fences that an HTML block would have swallowed
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

// Open refuses a container beyond the limit; its text becomes part of what is open.
func (c container) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
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
	if node != nil && node.Kind() != ast.KindListItem && open >= c.guard.depth {
		c.guard.refuse(at)
		return nil, parser.NoChildren
	}
	return node, state
}

// Continue closes everything when the work is used up.
func (c container) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	if c.guard.work++; c.guard.work > maxWork {
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

// Continue looks for a fence before it asks the parser.
func (t tagBlock) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	if h, ok := node.(*ast.HTMLBlock); ok && h.HTMLBlockType >= ast.HTMLBlockType6 {
		line, segment := reader.PeekLine()
		if indent, run, _ := fenceLine(string(line)); run != "" && indent < 4 {
			t.guard.swallow = append(t.guard.swallow, segment.Start+indent)
			return parser.Close
		}
	}
	return t.BlockParser.Continue(node, reader, pc)
}

// fenceLine reads a line that could open or close a fence: columns before it, the run of backticks or tildes, the info.
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

// blocks runs the block phase of the markdown parser over the body and returns what it found.
func (l Limits) blocks(d *Document) (blocks []Block, problems []Problem) {
	body := d.Body()
	base := len(d.Text) - len(body)
	g := &guard{depth: l.Depth, deepAt: -1}
	root, err := parseBlocks(body, g)
	if err != nil {
		at := Pos{d.BodyLine, 1}
		return nil, []Problem{{CodeTooDeep, at, at, err.Error(), "report this text; it should have been read"}}
	}
	w := walker{doc: d, body: body, base: base}
	for c := root.FirstChild(); c != nil; c = c.NextSibling() {
		w.walk(c, 0)
	}
	if g.deepAt >= 0 {
		at := d.pos(base + g.deepAt)
		w.problems = append(w.problems,
			Problem{
				CodeTooDeep, at, at, fmt.Sprintf("lists and quotes nested more than %d deep, or too many of them", l.Depth),
				"flatten the list",
			})
	}
	for _, off := range g.swallow {
		at := d.pos(base + off)
		w.problems = append(w.problems,
			Problem{
				CodeFenceInHTML, at,
				Pos{at.Line, at.Col + 3},
				"fence directly after an HTML tag is part of the HTML",
				"put a blank line between the tag and the fence",
			})
	}
	return w.blocks, w.problems
}

// parseBlocks runs the third-party parser without inline parsers and link definitions, whose cost is more than linear.
// A panic in it is an error.
func parseBlocks(body []byte, g *guard) (root ast.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("%w: %v", errParser, r)
		}
	}()
	values := parser.DefaultBlockParsers()
	for i := range values {
		p, ok := values[i].Value.(parser.BlockParser)
		if !ok {
			continue
		}
		switch trigger := p.Trigger(); {
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
	blocks   []Block
	problems []Problem
}

func (w *walker) pos(off int) Pos { return w.doc.pos(w.base + off) }

// start gives the offset of a block that begins with one of the given bytes. Behind a tab that is cut by the margin of
// a container the parser counts columns, so that its offset is up to seven bytes too large.
func (w *walker) start(n ast.Node, first string) int {
	at := min(max(n.Pos(), 0), len(w.body)-1)
	if at < 0 {
		return 0
	}
	begins := func(i int) bool {
		return strings.IndexByte(first, w.body[i]) >= 0 && (i == 0 || strings.IndexByte(" \t\n>", w.body[i-1]) >= 0)
	}
	line := bytes.LastIndexByte(w.body[:at], '\n') + 1
	if bytes.IndexByte(w.body[line:at], '\t') < 0 && begins(at) {
		return at
	}
	// Blocks come in order, so that the first place behind the block before is the one.
	for i := max(at-7, w.lastStart()+1); i <= at; i++ {
		if begins(i) {
			return i
		}
	}
	return at
}

// lastStart is the offset of the block before, -1 without one.
func (w *walker) lastStart() int {
	if len(w.blocks) == 0 {
		return -1
	}
	at := w.blocks[len(w.blocks)-1].Pos
	return w.doc.starts[at.Line-1] + at.Col - 1 - w.base
}

func (w *walker) walk(n ast.Node, depth int) {
	switch n := n.(type) {
	case *ast.Heading:
		b := w.textBlock(n, Heading, depth)
		b.Level = n.Level
		if at := w.start(n, "#"); at < len(w.body) && w.body[at] == '#' {
			b.Pos = w.pos(at)
			b.End.Col = len(strings.TrimRight(w.doc.Line(b.Pos.Line), " \t")) + 1
		}
		w.blocks = append(w.blocks, b)
	case *ast.Paragraph:
		w.blocks = append(w.blocks, w.textBlock(n, Paragraph, depth))
	case *ast.TextBlock:
		w.blocks = append(w.blocks, w.textBlock(n, Paragraph, depth))
	case *ast.FencedCodeBlock:
		w.blocks = append(w.blocks, w.fence(n, depth))
	case *ast.CodeBlock:
		w.blocks = append(w.blocks, w.indented(n, depth))
	case *ast.HTMLBlock:
		b := w.textBlock(n, HTML, depth)
		b.Text = ""
		w.blocks = append(w.blocks, b)
	case *ast.ThematicBreak:
		at := w.pos(w.start(n, "-*_"))
		w.blocks = append(w.blocks,
			Block{Kind: Rule, Depth: depth, Pos: at, End: Pos{at.Line, len(strings.TrimRight(w.doc.Line(at.Line), " \t")) + 1}})
	case *ast.Blockquote:
		w.container(n, Block{Kind: Quote, Depth: depth, Pos: w.pos(w.start(n, ">"))})
	case *ast.List:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			w.container(c, Block{Kind: Item, Depth: depth, Ordered: n.IsOrdered(), Pos: w.pos(w.start(c, "-+*0123456789"))})
		}
	}
}

// container adds an item or a quote and what is in it.
func (w *walker) container(n ast.Node, b Block) {
	b.End = Pos{b.Pos.Line, b.Pos.Col + 1}
	i := len(w.blocks)
	w.blocks = append(w.blocks, b)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		k := c.Kind()
		if b.Kind == Item && c.PreviousSibling() == nil && (k == ast.KindTextBlock || k == ast.KindParagraph) {
			own := w.textBlock(c, Item, b.Depth)
			b.Raw, b.End = own.Raw, own.End
			b.Text, b.Checked = checkBox(own.Raw)
			w.blocks[i] = b
			continue
		}
		w.walk(c, b.Depth+1)
	}
	if last := w.blocks[len(w.blocks)-1].End; b.End.Before(last) {
		w.blocks[i].End = last
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

// textBlock reads a block that is made of lines.
func (w *walker) textBlock(n ast.Node, kind BlockKind, depth int) Block {
	b := Block{Kind: kind, Depth: depth}
	lines := n.Lines()
	if lines.Len() == 0 {
		b.Pos = w.pos(min(max(n.Pos(), 0), len(w.body)))
		b.End = b.Pos
		return b
	}
	var raw strings.Builder
	for i := range lines.Len() {
		if i > 0 {
			raw.WriteByte('\n')
		}
		segment := lines.At(i)
		raw.Write(bytes.TrimRight(segment.Value(w.body), "\n"))
	}
	last := lines.At(lines.Len() - 1)
	if h, ok := n.(*ast.HTMLBlock); ok && h.HasClosure() {
		last = h.ClosureLine
		raw.WriteByte('\n')
		raw.Write(bytes.TrimRight(last.Value(w.body), "\n"))
	}
	b.Raw = raw.String()
	if kind == Heading {
		b.Text = plainText(b.Raw)
	}
	b.Pos = w.pos(lines.At(0).Start)
	b.End = w.pos(last.Start + len(bytes.TrimRight(w.body[last.Start:last.Stop], " \t\n")))
	return b
}

// code reads the lines of a code block.
func (w *walker) code(n ast.Node, b *Block) {
	lines := n.Lines()
	if lines.Len() == 0 {
		return
	}
	first, last := lines.At(0), lines.At(lines.Len()-1)
	b.BodyPos = w.pos(first.Start)
	size := 0
	for i := range lines.Len() {
		segment := lines.At(i)
		size += segment.Len()
	}
	if size == last.Stop-first.Start {
		b.Body = w.body[first.Start:last.Stop:last.Stop]
		return
	}
	b.Body = make([]byte, 0, size)
	for i := range lines.Len() {
		segment := lines.At(i)
		b.Body = append(b.Body, segment.Value(w.body)...)
	}
}

func (w *walker) indented(n *ast.CodeBlock, depth int) Block {
	b := Block{Kind: Fence, Depth: depth}
	w.code(n, &b)
	b.Pos = b.BodyPos
	if lines := n.Lines(); lines.Len() > 0 {
		last := lines.At(lines.Len() - 1)
		b.End = w.pos(last.Start + len(bytes.TrimRight(w.body[last.Start:last.Stop], " \t\n")))
	}
	return b
}

func (w *walker) fence(n *ast.FencedCodeBlock, depth int) Block {
	at := w.pos(w.start(n, "`~"))
	b := Block{Kind: Fence, Fenced: true, Depth: depth, Pos: at, Indent: at.Col - 1, BodyPos: Pos{at.Line + 1, 1}}
	if n.Info != nil {
		b.Info = string(n.Info.Segment.Value(w.body))
	}
	w.code(n, &b)
	open := w.doc.Line(at.Line)
	_, run, _ := fenceLine(open[at.Col-1:])
	if run == "" {
		run = "```" // its place is not known for sure
	}
	end := at.Line + n.Lines().Len()
	closing := strings.TrimLeft(w.doc.Line(end+1), " \t>")
	if trimmed := strings.TrimRight(closing, " \t"); end < w.doc.LineCount() && len(trimmed) >= len(run) &&
		strings.Trim(trimmed, run[:1]) == "" {
		end++
	} else {
		w.problems = append(w.problems,
			Problem{CodeFenceOpen, at, Pos{at.Line, len(open) + 1}, "fence is not closed", "end it with a line of " + run})
	}
	b.End = Pos{end, len(strings.TrimRight(w.doc.Line(end), " \t")) + 1}
	w.swallowed(&b, run)
	return b
}

// swallowed reports a fence that holds what looks like the start of another one: its own end is missing.
func (w *walker) swallowed(b *Block, run string) {
	if !bytes.Contains(b.Body, []byte(run)) {
		return
	}
	line := b.BodyPos.Line
	for l := range bytes.Lines(b.Body) {
		indent, inner, info := fenceLine(string(l))
		if indent < 4 && info != "" && len(inner) >= len(run) && inner[0] == run[0] {
			w.problems = append(w.problems, Problem{
				Code: CodeFenceOpen, Pos: b.Pos, End: Pos{b.Pos.Line, b.Pos.Col + len(run)},
				Msg:  fmt.Sprintf("fence holds the start of another one on line %d", line),
				Help: fmt.Sprintf("close it before line %d, or open it with more of %q", line, run[:1]),
			})
			return
		}
		line++
	}
}
