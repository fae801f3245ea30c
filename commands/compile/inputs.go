package compile

import (
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

// callInput is the whole input of a call: the step's own, that of the loops around, and what the
// file's defaults give. What the subagent does not list is left out of the last two. What the
// defaults give may read what is set later: it is null before.
func (c *compiler) callInput(own []syntax.Field, agent *formats.AgentInfo) []syntax.Field {
	out := slices.Clip(own) // what is added is added to a copy
	for _, f := range own {
		_, listed := agent.Inputs[f.Key.Text]
		if slices.Contains(formats.DepthKeys(), f.Key.Text) && !listed {
			c.report(f.Key.Pos, syntax.CodeOtherForm, "take it away",
				"input '%s' is ignored: tercet counts the depth by itself", f.Key.Text)
			out = slices.DeleteFunc(slices.Clone(out), func(o syntax.Field) bool {
				return o.Key == f.Key
			})
		}
	}

	for _, loop := range slices.Backward(c.loops) {
		for _, f := range loop.with {
			if !hasField(out, f.Key.Text) && takesInput(agent, f.Key.Text) {
				out = append(out, f)
			}
		}
	}

	c.compileValues(out)
	d := c.file.Defaults
	if d == nil || len(d.With) == 0 || agent.Builtin || agent.Name == "" {
		return out
	}

	c.withAllNames(nil, func() {
		for _, f := range d.With {
			if takesInput(agent, f.Key.Text) && !hasField(out, f.Key.Text) {
				c.compileValues(f.Value)
				out = append(out, f)
			}
		}
	})
	return out
}

// takesInput tells whether what is given to all goes to a subagent.
func takesInput(agent *formats.AgentInfo, name string) bool {
	_, listed := agent.Inputs[name]
	return listed || agent.Inputs == nil && !agent.Builtin
}

func hasField(list []syntax.Field, name string) bool {
	return slices.ContainsFunc(list, func(f syntax.Field) bool { return f.Key.Text == name })
}

// checkInputs holds the input of a call against the subagent's contract.
func checkInputs(c *compiler, call *Call, pos syntax.Pos) {
	agent := call.Info
	if agent.Inputs == nil {
		return
	}

	names := sortedKeys(agent.Inputs)
	for _, f := range call.With {
		in, ok := agent.Inputs[f.Key.Text]
		switch {
		case !ok:
			list := "; expected one of " + joinWords(names)
			if len(names) == 0 {
				list = ", nor any other"
			}
			help := nearest.Help(f.Key.Text, names)
			c.report(f.Key.Pos, CodeInput, help, "subagent %s takes no input '%s'%s", agent.Name,
				f.Key.Text, list)
		case !fitsType(in.Type, f.Value):
			c.report(f.Value.Pos, CodeInput, "",
				"expected %s for input '%s', got %s", in.Type, f.Key.Text, f.Value)
		case in.Enum != nil && f.Value.Kind == syntax.Literal && f.Value.Lit != nil &&
			!slices.Contains(in.Enum, literalText(f.Value)):
			c.report(f.Value.Pos, CodeInput, nearest.Help(literalText(f.Value), in.Enum),
				"expected one of %s for input '%s', got %s",
				strings.Join(in.Enum, ", "), f.Key.Text, f.Value)
		}
	}

	for _, name := range names {
		if agent.Inputs[name].Required && !hasField(call.With, name) {
			c.report(pos, CodeInput, "add it: with: {"+name+": ...}",
				"subagent %s needs the input '%s'", agent.Name, name)
		}
	}
}

// fitsType tells whether what is written can be of the type; null fits all, and what an expression
// gives is known at run time.
func fitsType(t formats.InputType, v *syntax.Value) bool {
	can := func(types ...formats.InputType) bool {
		return t == formats.TypeAny || slices.Contains(types, t)
	}
	switch v.Kind {
	case syntax.Jq:
		return true
	case syntax.Template:
		return v.Text.Whole || can(formats.TypeString)
	case syntax.Map:
		return can(formats.TypeObject)
	case syntax.List:
		return can(formats.TypeArray, formats.TypeList)
	case syntax.Literal:
	}

	switch lit := v.Lit.(type) {
	case string:
		return can(formats.TypeString)
	case bool:
		return can(formats.TypeBoolean)
	case int:
		return can(formats.TypeInteger, formats.TypeNumber)
	case float64:
		return can(formats.TypeNumber) || t == formats.TypeInteger && lit == float64(int(lit))
	}
	return true
}
