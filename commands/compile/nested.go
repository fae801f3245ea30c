package compile

import (
	"slices"
	"strconv"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/internal/query"
)

// parallel compiles the children of a step that run side by side. Afterwards each is known by its name.
func (c *compiler) parallel(a *syntax.Parallel, s *syntax.Step, id string) Action {
	p := &Parallel{Merge: c.merge(a.Merge, len(a.Children))}
	outer, last, under := c.scope, c.last, c.under
	c.scope = c.enter(id, "")
	c.under = append(slices.Clone(under), c.inherit(s))
	var infos results
	for _, child := range a.Children {
		c.scope.steps = nil // a child does not see the others
		c.scope.self, c.child = c.id(child), true
		if op := c.step(child, c.scope.self); op != nil {
			p.Children = append(p.Children, op)
			infos.add(op.ID, c.scope.steps.of(op.ID))
		}
		c.child = false
	}
	c.scope, c.last, c.under = outer, last, under
	outer.steps = append(outer.steps, infos...)
	if len(a.Children) == 0 {
		c.report(a.Pos, CodeNoChildren, "write {name: {delegate: subagent}}", "parallel has no children")
	}
	return p
}

// inherit is what a step gives to the delegations inside it.
func (c *compiler) inherit(s *syntax.Step) inherited {
	in := inherited{with: s.With, timeout: c.timeout(s.Timeout), retry: c.retry(s.Retry)}
	if s.Board != nil {
		in.board = s.Board.Text
	}
	if s.In != nil {
		in.in = s.In.Text
	}
	return in
}

// until compiles a body that is repeated. Its steps are known afterwards: what they show is the last pass.
func (c *compiler) until(a *syntax.Until, s *syntax.Step, id string) Action {
	u := &Until{Max: a.Max}
	outer, last, under := c.scope, c.last, c.under
	c.scope, c.last = c.enter(id, ""), nil
	c.under = append(slices.Clone(under), c.inherit(s))
	moves := movesInside(s.Body)
	if moves {
		c.status = statuses{}
	}
	u.Body = c.steps(s.Body)
	inner := c.scope
	u.Cond = c.expr(a.Cond)
	c.scope, c.last, c.under = outer, last, under
	outer.steps = append(outer.steps, inner.steps...)
	if moves {
		c.status = statuses{}
	}
	if most := formats.DefaultElements; a.Max > most {
		c.report(a.Pos, CodeLimitValue, "", "expected max from 1 to %d, got %d", most, a.Max)
	}
	if len(u.Body) == 0 {
		c.report(a.Pos, CodeAction, "put deeper step headings below it, or do: with a list of steps", "until has no body")
	}
	return u
}

// group compiles steps under one condition; they belong to the sequence around it.
func (c *compiler) group(a *syntax.Group, s *syntax.Step) Action {
	for _, f := range s.With[:min(1, len(s.With))] {
		c.report(f.Key.Pos, CodeCompanion, "write it beside each delegate, or in 'yaml defaults'", "'with' belongs to 'delegate'")
	}
	if len(s.On) > 0 {
		c.report(s.On[0].Status.Pos, CodeCompanion, "write it beside the steps of the group", "'on' belongs to a step with an action")
	}
	self, sure := c.scope.self, c.unsure
	c.unsure = c.unsure || s.When != nil || s.Tier != nil
	g := &Group{Body: c.steps(s.Body)}
	c.scope.self, c.unsure = self, sure
	if len(g.Body) == 0 {
		c.report(a.Pos, CodeAction, "put deeper step headings below it, or steps into do", "group has no body")
	}
	return g
}

// merge compiles the predicate over at most so many children. A bare all or any holds for any objects in jq.
func (c *compiler) merge(e *syntax.Expr, most int) *Expr {
	if e == nil {
		return nil
	}
	if word := strings.TrimSpace(e.Src); word == "all" || word == "any" {
		end := e.At(strings.Index(e.Src, word) + len(word))
		c.add(formats.Diagnostic{
			Code: CodeBareMerge, Severity: formats.SeverityError, File: c.file.Name, Pos: e.Pos, Help: "write " + word + "(approved)",
			Message: "'" + word + "' alone is true for any children", Fix: &formats.Fix{Start: end, End: end, Text: "(approved)"},
		})
		return nil
	}
	out := c.expr(e)
	if out != nil && slices.ContainsFunc(out.Code.Calls(), func(f query.Call) bool { return f.Args == 0 && (f.Name == "all" || f.Name == "any") }) {
		c.report(e.Pos, CodeBareMerge, "write all(approved) or any(approved)", "'all' or 'any' without a condition is true for any children")
	}
	c.quorum(e, most)
	return out
}

// quorum refuses a number that is written down and that the children cannot reach, or that none of them is needed for.
func (c *compiler) quorum(e *syntax.Expr, most int) {
	const word = "quorum("
	at := strings.Index(e.Src, word)
	if at < 0 {
		return
	}
	text, _, _ := strings.Cut(e.Src[at+len(word):], ")")
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && (n < 1 || most > 0 && n > most) {
		c.report(e.At(at+len(word)), CodeBareMerge, "it is how many of the children must pass", "expected quorum from 1 to %d, got %d", max(1, most), n)
	}
}

