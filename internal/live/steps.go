package live

import (
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/lazy"
)

// branch is a step of a journal, or an element or a later attempt, with what it holds.
type branch struct {
	name  string
	step  *journal.Step // nil: it is no step
	below []*branch
}

// inner is where an element or an attempt begins within a part of a step's path.
var inner = lazy.Regexp(`\[|\.[0-9]+/`)

// Steps draws the steps of a run as its journal has them. What a step holds stands below it by its own part of the
// path: element [0], later visit #2, later attempt .2.
func Steps(list []journal.Step, width int, s Style) []string {
	top := &branch{}
	for i := range list {
		at := top
		for name := range strings.SplitSeq(inner().ReplaceAllString(list[i].Path, "/$0"), "/") {
			at = at.at(strings.TrimSuffix(strings.TrimSuffix(name, "#1"), ".1"))
		}
		at.step = &list[i]
	}
	return drawn(top.lines(nil, 1), width, time.Time{}, s)
}

// at is what a branch holds by a name; the first attempt is the branch itself.
func (b *branch) at(name string) *branch {
	for _, one := range b.below {
		if one.name == name {
			return one
		}
	}
	if name != "" {
		b.below = append(b.below, &branch{name: name})
		return b.below[len(b.below)-1]
	}
	return b
}

func (b *branch) lines(list []line, in int) []line {
	for _, one := range b.below {
		lead := ""
		for ; one.step == nil && len(one.below) == 1; one = one.below[0] { // a single step needs no line for its element
			lead += said(one.name) + " "
		}
		l := line{in: in, mark: markHead, text: lead + said(one.name)}
		if s := one.step; s != nil {
			outcome := formats.Outcome(said(s.Outcome))
			l.mark, l.end = signOf(outcome)
			switch outcome {
			case formats.OutcomeSkipped:
				l.mark, l.end = markAside, ": skipped"
			case "":
				l.end = ": not finished"
			default:
				l.notes = append(l.notes, short(time.Duration(s.Seconds*float64(time.Second))))
			}
			l.notes = append(l.notes, budget{tokens: s.Tokens}.words(budget{})...)
			if s.Summary != "" {
				l.notes = append(l.notes, said(s.Summary))
			}
		}
		if list = append(list, l); one.step != nil {
			for _, file := range one.step.Files {
				list = append(list, line{in: in + 1, path: said(file)})
			}
		}
		list = one.lines(list, in+1)
	}
	return list
}
