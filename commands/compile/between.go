package compile

import (
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/internal/query"
)

// itField is one read of a field of $it: some host must emit it.
type itField struct {
	name    string
	emitted bool
	names   []string
}

// around checks what runs before and after a step, for each such step, so that $it has its contract.
func (c *compiler) around(host *Info) {
	if c.inErrors || c.child || c.aside || c.host != nil {
		return
	}
	for _, b := range c.file.Between {
		list, into := b.After, &host.After
		if b.Before != nil {
			list, into = b.Before, &host.Before
		}
		switch {
		case list == nil:
			continue
		case list.Each:
			if !host.works() || host.Call.Agent == GitWorkflow {
				continue
			}
		case !slices.ContainsFunc(list.IDs, func(w syntax.Word) bool { return w.Text == host.ID }):
			continue
		}
		if c.hosts == nil {
			c.hosts = map[*syntax.Step][]string{}
		}
		c.hosts[b] = append(c.hosts[b], host.ID)
		if one := c.hosted(b, host); one != nil {
			*into = append(*into, one)
		}
	}
}

// hosted checks one step of Between Steps around a host.
func (c *compiler) hosted(b *syntax.Step, host *Info) (one *Info) {
	outer := c.place
	id := host.ID + "." + b.ID.Text
	c.loosely([]string{"$it"}, func() {
		c.scope = &scope{vars: c.scope.vars, task: outer.scope.task, self: host.ID, outer: outer.scope}
		c.host, c.unsure = host, true
		one = c.step(b, id)
	})
	c.place = outer
	if one != nil {
		c.scope.steps = append(c.scope.steps, one)
	}
	return one
}

// itReference checks $it.MEMBER and notes the fields that are read.
func (c *compiler) itReference(e *syntax.Expr, ref query.Ref) {
	c.member(memberAt(e, ref, 0), ref.Path[0],
		[]string{"id", "agent", "tools", "status", "summary", "artifacts", "fields", "issues"})
	if len(ref.Path) < 2 || ref.Path[0] != "fields" {
		return
	}
	name, pos := ref.Path[1], memberAt(e, ref, 1)
	f := c.itFields[pos]
	if f == nil {
		f = &itField{name: name}
		if c.itFields == nil {
			c.itFields = map[syntax.Pos]*itField{}
		}
		c.itFields[pos] = f
	}
	var agent *formats.AgentInfo
	if c.host != nil {
		agent = c.host.contract()
	}
	if agent == nil || agent.Fields == nil {
		f.emitted = true
		return
	}
	_, ok := agent.Fields[name]
	f.emitted = f.emitted || ok
	f.names = append(f.names, sorted(agent.Fields)...)
}

// checkBetween: steps between others name steps that there are, and read fields that one of them emits.
func checkBetween(c *compiler) {
	for _, b := range c.file.Between {
		a := b.After
		if a == nil {
			a = b.Before
		}
		if a == nil {
			continue
		}
		for _, w := range a.IDs {
			switch {
			case !c.exists(w):
			case !slices.Contains(c.hosts[b], w.Text):
				c.report(w.Pos, CodeAroundStep, "name the parallel step", "step '%s' is a child of parallel", w.Text)
			}
		}
		if a.Each && c.hosts[b] == nil {
			c.report(a.Pos, CodeAroundStep, "name the steps by their ids", "no step delegates to a worker")
		}
	}
	for pos, f := range c.itFields {
		if !f.emitted {
			slices.Sort(f.names)
			help := meant(f.name, slices.Compact(f.names), "their fields are ")
			c.report(pos, CodeField, help, "no step that this one runs around returns a field '%s'", f.name)
		}
	}
}

// defaulted is what became of `yaml defaults`.
type defaulted struct {
	fields  []string // of with: those that a worker takes
	words   []string // of on: outcomes that a worker can have
	inputs  bool     // a worker has been asked for its inputs
	rules   bool     // and one for its outcomes
	unknown bool     // a subagent that there is not was named
}

// checkDefaults: what the defaults give is taken by some worker, and what they say of an outcome is said of one that
// there is.
func checkDefaults(c *compiler) {
	d := c.file.Defaults
	if d == nil || len(c.file.Unread) > 0 || c.defaults.unknown {
		return
	}
	for _, f := range d.With {
		if !c.defaults.inputs || slices.Contains(c.defaults.fields, f.Key.Text) {
			continue
		}
		var names []string
		for _, a := range c.prog.facts.agents {
			if !a.Builtin {
				names = append(names, sorted(a.Inputs)...)
			}
		}
		slices.Sort(names)
		help := nearest.Help(f.Key.Text, slices.Compact(names))
		c.report(f.Key.Pos, CodeInput, help, "no worker of the file takes an input '%s'", f.Key.Text)
	}
	for _, r := range d.On {
		word := r.Status.Text
		if c.defaults.rules && slices.Contains(formats.Outcomes(), formats.Outcome(word)) &&
			!slices.Contains(c.defaults.words, word) {
			c.report(r.Status.Pos, CodeOutcome, "remove it", "no worker that takes the rules of the defaults can end %s", word)
		}
	}
}
