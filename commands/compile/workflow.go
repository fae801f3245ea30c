package compile

import (
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

// Workflow compiles the steps of a subagent file. They read $input instead of $args, may call only what the contract
// names, and never talk to a person.
func Workflow(f *syntax.File, info formats.AgentInfo, env Env) (*Program, error) {
	if f.Hopeless {
		return nil, &formats.Diagnostics{List: f.Found, Sources: map[string][]byte{f.Name: f.Src}}
	}
	c := newCompiler(f, env)
	c.workflow = &info
	c.prog.Name, c.prog.Description, c.prog.Workflow = info.Name, info.Description, true
	c.scope = newScope(true)
	c.scope.add("$input")
	c.index()
	c.argsBlock()
	c.sequences()
	return c.finish()
}

// inputReference checks $input.NAME against the contract.
func (c *compiler) inputReference(pos syntax.Pos, name string) {
	if c.workflow == nil || c.workflow.Inputs == nil {
		return
	}
	if _, ok := c.workflow.Inputs[name]; ok {
		return
	}
	names := make([]string, 0, len(c.workflow.Inputs))
	for one := range c.workflow.Inputs {
		names = append(names, one)
	}
	slices.Sort(names)
	c.report(pos, CodeArgument, nearest.Help(name, names), "no input is named '%s'", name)
}

// mayAsk: only a command talks to a person.
func (c *compiler) mayAsk(pos syntax.Pos) {
	if c.workflow != nil {
		c.report(pos, CodeTalks, "return blocked with a reason, and let the command ask", "a subagent cannot ask a person")
	}
}

// mayCall: the steps of a subagent call what can_delegate_to names, and nothing that has steps itself.
func (c *compiler) mayCall(pos syntax.Pos, info *formats.AgentInfo, name string) {
	switch {
	case c.workflow == nil:
	case !slices.Contains(c.workflow.CanDelegateTo, name):
		c.report(pos, CodeMayNot, "add it to can_delegate_to", "subagent %s may not call '%s'", c.workflow.Name, name)
	case info.Workflow:
		c.report(pos, CodeMayNot, "call it from a command", "subagent '%s' has steps itself, and the depth ends at %d", name, formats.MaxDepth)
	}
}

// checkWorkflow: what only a command may do.
func checkWorkflow(c *compiler) {
	if c.workflow == nil {
		return
	}
	c.walk(func(s *syntax.Step) {
		if p, ok := s.Action.(*syntax.Publish); ok {
			c.report(p.Pos, CodeTalks, "publish in the command", "a subagent cannot publish")
		}
	})
	if len(c.file.Args.Allow) > 0 {
		c.report(c.file.Args.Allow[0].Pos, CodeTalks, "check the status in the command", "'allow' belongs to a command")
	}
}
