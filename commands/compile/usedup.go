package compile

import (
	"bytes"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
)

// usedUpRule is a counted target of a step that passed, and the step behind that one. When the
// target is used up, the run ends with LIMIT, so no path leads to the next step.
type usedUpRule struct {
	target *syntax.Target
	next   *syntax.Step
}

// lastCounted gives the last target of a step whose passing outcomes all lead to counted targets,
// and nowhere else once these are used up. It is nil if a path leads from the step to the next one.
func lastCounted(info *Info) *syntax.Target {
	if info.Step.When != nil || info.Tiers != nil || !rulesOutcomes(info) {
		return nil
	}

	var last *syntax.Target
	for _, o := range info.Outcomes() {
		rule := ruleFor(info.On, o.String())
		if rule == nil {
			if o.Passes() {
				return nil
			}
			continue
		}
		counted, goesOn := info.lastCountedTarget(rule.Targets, o.Passes())
		if goesOn {
			return nil
		}
		if counted != nil && o.Passes() {
			last = counted
		}
	}

	return last
}

// lastCountedTarget gives the last of the targets if it is counted and takes everything that comes
// to it. goesOn tells that the run may also go on to the next step.
func (i *Info) lastCountedTarget(
	targets []*syntax.Target,
	passes bool,
) (last *syntax.Target, goesOn bool) {
	for _, t := range targets {
		switch t.Kind {
		case syntax.ToNext, syntax.ToGate, syntax.ToAsk, syntax.ToRollback:
			// the user may accept what is rolled back
			return nil, true
		case syntax.ToFail, syntax.ToReturn, syntax.ToRedo, syntax.ToGoto:
		}
		if t.If != nil {
			continue
		}
		if t.Max == 0 && t.Kind != syntax.ToRedo && !i.GoesBack(t) {
			return nil, false
		}
		last = t
	}
	return last, last == nil && passes
}

// reportUsedUp warns of a counted target behind which nothing says what comes when it is used up.
func (c *compiler) reportUsedUp(one usedUpRule) {
	d := formats.Found(CodeUsedUp, one.target.Pos,
		"write [{...}, next] to go on with the next step then",
		"once '%s' is used up the run ends with LIMIT, and no path leads to step '%s'",
		one.target.Kind, one.next.ID.Text)
	d.File = c.file.Name
	d.Fix = nextBehind(c.file.Src, one.target)
	c.add(d)
}

// nextBehind is the change that writes next behind a target on one line; nil for one in another
// form.
func nextBehind(src []byte, t *syntax.Target) *formats.Fix {
	lines := bytes.Split(src, []byte{'\n'})
	if t.Pos.IsZero() || t.End.Line != t.Pos.Line || t.Pos.Line > len(lines) {
		return nil
	}
	line := string(lines[t.Pos.Line-1])
	if t.End.Col-1 > len(line) {
		return nil
	}

	before := line[:t.Pos.Col-1]
	newline := "\n"
	if strings.HasSuffix(line, "\r") {
		newline = "\r\n"
	}
	lead := strings.TrimSpace(before)
	switch {
	case lead == "-":
		return &formats.Fix{
			Start: t.End,
			End:   t.End,
			Text:  newline + before + "next",
		}
	case strings.HasSuffix(lead, "[") || strings.HasSuffix(lead, ","):
		return &formats.Fix{
			Start: t.End,
			End:   t.End,
			Text:  ", next",
		}
	case strings.HasSuffix(lead, ":"):
		return &formats.Fix{
			Start: t.Pos,
			End:   t.End,
			Text:  "[" + line[t.Pos.Col-1:t.End.Col-1] + ", next]",
		}
	}

	return nil
}
