package documents

import (
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
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

// readPhases reads the phases: headings of level 3 and 4 that name a phase, in their section or,
// without one, anywhere in the document.
func (r *docReader) readPhases(section *md.Section) {
	last := len(r.doc.Blocks)
	first := 0
	if section != nil {
		first = slices.IndexFunc(r.doc.Blocks, func(b md.Block) bool {
			return b.Pos == section.Heading.Pos
		}) + 1
		last = first + len(section.Blocks)
	}

	here := r.phaseHeadings(first, last)
	if len(here) == 0 && section != nil && r.profile.Strict {
		first = 0
		last = len(r.doc.Blocks)
		here = r.phaseHeadings(first, last)
	}

	for i, at := range here {
		end := last
		for k := at + 1; k < last; k++ {
			if b := &r.doc.Blocks[k]; i+1 < len(here) && k == here[i+1] ||
				b.Kind == md.Heading && b.Depth == 0 && b.Level <= r.doc.Blocks[at].Level {
				end = k
				break
			}
		}
		r.readPhase(at, end)
	}

	r.reportStrayPhases(section)
	switch {
	case len(r.out.Phases) > 0 && section != nil && r.out.Phases[0].Line < section.Line():
		r.warn(codePhaseHeading, formats.Pos{Line: r.out.Phases[0].Line, Col: 1},
			"move the phases into the section "+r.profile.Phases,
			"the phases stand outside of the section %s", r.profile.Phases)
	case len(r.out.Phases) == 0 && r.profile.Strict:
		at := r.bodyStart()
		if section != nil {
			at = section.Heading.Pos
		}
		r.Add(
			codeNoPhase,
			at,
			"add '"+r.profile.Phase.example(1)+"'",
			"expected at least one phase, got none",
		)
	}
}

// phaseHeadings returns the indexes of the blocks that begin a phase. A deeper heading with the
// number of the enclosing phase is part of it.
func (r *docReader) phaseHeadings(first, last int) (out []int) {
	// of the enclosing phase
	level := 0
	number := -1

	for i := first; i < last; i++ {
		b := &r.doc.Blocks[i]
		if b.Kind != md.Heading || b.Depth > 0 {
			continue
		}
		if level > 0 && b.Level <= level {
			level = 0
			number = -1
		}

		if b.Level < 3 || b.Level > 4 {
			continue
		}

		p, _ := phaseHeading(r.profile.Phase.toShippedWords(b.Text))
		if p.Number >= 0 && (level == 0 || p.Number != number) {
			out = append(out, i)
			level = b.Level
			number = p.Number
		}
	}
	return out
}

// readPhase reads the phase from its heading block up to the block end.
func (r *docReader) readPhase(from, end int) {
	heading := &r.doc.Blocks[from]
	at := heading.Pos
	p, problem := phaseHeading(r.profile.Phase.toShippedWords(heading.Text))
	if heading.Level != 3 && r.profile.Strict {
		r.warn(codePhaseHeading, at,
			"make it a heading of level 3 in the section "+r.profile.Phases,
			"the heading of phase %d has level %d", p.Number, heading.Level)
	}
	if problem != "" && r.profile.Strict {
		r.warn(codePhaseStatus, at, "end the heading with one of "+r.profile.Phase.markWords(),
			"%s", problem)
	}

	i := slices.IndexFunc(r.out.Phases, func(o Phase) bool {
		return o.Number == p.Number
	})
	if i >= 0 {
		r.Add(codePhaseNumber, at, "give each phase a number of its own",
			"phase %d stands twice, first in line %d", p.Number, r.out.Phases[i].Line)
	} else if last := len(r.out.Phases) - 1; last >= 0 && p.Number < r.out.Phases[last].Number {
		r.warn(codePhaseNumber, at, "number the phases in order",
			"expected a phase number above %d, got %d", r.out.Phases[last].Number, p.Number)
	}

	stop := r.doc.LineCount()
	if end < len(r.doc.Blocks) {
		stop = r.doc.Blocks[end].Pos.Line - 1
	}
	p.Line = at.Line
	p.Source = r.linesBetween(at.Line, stop)

	b := phaseReader{
		docReader: r,
		phase:     &p,
		at:        at,
	}
	b.read(r.doc.Blocks[from+1 : end])
	r.out.Phases = append(r.out.Phases, p)
}

func (p *phaseRule) markWords() string {
	out := make([]string, 0, len(PhaseStatuses()))
	for _, s := range PhaseStatuses() {
		out = append(out, "["+p.markOf(s)+"]")
	}
	return strings.Join(out, " ")
}

// reportStrayPhases reports headings without a phase where only phases belong, and unreadable ones
// that were meant as a phase. The text below them would count as part of another phase, or be lost.
func (r *docReader) reportStrayPhases(section *md.Section) {
	if !r.profile.Strict {
		return
	}

	within := 0 // level of the enclosing phase
	for i := range r.doc.Blocks {
		b := &r.doc.Blocks[i]
		if b.Kind != md.Heading || b.Depth > 0 {
			continue
		}

		inside := section != nil && b.Pos.Line > section.Line() && b.Pos.Line <= section.EndLine
		read := slices.ContainsFunc(r.out.Phases, func(p Phase) bool {
			return p.Line == b.Pos.Line
		})
		text := r.profile.Phase.toShippedWords(b.Text)
		p, problem := phaseHeading(text)
		switch {
		case read:
			within = b.Level
			continue
		case within > 0 && b.Level <= within:
			within = 0
		}

		switch {
		case problem == "" && p.Number >= 0 && (b.Level < 3 || b.Level > 4 && inside):
			r.Add(codePhaseHeading, b.Pos,
				"make it a heading of level 3 in the section "+r.profile.Phases,
				"the heading of phase %d has level %d", p.Number, b.Level)
		case within == 0 && (b.Level == 3 || b.Level == 4) && p.Number < 0 &&
			phaseLike().MatchString(text):
			r.Add(codePhaseHeading, b.Pos,
				"write '"+r.profile.Phase.example(1)+"', with a whole number", "%s", problem)
		case inside && b.Level == 3:
			r.warn(codePhaseHeading, b.Pos,
				"write '"+r.profile.Phase.example(len(r.out.Phases)+1)+"'",
				"expected the heading of a phase, got %q", b.Text)
		}
	}
}

// phaseReader reads the blocks of one phase.
type phaseReader struct {
	*docReader

	phase      *Phase
	at         formats.Pos
	label      string // label of the block; empty before the first one
	otherLabel bool   // below an unknown label
	quote      md.Pos // end of the enclosing quote
}

// read reads the blocks of one phase, and reports which parts it lacks if the profile is strict.
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
				r.setLabel(strings.TrimSuffix(strings.TrimSpace(b.Text), ":"))
			}
		case md.Fence:
			r.readFence(b)
		case md.Item:
			if b.Checked != nil {
				r.addItem(b)
				continue
			}
			r.readLines(b)
		case md.Paragraph:
			r.readLines(b)
		case md.HTML, md.Quote, md.Rule:
		}
	}

	if !r.profile.Strict {
		return
	}
	need := r.profile.Phase.requires
	lacks := func(what, help string) {
		r.warn(codePhasePart, r.at, help, "phase %d has no %s", r.phase.Number, what)
	}
	if need(partGoal) && isPlaceholder(r.phase.Goal, true) {
		lacks("goal", "add '**Goal**: what is true when the phase is done'")
	}
	if need(partTasks) && len(r.phase.Tasks) == 0 {
		lacks("checklist of tasks", "add '**Tasks**' with lines '- [ ] what to do'")
	}
	if need(partTiming) && isPlaceholder(r.phase.Timing, true) {
		lacks("timing", "add '**Timing**: 1h'")
	}
}

