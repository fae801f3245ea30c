package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/internal/nearest"
)

// draft is one heading of a section with the fences below it.
type draft struct {
	heading  *md.Block
	number   string // "" when the heading is no step
	title    string
	fences   []*md.Block
	unmarked []*md.Block // fences that could be blocks but are not marked as such
}

// drafts cuts a section at its headings. Fences before the first heading come in a draft without
// one.
func (p *parser) drafts(s md.Section) []draft {
	out := []draft{{}}
	for i := range s.Blocks {
		b := &s.Blocks[i]
		last := &out[len(out)-1]
		switch {
		case b.Kind == md.Heading && b.Depth == 0:
			d := draft{heading: b, title: cleanTitle(b.Text)}
			if number, rest, ok := stepLine(d.title); ok {
				d.number = number
				d.title = rest
			}
			out = append(out, d)
		case b.Kind != md.Fence:
		default:
			switch p.fenceKindOf(b) {
			case fenceStep:
				last.fences = append(last.fences, b)
			case fenceDefaults:
				if len(out) > 1 || s.Title() == "" ||
					sectionName(cleanTitle(s.Title())) != sectionWorkflow {
					p.reportOutside(s.Blocks[i : i+1])
					continue
				}
				p.readDefaults(b)
			case fenceArgs:
				if p.subagent && len(out) == 1 && p.file.Args.Pos.IsZero() {
					p.checkMargin(b)
					p.argsBlock(b)
					continue
				}
				p.reportOutside(s.Blocks[i : i+1])
			case fenceOther:
				last.unmarked = append(last.unmarked, b)
			}
		}
	}

	return out
}

// titleAt is the place of the title.
func (p *parser) titleAt(d *draft) Pos {
	at := d.heading.Pos
	if d.number != "" {
		if i := strings.Index(p.doc.Line(at.Line), d.title); i >= 0 {
			at.Col = i + 1
		}
	}
	return at
}

// stepTitle is "Step <n>[.<m>...]: <title>".
var stepTitle = lazy.Regexp(`^Step\s+([0-9]+(?:\.[0-9]+)*)\s*:\s*(.*\S)`)

