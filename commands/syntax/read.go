package syntax

import (
	"regexp"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/strict"
)

// Lines is a run of lines, the last included.
type Lines struct{ From, To int }

// Has tells whether a line is among them.
func (l Lines) Has(line int) bool { return line >= l.From && line <= l.To }

// Read reads a command file as far as it can be read. The tree is complete but for what stands in the lines of Unread,
// so that what is right elsewhere can be judged at the same time.
func Read(name string, src []byte) *File { return read(name, src, false) }

// ReadWorkflow reads the steps of a subagent file as Read does.
func ReadWorkflow(name string, src []byte) *File { return read(name, src, true) }

func read(name string, src []byte, subagent bool) *File {
	p := &parser{
		file: &File{Name: name, Src: src}, subagent: subagent, forms: map[string]*regexp.Regexp{}, near: map[int]bool{},
		refused: map[*Step]bool{},
	}
	p.Decoder = strict.Decoder{
		Report: p.finding, Full: p.full, Value: CodeValue, Key: CodeStepKey, Absent: CodeAbsent, All: "the keys are ",
	}
	doc, problems := md.Parse(src)
	p.doc = doc
	p.take(problems)
	p.file.Prose, p.file.BodyLine = doc.Prose(), doc.BodyLine
	if doc.Text != nil {
		if !subagent {
			p.front()
		}
		p.body()
		p.unsaid()
		p.expansions()
	}
	if len(p.found) > 0 {
		all := &formats.Diagnostics{List: p.found, Sources: map[string][]byte{name: src}}
		all.Sort()
		p.file.Found = all.List
	}
	if p.file.Hopeless = doc.Text == nil || p.full() || p.has(CodeTooMany); !p.file.Hopeless {
		p.unread()
	}
	return p.file
}

// unread notes the lines of everything that has an error: the frontmatter, or what stands between two headings.
func (p *parser) unread() {
	for i := range p.file.Found {
		if p.file.Found[i].Severity != formats.SeverityError {
			continue
		}
		lines := p.unit(p.file.Found[i].Pos.Line)
		if last := len(p.file.Unread) - 1; last >= 0 && p.file.Unread[last] == lines {
			continue
		}
		p.file.Unread = append(p.file.Unread, lines)
	}
	p.file.NoFront = p.doc.Front == nil && !p.subagent
}

// unit gives the lines that are read together with one.
func (p *parser) unit(line int) Lines {
	end := p.doc.LineCount()
	if p.doc.HasFront && line < p.doc.BodyLine {
		return Lines{1, p.doc.BodyLine - 1}
	}
	headings := func(yield func(int, int) bool) {
		for i := range p.doc.Blocks {
			if b := &p.doc.Blocks[i]; b.Kind == md.Heading && b.Depth == 0 && !yield(b.Pos.Line, b.Level) {
				return
			}
		}
	}
	from, level := p.doc.BodyLine, 0
	for at, l := range headings {
		if at > line {
			break
		}
		from, level = at, l
	}
	if from != line { // not of the heading itself: what stands below it up to the next one
		level = 6
	}
	for at, l := range headings {
		if at > line && l <= level {
			end = at - 1
			break
		}
	}
	if !p.file.Literate && from != line && p.plain(line) {
		return Lines{line, line}
	}
	return Lines{from, end}
}

// plain tells whether a line is a sentence of the plain form.
func (p *parser) plain(line int) bool {
	_, _, ok := stepLine(cleanTitle(strings.TrimLeft(p.doc.Line(line), " \t")))
	return ok && !p.doc.InCode(line)
}
