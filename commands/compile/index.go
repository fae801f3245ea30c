package compile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tercet/commands/syntax"
	"tercet/internal/lazy"
)

// selfWord is the word that stands for the present step in a list of ids.
const selfWord = "it"

// index knows every step of the file before any of them is checked.
type index struct {
	all       []*indexedStep
	byID      map[string]*indexedStep
	comesBack map[string]bool // ids that a rule runs again
	gotos     map[string]bool // ids that a goto names
	sets      []string        // variables that set gives
	boards    []string        // topics to which steps post
}

// indexedStep is one step of the file with the loops in which it stands, outermost first.
type indexedStep struct {
	step       *syntax.Step
	loops      []*syntax.Step
	between    bool // a step of Between Steps: no other one can name it
	besideLoop bool // the delegate beside a loop: its id is that of the subagent
}

// assignIDs gives every step of the file its id before anything is checked: the written one, else
// the slug of the title, made unique. It writes the delegate beside a loop out as the body of the
// loop, and notes which steps are run again.
func (c *compiler) assignIDs() {
	c.collectSteps(c.file.Steps, nil, false)
	c.collectSteps(c.file.Between, nil, true)
	c.collectSteps(c.file.Errors, nil, false)
	first := map[string]*syntax.Step{}
	for _, k := range c.index.all {
		id := &k.step.ID
		before := first[id.Text]
		switch {
		case id.Text == "" || k.besideLoop:
		case id.Text == selfWord:
			c.report(id.Pos, CodeName, "choose another id",
				"'%s' stands for the step itself", selfWord)
			id.Text = ""
		case before != nil:
			c.report(id.Pos, CodeStepTwice, "give one of them another id",
				"two steps have the id '%s', the first is on line %d", id.Text, before.ID.Pos.Line)
			id.Text = ""
		default:
			first[id.Text] = k.step
		}
	}

	tries := map[string]int{}
	for _, k := range c.index.all {
		if k.step.ID.Text != "" {
			continue
		}
		base := cmp.Or(slug(k.step.Title), "step")
		id := base
		for n := max(tries[base], 1) + 1; first[id] != nil || id == selfWord; n++ {
			id = base + "_" + strconv.Itoa(n)
			tries[base] = n
		}
		k.step.ID.Text = id
		first[id] = k.step
	}

	for _, k := range c.index.all {
		id := k.step.ID.Text
		taken := first[id] != nil || c.index.byID[id] != nil
		if !k.between && (!k.besideLoop || !taken) {
			c.index.byID[id] = k
		}
	}

	syntax.Walk(c.file, func(n any) bool {
		switch n := n.(type) {
		case *syntax.Target:
			for _, id := range n.Steps {
				switch {
				case n.Kind == syntax.ToGoto:
					c.index.gotos[id.Text] = true
				case id.Text != selfWord:
					c.index.comesBack[id.Text] = true
				}
			}
		case *syntax.Step:
			for _, name := range n.Binds() {
				c.index.sets = append(c.index.sets, "$"+name)
			}
			if n.Board != nil && n.Board.Topic != nil {
				c.index.boards = append(c.index.boards, n.Board.Topic.Text)
			}
		}
		return true
	})

	slices.Sort(c.index.boards)
	c.index.boards = slices.Compact(c.index.boards)
	for _, k := range c.index.all {
		if k.step.Kind().Body == syntax.Inline && c.index.comesBack[k.step.ID.Text] {
			for _, inner := range k.step.Body {
				c.index.comesBack[inner.ID.Text] = true
			}
		}
	}
}

// collectSteps lists steps, bodies behind their loop, and gives a loop with a delegate beside it
// that delegate as its body.
func (c *compiler) collectSteps(list, around []*syntax.Step, apart bool) {
	for _, s := range list {
		c.index.all = append(c.index.all, &indexedStep{
			step:    s,
			loops:   around,
			between: apart,
		})

		body := s.Kind().Body
		besideLoop := body == syntax.Repeated && s.Delegation() != nil
		inner := around
		if body != syntax.Inline && (len(s.Body) > 0 || besideLoop) {
			inner = slices.Concat(around, []*syntax.Step{s})
		}
		c.collectSteps(s.Body, inner, apart)

		if besideLoop {
			s.Body = []*syntax.Step{loopBodyStep(s, s.Delegation())}
			c.index.all = append(c.index.all, &indexedStep{
				step:       s.Body[0],
				loops:      inner,
				between:    apart,
				besideLoop: true,
			})
		}
	}
}

// loopBodyStep is the step that the delegate in the block of a loop is. What is expected of fields
// is expected of each element's; everything else that is asked of a result is asked of the loop's.
func loopBodyStep(s *syntax.Step, delegate *syntax.Delegate) *syntax.Step {
	body := *s
	body.Action = delegate
	body.When = nil
	body.On = nil
	body.Table = nil
	body.Return = nil
	body.Tier = nil
	body.Compensate = nil
	body.Sentence = nil
	body.ID = syntax.Word{Text: "delegate"} // which subagent it is may differ by element
	if delegate.Pick == nil {
		body.ID.Text = slug(delegate.Agent.Text)
	}

	if e := s.Expect; e != nil {
		body.Expect = &syntax.Expect{Pos: e.Pos, Schema: e.Schema}
		s.Expect = &syntax.Expect{
			Pos:      e.Pos,
			Artifact: e.Artifact,
			If:       e.If,
			Else:     e.Else,
		}
	}
	return &body
}

// loopsAround gives the loops in which a step stands but the present place does not, outermost
// first.
func (c *compiler) loopsAround(id string) []string {
	var out []string
	if k := c.index.byID[id]; k != nil {
		for _, loop := range k.loops {
			if out != nil || !c.scope.isInLoop(loop.ID.Text) {
				out = append(out, loop.ID.Text)
			}
		}
	}
	return out
}

// maxSlug is the most bytes of an id that is made from a title.
const maxSlug = 40

// slug makes an id of a title: lower case letters and digits, '_' between words.
func slug(title string) string {
	id := strings.TrimLeft(strings.ToLower(nonWord().ReplaceAllString(title, "_")), "_0123456789")
	return strings.TrimRight(id[:min(len(id), maxSlug)], "_")
}

// nonWord is what stands between the words of a title.
var nonWord = lazy.Regexp(`[^A-Za-z0-9]+`)