// publish lowers `publish` to a call of the git-workflow-manager.
func (c *compiler) publish(a *syntax.Publish) Action {
	with := &Value{IsMap: true, Fields: []Field{{Key: "action", Value: c.lit("publish")}}}
	if a.To != nil {
		with.Fields = append(with.Fields, Field{Key: "to", Value: c.value(a.To)})
	}
	if a.As != nil {
		word := literal(a.As)
		ways := []string{"merge", "squash", "patch", "pr"}
		switch {
		case a.As.Kind != syntax.Literal || !slices.Contains(ways, word):
			c.report(a.As.Pos, CodeMember, nearest.Help(word, ways), "expected one of %s, got %s", strings.Join(ways, ", "), shown(a.As))
		case word != "merge":
			c.report(a.As.Pos, CodeUnsupported, "write as: merge", "'as: %s' is not supported yet", word)
		}
		with.Fields = append(with.Fields, Field{Key: "as", Value: c.value(a.As)})
	}
	return &Delegate{Agent: GitWorkflow, Info: c.builtin(a.Pos, GitWorkflow), With: with}
}

// builtin is the contract of a subagent that steps are lowered to.
func (c *compiler) builtin(pos syntax.Pos, name string) *formats.AgentInfo {
	info, ok := c.contract(name)
	if !ok {
		c.report(pos, CodeAgent, "it comes with tercet; is the set of subagents complete?", "unknown subagent '%s'", name)
	}
	c.mayCall(pos, info, name)
	return info
}

// worktree compiles the frontmatter's worktree.
func (c *compiler) worktree() {
	w := c.file.Front.Worktree
	if w == nil {
		return
	}
	info := c.builtin(w.Pos, GitWorkflow)
	call := func(action string) *Delegate {
		return &Delegate{Agent: GitWorkflow, Info: info, With: &Value{IsMap: true, Fields: []Field{{Key: "action", Value: c.lit(action)}}}}
	}
	out := &Worktree{Open: call("open"), Close: call("close")}
	if w.Branch != nil {
		out.Open.With.Fields = append(out.Open.With.Fields, Field{Key: "branch", Value: &Value{Text: c.text(w.Branch)}})
	}
	c.prog.Worktree = out
}

// tiers declares the tiers, their flag and their variable.
func (c *compiler) tiers() []syntax.Argument {
	args := c.file.Front.Arguments
	words := c.file.Front.Tiers
	if len(words) == 0 {
		return args
	}
	var names []string
	for _, w := range words {
		names = append(names, w.Text)
	}
	c.prog.Tiers = names
	if slices.ContainsFunc(args, func(a syntax.Argument) bool { return a.Name.Text == tierName }) {
		return args
	}
	pos := words[0].Pos
	flag := syntax.Argument{
		Pos: pos, Name: syntax.Word{Pos: pos, Text: tierName}, Type: syntax.Word{Pos: pos, Text: "enum"}, Flag: true, Values: names,
		Description: "how much of the work to do",
	}
	// A flag has no place among the positional arguments: before them it changes nothing of their order.
	return append([]syntax.Argument{flag}, args...)
}

// tierName is the argument and the variable of the tier.
const tierName = "tier"

// tier gives the names of the tiers in which a step runs; nil: in all.
func (c *compiler) tier(t *syntax.Tier) []string {
	if t == nil {
		return nil
	}
	if c.prog.Tiers == nil {
		c.report(t.Pos, CodeTier, "declare tiers: [...] in the frontmatter", "the file has no tiers")
		return nil
	}
	out := []string{}
	for _, w := range t.Names {
		at := slices.Index(c.prog.Tiers, w.Text)
		switch {
		case at < 0:
			c.noTier(w.Pos, w.Text)
		case t.OrLater:
			out = append(out, c.prog.Tiers[at:]...)
		default:
			out = append(out, w.Text)
		}
	}
	return out
}

func (c *compiler) noTier(pos syntax.Pos, name string) {
	help := nearest.Help(name, c.prog.Tiers)
	if help == "" {
		help = "the tiers are " + strings.Join(c.prog.Tiers, ", ")
	}
	c.report(pos, CodeTier, help, "no tier is named '%s'", name)
}

// tierValue checks a value that is given to $tier as far as it is written down.
func (c *compiler) tierValue(name string, e *syntax.Expr) {
	if name != tierName || c.prog.Tiers == nil || e == nil {
		return
	}
	c.tiered = true
	src := strings.TrimSpace(e.Src)
	if len(src) < 2 || src[0] != '"' || strings.Count(src, `"`) != 2 || !strings.HasSuffix(src, `"`) {
		return
	}
	if word := src[1 : len(src)-1]; !strings.Contains(word, `\`) && !slices.Contains(c.prog.Tiers, word) {
		c.noTier(e.At(1), word)
	}
}

// checkTier: $tier must be given by something.
func checkTier(c *compiler) {
	if c.prog.Tiers != nil && !c.tiered {
		c.report(c.file.Front.Tiers[0].Pos, CodeTier, "write load: {tier: $args.tier | default(\""+c.prog.Tiers[0]+"\")}", "neither load nor set gives $tier")
	}
}

// compensate compiles the step that takes this one's effect back.
func (c *compiler) compensate(s *syntax.Step, id string) *Op {
	if s == nil {
		return nil
	}
	status, self, aside, unsure := c.status, c.scope.self, c.aside, c.unsure
	c.aside, c.unsure = true, true
	before := len(c.scope.steps)
	op := c.step(s, id+".compensate")
	c.scope.steps = c.scope.steps[:before] // nobody reads what it gave
	c.status, c.scope.self, c.aside, c.unsure = status, self, aside, unsure
	return op
}
