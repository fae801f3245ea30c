package compile

import (
	"cmp"
	"slices"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
)

// attachHooks checks what runs before and after a step, for each such step, so that $it has its
// contract.
func (c *compiler) attachHooks(host *Info) {
	if c.inErrors || c.inParallel || c.inCompensation || c.host != nil {
		return
	}
	for _, b := range c.file.Between {
		list := b.After
		into := &host.After
		if b.Before != nil {
			list = b.Before
			into = &host.Before
		}
		switch {
		case list == nil,
			list.Each && (!host.callsWorker() || host.Call.Agent == GitWorkflow),
			!list.Each &&
				!slices.ContainsFunc(list.IDs, func(w syntax.Word) bool {
					return w.Text == host.ID
				}):
			continue
		}

		c.hosts[b] = append(c.hosts[b], host)
		if one := c.compileHook(b, host); one != nil {
			*into = append(*into, one)
		}
	}
}

// compileHook checks one step of Between Steps around a host.
func (c *compiler) compileHook(b *syntax.Step, host *Info) (one *Info) {
	outer := c.place
	id := host.ID + "." + b.ID.Text
	c.withAllNames([]string{"$it"}, func() {
		c.scope = &scope{
			vars:  c.scope.vars,
			task:  outer.scope.task,
			self:  host.ID,
			outer: outer.scope,
		}
		c.host = host
		c.conditional = true
		one = c.compileStep(b, id)
	})

	c.place = outer
	if one != nil {
		c.scope.steps = append(c.scope.steps, one)
	}
	return one
}

// checkBetween: steps between others name steps that there are, and read fields that one of them
// emits.
func checkBetween(c *compiler) {
	for _, b := range c.file.Between {
		a := cmp.Or(b.After, b.Before)
		if a == nil {
			continue
		}
		for _, w := range a.IDs {
			if c.checkStepID(w) &&
				!slices.ContainsFunc(c.hosts[b], func(host *Info) bool {
					return host.ID == w.Text
				}) {
				c.report(w.Pos, CodeAroundStep, "name the parallel step",
					"step '%s' is a child of parallel", w.Text)
			}
		}
		if a.Each && c.hosts[b] == nil {
			c.report(
				a.Pos,
				CodeAroundStep,
				"name the steps by their ids",
				"no step delegates to a worker",
			)
		}
		c.checkHostFields(b)
	}
}

// checkHostFields: a field of $it is one that some host of the step returns.
func (c *compiler) checkHostFields(b *syntax.Step) {
	var agents []*formats.AgentInfo
	for _, host := range c.hosts[b] {
		agents = append(agents, host.contract())
	}
	syntax.Walk(b, func(n any) bool {
		e, ok := n.(*syntax.Expr)
		if !ok || c.prog.Code(e) == nil {
			return true
		}
		for _, ref := range c.prog.Code(e).Refs() {
			if ref.Var != "$it" || ref.Bound || len(ref.Path) < 2 {
				continue
			}
			if ref.Path[0] == "fields" {
				c.checkEmitted(memberAt(e, ref, 1), agents, "their fields are %s",
					"no step that this one runs around returns a field '%s'")
			}
		}
		return true
	})
}

// checkDefaults: what the defaults give is taken by some worker, and what they say of an outcome is
// said of one that there is.
func checkDefaults(c *compiler) {
	d := c.file.Defaults
	if d == nil {
		return
	}

	c.checkWorktreeUse(d.In)
	var workers []*formats.AgentInfo
	var names []string
	for _, a := range c.prog.facts.agents {
		if a.Name == "" {
			return // it is not there, which was reported
		}
		if !a.Builtin {
			workers = append(workers, a)
			names = append(names, sortedKeys(a.Inputs)...)
		}
	}
	// Which subagent an argument names, and so what it takes, is known when a line is.
	anyone := func(a argspec.Spec) bool { return a.Type == argspec.Subagent }
	if len(c.file.Unread) > 0 || slices.ContainsFunc(c.prog.Args, anyone) {
		return
	}
	slices.Sort(names)
	for _, f := range d.With {
		name := f.Key.Text
		if workers != nil &&
			!slices.ContainsFunc(workers, func(a *formats.AgentInfo) bool {
				return takesInput(a, name)
			}) {
			c.reportUnknown(
				f.Key,
				CodeInput,
				slices.Compact(names),
				"",
				"no worker of the file takes an input '%s'",
			)
		}
	}

	for _, r := range d.On {
		outcome := formats.Outcome(r.Status.Text)
		if c.workerOutcomes != nil && slices.Contains(formats.Outcomes(), outcome) &&
			!slices.Contains(c.workerOutcomes, outcome) {
			what := "no worker that takes the rules of the defaults can end %s"
			c.report(r.Status.Pos, CodeOutcome, "remove it", what, outcome)
		}
	}
}
