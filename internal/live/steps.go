package live

import (
	"cmp"
	"slices"
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

// Steps draws the steps of a run from its journal. Nested steps show their own part of the path:
// element [0], later visit #2, later attempt .2. A width of 0 cuts nothing.
func Steps(list []journal.Step, width int, s Style) []string {
	top := &branch{}
	for i := range list {
		at := top
		for name := range strings.SplitSeq(inner().ReplaceAllString(list[i].Path, "/$0"), "/") {
			at = at.at(strings.TrimSuffix(strings.TrimSuffix(name, "#1"), ".1"))
		}
		at.step = &list[i]
	}
	return drawn(top.lines(nil, 1), cmp.Or(width, 10*mostText), time.Time{}, s)
}

// at is what a branch holds by a name; the first attempt is the branch itself.
func (b *branch) at(name string) *branch {
	if name == "" {
		return b
	}
	i := slices.IndexFunc(b.below, func(one *branch) bool {
		return one.name == name
	})
	if i < 0 {
		i = len(b.below)
		b.below = append(b.below, &branch{name: name})
	}
	return b.below[i]
}

func (b *branch) lines(list []line, in int) []line {
	for _, one := range b.below {
		var lead strings.Builder
		// a single step needs no line for its element
		for ; one.step == nil && len(one.below) == 1; one = one.below[0] {
			lead.WriteString(said(one.name) + " ")
		}
		l := line{
			in:   in,
			mark: markHead,
			text: lead.String() + said(one.name),
		}
		s := cmp.Or(one.step, &journal.Step{})
		outcome := formats.Outcome(said(s.Outcome))
		switch {
		case one.step == nil:
		case outcome == "", outcome == formats.OutcomeSkipped:
			l.mark = markAside
			l.end = ": " + cmp.Or(string(outcome), "not finished")
		default:
			l.mark, l.end = signOf(outcome)
			l.notes = []string{short(time.Duration(s.Seconds * float64(time.Second)))}
		}
		l.notes = append(l.notes, budget{tokens: s.Tokens}.words(budget{})...)
		if s.Summary != "" {
			l.notes = append(l.notes, said(s.Summary))
		}
		list = append(list, l)
		for _, file := range s.Files {
			list = append(list, line{in: in + 1, path: said(file)})
		}
		list = one.lines(list, in+1)
	}

	return list
}
