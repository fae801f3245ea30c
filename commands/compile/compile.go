package compile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/schema"
	"tercet/internal/nearest"
	"tercet/internal/query"
)

// Env answers what names exist. Names lists the known subagents for suggestions.
type Env interface {
	Agent(name string) (formats.AgentInfo, bool)
	Names() []string
}

// Workers is an Env in which an agent of the project may have the name of a shipped subagent.
type Workers interface {
	// ForLibrary is the name of the subagent that a shipped file means by a name.
	ForLibrary(name string) string
}

// Profiles is an Env that knows the document profiles of a project beside the shipped ones.
type Profiles interface {
	Profiles() []string
}

// Compile checks a parsed file against the known subagents and gives its Program. The error is a
// *formats.Diagnostics with all findings, those of the syntax included, sorted. A file with an
// error gives no Program. If part of a file could not be read, Compile reports nothing that may
// only follow from that.
func Compile(f *syntax.File, env Env) (*Program, error) {
	c := newCompiler(f, env)
	c.prog.Name = f.Front.Command.Text
	return c.buildProgram(func() {
		c.declareArguments()
		checkLimits(c)
		c.scope = &scope{vars: append(baseVars(), "$args"), task: c.hasTask()}
		if c.prog.Tiers != nil {
			c.scope.add("$" + tierName)
		}
		c.assignIDs()
		during := c.preflight()
		checkDuring(c, during)
		c.checkArgsBlock()
		c.compileExprs(c.file.Front.During) // it may read what the block loads
		c.checkWorktree()
		c.prog.Output = c.compileSchema(f.Front.OutputSchema)
		c.initStatuses()
		c.compileSequences()
		all := slices.Concat(f.Steps, f.Errors, f.Between)
		if c.file.Front.During != nil || movesInside(all) {
			c.prog.EngineCalls.Back = c.builtinCall(
				f.Front.Pos,
				StatusSync,
				literalField("operation", OpUpdateStatus),
				literalField("back", true),
			)
		}
	})
}

// Workflow compiles the steps of a subagent file. They read $input instead of $args, may call only
// what the contract names, and never talk to the user.
func Workflow(f *syntax.File, info formats.AgentInfo, env Env) (*Program, error) {
	c := newCompiler(f, env)
	c.workflow = &info
	c.file.Front.Subagents.Text = info.Pack
	c.prog.Name = info.Name
	c.prog.Workflow = true
	c.file.Front.Description.Text = info.Description
	return c.buildProgram(func() {
		c.scope = &scope{vars: append(baseVars(), "$input"), task: true}
		c.assignIDs()
		c.checkArgsBlock()
		c.compileSequences()
	})
}

func newCompiler(f *syntax.File, env Env) *compiler {
	tree := *f
	tree.Steps = copySteps(f.Steps)
	tree.Between = copySteps(f.Between)
	tree.Errors = copySteps(f.Errors)
	return &compiler{
		findings: findings{
			name:   f.Name,
			unread: unreadOf(f),
			list:   &formats.Diagnostics{Sources: map[string][]byte{f.Name: f.Src}},
		},
		file: &tree,
		env:  env,
		index: index{
			byID:      map[string]*indexedStep{},
			comesBack: map[string]bool{},
			gotos:     map[string]bool{},
		},
		hosts: map[*syntax.Step][]*Info{},
		prog: &Program{
			File: &tree,
			facts: facts{
				steps:   map[*syntax.Step]*Info{},
				code:    map[*syntax.Expr]*query.Code{},
				schemas: map[*syntax.Shape]*schema.Schema{},
				agents:  map[string]*formats.AgentInfo{},
			},
		},
	}
}

// copySteps gives steps that may be changed: ids are filled in, and sentences written out. What
// hangs on a step is shared with the parsed file, and is not changed.
func copySteps(list []*syntax.Step) []*syntax.Step {
	out := make([]*syntax.Step, len(list))
	for i, s := range list {
		one := *s
		one.Body = copySteps(s.Body)
		out[i] = &one
	}
	return out
}

type compiler struct {
	findings
	index index
	place
	file     *syntax.File // the tree of the program
	env      Env
	prog     *Program
	workflow *formats.AgentInfo // of the subagent whose steps these are; nil for a command
	setsTier bool               // something gives $tier

	unreachable []*syntax.Step // steps that no path leads to
	usedUp      []usedUpRule   // counted rules, after which no path leads to the next step

	hosts          map[*syntax.Step][]*Info // of the steps of Between Steps: around which they run
	workerOutcomes []formats.Outcome        // of the steps that take the rules of the defaults
	missing        []missingField           // fields that contracts lack
}

