package outline

import (
	"math"
	"slices"
	"time"

	"tercet/commands/compile"
)

// Facts is what must be known of a subagent to bound what it costs.
type Facts struct {
	Free    bool             // what does its work costs nothing
	Cost    float64          // the most that one call costs in US dollars, 0 if nothing bounds it
	Program *compile.Program // its own steps, nil without any
}

// Worst is the most that a run can use before its limits stop it, whatever the lists are that it works through.
type Worst struct {
	Agents  int           `json:"agents"` // calls of workers
	Depth   int           `json:"depth"`
	Time    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"`
	// Cost is in US dollars; it is nil if nothing bounds it, and Unpriced then are the subagents without a limit.
	Cost     *float64 `json:"cost_usd"`
	Unpriced []string `json:"unpriced,omitempty"`
}

// worst counts every list at the length at which the engine stops, and then applies the limits of the file.
func worst(p *compile.Program, known func(agent string) Facts, depth int) Worst {
	o, limits := Of(p), p.Limits.WithDefaults()
	c := counter{limits: limits, known: known, elements: limits.Elements, unpriced: map[string]bool{}}
	total := c.sequence(append(append([]*Node{}, o.Steps...), o.Errors...), "")
	w := Worst{Agents: total.workers, Depth: depth, Time: min(total.time, limits.Duration)}
	if limits.Spawns > 0 {
		w.Agents = min(w.Agents, limits.Spawns)
	}
	for name := range c.unpriced {
		w.Unpriced = append(w.Unpriced, name)
	}
	slices.Sort(w.Unpriced)
	switch {
	case limits.Cost > 0 && (len(w.Unpriced) > 0 || total.money > limits.Cost):
		w.Cost, w.Unpriced = &limits.Cost, nil
	case len(w.Unpriced) == 0:
		w.Cost = &total.money
	}
	w.Seconds = w.Time.Seconds()
	return w
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
			c.unpriced[name] = true
		}
	}
	return most
}

// inside is the most that the steps of one of some subagents cost beside the call itself. Their time is part of its
// own; what has steps calls nothing that has.
func (c *counter) inside(agents []string) cost {
	var most cost
	for _, name := range agents {
		f := c.known(name)
		if f.Program == nil || c.elements == 0 || c.nested {
			continue
		}
		o := Of(f.Program)
		in := counter{limits: c.limits, known: c.known, elements: c.elements, unpriced: c.unpriced, nested: true}
		if f.Cost > 0 {
			in.unpriced = nil // its own limit stops it
		}
		own := in.sequence(append(append([]*Node{}, o.Steps...), o.Errors...), "")
		if f.Cost > 0 {
			own.money = 0 // the call has it already
		}
		most = cost{
			calls: max(most.calls, own.calls), workers: max(most.workers, own.workers),
			money: max(most.money, own.money),
		}
	}
	return most
}

// cost is what steps use at most. Sums and products stay at the highest number instead of going round.
type cost struct {
	calls, workers int
	time           time.Duration
	money          float64
}

func (c cost) times(n int) cost {
	return cost{product(c.calls, n), product(c.workers, n), product(c.time, time.Duration(n)), c.money * float64(n)}
}

func (c cost) plus(d cost) cost {
	return cost{sum(c.calls, d.calls), sum(c.workers, d.workers), sum(c.time, d.time), c.money + d.money}
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
