package syntax

import (
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
)

// next is the offset of the first such byte behind the line that holds an offset, -1 if there is none.
func next(text string, at int, c byte) int {
	end := strings.IndexByte(text[at:], '\n')
	if end < 0 {
		return -1
	}
	found := strings.IndexByte(text[at+end:], c)
	if found < 0 {
		return -1
	}
	return at + end + found
}

// tagLine reads a line that is one tag, such as <argument_parsing> or </argument_parsing>; name has the slash.
func tagLine(line string) (name string, ok bool) {
	if strings.IndexByte(line, '<') < 0 {
		return "", false
	}
	line = strings.TrimSpace(line)
	if len(line) < 3 || line[0] != '<' || line[len(line)-1] != '>' || line[len(line)-2] == '/' {
		return "", false
	}
	name, _, _ = strings.Cut(line[1:len(line)-1], " ")
	bare := strings.TrimPrefix(name, "/")
	if bare == "" || strings.Trim(strings.ToLower(bare), "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" ||
		slices.Contains([]string{"br", "hr", "img"}, bare) {
		return "", false
	}
	return name, true
}

// tags warns of tag lines that do not pair inside their section.
func (p *parser) tags(s md.Section) {
	type open struct {
		name string
		pos  Pos
	}
	var stack []open
	prose := p.file.Prose
	for at := strings.IndexByte(prose, '<'); at >= 0; at = next(prose, at, '<') { // the first of each line
		n := p.doc.LineAt(at)
		if n <= s.Line() {
			continue
		}
		if n > s.EndLine {
			break
		}
		line := p.doc.Line(n)
		name, ok := tagLine(line)
		if !ok || p.doc.InCode(n) {
			continue
		}
		pos := Pos{Line: n, Col: strings.IndexByte(line, '<') + 1}
		closing, isClosing := strings.CutPrefix(name, "/")
		if !isClosing {
			stack = append(stack, open{name, pos})
			continue
		}
		i := len(stack) - 1
		for i >= 0 && stack[i].name != closing {
			i--
		}
		if i < 0 {
			p.report(CodeTag, pos, "remove it, or open it in the same section", "tag </%s> closes nothing in its section",
				closing)
			continue
		}
		for _, o := range stack[i+1:] {
			p.report(CodeTag, o.pos, "close it in the same section", "tag <%s> is not closed in its section", o.name)
		}
		stack = stack[:i]
	}
	for _, o := range stack {
		p.report(CodeTag, o.pos, "close it in the same section", "tag <%s> is not closed in its section", o.name)
	}
}

// lint warns of what is read otherwise by those who take the file for a prompt.
func (p *parser) lint() {
	p.unsaid()
	p.expansions()
}

// unsaid warns of blocks that change what other steps do while the prose around them does not say so: steps between the
// steps whose heading names none, and, where a check is strict, defaults without a sentence before them. The block
// itself says what it does to whoever reads the file, so that nobody has to be told when nothing else is amiss.
func (p *parser) unsaid() {
	between := false
	for i := range p.doc.Blocks {
		b := &p.doc.Blocks[i]
		if b.Kind == md.Heading && b.Depth == 0 && b.Level <= 2 {
			between = b.Level == 2 && sectionName(cleanTitle(b.Text)) == sectionBetween
			continue
		}
		switch {
		case b.Kind == md.Fence && len(b.Info) > 0 && strings.TrimSpace(b.Info) == "yaml "+string(fenceDefaults):
			if i == 0 || p.doc.Blocks[i-1].Kind != md.Paragraph {
				p.file.Strict = append(p.file.Strict, formats.Diagnostic{
					Code: CodeUnsaid, Severity: formats.SeverityWarning, File: p.file.Name, Pos: b.Pos,
					Message: "block 'yaml defaults' without a sentence before it",
					Help:    "say in a sentence before the block what every step gets",
				})
			}
		case between && b.Kind == md.Heading && b.Depth == 0:
			first, rest, _ := strings.Cut(cleanTitle(b.Text), " ")
			if rest == "" || !slices.ContainsFunc([]string{"after", "before"},
				func(w string) bool { return strings.EqualFold(w, first) }) {
				p.report(CodeUnsaid, b.Pos, "write it like '### After phases: review the work'",
					"heading in '%s' does not start with After or Before and the steps", sectionBetween)
			}
		}
	}
}

// expansions warns of text that other agent CLIs would expand.
func (p *parser) expansions() {
	names := make([]string, 0, len(p.file.Front.Arguments))
	for _, a := range p.file.Front.Arguments {
		names = append(names, a.Name.Text)
	}
	text := p.file.Prose
	if !mayExpand(text, names) {
		return
	}
	found := marksOf(text)
	for at := found.from(0); at >= 0; {
		what, name := expands(text, at, names)
		if what == "" {
			at = found.from(at + 1)
			continue
		}
		help := "write it another way if the file is to serve as a prompt"
		if name != "" { // one name is one change, so it is said once
			names = slices.DeleteFunc(names, func(other string) bool { return other == name })
			if slices.ContainsFunc(p.file.Args.Load, func(l Load) bool { return l.Name.Text == name }) {
				help = "give the loaded value another name than the argument, if the file is to serve as a prompt"
			} else {
				what += "; here it is $args." + name
			}
		}
		col := at - strings.LastIndexByte(text[:at], '\n')
		p.report(CodeExpands, Pos{Line: p.doc.LineAt(at), Col: col}, help, "other agent CLIs would expand %s", what)
		end := strings.IndexByte(text[at:], '\n') // one finding a line
		if end < 0 {
			return
		}
		at = found.from(at + end)
	}
}

// mayExpand tells whether there may be anything to expand in a text. Most of its marks are the $ of expressions.
func mayExpand(text string, names []string) bool {
	if strings.Contains(text, "!`") || strings.IndexByte(text, '@') >= 0 {
		return true
	}
	for at := strings.IndexByte(text, '$'); at >= 0; {
		rest := text[at+1:]
		if rest != "" && rest[0] >= '1' && rest[0] <= '9' {
			return true
		}
		for _, name := range names {
			if rest != "" && name != "" && rest[0] == name[0] && strings.HasPrefix(rest, name) {
				return true
			}
		}
		next := strings.IndexByte(rest, '$')
		if next < 0 {
			return false
		}
		at += 1 + next
	}
	return false
}

// marks finds the characters that expands looks at, one kind at a time.
type marks struct {
	text string
	next [3]int // offset of the next one of each kind, the length of the text if there is none; -1: to be looked for
}

func marksOf(text string) marks { return marks{text: text, next: [3]int{-1, -1, -1}} }

// from is the offset of the first mark that does not stand before an offset, -1 if there is none.
func (m *marks) from(offset int) int {
	first := len(m.text)
	for i, at := range m.next {
		if at < offset {
			if at = strings.IndexByte(m.text[offset:], "!@$"[i]); at < 0 {
				at = len(m.text)
			} else {
				at += offset
			}
			m.next[i] = at
		}
		first = min(first, at)
	}
	if first == len(m.text) {
		return -1
	}
	return first
}

// expands tells what another CLI takes the piece of text at a mark for: a command, a file or an argument; name is that
// of a declared argument. An empty what means that it is nothing.
func expands(text string, at int, names []string) (what, name string) {
	rest, before := text[at+1:], byte('\n')
	if at > 0 {
		before = text[at-1]
	}
	switch text[at] {
	case '!':
		if strings.HasPrefix(rest, "`") && (before == '\n' || before == ' ') {
			return "!`...` as a shell command", ""
		}
	case '@':
		if strings.IndexByte("\n \t(|", before) >= 0 && rest != "" && isWordByte(rest[0]) {
			return "@" + word(rest) + " as a file", ""
		}
	case '$':
		w := word(rest)
		switch {
		case len(w) == 1 && w[0] >= '1' && w[0] <= '9':
			return "$" + w + " as an argument", ""
		case w != "" && slices.Contains(names, w):
			return "$" + w + " as an argument", w
		}
	}
	return "", ""
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// word returns the letters, digits and underscores at the start of a text.
func word(s string) string {
	i := 0
	for i < len(s) && isWordByte(s[i]) {
		i++
	}
	return s[:i]
}
