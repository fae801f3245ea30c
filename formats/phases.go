package formats

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/internal/lazy"
	"tercet/internal/md"
)

// The labels of a phase.
const (
	labelGoal         = "Goal"
	labelTasks        = "Tasks"
	labelCommands     = "Commands"
	labelTiming       = "Timing"
	labelDependsOn    = "Depends on"
	labelVerification = "Verification"
	labelAcceptance   = "Acceptance" // another word for Verification
)

var labels = []string{
	labelGoal, labelTasks, labelCommands, labelTiming, labelDependsOn, labelVerification,
	labelAcceptance,
}

// phases reads the phase list out of its section.
func (r *docReader) phases(section md.Section) {
	last := 0
	for _, s := range section.Sections(3) {
		at := s.Heading.Pos
		p, problem := phaseHeading(s.Title())
		if problem != "" && !r.profile.strict {
			continue
		}
		if p.Number < 0 {
			r.add(codePhaseHeading, at, fmt.Sprintf("write '### Phase %d: name [NOT STARTED]'", last+1), "%s", problem)
			continue
		}
		if problem != "" {
			r.add(codePhaseStatus, at, "end the heading with one of "+marks(), "%s", problem)
		}
		if p.Number <= last {
			r.add(codePhaseNumber, at, "number the phases in order", "expected a phase number above %d, got %d", last, p.Number)
		}
		last = max(last, p.Number)
		p.Line = s.Line()
		p.Source = r.text(s.Line(), s.EndLine)
		b := phaseReader{docReader: r, phase: &p, at: at}
		b.read(s.Blocks)
		r.out.Phases = append(r.out.Phases, p)
	}
	r.strayPhases(section)
	if len(r.out.Phases) == 0 && r.profile.strict {
		r.add(codeNoPhase, section.Heading.Pos, "add '### Phase 1: name [NOT STARTED]'",
			"expected at least one phase, got none")
	}
}

func marks() string {
	out := make([]string, 0, len(PhaseStatuses()))
	for _, s := range PhaseStatuses() {
		out = append(out, "["+s.Mark()+"]")
	}
	return strings.Join(out, " ")
}

// strayPhases reports headings that read as a phase but have the wrong level: deeper ones in the section of the phases,
// higher ones anywhere.
func (r *docReader) strayPhases(section md.Section) {
	for _, b := range r.doc.Blocks {
		inside := b.Pos.Line > section.Line() && b.Pos.Line <= section.EndLine
		if !r.profile.strict || b.Kind != md.Heading || b.Depth > 0 || b.Level == 3 || b.Level > 3 && !inside {
			continue
		}
		if p, problem := phaseHeading(b.Text); p.Number >= 0 && problem == "" {
			r.add(codePhaseHeading, b.Pos, "make it a heading of level 3 in the section "+sectionPhases,
				"the heading of phase %d has level %d", p.Number, b.Level)
		}
	}
}

// phaseHeading reads "Phase N: name [STATUS]". The number is -1 when the text has no such form; a missing or unknown
// status is a problem and leaves not_started.
func phaseHeading(text string) (p Phase, problem string) {
	p = Phase{
		Number: -1, Status: PhaseNotStarted, Tasks: []ChecklistItem{}, Checks: []ChecklistItem{}, Commands: []string{},
		Verification: []string{}, DependsOn: []int{},
	}
	form := phaseForm().FindStringSubmatch(text)
	number, name := maxPhase+1, ""
	if form != nil {
		number, _ = strconv.Atoi(form[1]) //nolint:errcheck // the form has nine digits at most
		name = strings.TrimSpace(form[2])
	}
	mark, marked := "", false
	if open := strings.LastIndexByte(name, '['); open >= 0 && strings.HasSuffix(name, "]") {
		mark, name, marked = name[open+1:len(name)-1], strings.TrimSpace(name[:open]), true
	}
	if number > maxPhase || name == "" {
		return p, "expected the heading of a phase, got " + strconv.Quote(text)
	}
	p.Number, p.Name = number, name
	word := strings.ToLower(strings.Join(strings.FieldsFunc(mark,
		func(r rune) bool { return r == ' ' || r == '_' || r == '-' }), "_"))
	status, err := ParsePhaseStatus(word)
	switch {
	case !marked:
		return p, fmt.Sprintf("expected a status after the name of phase %d, got none", number)
	case err != nil:
		return p, fmt.Sprintf("expected the status of phase %d, got %q", number, mark)
	}
	p.Status = status
	return p, ""
}

// maxPhase bounds the number of a phase.
const maxPhase = 9999

var phaseForm = lazy.Regexp(`(?is)^phase[\s\p{Z}]*([0-9]{1,9})[\s\p{Z}]*[:.–—-](.*)$`)

// phaseReader reads the blocks of one phase.
type phaseReader struct {
	*docReader

	phase *Phase
	at    Pos
	label string // what the block belongs to; empty before the first label
	other bool   // under a label that a phase does not have
	quote md.Pos // end of the quote that the block stands in
}