// findings are what is wrong with a file.
type findings struct {
	name   string
	unread *unread // nil for a file that was read whole
	list   *formats.Diagnostics
}

func (f *findings) report(pos syntax.Pos, code, help, format string, args ...any) {
	d := formats.Found(code, pos, help, format, args...)
	d.File = f.name
	f.add(d)
}

// add keeps a finding, unless it follows from what could not be read.
func (f *findings) add(d formats.Diagnostic) {
	if f.unread == nil || !f.unread.explains(&d) {
		f.list.List = append(f.list.List, d)
	}
}

// compileSequences compiles the workflow and what stands under Error Handling.
func (c *compiler) compileSequences() {
	said := c.writeSentences()
	for _, s := range said {
		c.checkArgSentence(s)
	}
	c.applyRouting()
	c.compileSteps(c.file.Steps)

	outer := c.scope
	c.scope = &scope{
		vars:  slices.Clone(outer.vars),
		task:  outer.task,
		outer: outer,
	}
	c.inErrors = true
	c.status = statuses{}
	c.compileSteps(c.file.Errors)
	c.scope = outer
	c.inErrors = false
}

// buildProgram compiles the parts of a file, makes the checks over the whole of it, and gives the
// program if nothing was found.
func (c *compiler) buildProgram(parts func()) (*Program, error) {
	if c.file.Hopeless {
		c.list.List = c.file.Found
		return nil, c.list
	}
	parts()

	for _, check := range []func(*compiler){
		checkReachable, checkErrors, checkTier, checkBetween, checkDefaults, checkWorkflow,
		checkArtifactsMade,
	} {
		check(c)
	}

	c.reportMissing()
	c.list.List = append(c.list.List, c.file.Found...)
	c.list.Sort()
	// A step of Between Steps is checked around each of its hosts, and what is wrong with it
	// reported once.
	c.list.List = slices.CompactFunc(c.list.List, func(a, b formats.Diagnostic) bool {
		return a.Code == b.Code && a.Pos == b.Pos && a.Message == b.Message
	})

	if c.list.HasErrors() {
		return nil, c.list
	}
	c.prog.Warnings = c.list.List
	return c.prog, nil
}

// contract asks for a subagent once a file. It is never nil, and not to be changed.
func (c *compiler) contract(name string) (*formats.AgentInfo, bool) {
	agents := c.prog.facts.agents
	if info := agents[name]; info != nil {
		return info, info.Name != ""
	}

	info := formats.AgentInfo{}
	ok := false
	if pack := c.prog.Pack(); pack != "" {
		info, ok = c.env.Agent(pack + ":" + name)
	}
	if !ok {
		info, ok = c.env.Agent(c.resolveName(name))
	}
	if !ok {
		info = formats.AgentInfo{}
	} else if info.Name == "" {
		info.Name = name
	}

	agents[name] = &info
	c.list.List = append(c.list.List, Contract(&info)...)
	return &info, ok
}

// resolveName is the name under which the subagent of this file is known.
func (c *compiler) resolveName(name string) string {
	workers, ok := c.env.(Workers)
	if !ok || !c.prog.IsLibrary() {
		return name
	}
	return workers.ForLibrary(name)
}

// checkAgent is the contract of a subagent that a step names.
func (c *compiler) checkAgent(w syntax.Word) (*formats.AgentInfo, bool) {
	info, ok := c.contract(w.Text)
	if !ok {
		c.reportUnknown(
			w,
			CodeAgent,
			c.env.Names(),
			"add or mend .tercet/subagents/"+w.Text+".md",
			"unknown subagent '%s'",
		)
		return info, false
	}
	c.checkMayCall(w.Pos, info, w.Text)
	return info, true
}

