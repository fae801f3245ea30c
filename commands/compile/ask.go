package compile

import (
	"slices"
	"strings"
	"time"

	"tercet/commands/syntax"
	"tercet/internal/nearest"
)

func (c *compiler) gate(a *syntax.Gate, s *syntax.Step) Action {
	if len(s.On) > 0 {
		c.report(s.On[0].Status.Pos, CodeGate, "name the targets in choices", "a gate has 'choices' instead of 'on'")
	}
	return c.question(a)
}

// question compiles a gate of a step or of a rule.
func (c *compiler) question(a *syntax.Gate) *Gate {
	c.mayAsk(a.Pos)
	g := &Gate{Question: c.text(a.Question)}
	for _, e := range a.Show {
		g.Show = append(g.Show, c.expr(e))
	}
	labels := []string{}
	for _, ch := range a.Choices {
		labels = append(labels, ch.Label.Text)
		g.Choices = append(g.Choices, Choice{Label: ch.Label.Text, Target: c.target(ch.Target)})
	}
	switch {
	case a.Choices == nil:
		labels = []string{"approve", "reject"}
		g.Choices = []Choice{{Label: "approve", Target: &Target{Kind: ToNext}}, {Label: "reject", Target: &Target{Kind: ToFail}}}
	case len(a.Choices) == 0:
		c.report(a.Pos, CodeGate, "write {approve: next, reject: fail}, or leave the key out", "a gate has no choices")
	}
	if a.Auto != nil {
		c.choice(*a.Auto, labels)
		g.Auto = a.Auto.Text
	}
	g.Wait = c.wait(a.Timeout, labels)
	return g
}

// wait compiles the timeout of a gate.
func (c *compiler) wait(t *syntax.GateTimeout, labels []string) *Wait {
	if t == nil || t.Choose == nil {
		return nil
	}
	c.choice(*t.Choose, labels)
	return &Wait{After: time.Duration(t.After * float64(time.Second)), Choose: t.Choose.Text}
}

// choice checks that a label is one of the gate's.
func (c *compiler) choice(w syntax.Word, labels []string) {
	if slices.Contains(labels, w.Text) {
		return
	}
	help := nearest.Help(w.Text, labels)
	if help == "" {
		help = "the choices are " + strings.Join(labels, ", ")
	}
	c.report(w.Pos, CodeMember, help, "no choice is named '%s'", w.Text)
}

// pick compiles a delegation whose subagent an expression names.
func (c *compiler) pick(a *syntax.Delegate, s *syntax.Step, info *stepInfo) Action {
	d := &Delegate{Info: noAgent(), Pick: c.text(a.Pick), Prompt: c.text(s.Prompt)}
	for _, w := range a.Among {
		agent, ok := c.agent(w)
		one := &Delegate{Agent: w.Text, Info: agent, Prompt: d.Prompt}
		var with []syntax.Field
		one.With, with = c.input(s.With, agent)
		d.Among = append(d.Among, one)
		if ok {
			c.inputs(agent, with, w.Pos)
			info.among = append(info.among, agent)
		}
	}
	return d
}
