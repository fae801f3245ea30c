package outline

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tercet/commands/argspec"
	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/plain"
)

// Cost is the most that steps can use. Sums and products saturate instead of overflowing.
type Cost struct {
	Calls   int           `json:"calls"`   // of subagents, with retries and repeats
	Workers int           `json:"workers"` // of those, calls of workers
	Time    time.Duration `json:"-"`       // sum of the timeouts
	Dollars float64       `json:"-"`       // of the calls whose cost is bounded
}

// Bound is the most that a run can cost before its limits stop it. Costs that depend on the length
// of a list are given per element.
type Bound struct {
	Cost
	Each  []EachBound `json:"each,omitempty"`
	Depth int         `json:"depth"`
	Gates int         `json:"gates"` // steps that may stop and ask the user
	Worst Worst       `json:"worst"`
}

// EachBound is what one element of a loop can cost.
type EachBound struct {
	Loop string `json:"loop"` // id of the step
	Item string `json:"item"` // name of the loop variable
	Cost
}

// Facts is what bounding the cost of a subagent needs to know about it.
type Facts struct {
	Free    bool             // its work costs nothing
	Own     bool             // a program of the project works: tercet pays for nothing
	Cost    float64          // upper bound of one call in US dollars, 0 if there is none
	Program *compile.Program // its own steps; nil if it has none
	Asks    string           // its question to the user before it works; empty: none
	Models  []Model          // requested models, by the runners that it may have
}

// Model is the model that a subagent gets on a runner, if one is requested.
type Model struct {
	Agent  string `json:"agent"`
	Runner string `json:"runner"`
	Name   string `json:"model"`
	From   string `json:"from"` // who requested it
}

// String is the model as the page of explain shows it.
func (m Model) String() string {
	return fmt.Sprintf("%s: %s on %s, from %s", m.Agent, plain.Line(m.Name), m.Runner, m.From)
}

// models are those of the subagents, and of the steps that they have themselves.
func (o *Outline) models(known func(agent string) Facts) (out []Model) {
	for _, agent := range o.Agents() {
		f := known(agent)
		out = append(out, f.Models...)
		if f.Program != nil {
			out = append(
				out,
				Of(f.Program).models(func(agent string) Facts {
					return Facts{Models: known(agent).Models}
				})...,
			)
		}
	}
	return out
}

// Worst is the most that a run can use before its limits stop it, however long its lists are.
type Worst struct {
	Agents  int           `json:"agents"` // calls of workers
	Depth   int           `json:"depth"`
	Time    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	// Cost is in US dollars; nil if nothing bounds it. Unpriced then lists the subagents without a
	// limit.
	Cost     *float64 `json:"cost_usd"`
	Unpriced []string `json:"unpriced,omitempty"`
	// Programs tells that all of those are programs of the project.
	Programs bool `json:"-"`
}

// BoundOf adds up the steps of a program for one line.
func BoundOf(p *compile.Program, known func(agent string) Facts, line argspec.Values) Bound {
	all := known
	known = func(agent string) Facts { return all(p.FullName(agent)) }
	o := Of(p).forLine(line)
	limits := p.Limits.WithDefaults()
	apart := counter{limits: limits, known: known}
	b := Bound{
		Cost:  apart.all(o),
		Depth: formats.CommandDepth().Int(),
		Gates: len(o.Gates(known)),
	}
	b.Each = apart.each
	for _, agent := range o.Agents() {
		b.Depth = max(b.Depth, 2)
		if known(agent).Program != nil {
			b.Depth = formats.MaxDepth
		}
	}

	if status, _ := p.During(); status != "" {
		b.Calls += 2 // the status before the work, and the one that takes it back
	}
	// Every list at the length at which the engine stops, and then the limits of the file.
	c := counter{
		limits:   limits,
		known:    known,
		elements: limits.Elements,
		unpriced: map[string]Facts{},
	}
	total := c.all(o)
	w := Worst{
		Agents: total.Workers,
		Depth:  b.Depth,
		Time:   min(total.Time, limits.Duration),
	}
	if limits.Spawns > 0 {
		w.Agents = min(w.Agents, limits.Spawns)
	}
	w.Seconds = w.Time.Seconds()
	w.Unpriced = slices.Sorted(maps.Keys(c.unpriced))
	w.Programs = len(w.Unpriced) > 0 && !slices.ContainsFunc(w.Unpriced, func(name string) bool {
		return !c.unpriced[name].Own
	})
	switch {
	case limits.Cost > 0 && (len(w.Unpriced) > 0 || total.Dollars > limits.Cost):
		w.Cost = &limits.Cost
		w.Unpriced = nil
	case len(w.Unpriced) == 0:
		w.Cost = &total.Dollars
	}

	b.Worst = w
	return b
}

