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

// The level-2 sections that the engine reads. Any other section is prose.
const (
	sectionArgs     = "Argument Parsing"
	sectionWorkflow = "Workflow Execution"
	sectionBetween  = "Between Steps"
	sectionErrors   = "Error Handling"
)

// Parse reads a command file. name is its path, for messages and for comparing it with the
// command's name. The error is a *formats.Diagnostics with all findings, sorted; warnings alone are
// no error and are in the File.
func Parse(name string, src []byte) (*File, error) {
	f := Read(name, src)
	found := &formats.Diagnostics{List: f.Found, Sources: map[string][]byte{name: src}}
	if found.HasErrors() {
		return nil, found
	}
	return f, nil
}

// parser reads one file.
type parser struct {
	strict.Decoder
	file           *File
	doc            *md.Document
	found          []formats.Diagnostic
	inErrors       bool         // the step stands under Error Handling
	nearFenceLines map[int]bool // lines that almost open a block

	highStep  bool // a step stands on the level of the sections
	exprs     int  // expressions read
	inBetween bool // the step stands under Between Steps
	// subagent files have no section Argument Parsing: the block `yaml args` stands before the
	// first step.
	subagent    bool
	foreign     *Foreign                  // of a file of another tool; nil for tercet's own
	depth       int                       // steps inside each other's keys
	forms       map[string]*regexp.Regexp // the sentences, as far as the file has needed them
	parallelIDs map[string]int            // steps side by side out of sentences, by their id
	// reported; a further report about the step's action would only repeat it
	invalid map[*Step]bool
}

func (p *parser) report(code string, pos Pos, help, format string, args ...any) {
	p.add(formats.Found(code, pos, help, format, args...))
}

// maxFindings is how many findings of one file are kept: no user reads more, and a hostile file
// would have a hundred thousand.
const maxFindings = 500

func (p *parser) isFull() bool {
	return len(p.found) >= maxFindings
}

func (p *parser) add(d formats.Diagnostic) {
	d.File = p.file.Name
	if !p.isFull() {
		p.found = append(p.found, d)
	}
}

// reportStrict keeps a finding that only a strict check tells.
func (p *parser) reportStrict(code string, pos Pos, help, message string) {
	d := formats.Found(code, pos, help, "%s", message)
	d.File = p.file.Name
	p.file.Strict = append(p.file.Strict, d)
}

// reportNode reports a whole value.
func (p *parser) reportNode(code string, n *md.Node, help, format string, args ...any) {
	d := formats.Found(code, n.Pos, help, format, args...)
	d.End = n.End
	p.add(d)
}

// addDecoderFinding takes what the decoder found.
func (p *parser) addDecoderFinding(f strict.Finding) {
	d := formats.Found(f.Code, f.Pos, f.Help, "%s", f.Message)
	if f.Code == p.Value {
		d.End = f.End
	}
	p.add(d)
}

// addProblems adds what package md found.
func (p *parser) addProblems(problems []md.Problem) {
	for _, one := range problems {
		d := formats.Found(one.Code, one.Pos, one.Help, "%s", one.Msg)
		d.End = one.End
		if text, ok := strings.CutPrefix(one.Help, "quote the value: "); ok {
			d.Fix = p.quoteFix(d, text)
		}
		p.add(d)
	}
}

// quoteFix is the change that package md advises: the value of the finding in quotes, or the line
// with its value in quotes.
func (p *parser) quoteFix(d formats.Diagnostic, text string) *formats.Fix {
	if d.Code == md.CodeFlowTrap {
		if d.Pos.Line != d.End.Line {
			return nil
		}
		return &formats.Fix{
			Start: d.Pos,
			End:   d.End,
			Text:  text,
		}
	}

	line := strings.TrimRight(p.doc.Line(d.Pos.Line), " \t")
	from := len(line) - len(strings.TrimLeft(line, " -"))
	key, value, ok := strings.Cut(text, ": ")
	if !ok || len(value) < 3 || strings.IndexByte("{[", value[1]) >= 0 ||
		// what is a comment is not quoted
		!strings.HasPrefix(line[from:], key+":") || strings.Contains(line, " #") {
		return nil
	}
	return &formats.Fix{
		Start: Pos{Line: d.Pos.Line, Col: from + 1},
		End:   Pos{Line: d.Pos.Line, Col: len(line) + 1},
		Text:  text,
	}
}

func (p *parser) hasFinding(code string) bool {
	return slices.ContainsFunc(p.found, func(d formats.Diagnostic) bool { return d.Code == code })
}

