package compile

import (
	"slices"

	"tercet/commands/syntax"
	"tercet/internal/query"
)

// again keeps what was compiled for one place, to be given at others. What stands in `yaml defaults` and in Between Steps is
// compiled for many steps and comes out alike for most of them.
type again[T any] struct {
	made  T
	ready bool
	bare  bool     // it has no expression, so that the variables of the place do not matter
	vars  []string // those of the place it was made at
	reads []read   // what it reads that has to be checked at each place
}

// read is a reference to something that is not the same at each place: $steps and $it.
type read struct {
	expr *syntax.Expr
	ref  query.Ref
}

// once gives what was made at a like place, and checks what it reads; else it is made. What was found wrong is not kept, so
// that it is found again: the message may name the step.
func once[T any](c *compiler, a *again[T], make func() T) T {
	if a.ready && !c.anew && (a.bare || sameVars(a.vars, c.scope.vars)) {
		for _, r := range a.reads {
			c.reference(r.expr, r.ref)
		}
		if c.noting {
			c.noted = append(c.noted, a.reads...)
		}
		if !a.bare {
			c.exprs++
		}
		return a.made
	}
	found, exprs, from, noting := c.reports, c.exprs, len(c.noted), c.noting
	c.noting = true
	a.made = make()
	a.ready, a.bare, a.vars = c.reports == found, c.exprs == exprs, c.scope.vars
	a.reads = slices.Clone(c.noted[from:])
	if c.noting = noting; !noting {
		c.noted = c.noted[:0]
	}
	return a.made
}

// wide is a list of variables with the names that any set gives.
type wide struct {
	it       bool // and with $it
	from, to []string
}

// widen gives the variables of the present place with the names that any set of the file gives, whether it stands before it
// or not. Places that differ only in that share one list, so that an expression is compiled once for all of them.
func (c *compiler) widen(it bool) []string {
	vars := c.scope.vars
	for i := range c.wides {
		if w := &c.wides[i]; w.it == it && sameVars(w.from, vars) {
			return w.to
		}
	}
	sets := c.sets()
	to := make([]string, 0, len(vars)+len(sets)+1)
	for _, name := range vars {
		if !slices.Contains(sets, name) {
			to = append(to, name)
		}
	}
	to = append(to, sets...)
	if it {
		to = append(to, "$it")
	}
	for i := range c.wides {
		if slices.Equal(c.wides[i].to, to) {
			to = c.wides[i].to
			break
		}
	}
	c.wides = append(c.wides, wide{it, vars, to})
	return to
}

// sets lists the names that any `set` of the file gives.
func (c *compiler) sets() []string {
	if c.given == nil {
		c.given = []string{}
		c.walk(c.gives)
	}
	return c.given
}

// gives notes the names that a step sets, or one that takes its effect back.
func (c *compiler) gives(s *syntax.Step) {
	if set, ok := s.Action.(*syntax.Set); ok {
		for _, v := range set.Values {
			if name := "$" + v.Name.Text; !slices.Contains(c.given, name) {
				c.given = append(c.given, name)
			}
		}
	}
	if s.Compensate != nil {
		c.givesWithin(s.Compensate)
	}
}

func (c *compiler) givesWithin(s *syntax.Step) {
	c.gives(s)
	if p, ok := s.Action.(*syntax.Parallel); ok {
		for _, child := range p.Children {
			c.givesWithin(child)
		}
	}
	for _, inner := range s.Body {
		c.givesWithin(inner)
	}
}

// steady tells whether a target means the same behind every step.
func steady(t *syntax.Target) bool {
	return t == nil || len(t.Steps) == 0 && (t.Gate == nil || steadyChoices(t.Gate))
}

func steadyChoices(g *syntax.Gate) bool {
	return !slices.ContainsFunc(g.Choices, func(ch syntax.GateChoice) bool { return !steady(ch.Target) })
}

func steadyRule(r syntax.Rule) bool {
	return !slices.ContainsFunc(r.Targets, func(t *syntax.Target) bool { return !steady(t) })
}

// hostedStep is a step of Between Steps as it was compiled for a host.
type hostedStep struct {
	op   *Op
	info *stepInfo
}

// repeats tells whether a step of Between Steps comes out alike around every step. One that changes a status or has a body need not.
func repeats(b *syntax.Step) bool {
	if b.Compensate != nil {
		return false
	}
	switch a := b.Action.(type) {
	case *syntax.Delegate:
		return a.Pick == nil && a.Agent.Text != StatusSync
	case *syntax.Gate, *syntax.Check, *syntax.Set, *syntax.Fail, *syntax.Publish, nil:
		return true
	}
	return false
}

// rehosted makes a step of Between Steps out of that for another host: only where it leads back to differs.
func (c *compiler) rehosted(b *syntax.Step, first *Op, id string) *Op {
	op := c.made.ops.New()
	*op = *first
	op.ID = id
	from, asks := b.Action.(*syntax.Gate)
	made, asked := first.Do.(*Gate)
	if asks && asked && !steadyChoices(from) {
		gate := *made
		gate.Choices = slices.Clone(gate.Choices)
		for i, ch := range from.Choices {
			if !steady(ch.Target) {
				gate.Choices[i].Target = c.target(ch.Target)
			}
		}
		op.Do = &gate
	}
	c.rules(b, op, first.On)
	return op
}