// setLabel sets the label of the following blocks.
func (r *phaseReader) setLabel(label string) {
	name, known := matchName(label, labels)
	if name == labelAcceptance {
		name = labelVerification
	}
	r.label = name
	r.otherLabel = !known
}

// readLines reads a paragraph or an item for labels and their values. An unknown bold label
// excludes everything after it from the phase if it is alone on its line, else only its own value.
func (r *phaseReader) readLines(b *md.Block) {
	for i, line := range strings.Split(b.Raw, "\n") {
		line = strings.TrimSpace(line)
		label, value, ok := splitLabel(line)
		_, known := matchName(label, labels)
		bold := strings.HasPrefix(line, "**") || strings.HasPrefix(line, "__")
		switch {
		case ok &&
			(known ||
				bold && value == "" && strings.HasSuffix(strings.TrimRight(line, "*_ "), ":")):
			r.setLabel(label)
			line = value
		case ok && bold &&
			(r.label == labelGoal || r.label == labelTiming || r.label == labelDependsOn):
			r.label = ""
		}

		if line != "" {
			r.addValue(line, formats.Pos{Line: b.Pos.Line + i, Col: b.Pos.Col})
		}
	}
}

func (r *phaseReader) addValue(text string, at formats.Pos) {
	join := func(to *string) { *to = strings.TrimSpace(*to + " " + text) }
	switch {
	case r.otherLabel:
	case r.label == labelGoal:
		join(&r.phase.Goal)
	case r.label == labelTiming:
		join(&r.phase.Timing)
	case r.label == labelDependsOn:
		r.readDependencies(text, at)
	}
}

