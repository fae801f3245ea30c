package compile

import (
	"slices"
	"strconv"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// inherited is what a loop gives to the calls of its body; their own keys win.
type inherited struct {
	with  []syntax.Field
	terms Terms
}

// compileBody checks a body in a scope of its own; as is the name of its variable, empty without
// one. The steps of the body are known to it alone, and what it is in the loops around stays as it
// was.
func (c *compiler) compileBody(info *Info, as string, check func()) *scope {
	outer := c.place
	in := &scope{
		vars:  slices.Clone(outer.scope.vars),
		task:  outer.scope.task,
		loop:  info.ID,
		outer: outer.scope,
	}
	in.add("$index")
	if as != "" {
		in.add("$" + as)
	}

	c.scope = in
	moves := movesInside(info.Step.Body)
	if moves {
		c.status = statuses{}
	}

	if info.Step.Delegation() == nil {
		c.loops = append(slices.Clone(c.loops), inherited{info.Step.With, c.termsOf(info.Step)})
	}

	check()
	c.place = outer
	if moves {
		c.status = statuses{}
	}
	return in
}

// compileParallel checks the children of a step that run side by side. Afterwards each is known by
// its name.
func (c *compiler) compileParallel(a *syntax.Parallel, info *Info) {
	// those were reported
	children := slices.DeleteFunc(slices.Clone(
		info.Step.Body,
	), func(s *syntax.Step) bool { return s.Number != "" })
	ids := make([]string, len(children))
	for i, child := range children {
		ids[i] = child.ID.Text
	}

	c.compileMerge(a.Merge, ids, len(ids))
	var all []*Info
	c.compileBody(info, "", func() {
		for _, child := range children {
			c.scope.steps = nil // a child does not see the others
			c.scope.self = child.ID.Text
			c.inParallel = true
			if one := c.compileStep(child, child.ID.Text); one != nil {
				all = append(all, one)
			}
		}
	})
	c.scope.steps = append(c.scope.steps, all...)
	if len(children) == 0 {
		c.report(
			a.Pos,
			CodeNoChildren,
			"write {name: {delegate: subagent}}",
			"parallel has no children",
		)
	}
}

// compileUntil checks a body that is repeated. Its steps are known afterwards: what they show is
// the last pass.
func (c *compiler) compileUntil(a *syntax.Until, info *Info) {
	in := c.compileBody(info, "", func() {
		c.compileSteps(info.Step.Body)
		c.compileExpr(a.Cond)
	})

	c.scope.steps = append(c.scope.steps, in.steps...)
	if most := formats.DefaultElements; a.Max > most {
		c.report(a.Pos, CodeLimitValue, "", "expected max from 1 to %d, got %d", most, a.Max)
	}
	if len(in.steps) == 0 {
		c.report(
			a.Pos,
			CodeAction,
			"put deeper step headings below it, or do: with a list of steps",
			"until has no body",
		)
	}
}

func (c *compiler) compileForeach(a *syntax.Foreach, info *Info) {
	c.compileExpr(a.In)
	c.compileMerge(a.Merge, nil, formats.DefaultElements)
	if slices.Contains(reserved, a.As.Text) {
		c.report(a.As.Pos, CodeName, "choose another name", "'$%s' is the engine's", a.As.Text)
	}
	if a.Parallel > formats.MaxParallel {
		c.report(a.Pos, CodeLimitValue, "",
			"expected max_parallel from 1 to %d, got %d", formats.MaxParallel, a.Parallel)
	}

	in := c.compileBody(info, a.As.Text, func() {
		if a.Delegate == nil {
			c.compileSteps(info.Step.Body)
			return
		}
		c.scope.self = info.Step.Body[0].ID.Text
		// of the defaults, what the loop itself has no rule for
		if one := c.compileStep(info.Step.Body[0], c.scope.self); one != nil {
			one.On = slices.DeleteFunc(one.On, func(r syntax.Rule) bool {
				return ruleFor(info.Step.On, r.Status.Text) != nil
			})
		}
	})

	if len(in.steps) == 0 {
		c.report(
			a.Pos,
			CodeAction,
			"put deeper step headings below it, or a delegate beside it",
			"foreach has no body",
		)
	}
}

// compileGroup checks steps under one condition; they belong to the sequence around it.
func (c *compiler) compileGroup(a *syntax.Group, info *Info) {
	c.reportStray(
		info.Step.With,
		"write it beside each delegate, or in 'yaml defaults'",
		"'with' belongs to 'delegate'",
	)
	c.reportStray(
		info.Step.On,
		"write it beside the steps of the group",
		"'on' belongs to a step with an action",
	)

	self := c.scope.self
	unsure := c.conditional
	before := len(c.scope.steps)
	c.conditional = unsure || info.Step.When != nil || info.Step.Tier != nil
	c.compileSteps(info.Step.Body)
	c.scope.self = self
	c.conditional = unsure

	if len(c.scope.steps) == before {
		c.report(
			a.Pos,
			CodeAction,
			"put deeper step headings below it, or steps into do",
			"group has no body",
		)
	}
}

// compileMerge checks the predicate over the children with some ids, or with nil over at most so
// many elements. A bare all or any holds for any objects in jq.
func (c *compiler) compileMerge(e *syntax.Expr, ids []string, most int) {
	if e == nil {
		return
	}
	if word := strings.TrimSpace(e.Src); word == "all" || word == "any" {
		end := e.At(strings.Index(e.Src, word) + len(word))
		d := formats.Found(CodeBareMerge, e.Pos, "write "+word+"(approved)",
			"'%s' alone is true for any children", word)
		d.File = c.file.Name
		d.Fix = &formats.Fix{
			Start: end,
			End:   end,
			Text:  "(approved)",
		}
		c.add(d)
		return
	}

	bare := func(f query.Call) bool {
		return f.Args == 0 && (f.Name == "all" || f.Name == "any")
	}
	code := c.compileExpr(e)
	if code != nil && slices.ContainsFunc(code.Calls(), bare) {
		help := "write all(approved) or any(approved)"
		c.report(
			e.Pos,
			CodeBareMerge,
			help,
			"'all' or 'any' without a condition is true for any children",
		)
		return
	}

	// A quorum that is written down must be one that the children can reach, and for which one of
	// them is needed.
	before, rest, ok := strings.Cut(e.Src, "quorum(")
	number, _, _ := strings.Cut(rest, ")")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if ok && err == nil && (n < 1 || most > 0 && n > most) {
		help := "it is how many of the children must pass"
		c.report(e.At(len(before)+len("quorum(")), CodeBareMerge, help,
			"expected quorum from 1 to %d, got %d", max(1, most), n)
		return
	}

	c.checkMergeSense(e, code, ids)
}
