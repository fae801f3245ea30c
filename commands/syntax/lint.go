package syntax

import (
	"slices"
	"strings"

	"tercet/internal/lazy"
	"tercet/internal/md"
)

// tagLine reads a line that is one tag, such as <argument_parsing> or </argument_parsing>; name has
// the slash.
func tagLine(line string) (name string, ok bool) {
	line = strings.TrimSpace(line)
	inside, opens := strings.CutPrefix(line, "<")
	inside, closes := strings.CutSuffix(inside, ">")
	if !opens || !closes || inside == "" || strings.HasSuffix(inside, "/") {
		return "", false
	}
	name, _, _ = strings.Cut(inside, " ")
	bare := strings.TrimPrefix(name, "/")
	if bare == "" ||
		strings.Trim(strings.ToLower(bare), "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" ||
		slices.Contains([]string{"br", "hr", "img"}, bare) {
		return "", false
	}
	return name, true
}

// checkTags warns of tag lines that do not pair inside their section.
func (p *parser) checkTags(s md.Section) {
	type open struct {
		name string
		pos  Pos
	}
	var stack []open
	unclosed := func(list []open) {
		for _, o := range list {
			p.report(CodeTag, o.pos, "close it in the same section",
				"tag <%s> is not closed in its section", o.name)
		}
	}

	for n, line := range p.doc.ProseLines() {
		name, ok := tagLine(line)
		if !ok || n <= s.Line() || n > s.EndLine {
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
			p.report(CodeTag, pos, "remove it, or open it in the same section",
				"tag </%s> closes nothing in its section", closing)
			continue
		}
		unclosed(stack[i+1:])
		stack = stack[:i]
	}

	unclosed(stack)
}

// warnUnsaid warns of blocks that change what other steps do while the prose around them does not
// say so. These are Between Steps whose heading names no step, and, in a strict check, defaults
// without a sentence before them. Without strict the block itself is enough for a reader of the
// file.
func (p *parser) warnUnsaid() {
	between := false
	for i := range p.doc.Blocks {
		b := &p.doc.Blocks[i]
		if b.Kind == md.Heading && b.Depth == 0 && b.Level <= 2 {
			between = b.Level == 2 && sectionName(cleanTitle(b.Text)) == sectionBetween
			continue
		}
		switch {
		case b.Kind == md.Fence && len(b.Info) > 0 &&
			strings.TrimSpace(b.Info) == "yaml "+string(fenceDefaults):
			if i == 0 || p.doc.Blocks[i-1].Kind != md.Paragraph {
				p.reportStrict(
					CodeUnsaid,
					b.Pos,
					"say in a sentence before the block what every step gets",
					"block 'yaml defaults' without a sentence before it",
				)
			}
		case between && b.Kind == md.Heading && b.Depth == 0:
			first, rest, _ := strings.Cut(cleanTitle(b.Text), " ")
			if rest == "" || !slices.ContainsFunc([]string{"after", "before"},
				func(w string) bool { return strings.EqualFold(w, first) }) {
				p.report(CodeUnsaid, b.Pos,
					"write it like '### After phases: review the work'",
					"heading in '%s' does not start with After or Before and the steps",
					sectionBetween)
			}
		}
	}
}

// expansionForm is what other agent CLIs expand: a shell command, a file, an argument.
var expansionForm = lazy.Regexp("(?:^| )(!`)|(?:^|[ \t(|])(@\\w+)|(\\$\\w+)")

// warnExpansions warns of text that other agent CLIs would expand, once a line.
func (p *parser) warnExpansions() {
	names := map[string]bool{} // of arguments that were not told yet: one name is one change
	for _, a := range p.file.Front.Arguments {
		names[a.Name.Text] = true
	}

	loaded := func(name string) bool {
		return slices.ContainsFunc(p.file.Args.Load, func(l Load) bool {
			return l.Name.Text == name
		})
	}
	for n := p.doc.BodyLine; n <= p.doc.LineCount(); n++ {
		line := p.doc.Line(n)
		// in a file of another tool the marks of its prose are meant
		if !strings.ContainsAny(line, "!@$") || p.foreign != nil && !p.doc.InCode(n) {
			continue
		}
		for _, m := range expansionForm().FindAllStringSubmatchIndex(line, -1) {
			at := max(m[2], m[4], m[6])
			what := line[at:m[1]]
			help := "write it another way if the file is to serve as a prompt"
			name := what[1:]
			switch {
			case what == "!`":
				what = "!`...` as a shell command"
			case what[0] == '@':
				what += " as a file"
			case len(name) == 1 && name[0] >= '1' && name[0] <= '9':
				what += " as an argument"
			case !names[name]:
				continue
			case loaded(name):
				what += " as an argument"
				help = "give the loaded value another name than the argument, if the file is to " +
					"serve as a prompt"
				delete(names, name)
			default:
				what += " as an argument; here it is $args." + name
				delete(names, name)
			}
			p.report(CodeExpands, Pos{Line: n, Col: at + 1}, help,
				"other agent CLIs would expand %s", what)
			break
		}
	}
}