// readDependencies reads the numbers of the phases that must be completed before this one.
func (r *phaseReader) readDependencies(text string, at formats.Pos) {
	words := strings.FieldsFunc(strings.ToLower(text),
		func(c rune) bool {
			return c == ' ' || c == ',' || c == ';' || c == '.' || c == '#'
		})
	for _, w := range words {
		if slices.Contains(
			[]string{"none", "phase", "phases", "and", "&", "-", "–", "—", "nothing", "n/a"},
			w,
		) {
			continue
		}
		n, err := strconv.Atoi(w)
		earlier := slices.ContainsFunc(r.out.Phases, func(p Phase) bool {
			return p.Number == n
		})
		switch {
		case err != nil:
			r.warn(codeDependsOn, at, "write 'Depends on: 1, 2' or 'None'",
				"expected the number of a phase, got %q", w)
		case !earlier:
			r.warn(codeDependsOn, at, "",
				"phase %d depends on phase %d, which does not stand before it", r.phase.Number, n)
		case !slices.Contains(r.phase.DependsOn, n):
			r.phase.DependsOn = append(r.phase.DependsOn, n)
		}
	}
}

func (r *phaseReader) addItem(b *md.Block) {
	it := ChecklistItem{
		Text: b.Text,
		Done: *b.Checked,
		Line: b.Pos.Line,
	}
	switch {
	case r.otherLabel || b.Text == "":
	case r.label == labelVerification:
		r.phase.Checks = append(r.phase.Checks, it)
	default:
		r.phase.Tasks = append(r.phase.Tasks, it)
	}
}

// readFence reads a fence with commands: marked sh, not in a quote, below a label of the phase.
func (r *phaseReader) readFence(b *md.Block) {
	lang, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(b.Info)), " ")
	shell := slices.Contains([]string{"bash", "shell", "zsh", "console", "ksh", "dash"}, lang)
	switch {
	case !b.Fenced || lang != "sh" && !shell:
		return
	case shell:
		r.Add(codeNotRun, b.Pos, "mark it sh if its commands are to run",
			"a fence marked %s is not run", lang)
		return
	case b.Pos.Before(r.quote) || r.otherLabel:
		r.Add(
			codeNotRun,
			b.Pos,
			"move it under Commands or Verification if its commands are to run",
			"this fence is not run: it stands in a quote or under a label that a phase does "+
				"not have",
		)
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
