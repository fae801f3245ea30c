package compile

import (
	"maps"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

// inherited is what a loop gives to the delegations of its body; their own keys win.
type inherited struct {
	with    []syntax.Field
	timeout formats.Timeout
	retry   *Retry
	in      string
	board   string
}

// merged is the step's own input with that of the loops around under it. What the subagent does not list is left out.
func (c *compiler) merged(own []syntax.Field, agent *formats.AgentInfo) []syntax.Field {
	out := slices.Clip(own) // what is added is added to a copy
	for _, loop := range slices.Backward(c.under) {
		for _, f := range loop.with {
			_, listed := agent.Inputs[f.Key.Text]
			given := slices.ContainsFunc(out, func(o syntax.Field) bool { return o.Key.Text == f.Key.Text })
			if !given && (listed || agent.Inputs == nil && !agent.Builtin) {
				out = append(out, f)
			}
		}
	}
	return out
}

// input is the whole input of a delegation. What the file's defaults give may read what is set later: it is null before.
func (c *compiler) input(own []syntax.Field, agent *formats.AgentInfo) (*Value, []syntax.Field) {
	list := c.merged(own, agent)
	d := c.file.Defaults
	if d == nil || len(d.With) == 0 || agent.Builtin || agent.Name == "" {
		out := c.made.values.New()
		out.IsMap, out.Fields = true, c.fields(list)
		return out, list
	}
	outer, lenient := c.scope, c.lenient
	loose := *outer
	loose.vars = c.widen(false)
	if len(list) == 0 && agent.Inputs == nil {
		c.scope, c.lenient = &loose, true
		out := once(c, &c.defaulted.whole, func() *Value { return c.defaultInput(nil, agent) })
		c.scope, c.lenient = outer, lenient
		return out, d.With
	}
	fields := c.fields(list)
	c.scope, c.lenient = &loose, true
	out := c.defaultInput(list, agent)
	c.scope, c.lenient = outer, lenient
	out.Fields = append(fields, out.Fields...)
	for _, f := range d.With {
		if slices.ContainsFunc(out.Fields[len(fields):], func(o Field) bool { return o.Key == f.Key.Text }) {
			list = append(list, f)
		}
	}
	return out, list
}

// defaultInput is what the defaults add to an input.
func (c *compiler) defaultInput(list []syntax.Field, agent *formats.AgentInfo) *Value {
	out := c.made.values.New()
	out.IsMap = true
	if c.defaulted.with == nil {
		c.defaulted.with = make([]again[*Value], len(c.file.Defaults.With))
	}
	out.Fields = c.made.fields.List(len(c.defaulted.with))
	c.defaulted.inputs = true
	for i, f := range c.file.Defaults.With {
		_, listed := agent.Inputs[f.Key.Text]
		if listed || agent.Inputs == nil {
			c.defaulted.fields = append(c.defaulted.fields, f.Key.Text)
		}
		given := slices.ContainsFunc(list, func(o syntax.Field) bool { return o.Key.Text == f.Key.Text })
		if !given && (listed || agent.Inputs == nil) {
			v := once(c, &c.defaulted.with[i], func() *Value { return c.value(f.Value) })
			out.Fields = append(out.Fields, Field{Key: f.Key.Text, Value: v})
		}
	}
	return out
}

// inputs checks the step's input against the subagent's contract.
func (c *compiler) inputs(agent *formats.AgentInfo, with []syntax.Field, pos syntax.Pos) {
	if agent.Inputs == nil {
		return
	}
	for _, f := range with {
		in, ok := agent.Inputs[f.Key.Text]
		if !ok {
			names := slices.Sorted(maps.Keys(agent.Inputs))
			list := "; expected one of " + strings.Join(names, ", ")
			if len(names) == 0 {
				list = ", nor any other"
			}
			c.report(f.Key.Pos, CodeInput, nearest.Help(f.Key.Text, names), "subagent %s takes no input '%s'%s", agent.Name, f.Key.Text, list)
			continue
		}
		if !fits(in.Type, f.Value) {
			c.report(f.Value.Pos, CodeInput, "", "expected %s for input '%s', got %s", in.Type, f.Key.Text, shown(f.Value))
		}
	}
	c.required(agent, func(name string) bool {
		return slices.ContainsFunc(with, func(f syntax.Field) bool { return f.Key.Text == name })
	}, pos)
}

func (c *compiler) required(agent *formats.AgentInfo, given func(name string) bool, pos syntax.Pos) {
	for _, name := range c.needs(agent) {
		if !given(name) {
			c.report(pos, CodeInput, "add it: with: {"+name+": ...}", "subagent %s needs the input '%s'", agent.Name, name)
		}
	}
}

// needs lists the inputs that a subagent cannot do without, in order.
func (c *compiler) needs(agent *formats.AgentInfo) []string {
	for i := range c.agents {
		if a := &c.agents[i]; a.info == agent {
			if a.needs == nil {
				a.needs = []string{}
				for name := range agent.Inputs {
					if agent.Inputs[name].Required {
						a.needs = append(a.needs, name)
					}
				}
				slices.Sort(a.needs)
			}
			return a.needs
		}
	}
	return nil
}

// fits tells whether what is written can be of the type; null fits all, and what an expression gives is known at run time.
func fits(t formats.InputType, v *syntax.Value) bool {
	switch v.Kind {
	case syntax.Jq:
		return true
	case syntax.Template:
		return v.Text.Whole || t == formats.TypeString || t == formats.TypeAny
	case syntax.Map:
		return t == formats.TypeObject || t == formats.TypeAny
	case syntax.List:
		return t == formats.TypeArray || t == formats.TypeList || t == formats.TypeAny
	case syntax.Literal:
	}
	switch lit := v.Lit.(type) {
	case nil:
		return true
	case string:
		return t == formats.TypeString || t == formats.TypeAny
	case bool:
		return t == formats.TypeBoolean || t == formats.TypeAny
	case int:
		return t == formats.TypeInteger || t == formats.TypeNumber || t == formats.TypeAny
	case float64:
		return t == formats.TypeNumber || t == formats.TypeAny || t == formats.TypeInteger && lit == float64(int(lit))
	}
	return true
}
