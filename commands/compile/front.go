package compile

import (
	"slices"
	"strconv"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/documents"
)

func (c *compiler) declareArguments() {
	specs, found := argspec.Specs(c.declareTiers())
	for _, d := range found {
		d.File = c.file.Name
		c.add(d)
	}
	c.prog.Args = specs
}

// argNames lists the arguments that are declared.
func (c *compiler) argNames() []string {
	out := make([]string, 0, len(c.prog.Args)+1)
	for _, a := range c.prog.Args {
		out = append(out, a.Name)
	}
	return out
}

// declareTiers declares the tiers, their flag and their variable.
func (c *compiler) declareTiers() []syntax.Argument {
	args := c.file.Front.Arguments
	for _, w := range c.file.Front.Tiers {
		c.prog.Tiers = append(c.prog.Tiers, w.Text)
	}
	if c.prog.Tiers == nil ||
		slices.ContainsFunc(args, func(a syntax.Argument) bool {
			return a.Name.Text == tierName
		}) {
		return args
	}

	pos := c.file.Front.Tiers[0].Pos
	flag := syntax.Argument{
		Pos:         pos,
		Name:        syntax.Word{Pos: pos, Text: tierName},
		Type:        syntax.Word{Pos: pos, Text: "enum"},
		Flag:        true,
		Values:      c.prog.Tiers,
		Description: "how much of the work to do",
	}
	// A flag has no place among the positional arguments: before them it changes nothing of their
	// order.
	return append([]syntax.Argument{flag}, args...)
}

// tierName is the argument and the variable of the tier.
const tierName = "tier"

// checkTierNames gives the names of the tiers in which a step runs; nil: in all.
func (c *compiler) checkTierNames(t *syntax.Tier) []string {
	if t == nil {
		return nil
	}
	if c.prog.Tiers == nil {
		c.report(
			t.Pos,
			CodeTier,
			"declare tiers: [...] in the frontmatter",
			"the file has no tiers",
		)
		return nil
	}

	out := []string{}
	for _, w := range t.Names {
		at := slices.Index(c.prog.Tiers, w.Text)
		switch {
		case at < 0:
			c.reportNoTier(w)
		case t.OrLater:
			out = append(out, c.prog.Tiers[at:]...)
		default:
			out = append(out, w.Text)
		}
	}
	return out
}

func (c *compiler) reportNoTier(w syntax.Word) {
	c.reportUnknown(w, CodeTier, c.prog.Tiers, "the tiers are %s", "no tier is named '%s'")
}

// checkTierValue checks a value that is given to $tier as far as it is written down.
func (c *compiler) checkTierValue(name string, e *syntax.Expr) {
	if name != tierName || c.prog.Tiers == nil || e == nil {
		return
	}
	word, err := strconv.Unquote(strings.TrimSpace(e.Src))
	if err == nil && !slices.Contains(c.prog.Tiers, word) {
		c.reportNoTier(syntax.Word{Pos: e.At(1), Text: word})
	}
}

// checkTier: $tier must be given by something.
func checkTier(c *compiler) {
	if c.prog.Tiers != nil && !c.setsTier {
		help := "write load: {tier: $args.tier | default(\"" + c.prog.Tiers[0] + "\")}"
		c.report(c.file.Front.Tiers[0].Pos, CodeTier, help, "neither load nor set gives $tier")
	}
}

// checkWorktree checks the frontmatter's worktree.
func (c *compiler) checkWorktree() {
	w := c.file.Front.Worktree
	if w == nil {
		return
	}
	with := []syntax.Field{literalField("action", "open")}
	if w.Branch != nil {
		branch := &syntax.Value{Kind: syntax.Template, Text: w.Branch}
		with = append(with, newField("branch", branch))
	}
	c.prog.EngineCalls.Open = c.builtinCall(w.Pos, GitWorkflow, with...)
	c.prog.EngineCalls.Close = c.builtinCall(w.Pos, GitWorkflow, literalField("action", "close"))
	if w.Per.Text == syntax.PerChild {
		publish := literalField("action", "publish")
		c.prog.EngineCalls.Join = c.builtinCall(w.Pos, GitWorkflow, publish)
	}
}

// checkDuring makes the calls of the preflight. One that is wrong is taken out of the tree.
func checkDuring(c *compiler, d *syntax.During) {
	c.file.Front.During = nil
	if d == nil {
		return
	}

	status, ok := c.parseTaskStatus(d.Status)
	switch {
	case !ok:
		return
	case !status.InProgress():
		c.report(d.Status.Pos, CodeStatus, inProgressHelp(),
			"during needs a status that is in progress, got '%s'", status)
		return
	case !c.scope.task:
		c.report(d.Pos, CodeNoTask, "declare an argument of type task", "during needs a task")
		return
	}

	c.file.Front.During = d
	c.prog.EngineCalls.Begin = c.statusCall(d.Pos, status)
	if d.Failed == nil {
		return
	}

	failed, ok := c.parseTaskStatus(*d.Failed)
	switch {
	case !ok:
	case !formats.CanMove(status, failed):
		var can []formats.TaskStatus
		for _, m := range formats.Moves(status) {
			if !m.Recover {
				can = append(can, m.To)
			}
		}
		help := "from " + status.String() + " it can go to " + joinWords(can)
		c.report(d.Failed.Pos, CodeTransition, help, "a task cannot go from %s to %s", status,
			failed)
	default:
		c.prog.EngineCalls.Failed = c.statusCall(d.Failed.Pos, failed)
	}
}