type counter struct {
	limits formats.Limits
	known  func(agent string) Facts
	each   []EachBound
	// elements is how many elements a list is taken to have; 0 keeps loops over lists apart, in
	// each.
	elements int
	nested   bool             // these are the steps of a subagent
	unpriced map[string]Facts // workers whose calls cost an amount that nothing bounds
}

func (c *counter) all(o *Outline) Cost {
	return c.sequence(slices.Concat(o.Steps, o.Errors))
}

// sequence adds up steps in order. A way back adds the steps from its first target to the step,
// once for each time that it may be taken.
func (c *counter) sequence(list []*Node) Cost {
	costs := make([]Cost, len(list))
	at := map[string]int{}
	var sum Cost
	for i, n := range list {
		at[n.Info.ID] = i
		costs[i] = c.node(n)
		sum = sum.plus(costs[i])
	}

	for i, n := range list {
		for _, w := range n.Ways {
			if len(w.Ask) > 0 { // the question, and the step once more
				asked := Cost{
					Calls:   1,
					Workers: 1,
					Time:    formats.DefaultStepTimeout,
					Dollars: c.price(w.Ask),
				}
				sum = sum.plus(costs[i].plus(asked).times(formats.DefaultAsk))
			}
			if len(w.Back) == 0 {
				continue
			}
			again := costs[i]
			for _, id := range w.Back {
				if k, ok := at[id]; ok && k != i {
					again = again.plus(costs[k])
				}
			}
			sum = sum.plus(again.times(w.most(c.limits)))
		}
	}

	return sum
}

// most is how often a way back may be taken.
func (w Way) most(limits formats.Limits) int {
	switch {
	case w.Max > 0:
		return w.Max
	case w.To == "rollback":
		return limits.Rollbacks
	case w.To == "goto":
		return limits.Visits
	default:
		return formats.DefaultRedo
	}
}

func (c *counter) node(n *Node) Cost {
	var own Cost
	if len(n.Agents) > 0 {
		own.Calls = n.Attempts
		if n.Timeout > 0 {
			once := Cost{
				Workers: 1,
				Time:    n.Timeout,
				Dollars: c.price(n.Agents),
			}
			own = own.plus(once.plus(c.stepsOf(n.Agents)).times(n.Attempts))
		}
	}
	if len(n.Children) == 0 {
		return own
	}

	body := c.sequence(n.Children)
	switch {
	case n.Most > 0:
		body = body.times(n.Most)
	case n.Many != "" && c.elements > 0:
		body = body.times(c.elements)
	case n.Many != "":
		c.each = append(c.each, EachBound{
			Loop: n.Info.ID,
			Item: n.Many,
			Cost: body,
		})
		return own
	}

	return own.plus(body)
}

// price is the most that one call of the dearest of some subagents costs.
func (c *counter) price(agents []string) float64 {
	most := 0.0
	for _, name := range agents {
		f := c.known(name)
		switch {
		case f.Free, f.Cost == 0 && f.Program != nil: // its steps are counted
		case f.Cost > 0:
			most = max(most, f.Cost)
		case c.unpriced != nil:
			c.unpriced[name] = f
		}
	}
	return most
}

// stepsOf is the most that the steps of one of some subagents cost beside the call itself. Their
// time is part of its own; what has steps calls nothing that has.
func (c *counter) stepsOf(agents []string) Cost {
	var most Cost
	for _, name := range agents {
		f := c.known(name)
		if f.Program == nil || c.elements == 0 || c.nested {
			continue
		}
		in := counter{
			limits:   c.limits,
			known:    c.known,
			elements: c.elements,
			unpriced: c.unpriced,
			nested:   true,
		}
		if f.Cost > 0 {
			in.unpriced = nil // its own limit stops it
		}
		own := in.all(Of(f.Program))
		if f.Cost > 0 {
			own.Dollars = 0 // the call has it already
		}
		most.Calls = max(most.Calls, own.Calls)
		most.Workers = max(most.Workers, own.Workers)
		most.Dollars = max(most.Dollars, own.Dollars)
	}
	return most
}

func (c Cost) times(n int) Cost {
	return Cost{
		product(c.Calls, n),
		product(c.Workers, n),
		product(c.Time, time.Duration(n)),
		c.Dollars * float64(n),
	}
}

func (c Cost) plus(d Cost) Cost {
	return Cost{
		sum(c.Calls, d.Calls),
		sum(c.Workers, d.Workers),
		sum(c.Time, d.Time),
		c.Dollars + d.Dollars,
	}
}

func sum[T int | time.Duration](a, b T) T {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

func product[T int | time.Duration](a, n T) T {
	if n > 0 && a > math.MaxInt/n {
		return math.MaxInt
	}
	return a * n
}

// String is the most that one element of a loop can use.
func (e EachBound) String() string {
	return fmt.Sprintf("for each $%s of %s: %s of workers, %s",
		e.Item, e.Loop, formats.Count(e.Workers, "call"), Span(e.Time))
}

// Span is a duration without empty parts.
func Span(d time.Duration) string {
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
