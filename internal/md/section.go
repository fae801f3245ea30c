package md

import "strings"

// Section is a heading with everything up to the next heading of its level or a higher one. Headings inside lists and
// quotes start no section.
type Section struct {
	Heading Block
	Blocks  []Block // after the heading, those of deeper sections included
	EndLine int     // last line
}

// Title returns the text of the heading.
func (s Section) Title() string { return s.Heading.Text }

// Line returns the line of the heading.
func (s Section) Line() int { return s.Heading.Pos.Line }

// Sections returns the sections of exactly one level.
func (d *Document) Sections(level int) []Section { return sections(d.Blocks, level, d.LineCount()) }

// Section returns the first section of a level with a title, compared without regard to case.
func (d *Document) Section(level int, title string) (Section, bool) {
	return find(d.Sections(level), title)
}

// Sections returns the sections of exactly one level inside this one.
func (s Section) Sections(level int) []Section { return sections(s.Blocks, level, s.EndLine) }

// Section returns the first section of a level with a title inside this one, compared without regard to case.
func (s Section) Section(level int, title string) (Section, bool) {
	return find(s.Sections(level), title)
}

func find(all []Section, title string) (Section, bool) {
	for _, s := range all {
		if strings.EqualFold(s.Heading.Text, title) {
			return s, true
		}
	}
	return Section{}, false
}

func isHeading(b *Block) bool { return b.Kind == Heading && b.Depth == 0 }

func sections(blocks []Block, level, endLine int) []Section {
	var out []Section
	open := -1 // index of the heading of the open section
	end := func(i, line int) {
		if open >= 0 {
			out = append(out, Section{Heading: blocks[open], Blocks: blocks[open+1 : i], EndLine: line})
			open = -1
		}
	}
	for i := range blocks {
		b := &blocks[i]
		if !isHeading(b) || b.Level > level {
			continue
		}
		end(i, b.Pos.Line-1)
		if b.Level == level {
			open = i
		}
	}
	end(len(blocks), endLine)
	return out
}