// block reads the YAML of a fence; nil when it cannot be read or is empty, which is reported.
func (p *parser) block(b *md.Block) *md.Node {
	n, problems := md.ParseYAML(b.Body, b.BodyPos)
	p.addProblems(problems)
	p.checkStrays(n)
	switch {
	case n == nil && len(problems) == 0:
		p.report(CodeBlock, b.Pos, "write keys into it, or remove it", "block is empty")
		return nil
	case n == nil:
		return nil
	case n.Kind != md.Map:
		p.reportNode(CodeBlock, n, "write key: value lines",
			"expected a map of keys in a block, got %s", strict.Describe(n))
		return nil
	default:
		return n
	}
}

// fenceKind is what the words after the backticks ask for.
type fenceKind string

// The blocks of the format, and any other fence.
const (
	fenceStep     fenceKind = "step"
	fenceArgs     fenceKind = "args"
	fenceDefaults fenceKind = "defaults"
	fenceOther    fenceKind = ""
)

// fenceKindOf reads the words after the backticks and reports those that are almost right.
func (p *parser) fenceKindOf(b *md.Block) fenceKind {
	fields := strings.Fields(splitYAMLWord(b.Info))
	if b.Kind != md.Fence || len(fields) < 2 ||
		!strings.EqualFold(fields[0], "yaml") && !strings.EqualFold(fields[0], "yml") {
		return fenceOther
	}

	kind := fenceKind(fields[1])
	switch kind {
	case fenceStep, fenceArgs, fenceDefaults:
		if fields[0] == "yaml" && len(fields) == 2 && len(strings.Fields(b.Info)) == 2 {
			return kind
		}
	case fenceOther:
	default:
		near := nearest.Names(strings.ToLower(fields[1]), blockWords)
		if len(near) == 0 {
			return fenceOther
		}
		kind = fenceKind(near[0])
	}

	p.reportFenceInfo(b.Pos, kind, "expected 'yaml %s' after the backticks, got %q", b.Info)
	return kind
}

// reportFenceInfo reports a line that almost opens a block of some kind.
func (p *parser) reportFenceInfo(at Pos, kind fenceKind, format, got string) {
	d := formats.Found(CodeFenceInfo, at, "write ```yaml "+string(kind), format, kind, got)
	d.Fix = p.infoFix(at.Line, kind)
	p.add(d)
}

// infoFix writes the right words behind the backticks of a line, of which it makes at least three.
func (p *parser) infoFix(n int, kind fenceKind) *formats.Fix {
	line := p.doc.Line(n)
	rest := strings.TrimLeft(line, " \t")
	indent := len(line) - len(rest)
	ticks := len(rest) - len(strings.TrimLeft(rest, "`~"))

	fix := &formats.Fix{
		Start: Pos{Line: n, Col: indent + ticks + 1},
		End:   Pos{Line: n, Col: len(line) + 1},
		Text:  "yaml " + string(kind),
	}

	switch {
	case ticks >= 3:
	case strings.HasPrefix(strings.TrimLeft(rest, "`"), "yaml") || ticks > 0:
		fix.Start.Col = indent + 1
		fix.Text = "```" + fix.Text
	default:
		return nil
	}
	return fix
}

// checkMargin reports a block that is indented or stands in a list or a quote.
func (p *parser) checkMargin(b *md.Block) {
	if b.Indent > 0 || b.Depth > 0 {
		p.report(CodeFenceIndent, b.Pos, "move the block to the left margin",
			"block is indented by %d columns", b.Indent)
	}
}

// readBody reads the sections.
func (p *parser) readBody() {
	seen := map[string]Pos{}
	var workflow, args *md.Section
	var titles []string
	p.reportOutsideSections()
	p.reportMisplaced()
	p.reportNearFences()

	for _, s := range p.doc.Sections(2) {
		title := cleanTitle(s.Title())
		name := sectionName(title)
		titles = append(titles, title)
		if first, ok := seen[name]; ok && name != "" {
			p.report(CodeSectionTwice, s.Heading.Pos, "join the two",
				"section '%s' stands twice, first on line %d", name, first.Line)
			continue
		}
		seen[name] = s.Heading.Pos
		switch name {
		case sectionArgs:
			args = &s
			p.readArgsSection(s)
		case sectionWorkflow:
			workflow = &s
			p.readWorkflow(s)
		case sectionBetween:
			p.readBetween(s)
		case sectionErrors:
			p.inErrors = true
			p.file.Errors = p.readLooseSteps(s, sectionErrors)
			p.inErrors = false
		default:
			if _, _, isStep := stepLine(title); !isStep { // that is one mistake, and was reported
				p.reportOutside(s.Blocks)
			}
		}
		if name != "" {
			p.checkTags(s)
		}
	}

	if workflow == nil && !p.hasFinding(md.CodeLineEnds) { // a file of one line has no section
		p.reportNoWorkflow(titles)
	}
	if !p.file.Literate && workflow != nil && args != nil && p.file.Args.Pos.IsZero() {
		p.argSentences(*args)
	}
}

