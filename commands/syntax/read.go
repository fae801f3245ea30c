package syntax

import (
	"regexp"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/strict"
)

// Lines is a range of lines, the last included.
type Lines struct{ From, To int }

// Has reports whether a line is in the range.
func (l Lines) Has(line int) bool {
	return line >= l.From && line <= l.To
}

// Read reads a command file as far as possible. The tree is complete except for the lines in
// Unread, so that checks can judge the rest at the same time.
func Read(name string, src []byte) *File {
	return read(name, src, false)
}

// ReadWorkflow reads the steps of a subagent file as Read does.
func ReadWorkflow(name string, src []byte) *File {
	return read(name, src, true)
}

// Foreign adapts the format for another tool's command file.
type Foreign struct {
	Command, Description string
	Keys                 []string // keys of other tools
	// codes for an unknown key, and for a name that differs from the file's
	Unknown, Misnamed string
}

// ReadForeign reads another tool's command file that has a section of steps. Its frontmatter may be
// missing, and unknown keys are warnings. Runs reports whether the steps are meant to run.
func ReadForeign(name string, src []byte, as Foreign) (f *File, runs bool) {
	p := newParser(name, src)
	p.foreign = &as
	p.read()

	steps, said := countSentences(p.file.Steps)
	runs = said*2 > steps

	for i := range p.doc.Blocks {
		b := &p.doc.Blocks[i]
		if b.Kind == md.Fence && b.Depth == 0 && strings.TrimSpace(b.Info) == "yaml step" {
			runs = true
		}
	}
	return p.file, runs
}

// IsPrompt reports whether a file is a text for a model, and not a command file that lacks
// something: it has no section, step or block of one, nothing that looks like one, and no key in
// its frontmatter but description and those of other tools.
func IsPrompt(name string, src []byte, keys []string) bool {
	p := newParser(name, src)
	p.foreign = &Foreign{Keys: keys, Unknown: CodeKey, Misnamed: CodeKey}
	p.read()
	if p.doc.Text == nil || len(p.file.Steps) > 0 || !p.hasFinding(CodeSection) {
		return false
	}
	for _, d := range p.found {
		if d.Code != CodeSection && d.Severity == formats.SeverityError {
			return false
		}
	}

	if front := p.doc.Front; front != nil {
		for _, e := range front.Entries {
			if e.Key.Value != "description" && !slices.Contains(keys, e.Key.Value) {
				return false
			}
		}
	}

	text := false
	for i := range p.doc.Blocks {
		b := &p.doc.Blocks[i]
		switch {
		case b.Kind == md.Heading && isStructural(cleanTitle(b.Text)),
			p.fenceKindOf(b) != fenceOther:
			return false
		}
		text = true
	}
	return text
}

// isStructural tells whether a heading belongs to the form of a command file, or was meant to.
func isStructural(title string) bool {
	low := strings.ToLower(title)
	sections := []string{sectionArgs, sectionWorkflow, sectionBetween, sectionErrors}
	for _, section := range sections {
		if len(nearest.Names(low, []string{strings.ToLower(section)})) > 0 {
			return true
		}
	}
	return strings.HasPrefix(low, "workflow") || isLikeStep(title)
}

// countSentences counts steps, and those that are sentences of the list.
func countSentences(steps []*Step) (all, said int) {
	for _, s := range steps {
		a, b := countSentences(s.Body)
		all += a + 1
		said += b
		if s.Sentence != nil {
			said++
		}
	}
	return all, said
}

func read(name string, src []byte, subagent bool) *File {
	p := newParser(name, src)
	p.subagent = subagent
	p.read()
	return p.file
}

func newParser(name string, src []byte) *parser {
	p := &parser{
		file:           &File{Name: name, Src: src},
		forms:          map[string]*regexp.Regexp{},
		nearFenceLines: map[int]bool{},
		parallelIDs:    map[string]int{},
		invalid:        map[*Step]bool{},
	}
	p.Decoder = strict.Decoder{
		Report: p.addDecoderFinding,
		Full:   p.isFull,
		Value:  CodeValue,
		Key:    CodeStepKey,
		Absent: CodeAbsent,
		All:    "the keys are ",
		Advise: adviseKey,
	}
	return p
}

func (p *parser) read() {
	name := p.file.Name
	src, at := md.RepeatedMap(p.file.Src, "arguments")
	p.file.Src = src
	doc, problems := md.Parse(src)
	p.doc = doc
	p.addProblems(problems)

	if at > 0 {
		p.report(CodeOtherForm, Pos{Line: at, Col: 1},
			"run 'tercet lint --fix', which writes the list",
			"arguments are one map, which is read as a list")
	}

	p.file.Prose = doc.Prose()
	p.file.BodyLine = doc.BodyLine

	if doc.Text != nil {
		if !p.subagent {
			p.readFront()
		}
		p.readBody()
		if p.foreign != nil {
			p.declareForeignArguments()
		}
		p.warnUnsaid()
		p.warnExpansions()
	}

	if len(p.found) > 0 {
		all := &formats.Diagnostics{List: p.found, Sources: map[string][]byte{name: src}}
		all.Sort()
		p.file.Found = all.List
	}

	p.file.Hopeless = doc.Text == nil || p.isFull() || p.hasFinding(CodeTooMany)
	if !p.file.Hopeless {
		p.markUnread()
	}
}

// markUnread notes the lines of everything that has an error: the frontmatter, or what stands
// between two headings.
func (p *parser) markUnread() {
	for i := range p.file.Found {
		if p.file.Found[i].Severity != formats.SeverityError {
			continue
		}
		lines := p.unitAround(p.file.Found[i].Pos.Line)
		if last := len(p.file.Unread) - 1; last >= 0 && p.file.Unread[last] == lines {
			continue
		}
		p.file.Unread = append(p.file.Unread, lines)
	}
	p.file.NoFront = p.doc.Front == nil && !p.subagent
}

// unitAround gives the lines that are read together with one.
func (p *parser) unitAround(line int) Lines {
	if p.doc.HasFront && line < p.doc.BodyLine {
		return Lines{1, p.doc.BodyLine - 1}
	}
	from := p.doc.BodyLine
	end := p.doc.LineCount()
	level := 6
	if line == from {
		level = 0 // what the file lacks as a whole is told at its first line
	}

	for i := range p.doc.Blocks {
		b := &p.doc.Blocks[i]
		if b.Kind != md.Heading || b.Depth > 0 {
			continue
		}
		if b.Pos.Line > line && b.Level <= level {
			end = b.Pos.Line - 1
			break
		}
		if b.Pos.Line <= line {
			from = b.Pos.Line
		}
		if b.Pos.Line == line { // the heading itself, with what stands below it
			level = b.Level
		}
	}

	if !p.file.Literate && from != line && p.isPlainStep(line) {
		return Lines{line, line}
	}
	return Lines{from, end}
}

// isPlainStep tells whether a line is a sentence of the plain form.
func (p *parser) isPlainStep(line int) bool {
	_, _, ok := stepLine(cleanTitle(strings.TrimLeft(p.doc.Line(line), " \t")))
	return ok && !p.doc.InCode(line)
}
