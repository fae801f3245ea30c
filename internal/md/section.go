package md

import "strings"

// Section is a heading and everything up to the next heading of its level or higher. Headings in
// lists and quotes start no section.
type Section struct {
	Heading Block
	Blocks  []Block // after the heading, deeper sections included
	EndLine int     // last line
}

// Title gives the text of the heading.
func (s Section) Title() string {
	return s.Heading.Text
}

// Line gives the line of the heading in the file, from 1.
func (s Section) Line() int {
	return s.Heading.Pos.Line
}

// Sections gives the sections of exactly one level.
func (d *Document) Sections(level int) []Section {
	return sections(d.Blocks, level, d.LineCount())
}

// Section gives the first section of a level with a title, ignoring case.
func (d *Document) Section(level int, title string) (Section, bool) {
	for _, s := range d.Sections(level) {
		if strings.EqualFold(s.Title(), title) {
			return s, true
		}
	}
	return Section{}, false
}

func sections(blocks []Block, level, endLine int) []Section {
	var out []Section
	for i := range blocks {
		if !blocks[i].endsSection(level) || blocks[i].Level != level {
			continue
		}
		s := Section{
			Heading: blocks[i],
			Blocks:  blocks[i+1:],
			EndLine: endLine,
		}

		for k := range s.Blocks {
			if s.Blocks[k].endsSection(level) {
				s.EndLine = s.Blocks[k].Pos.Line - 1
				s.Blocks = s.Blocks[:k]
				break
			}
		}
		out = append(out, s)
	}
	return out
}

// endsSection tells whether a block ends a section of a level: a heading of that level, or of a
// higher one.
func (b *Block) endsSection(level int) bool {
	return b.Kind == Heading && b.Depth == 0 && b.Level <= level
}
