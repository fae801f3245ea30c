package compile

import (
	"fmt"
	"strings"

	"tercet/commands/syntax"
)

// applyRouting makes each delegation to the default subagent of 'routing' one that goes by the
// language of the task.
func (c *compiler) applyRouting() {
	table := c.file.Front.Routing
	if len(table) == 0 {
		return
	}

	var usual syntax.Word
	among := []syntax.Word{}
	choice := []string{"if false then empty"}
	byLanguage := true
	for _, f := range table {
		value := literalText(f.Value)
		word := syntax.Word{Pos: f.Value.Pos, Text: value}
		switch {
		case f.Key.Text == "language_based":
			byLanguage = f.Value.Lit != false
		case value == "":
			c.report(f.Value.Pos, CodeAgent, "",
				"expected a subagent for %q, got %s", f.Key.Text, f.Value)
			return
		case f.Key.Text == "default" || f.Key.Text == "target_agent":
			usual = word
		default:
			among = append(among, word)
			choice = append(choice,
				fmt.Sprintf("elif $task.language == %q then %q", f.Key.Text, value))
		}
	}
	at := table[0].Key.Pos
	switch {
	case !byLanguage || len(among) == 0:
		return
	case usual.Text == "":
		c.report(at, CodeAgent, "add default: and the subagent that the steps name",
			"'routing' names no default subagent")
		return
	case !c.scope.task:
		c.report(at, CodeNoTask, "declare an argument of type task",
			"'routing' goes by the language of a task, and no argument binds one")
		return
	}

	by := &syntax.Delegate{
		Agent: usual,
		Among: append([]syntax.Word{usual}, among...),
		Pick: &syntax.Text{Pos: at, Whole: true, Parts: []syntax.Part{{Expr: &syntax.Expr{
			Pos: at,
			Src: strings.Join(choice, " ") + fmt.Sprintf(" else %q end", usual.Text),
		}}}},
	}
	if !routeSteps(c.file.Steps, by) {
		c.report(usual.Pos, CodeAgent, "name the subagent that a step delegates to",
			"no step delegates to '%s', so that 'routing' changes nothing", usual.Text)
	}
}

// routeSteps routes those of the steps that delegate to the default subagent, and tells whether
// there is one.
func routeSteps(list []*syntax.Step, by *syntax.Delegate) bool {
	found := false
	for _, s := range list {
		if d, ok := s.Action.(*syntax.Delegate); ok && d.Pick == nil &&
			d.Agent.Text == by.Agent.Text {
			one := *by
			one.Pos = d.Pos
			s.Action = &one
			found = true
		}
		if routeSteps(s.Body, by) {
			found = true
		}
	}
	return found
}
