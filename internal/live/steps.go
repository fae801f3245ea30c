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

// treeNode is a step of a journal, a loop element or a later attempt, with its children.
type treeNode struct {
	name     string
	step     *journal.Step // nil: not a step
	children []*treeNode
}

// elementOrAttempt matches where an element or an attempt begins in a part of a step's path.
var elementOrAttempt = lazy.Regexp(`\[|\.[0-9]+/`)

// Steps draws the steps of a run from its journal. Nested steps show their own part of the path:
// element [0], later visit #2, later attempt .2. A width of 0 means no limit.
func Steps(list []journal.Step, width int, s Style) []string {
	top := &treeNode{}
	for i := range list {
		at := top
		for name := range strings.SplitSeq(
			elementOrAttempt().ReplaceAllString(list[i].Path, "/$0"), "/",
		) {
			at = at.child(strings.TrimSuffix(strings.TrimSuffix(name, "#1"), ".1"))
		}
		at.step = &list[i]
	}
	return draw(top.lines(nil, 1), cmp.Or(width, 10*maxText), time.Time{}, s)
}

// child returns the child of a name, and creates it if necessary; the first attempt is the node
// itself.
func (b *treeNode) child(name string) *treeNode {
	if name == "" {
		return b
	}
	i := slices.IndexFunc(b.children, func(one *treeNode) bool {
		return one.name == name
	})
	if i < 0 {
		i = len(b.children)
		b.children = append(b.children, &treeNode{name: name})
	}
	return b.children[i]
}

func (b *treeNode) lines(list []line, in int) []line {
	for _, one := range b.children {
		var lead strings.Builder
		// a single step needs no line for its element
		for ; one.step == nil && len(one.children) == 1; one = one.children[0] {
			lead.WriteString(clean(one.name) + " ")
		}
		l := line{
			indent: in,
			symbol: markHead,
			text:   lead.String() + clean(one.name),
		}
		s := cmp.Or(one.step, &journal.Step{})
		outcome := formats.Outcome(clean(s.Outcome))
		switch {
		case one.step == nil:
		case outcome == "", outcome == formats.OutcomeSkipped:
			l.symbol = markAside
			l.suffix = ": " + cmp.Or(string(outcome), "not finished")
		default:
			l.symbol, l.suffix = symbolOf(outcome)
			l.notes = []string{duration(time.Duration(s.Seconds * float64(time.Second)))}
		}
		l.notes = append(l.notes, budget{tokens: s.Tokens}.describe(budget{})...)
		if s.Summary != "" {
			l.notes = append(l.notes, clean(s.Summary))
		}
		list = append(list, l)
		for _, file := range s.Files {
			list = append(list, line{indent: in + 1, path: clean(file)})
		}
		list = one.lines(list, in+1)
	}

	return list
}