func (r *phaseReader) read(blocks []md.Block) {
	for i := range blocks {
		b := &blocks[i]
		if b.Kind == md.Quote && r.quote.Before(b.End) {
			r.quote = b.End
		}
		if b.Pos.Before(r.quote) && b.Kind != md.Fence {
			continue
		}
		switch b.Kind {
		case md.Heading:
			if b.Depth == 0 {
				r.under(strings.TrimSuffix(strings.TrimSpace(b.Text), ":"))
			}
		case md.Fence:
			r.fence(b)
		case md.Item:
			if b.Checked != nil {
				r.item(b)
				continue
			}
			r.lines(b)
		case md.Paragraph:
			r.lines(b)
		case md.HTML, md.Quote, md.Rule:
		}
	}
	if !r.profile.strict {
		return
	}
	for _, part := range []struct {
		missing    bool
		name, help string
	}{
		{placeholder(r.phase.Goal, true), "goal", "add '**Goal**: what is true when the phase is done'"},
		{len(r.phase.Tasks) == 0, "checklist of tasks", "add '**Tasks**' with lines '- [ ] what to do'"},
		{placeholder(r.phase.Timing, true), "timing", "add '**Timing**: 1h'"},
	} {
		if part.missing {
			r.add(codePhasePart, r.at, part.help, "phase %d has no %s", r.phase.Number, part.name)
		}
	}
}

// under changes the label that the following blocks belong to.
func (r *phaseReader) under(label string) {
	name, known := canonical(label, labels)
	if name == labelAcceptance {
		name = labelVerification
	}
	r.label, r.other = name, !known
}

// lines reads a paragraph or an item for labels and for the values that follow them. A bold label that a phase does not
// have takes everything after it out of the phase when it stands alone, and only its own value otherwise.
func (r *phaseReader) lines(b *md.Block) {
	for i, line := range strings.Split(b.Raw, "\n") {
		line = strings.TrimSpace(line)
		label, value, ok := splitLabel(line)
		_, known := canonical(label, labels)
		bold := strings.HasPrefix(line, "**") || strings.HasPrefix(line, "__")
		switch {
		case ok && (known || bold && value == "" && strings.HasSuffix(strings.TrimRight(line, "*_ "), ":")):
			r.under(label)
			line = value
		case ok && bold && (r.label == labelGoal || r.label == labelTiming || r.label == labelDependsOn):
			r.label = ""
		}
		if line != "" {
			r.value(line, Pos{Line: b.Pos.Line + i, Col: b.Pos.Col})
		}
	}
}

func (r *phaseReader) value(text string, at Pos) {
	join := func(to *string) { *to = strings.TrimSpace(*to + " " + text) }
	switch {
	case r.other:
	case r.label == labelGoal:
		join(&r.phase.Goal)
	case r.label == labelTiming:
		join(&r.phase.Timing)
	case r.label == labelDependsOn:
		r.depends(text, at)
	}
}

// depends reads the numbers of the phases that have to be done before this one.
func (r *phaseReader) depends(text string, at Pos) {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(c rune) bool { return c == ' ' || c == ',' || c == ';' || c == '.' || c == '#' })
	for _, w := range words {
		if slices.Contains([]string{"none", "phase", "phases", "and", "&", "-", "–", "—", "nothing", "n/a"}, w) {
			continue
		}
		n, err := strconv.Atoi(w)
		earlier := slices.ContainsFunc(r.out.Phases, func(p Phase) bool { return p.Number == n })
		switch {
		case err != nil:
			r.add(codeDependsOn, at, "write 'Depends on: 1, 2' or 'None'", "expected the number of a phase, got %q", w)
		case !earlier:
			r.add(codeDependsOn, at, "", "phase %d depends on phase %d, which does not stand before it", r.phase.Number, n)
		case !slices.Contains(r.phase.DependsOn, n):
			r.phase.DependsOn = append(r.phase.DependsOn, n)
		}
	}
}

func (r *phaseReader) item(b *md.Block) {
	it := ChecklistItem{Text: b.Text, Done: *b.Checked, Line: b.Pos.Line}
	switch {
	case r.other || b.Text == "":
	case r.label == labelVerification:
		r.phase.Checks = append(r.phase.Checks, it)
	default:
		r.phase.Tasks = append(r.phase.Tasks, it)
	}
}

// fence keeps the body of a fence that is to be run: marked sh, in no quote, under a label of the phase.
func (r *phaseReader) fence(b *md.Block) {
	lang, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(b.Info)), " ")
	shell := slices.Contains([]string{"bash", "shell", "zsh", "console", "ksh", "dash"}, lang)
	switch {
	case !b.Fenced || lang != "sh" && !shell:
		return
	case shell:
		r.add(codeNotRun, b.Pos, "mark it sh if its commands are to run", "a fence marked %s is not run", lang)
		return
	case b.Pos.Before(r.quote) || r.other:
		r.add(codeNotRun, b.Pos, "move it under Commands or Verification if its commands are to run",
			"this fence is not run: it stands in a quote or under a label that a phase does not have")
		return
	}
	body := string(b.Body)
	if strings.TrimSpace(body) == "" {
		return
	}
	if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	if r.label == labelVerification {
		r.phase.Verification = append(r.phase.Verification, body)
		return
	}
	r.phase.Commands = append(r.phase.Commands, body)
}