// stepLine reads "Step <n>[.<m>...]: <title>"; rest is the title.
func stepLine(s string) (number, rest string, ok bool) {
	m := stepTitle().FindStringSubmatch(s)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// isLikeStep reports a heading that was meant to be a step: it starts with that word, or with a
// number after one like it.
func isLikeStep(title string) bool {
	first, rest, _ := strings.Cut(title, " ")
	if len(first) >= 4 && strings.EqualFold(first[:4], "step") {
		return true
	}
	return rest != "" && rest[0] >= '0' && rest[0] <= '9' &&
		len(nearest.Names(strings.ToLower(first), []string{"step"})) > 0
}

// reportMisplaced reports headings that were meant to be steps but stand too high, or lack the
// space after the marks.
func (p *parser) reportMisplaced() {
	for i := range p.doc.Blocks {
		b := &p.doc.Blocks[i]
		if b.Kind != md.Heading || b.Depth > 0 || b.Level > 2 {
			continue
		}

		title := cleanTitle(b.Text)
		if _, _, isStep := stepLine(title); isStep {
			d := formats.Found(CodeStepHeading, b.Pos, "write ### "+title,
				"expected a step on heading level 3 to 6, got level %d", b.Level)
			p.highStep = true
			marks := strings.Repeat("#", b.Level)
			if strings.HasPrefix(p.doc.Line(b.Pos.Line), marks+" ") {
				d.Fix = &formats.Fix{
					Start: Pos{Line: b.Pos.Line, Col: 1},
					End:   Pos{Line: b.Pos.Line, Col: b.Level + 1},
					Text:  "###",
				}
			}
			p.add(d)
		}
	}

	for n, line := range p.doc.ProseLines() {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		marks := strings.TrimLeft(line, "#")
		if !strings.HasPrefix(marks, "S") {
			continue
		}
		if _, _, isStep := stepLine(cleanTitle(marks)); isStep {
			at := Pos{Line: n, Col: len(line) - len(marks) + 1}
			d := formats.Found(CodeStepHeading, Pos{Line: n, Col: 1}, "put a space after the '#'",
				"expected a heading '%s %s'", line[:len(line)-len(marks)], cleanTitle(marks))
			if at.Col <= 7 { // more marks are no heading
				d.Fix = &formats.Fix{
					Start: at,
					End:   at,
					Text:  " ",
				}
			}
			p.add(d)
		}
	}
}

// readWorkflow reads the section with the steps.
func (p *parser) readWorkflow(s md.Section) {
	list := p.drafts(s)

	p.warnStepOrder(list[1:])
	for _, d := range list[1:] {
		if isLikeStep(d.title) || d.number != "" {
			p.file.Literate = true
		}
	}

	if p.file.Literate {
		p.readLiterate(list)
	} else {
		p.readPlainWorkflow(s, list)
	}

	p.checkBodies(p.file.Steps)
	if len(p.file.Steps) == 0 && !p.highStep && (!p.file.Literate || len(p.found) == 0) {
		p.report(CodeSection, s.Heading.Pos, "add '### Step 1: <title>' with a block below it",
			"section '%s' has no steps", sectionWorkflow)
	}
}

// readLiterate reads the steps of a workflow that are headings.
func (p *parser) readLiterate(list []draft) {
	for _, b := range list[0].fences {
		p.report(CodeFencePlace, b.Pos, "put a heading '### Step <n>: <title>' before it",
			"block 'yaml step' without a step heading")
	}

	seen := map[string]int{}
	var stack []openStep
	p.file.Steps = make([]*Step, 0, len(list)-1)
	for i := range list[1:] {
		d := &list[i+1]
		if d.number == "" {
			p.readNonStep(d)
			continue
		}
		p.checkNumber(seen, d.number, d.heading.Pos)
		stack = p.attach(stack, openStep{step: p.readStep(d), level: d.heading.Level})
	}
}

// checkNumber reports a second step of a number.
func (p *parser) checkNumber(seen map[string]int, number string, at Pos) {
	if first := seen[number]; first > 0 {
		p.report(CodeNumber, at, "number the steps in order",
			"second step %s, the first is on line %d", number, first)
	}
	seen[number] = at.Line
}

// warnStepOrder warns of steps whose number does not fit their place: the readers of the file,
// people and other tools, go by the numbers, and tercet by the headings.
func (p *parser) warnStepOrder(list []draft) {
	var above []string // numbers of the steps around the present one
	var levels []int
	for i := range list {
		d := &list[i]
		if d.number == "" {
			continue
		}

		last := ""
		for len(levels) > 0 && levels[len(levels)-1] >= d.heading.Level {
			last = above[len(above)-1]
			above = above[:len(above)-1]
			levels = levels[:len(levels)-1]
		}

		within := ""
		if len(above) > 0 {
			within = above[len(above)-1] + "."
		}

		rest, below := strings.CutPrefix(d.number, within)
		switch {
		case !below || strings.Contains(rest, "."):
			p.report(CodeStepOrder, d.heading.Pos,
				"number it "+within+"N, or change its heading level",
				"step %s stands %s", d.number, placeOf(within))
		case last != "" && strings.HasPrefix(last, within):
			digits := strings.TrimPrefix(last, within)
			before, _ := strconv.Atoi(digits) //nolint:errcheck // it is a number
			now, _ := strconv.Atoi(rest)      //nolint:errcheck // it is a number
			if now != before && now != before+1 {
				p.report(CodeStepOrder, d.heading.Pos,
					fmt.Sprintf("number it %s%d", within, before+1),
					"step %s follows step %s", d.number, last)
			}
		}

		above = append(above, d.number)
		levels = append(levels, d.heading.Level)
	}
}

// placeOf says where a step stands, by the prefix of the numbers there.
func placeOf(within string) string {
	if within == "" {
		return "beside the steps of one number, and is a part of none"
	}
	return "below step " + strings.TrimSuffix(within, ".")
}

// openStep is a step on the way down to the present one.
type openStep struct {
	step  *Step
	level int
}

// attach puts a step below the nearest one of a higher level.
func (p *parser) attach(stack []openStep, n openStep) []openStep {
	for len(stack) > 0 && stack[len(stack)-1].level >= n.level {
		stack = stack[:len(stack)-1]
	}
	if len(stack) == 0 {
		p.file.Steps = append(p.file.Steps, n.step)
	} else {
		parent := stack[len(stack)-1].step
		parent.Body = append(parent.Body, n.step)
	}
	return append(stack, n)
}

// checkBodies reports deeper steps below a step that can have none, and makes a step with a body
// and no action a group.
func (p *parser) checkBodies(steps []*Step) {
	for _, s := range steps {
		if len(s.Body) > 0 {
			p.checkBody(s)
			p.checkBodies(s.Body)
		}
	}
}

func (p *parser) checkBody(s *Step) {
	say := s.Sentence != nil && s.Sentence.Kind == SayForEach
	if s.Action == nil && s.Sentence == nil && s.Table == nil && s.Return == nil && !p.invalid[s] {
		s.Action = &Group{Pos: s.Pos}
	}

	below := func(step *Step) bool { return step.Number != "" }
	at := slices.IndexFunc(s.Body, below)
	if at < 0 || p.invalid[s] {
		return
	}

	first := s.Body[at]
	body := s.Kind().Body
	switch {
	case say && s.Sentence.Agent.Text != "":
		p.report(CodeBody, first.Pos,
			"end step "+s.Number+" with the colon, or remove the deeper steps",
			"a loop has either deeper steps or a delegate")
	case say:
	case body != Inline && body != Repeated:
		p.report(CodeBody, first.Pos, "put the step on the level of step "+s.Number,
			"step %s stands below step %s, which is neither loop nor group",
			first.Number, s.Number)
	case s.Delegation() != nil:
		p.report(CodeBody, first.Pos,
			"remove 'delegate' from the block of step "+s.Number+", or the deeper steps",
			"a loop has either deeper steps or a delegate")
	case at > 0:
		p.report(CodeBody, first.Pos,
			"remove 'do' from the block of step "+s.Number+", or the deeper steps",
			"a step has either deeper steps or 'do'")
	}
}

// readNonStep deals with a heading in a literate workflow that is not "Step <n>: <title>".
func (p *parser) readNonStep(d *draft) {
	if isLikeStep(d.title) || len(d.fences) > 0 {
		p.report(CodeStepHeading, d.heading.Pos, "write it like '### Step 3: Return the plan'",
			"expected 'Step <n>: <title>', got %q", d.title)
	}
	for _, b := range d.fences {
		p.stepBlock(&Step{}, b)
	}
}

// readStep reads one heading with its block, or the sentence that the title is.
func (p *parser) readStep(d *draft) *Step {
	s := &Step{
		Pos:    d.heading.Pos,
		Number: d.number,
		Title:  d.title,
	}
	if len(d.fences) == 0 {
		if len(d.unmarked) > 0 && p.reportBare(d) || p.hasNearFence(d) {
			p.invalid[s] = true
			return s
		}
		p.readSentence(s, d.title, p.titleAt(d))
		return s
	}

	p.stepBlock(s, d.fences[0])
	p.reportFurther(d.fences, "give it a step heading of its own")
	return s
}

// reportFurther reports the blocks of a step behind the first, and reads them for what is wrong in
// them.
func (p *parser) reportFurther(fences []*md.Block, help string) {
	for _, b := range fences[1:] {
		p.report(CodeStepFence, b.Pos, help,
			"second block 'yaml step' in one step, the first is on line %d", fences[0].Pos.Line)
		p.stepBlock(&Step{}, b)
	}
}

// reportBare reports the YAML fences of a step without a block, and whether there were any.
func (p *parser) reportBare(d *draft) bool {
	before := len(p.found)
	for _, b := range d.unmarked {
		p.reportBareYAML(b, fenceStep)
	}
	return len(p.found) > before
}

// readBetween reads the steps of Between Steps, each with the steps around which it runs.
func (p *parser) readBetween(s md.Section) {
	p.inBetween = true
	p.file.Between = p.readLooseSteps(s, sectionBetween)
	p.inBetween = false
	for _, step := range p.file.Between {
		if p.invalid[step] {
			continue
		}
		if (step.After == nil) == (step.Before == nil) {
			p.report(CodeAround, step.Pos, "write after: [ids], before: [ids] or after: each",
				"a step of '%s' has either 'after' or 'before'", sectionBetween)
		}
		if step.Kind().Body != NoBody {
			p.report(CodeBody, step.Pos, "put the loop into the workflow",
				"a step of '%s' is a single step", sectionBetween)
		}
	}
}

// readDefaults reads the block `yaml defaults`.
func (p *parser) readDefaults(b *md.Block) {
	p.checkMargin(b)
	if p.file.Defaults != nil {
		p.report(CodeStepFence, b.Pos, "join the two",
			"second block 'yaml defaults', the first is on line %d", p.file.Defaults.Pos.Line-1)
		return
	}

	d := &Defaults{Pos: b.BodyPos}
	p.file.Defaults = d
	if n := p.block(b); n != nil {
		p.fill(d, defaultsForm, n, nil)
	}
}

// readLooseSteps reads the steps of a section in which any heading will do.
func (p *parser) readLooseSteps(s md.Section, title string) []*Step {
	var out []*Step
	for _, d := range p.drafts(s) {
		if len(d.fences) == 0 {
			p.reportBare(&d)
			continue
		}

		step := &Step{Pos: s.Heading.Pos, Title: title}
		if d.heading != nil {
			step.Pos = d.heading.Pos
			step.Title = d.title
			step.Number = d.number
		}
		p.stepBlock(step, d.fences[0])
		p.reportFurther(d.fences, "give it a heading of its own")
		out = append(out, step)
	}
	return out
}