// During gives the status of the task while the command runs, and whether each run sets it; empty
// if there is none.
func (p *Program) During() (status formats.TaskStatus, always bool) {
	d := p.File.Front.During
	if d == nil {
		return "", false
	}
	return formats.TaskStatus(d.Status.Text), d.When == nil
}

// statusCall changes the bound task's status; the reason, where the table asks one, is the command
// line.
func (c *compiler) statusCall(pos syntax.Pos, to formats.TaskStatus) *Call {
	return c.builtinCall(
		pos,
		StatusSync,
		literalField("operation", OpUpdateStatus),
		exprField("task_number", pos, "$task.number"),
		literalField("status", to.String()),
		exprField("reason", pos, "$run.command"),
	)
}

// checkArgsBlock checks allow, load and require.
func (c *compiler) checkArgsBlock() {
	c.checkAllow()
	for i := range c.file.Args.Load {
		c.checkLoad(&c.file.Args.Load[i])
	}
	for _, r := range c.file.Args.Require {
		c.compileExprs(r.When, r.Else)
		c.checkExitCode(r.Exit)
	}
}

// checkAllow reads the statuses from which the command may start; without the key they are those
// from which during is legal.
func (c *compiler) checkAllow() {
	during, always := c.prog.During()
	list := c.file.Args.Allow
	for _, w := range list {
		status, ok := c.parseTaskStatus(w)
		if !ok {
			continue
		}
		if always && !formats.CanMove(status, during) && status != during {
			help := during.String() + " can start from " + joinWords(formats.MovesInto(during))
			c.report(w.Pos, CodeAllow, help, "a task cannot go from %s to %s", status, during)
		}
		c.prog.Allow = append(c.prog.Allow, status)
	}

	switch {
	case list != nil && len(list) == 0:
		c.report(
			c.file.Args.Pos,
			CodeStatus,
			"name the statuses, or remove the key",
			"allow names no status",
		)
	case list != nil && !c.scope.task:
		c.report(list[0].Pos, CodeNoTask, "declare an argument of type task", "allow needs a task")
	case c.prog.Allow == nil && always:
		c.prog.Allow = formats.MovesInto(during)
	}
}

func (c *compiler) checkLoad(l *syntax.Load) {
	c.compileExprs(l)
	if l.Task != nil && l.Name.Text != "task" {
		c.report(l.Name.Pos, CodeName, "write task: "+l.Task.Src,
			"a task is loaded under the name 'task', got '%s'", l.Name.Text)
	}
	if l.Document != nil {
		c.checkProfile(l.Document.Profile)
	}
	c.checkTierValue(l.Name.Text, l.Expr)
	if !IsTask(l) {
		c.bindName(l.Name)
	}
}

// bindName makes a value visible to what follows it.
func (c *compiler) bindName(w syntax.Word) {
	switch {
	case w.Text == tierName && c.prog.Tiers != nil:
		c.setsTier = true
	case slices.Contains(reserved, w.Text):
		c.report(w.Pos, CodeName, "choose another name", "'$%s' is the engine's", w.Text)
	default:
		c.scope.add("$" + w.Text)
	}
}

func (c *compiler) checkProfile(w syntax.Word, more ...string) bool {
	all := documents.Profiles()
	if own, ok := c.env.(Profiles); ok {
		all = own.Profiles()
	}
	all = append(all, more...)
	return c.checkWord(w, CodeProfile, all, "the profiles are %s", "unknown document profile '%s'")
}

// checkExitCode checks a code word or a number of the table of exits.
func (c *compiler) checkExitCode(w *syntax.Word) {
	if _, ok := ExitCode(w); ok {
		return
	}

	help := "run 'tercet help exit-codes' for the list"
	if n, err := strconv.Atoi(w.Text); err == nil {
		c.report(w.Pos, CodeExit, help, "expected an exit code that a failure can have, got %d", n)
		return
	}
	codes := formats.Words(formats.Codes())
	c.reportUnknown(*w, CodeExit, codes, help, "expected an error code, got %q")
}

// ExitCode parses a code word or an exit number; the default is PRECONDITION.
func ExitCode(w *syntax.Word) (formats.Code, bool) {
	if w == nil {
		return formats.CodePrecondition, true
	}
	n, err := strconv.Atoi(w.Text)
	if err != nil {
		code, err := formats.ParseCode(w.Text)
		return code, err == nil
	}
	for _, e := range formats.Exits() {
		if e.Number == n && len(e.Codes) > 0 {
			return e.Codes[0], true
		}
	}
	return formats.CodePrecondition, n == 1
}
