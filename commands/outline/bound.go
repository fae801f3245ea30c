package outline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/commands/compile"
	"tercet/formats"
)

// Bound is the most that a run can cost before its limits stop it. What depends on the length of a list is told a list.
type Bound struct {
	Calls   int           `json:"calls"`   // of subagents, retries and ways back included
	Workers int           `json:"workers"` // those of them that are no Go code
	Time    time.Duration `json:"-"`       // sum of the timeouts
	Each    []EachBound   `json:"each,omitempty"`
	Depth   int           `json:"depth"`
	Gates   int           `json:"gates"` // that stop for a person at least once
	Worst   Worst         `json:"worst"`
}

// EachBound is what one element of a loop can cost.
type EachBound struct {
	Loop    string        `json:"loop"` // id of the step
	Item    string        `json:"item"` // name of the loop variable
	Calls   int           `json:"calls"`
	Workers int           `json:"workers"`
	Time    time.Duration `json:"-"`
}

// BoundOf adds up the steps of a program with what is known of the subagents.
func BoundOf(p *compile.Program, known func(agent string) Facts) Bound {
	o := Of(p)
	c := counter{limits: p.Limits.WithDefaults(), known: known}
	total := c.sequence(append(append([]*Node{}, o.Steps...), o.Errors...), "")
	b := Bound{
		Calls: total.calls, Workers: total.workers, Time: total.time, Each: c.each,
		Depth: formats.CommandDepth().Int(),
	}
	o.Walk(func(n *Node) {
		if len(n.Agents) > 0 && b.Depth < 2 {
			b.Depth = 2
		}
	})
	if slices.ContainsFunc(o.Agents(), func(agent string) bool { return known(agent).Program != nil }) {
		b.Depth = formats.MaxDepth
	}
	b.Gates = len(o.Gates())
	if o.During != "" {
		b.Calls += 2 // the status before the work, and the one that takes it back
	}
	b.Worst = worst(p, known, b.Depth)
	return b
}

type counter struct {
	limits formats.Limits
	known  func(agent string) Facts
	each   []EachBound
	// elements is how many elements a list is taken to have; 0 keeps loops over lists apart, in each.
	elements int
	nested   bool            // these are the steps of a subagent
	unpriced map[string]bool // workers whose calls cost an amount that nothing bounds
}

// sequence adds up steps in order; a way back adds the steps between its first target and the step once for each time
// that it may be taken.
func (c *counter) sequence(list []*Node, inside string) cost {
	costs := make([]cost, len(list))
	at := map[string]int{}
	var sum cost
	for i, n := range list {
		at[n.ID] = i
		costs[i] = c.node(n, inside)
		sum = sum.plus(costs[i])
	}
	for i, n := range list {
		for _, w := range n.Ways {
			if len(w.Ask) > 0 { // the question, and the step once more
				asked := cost{calls: 1, workers: 1, time: formats.DefaultStepTimeout, money: c.price(w.Ask)}
				sum = sum.plus(costs[i].plus(asked).times(formats.DefaultAsk))
			}
		}
		for _, w := range n.backs() {
			again := costs[i]
			for _, id := range w.Back {
				if k, ok := at[id]; ok && k != i {
					again = again.plus(costs[k])
				}
			}
			sum = sum.plus(again.times(c.times(w)))
		}
	}
	return sum
}

// backs are the ways of a step, and of what is in it, that run steps again.
func (n *Node) backs() []Way {
	var out []Way
	for _, w := range n.Ways {
		if len(w.Back) > 0 {
			out = append(out, w)
		}
	}
	return out
}

func (c *counter) times(w Way) int {
	switch {
	case w.Max > 0:
		return w.Max
	case w.To == "rollback":
		return c.limits.Rollbacks
	case w.To == "goto":
		return c.limits.Visits
	default:
		return formats.DefaultRedo
	}
}

func (c *counter) node(n *Node, inside string) cost {
	var own cost
	if len(n.Agents) > 0 {
		own = cost{calls: n.Attempts, time: n.Timeout * time.Duration(n.Attempts)}
		if n.Timeout > 0 {
			own.workers = n.Attempts
			own.money = c.price(n.Agents) * float64(n.Attempts)
			own = own.plus(c.inside(n.Agents).times(n.Attempts))
		}
	}
	if len(n.Children) == 0 {
		return own
	}
	body := c.sequence(n.Children, cmp.Or(n.Many, inside))
	switch {
	case n.Most > 0:
		return own.plus(body.times(n.Most))
	case n.Many != "" && c.elements > 0:
		return own.plus(body.times(c.elements))
	case n.Many != "":
		c.each = append(c.each, EachBound{
			Loop: n.ID, Item: n.Many, Calls: body.calls, Workers: body.workers,
			Time: body.time,
		})
		return own
	default:
		return own.plus(body)
	}
}

// String says the bound in one sentence.
func (b Bound) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s of subagents, %d of them workers, %s", counted(b.Calls, "call"), b.Workers, span(b.Time))
	for _, e := range b.Each {
		fmt.Fprintf(&s, "; for each $%s of %s %s, %d of workers, %s", e.Item, e.Loop, counted(e.Calls, "call"), e.Workers,
			span(e.Time))
	}
	return s.String()
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// span is a duration without empty parts.
func span(d time.Duration) string {
	if d == 0 {
		return "no waiting"
	}
	text := d.Round(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