func (p *parser) reportNoWorkflow(titles []string) {
	// Without the section each of its steps is outside of it, which is no further mistake.
	p.found = slices.DeleteFunc(p.found, func(d formats.Diagnostic) bool {
		return d.Code == CodeFencePlace
	})
	help := "add '## " + sectionWorkflow + "' with the steps below it"
	if p.file.Front.Command.Text == "" && !strings.Contains(string(p.file.Src), "```yaml step") {
		help += "; a prompt without steps runs from .claude/commands"
	}

	for _, t := range titles {
		low := strings.ToLower(t)
		if strings.HasPrefix(low, "workflow") ||
			len(nearest.Names(low, []string{strings.ToLower(sectionWorkflow)})) > 0 {
			help = "rename '## " + t + "'"
		}
	}
	p.report(CodeSection, Pos{Line: p.doc.BodyLine, Col: 1}, help, "file has no section '%s'",
		sectionWorkflow)
}

// sectionName gives the name as the format writes it, "" for prose.
func sectionName(title string) string {
	for _, name := range []string{sectionArgs, sectionWorkflow, sectionBetween, sectionErrors} {
		if strings.EqualFold(title, name) {
			return name
		}
	}
	return ""
}

// cleanTitle takes a comment off the end of a heading.
func cleanTitle(title string) string {
	if strings.HasSuffix(title, "-->") {
		title, _, _ = strings.Cut(title, "<!--")
	}
	return strings.TrimSpace(title)
}

// reportOutsideSections reports blocks of the format that no level-2 section holds.
func (p *parser) reportOutsideSections() {
	inside := false
	for i := range p.doc.Blocks {
		b := &p.doc.Blocks[i]
		if b.Kind == md.Heading && b.Depth == 0 && b.Level <= 2 {
			inside = b.Level == 2
		}
		if !inside {
			p.reportOutside(p.doc.Blocks[i : i+1])
		}
	}
}

// reportOutside reports blocks of the format in prose.
func (p *parser) reportOutside(blocks []md.Block) {
	for i := range blocks {
		if kind := p.fenceKindOf(&blocks[i]); kind != fenceOther {
			home := blockHomes[kind]
			p.report(CodeFencePlace, blocks[i].Pos, home.help, "block 'yaml %s' outside its %s",
				kind, home.what)
		}
	}
}

// blockHomes say where a block has to stand.
var blockHomes = map[fenceKind]struct{ help, what string }{
	fenceStep:     {"move it below a step heading of '## " + sectionWorkflow + "'", "section"},
	fenceArgs:     {"move it into '## " + sectionArgs + "'", "section"},
	fenceDefaults: {"move it below '## " + sectionWorkflow + "', before the first step", "place"},
}

func (p *parser) readArgsSection(s md.Section) {
	var first *md.Block

	for i := range s.Blocks {
		b := &s.Blocks[i]
		switch kind := p.fenceKindOf(b); kind {
		case fenceArgs:
			if first != nil {
				p.report(CodeStepFence, b.Pos, "join the two",
					"second block 'yaml args', the first is on line %d", first.Pos.Line)
				continue
			}
			first = b
			p.checkMargin(b)
			p.argsBlock(b)
		case fenceStep, fenceDefaults:
			p.reportOutside(s.Blocks[i : i+1])
		case fenceOther:
			p.reportBareYAML(b, fenceArgs)
		}
	}
}

// reportBareYAML reports a fence that is YAML but lacks its second word, where a block could stand.
func (p *parser) reportBareYAML(b *md.Block, want fenceKind) {
	if b.Kind == md.Fence && (strings.EqualFold(strings.TrimSpace(b.Info), "yaml") ||
		strings.EqualFold(strings.TrimSpace(b.Info), "yml")) {
		p.report(CodeFenceInfo, b.Pos, "write ```yaml "+string(want)+", or ```text for an example",
			"expected 'yaml %s' after the backticks, got %q", want, b.Info)
	}
}