// checkMayCall: the steps of a subagent call what can_delegate_to names, and nothing that has steps
// itself. A finding names the code with which the dispatcher would refuse the call.
func (c *compiler) checkMayCall(pos syntax.Pos, info *formats.AgentInfo, name string) {
	switch {
	case c.workflow == nil:
	case name == c.workflow.Name && !slices.Contains(c.workflow.CanDelegateTo, name):
		c.report(pos, CodeMayNot, "call another subagent",
			"subagent %s calls itself (%s)", name, formats.CodeCycle)
	case !slices.Contains(c.workflow.CanDelegateTo, name):
		c.report(pos, CodeMayNot, "add it to can_delegate_to",
			"subagent %s may not call '%s'", c.workflow.Name, name)
	case info.Workflow && slices.Contains(info.CanDelegateTo, c.workflow.Name):
		c.report(pos, CodeMayNot, "take "+c.workflow.Name+" out of its can_delegate_to",
			"subagent '%s' calls %s again (%s)", name, c.workflow.Name, formats.CodeCycle)
	case info.Workflow:
		c.report(pos, CodeMayNot, "call it from a command",
			"subagent '%s' has steps itself, and the depth ends at %d (%s)",
			name, formats.MaxDepth, formats.CodeMaxDepth)
	}
}

// checkMayAsk: only a command talks to the user.
func (c *compiler) checkMayAsk(pos syntax.Pos) {
	if c.workflow != nil {
		c.report(
			pos,
			CodeTalks,
			"return blocked with a reason, and let the command ask",
			"a subagent cannot ask you",
		)
	}
}

// checkWorkflow: what only a command may do.
func checkWorkflow(c *compiler) {
	if c.workflow == nil {
		return
	}
	if allow := c.file.Args.Allow; len(allow) > 0 {
		c.report(allow[0].Pos, CodeTalks, "check the status in the command",
			"'allow' belongs to a command")
	}
}

func checkReachable(c *compiler) {
	for _, s := range c.unreachable {
		if !c.index.gotos[s.ID.Text] {
			c.report(
				s.Pos,
				CodeUnreachable,
				"give the step before it a when, or remove this one",
				"no path leads to this step",
			)
		}
	}
	for _, one := range c.usedUp {
		if !c.index.gotos[one.next.ID.Text] {
			c.reportUsedUp(one)
		}
	}
}

// checkErrors: a step of Error Handling says when it runs, and cannot change what the command ends
// with.
func checkErrors(c *compiler) {
	for _, s := range c.file.Errors {
		if s.Always == nil {
			c.report(
				s.Block,
				CodeErrors,
				"add always: failed, completed or any",
				"a step of Error Handling needs 'always'",
			)
		}
		if s.Kind().Asks {
			c.report(s.Block, CodeErrors, "ask before the end of the workflow",
				"a step of Error Handling cannot ask: it has five seconds")
		}
		if s.Kind().Fails {
			c.report(s.Block, CodeErrors, noEffect,
				"a step of Error Handling cannot fail the command")
		}
		if s.Return != nil {
			c.report(s.Return.Pos, CodeErrors, "the command ends as it would have",
				"a step of Error Handling cannot end the command")
		}
	}
}

const noEffect = "what goes wrong here is a warning; the command ends as it would have"

// hasTask tells whether an argument or a load binds $task.
func (c *compiler) hasTask() bool {
	return argspec.TaskName(c.prog.Args) != "" ||
		slices.ContainsFunc(c.file.Args.Load, func(l syntax.Load) bool {
			return IsTask(&l)
		})
}

// checkWord reports a word that is none of some names, with what else is to be said of them; see
// meant.
func (c *compiler) checkWord(
	w syntax.Word,
	code string,
	names []string,
	otherwise, format string,
) bool {
	ok := slices.Contains(names, w.Text)
	if !ok {
		c.reportUnknown(w, code, names, otherwise, format)
	}
	return ok
}

// reportUnknown reports a word that is none of some names; see meant.
func (c *compiler) reportUnknown(
	w syntax.Word,
	code string,
	names []string,
	otherwise, format string,
) {
	c.report(w.Pos, code, adviceFor(w.Text, names, otherwise), format, w.Text)
}

// adviceFor is the advice for a word that is none of some: the nearest one, else other words, in
// which %s stands for all.
func adviceFor[T ~string](word string, list []T, otherwise string) string {
	return cmp.Or(
		nearest.Help(word, formats.Words(list)),
		strings.ReplaceAll(otherwise, "%s", joinWords(list)),
	)
}

func joinWords[T ~string](list []T) string {
	return strings.Join(formats.Words(list), ", ")
}

// sortedKeys gives the names of a map in order.
func sortedKeys[T any](m map[string]T) []string {
	return slices.Sorted(maps.Keys(m))
}

// literalText is a word that is written, empty for anything else.
func literalText(v *syntax.Value) string {
	return formats.As[string](v.Lit)
}
