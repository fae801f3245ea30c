package compile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

// steps compiles a sequence in order; each step sees the results of those before it.
func (c *compiler) steps(list []*syntax.Step) []*Op {
	if len(list) == 0 {
		return nil
	}
	if c.scope.steps == nil {
		c.scope.steps = c.made.results.List(len(list) * (1 + len(c.file.Between)))
	}
	out := c.made.refs.List(len(list))
	ended := false
	for _, s := range list {
		if ended {
			c.reached = append(c.reached, s)
			ended = false
		}
		id := c.id(s)
		c.scope.self = id
		var op *Op
		if s.Sentence != nil {
			op = c.sentence(s, id)
		} else {
			op = c.step(s, id)
		}
		c.scope.self = ""
		if op == nil {
			continue
		}
		out = append(out, op)
		ended = endsAlways(op) && !c.inErrors
	}
	return out
}

// endsAlways tells whether nothing behind the step can be reached from it.
func endsAlways(op *Op) bool {
	if op.When != nil || op.Tiers != nil {
		return false
	}
	switch a := op.Do.(type) {
	case *Fail:
		return true
	case *Gate:
		return op.Return != nil || len(a.Choices) > 0 && !slices.ContainsFunc(a.Choices, func(ch Choice) bool {
			return ch.Target == nil || ch.Target.If != nil || slices.Contains([]TargetKind{ToNext, ToRedo, ToRollback}, ch.Target.Kind)
		})
	}
	return op.Return != nil && len(op.On) == 0 || leadsAway(op)
}

// leadsAway tells whether a rule takes every passing outcome somewhere else, and none of the others goes on.
func leadsAway(op *Op) bool {
	if len(op.On) == 0 || op.Do == nil {
		return false
	}
	for _, o := range outcomesOf(op) {
		at := slices.IndexFunc(op.On, func(r Rule) bool { return r.Outcome == o })
		if at < 0 {
			if o.Passes() {
				return false
			}
			continue
		}
		if len(op.On[at].Targets) == 0 {
			return false // of a rule that could not be read
		}
		first := op.On[at].Targets[0]
		if first.If != nil || first.Max > 0 || first.Back || !slices.Contains([]TargetKind{ToGoto, ToFail, ToReturn}, first.Kind) {
			return false
		}
	}
	return !slices.ContainsFunc(op.On, func(r Rule) bool { return r.Class != "" })
}

// step compiles a step with a block.
func (c *compiler) step(s *syntax.Step, id string) *Op {
	op, info := c.made.ops.New(), c.made.infos.New()
	op.Pos, op.ID, op.Title, op.When, op.Tiers = s.Pos, id, s.Title, c.expr(s.When), c.tier(s.Tier)
	if s.Always != nil {
		op.Always = s.Always.Text
	}
	op.Table = c.table(s.Table)
	if s.Action == nil && s.Table == nil && s.Return == nil {
		c.report(s.Pos, CodeAction, "add delegate, parallel, status, check, gate, set, foreach, until, publish, table, return or fail", "step '%s' has no action", id)
		return nil
	}
	c.companions(s)
	op.Do = c.action(s, id, info)
	c.work(s, op)
	judged := c.judged
	c.judged = judge{info, op.FallbackInfo}
	if s.Expect != nil { // else it may be that of the defaults
		op.Expect = c.expect(s.Expect)
		if _, loops := op.Do.(*Foreach); loops {
			op.Expect.Schema = nil // it went to the delegate
		}
	}
	c.scope.steps.add(id, info) // its own result is `.` and may be read in its targets
	c.rules(s, op, nil)
	c.judged = judged
	op.Return = c.ret(s.Return)
	op.Compensate = c.compensate(s.Compensate, id)
	c.around(op, info)
	return op
}

// companions reports keys that mean nothing beside the step's action: a key is never ignored.
func (c *compiler) companions(s *syntax.Step) {
	_, delegates := s.Action.(*syntax.Delegate)
	_, parallel := s.Action.(*syntax.Parallel)
	_, until := s.Action.(*syntax.Until)
	_, publishes := s.Action.(*syntax.Publish)
	loop, loops := s.Action.(*syntax.Foreach)
	bare := loops && loop.Delegate == nil || parallel || until
	if bare && s.Fallback != nil {
		c.report(s.Fallback.Pos, CodeCompanion, "write it beside the delegate of the body", "'fallback' belongs to 'delegate'")
	}
	if bare && s.Prompt != nil {
		c.report(s.Prompt.Pos, CodeCompanion, "write it beside the delegate of the body", "'prompt' belongs to 'delegate'")
	}
	if _, fails := s.Action.(*syntax.Fail); fails {
		if s.Return != nil {
			c.report(s.Return.Pos, CodeCompanion, "remove it: 'fail' ends the command", "'return' belongs to a step that can pass")
		}
		if len(s.On) > 0 {
			c.report(s.On[0].Status.Pos, CodeCompanion, "remove it: 'fail' ends the command", "'on' belongs to a step that can go on")
		}
	}
	check, checks := s.Action.(*syntax.Check)
	runs := delegates || loops || parallel || until || publishes || checks && (check.Command != nil || check.Project != nil)
	if _, status := s.Action.(*syntax.Status); !runs && !status && s.Timeout != nil {
		c.report(s.Timeout.Pos, CodeCompanion, "remove it", "'timeout' belongs to 'delegate'")
	}
	if (parallel || until || bare) && s.Expect != nil && s.Expect.Artifact != nil {
		c.report(s.Expect.Artifact.Pos, CodeCompanion, "write it beside the delegates inside", "'artifact' belongs to a delegate")
	}
	if !delegates && (!loops || loop.Delegate == nil) && s.Expect != nil && s.Expect.Schema != nil {
		c.report(s.Expect.Schema.Pos, CodeCompanion, "write it beside the delegates inside", "'schema' belongs to a delegate")
	}
	if checks && !runs && s.Retry != nil {
		c.report(s.Retry.Pos, CodeCompanion, "remove it", "'retry' belongs to a check that runs commands")
	}
}

// work compiles what belongs to a delegation: how long it may take and how often it is tried.
func (c *compiler) work(s *syntax.Step, op *Op) {
	op.Timeout = c.timeout(s.Timeout)
	op.Retry = c.retry(s.Retry)
	if s.In != nil {
		op.In = s.In.Text
	}
	if s.Board != nil {
		op.Board = s.Board.Text
	}
	c.treeless(s, op)
	switch op.Do.(type) {
	case *Check: // it posts like the others
		for _, around := range slices.Backward(c.under) {
			op.Board = cmp.Or(op.Board, around.board)
		}
		return
	case *Delegate:
	default:
		return
	}
	if s.Fallback != nil {
		c.fallback(s, op)
	}
	for _, loop := range slices.Backward(c.under) {
		if op.Timeout == (formats.Timeout{}) {
			op.Timeout = loop.timeout
		}
		if op.Retry == nil {
			op.Retry = loop.retry
		}
		if op.In == "" {
			op.In = loop.in
		}
		if op.Board == "" {
			op.Board = loop.board
		}
	}
	c.defaults(s, op)
}

// fallback compiles the second subagent of a delegation. It has an input of its own: what is given to all goes to those that
// list it.
func (c *compiler) fallback(s *syntax.Step, op *Op) {
	agent, ok := c.agent(*s.Fallback)
	if !ok {
		return
	}
	op.Fallback, op.FallbackInfo = agent.Name, agent
	var with []syntax.Field
	op.FallbackWith, with = c.input(s.With, agent)
	c.inputs(agent, with, s.Fallback.Pos)
}

// treed reports work in the run's worktree where nothing opens one: it would be done in the project itself. A workflow of a
// subagent works where its caller does.
func (c *compiler) treed(in *syntax.Word) {
	if in == nil || in.Text != "worktree" || c.prog.Workflow || c.file.Front.Worktree != nil {
		return
	}
	opens := false
	c.walk(func(s *syntax.Step) {
		var d *syntax.Delegate
		switch a := s.Action.(type) {
		case *syntax.Delegate:
			d = a
		case *syntax.Foreach:
			d = a.Delegate
		}
		opens = opens || d != nil && (d.Agent.Text == GitWorkflow || d.Pick != nil)
	})
	if !opens {
		c.report(in.Pos, CodeCompanion, "add worktree: {per: run} to the frontmatter", "'in: worktree' needs a worktree, and the file opens none")
	}
}

// treeless reports a tree where none is worked in, and work without one of those that are no workers: they act for the run, wherever it works.
func (c *compiler) treeless(s *syntax.Step, op *Op) {
	c.treed(s.In)
	if s.In == nil {
		return
	}
	check, checks := s.Action.(*syntax.Check)
	if _, publishes := s.Action.(*syntax.Publish); publishes || checks && check.Expr != nil {
		c.report(s.In.Pos, CodeCompanion, "remove it", "'in' belongs to a step that works in a tree")
		return
	}
	if s.In.Text != "none" {
		return
	}
	switch do := op.Do.(type) {
	case *Parallel, *Foreach, *Until, *Group:
		return
	case *Delegate:
		if !do.Sync && !do.Checks && !do.Info.Builtin && do.Agent != GitWorkflow {
			return
		}
	}
	c.report(s.In.Pos, CodeCompanion, "remove it", "'in: none' belongs to a delegate to a worker")
}

func (c *compiler) action(s *syntax.Step, id string, info *stepInfo) Action {
	switch a := s.Action.(type) {
	case *syntax.Delegate:
		info.kind = resultReturn
		return c.delegate(a, s, id, info)
	case *syntax.Parallel:
		info.kind = resultParallel
		return c.parallel(a, s, id)
	case *syntax.Foreach:
		info.kind = resultLoop
		return c.foreach(a, s, id)
	case *syntax.Until:
		info.kind = resultParallel
		return c.until(a, s, id)
	case *syntax.Group:
		return c.group(a, s)
	case *syntax.Publish:
		info.kind = resultReturn
		return c.publish(a)
	case *syntax.Status:
		info.kind = resultReturn
		return c.statusStep(a, s.When == nil && s.Tier == nil && len(s.On) == 0 && !c.unsure)
	case *syntax.Gate:
		info.kind = resultGate
		return c.gate(a, s)
	case *syntax.Check:
		info.kind = resultReturn
		return c.check(a)
	case *syntax.Set:
		info.kind = resultSet
		return c.set(a, info)
	case *syntax.Fail:
		return &Fail{Message: c.text(a.Message), Code: c.code(a.Code, formats.CodePrecondition)}
	}
	return nil
}

// contract asks for a subagent once a file. It is never nil, and not to be changed.
func (c *compiler) contract(name string) (*formats.AgentInfo, bool) {
	for i := range c.agents {
		if c.agents[i].name == name {
			return c.agents[i].info, c.agents[i].ok
		}
	}
	info, ok := c.env.Agent(name)
	if c.agents == nil {
		c.agents = make([]asked, 0, fewAgents)
	}
	c.agents = append(c.agents, asked{name: name, info: &info, ok: ok})
	return &info, ok
}

// fewAgents is for how many subagents there is room at first.
const fewAgents = 8

// asked is what the environment said of a subagent.
type asked struct {
	name  string
	info  *formats.AgentInfo
	ok    bool
	needs []string // inputs; nil: not looked for yet
}

// noAgent is the contract of a delegation to nobody in particular.
func noAgent() *formats.AgentInfo { return &formats.AgentInfo{} }

func (c *compiler) agent(w syntax.Word) (*formats.AgentInfo, bool) {
	info, ok := c.contract(w.Text)
	if !ok {
		help := nearest.Help(w.Text, c.env.Names())
		if help == "" {
			help = "add subagents/" + w.Text + ".md to the workspace"
		}
		c.report(w.Pos, CodeAgent, help, "unknown subagent '%s'", w.Text)
		return info, false
	}
	c.mayCall(w.Pos, info, w.Text)
	return info, true
}

func (c *compiler) delegate(a *syntax.Delegate, s *syntax.Step, id string, info *stepInfo) Action {
	if a.Pick != nil {
		return c.pick(a, s, info)
	}
	agent, ok := c.agent(a.Agent)
	d := c.made.delegates.New()
	d.Agent, d.Info, d.Prompt = a.Agent.Text, agent, c.text(s.Prompt)
	var with []syntax.Field
	d.With, with = c.input(s.With, agent)
	if !ok {
		return d
	}
	info.agent = agent
	c.inputs(agent, with, a.Pos)
	c.worker(id, agent)
	if a.Agent.Text == StatusSync && changesStatus(s.With) {
		c.moved("", false)
	}
	return d
}

// changesStatus tells whether the input of the status-sync manager may be one that changes the status of a task.
func changesStatus(with []syntax.Field) bool {
	for _, f := range with {
		if f.Key.Text == "operation" && f.Value.Kind == syntax.Literal {
			return f.Value.Lit == OpUpdateStatus
		}
	}
	return true
}

func (c *compiler) foreach(a *syntax.Foreach, s *syntax.Step, id string) Action {
	f := &Foreach{In: c.expr(a.In), As: a.As.Text, Side: max(1, a.Parallel), Rule: c.merge(a.Merge, formats.DefaultElements)}
	f.Merge = a.Merge != nil
	if f.As == "" {
		f.As = "item"
	}
	if reserved(f.As) {
		c.report(a.As.Pos, CodeName, "choose another name", "'$%s' is the engine's", f.As)
	}
	if a.Parallel > formats.MaxParallel {
		c.report(a.Pos, CodeLimitValue, "", "expected max_parallel from 1 to %d, got %d", formats.MaxParallel, a.Parallel)
	}
	outer, last, under := c.scope, c.last, c.under
	c.scope, c.last = c.enter(id, f.As), nil
	moves := movesInside(s.Body)
	if moves {
		c.status = statuses{}
	}
	if a.Delegate != nil {
		inner := *s
		inner.Action, inner.When, inner.On, inner.Table, inner.Return, inner.Expect = a.Delegate, nil, nil, nil, nil, nil
		inner.Tier, inner.Compensate = nil, nil
		if s.Expect != nil { // the fields are those of each element; what the defaults expect is not, as the step has its own
			inner.Expect = &syntax.Expect{Pos: s.Expect.Pos, Schema: s.Expect.Schema}
		}
		c.scope.self = bodyID(a)
		body := c.step(&inner, c.scope.self)
		body.On = slices.DeleteFunc(body.On, func(r Rule) bool { return ruled(s.On, r) })
		f.Body = []*Op{body}
	} else {
		c.under = append(slices.Clone(under), c.inherit(s))
		f.Body = c.steps(s.Body)
	}
	c.scope, c.last, c.under = outer, last, under
	if moves {
		c.status = statuses{}
	}
	if len(f.Body) == 0 {
		c.report(a.Pos, CodeAction, "put deeper step headings below it, or a delegate beside it", "foreach has no body")
	}
	return f
}

func (c *compiler) check(a *syntax.Check) Action {
	if a.Command != nil || a.Project != nil {
		return c.gatekeeper(a)
	}
	out := &Check{Expr: c.expr(a.Expr), Path: c.value(a.Path), File: c.value(a.File), Nonempty: a.Nonempty, Else: c.text(a.Else)}
	if a.Document == nil {
		return out
	}
	if c.profile(*a.Document) && a.Path == nil && documentType(a.Document.Text) == "" && formats.HandoffFile(a.Document.Text) == "" {
		c.report(a.Document.Pos, CodeProfile, "add path: ...", "'%s' is no type of artifact, so its file must be named", a.Document.Text)
	}
	out.Document = a.Document.Text
	return out
}

// documentType is the type of artifact that a profile is for, empty if it is for none.
func documentType(profile string) formats.ArtifactType {
	if t, ok := artifactType(strings.TrimSuffix(profile, "-short")); ok && t.IsDocument() {
		return t
	}
	return ""
}

// gatekeeper lowers a check that runs commands to a delegation.
func (c *compiler) gatekeeper(a *syntax.Check) Action {
	info := c.builtin(a.Pos, Gatekeeper)
	with := &Value{IsMap: true}
	if a.Command != nil {
		argv := c.made.values.New()
		argv.IsList = true
		for _, v := range a.Command {
			argv.Fields = append(argv.Fields, Field{Value: c.value(v)})
		}
		with.Fields = append(with.Fields, Field{Key: "command", Value: argv})
	} else {
		kinds := c.made.values.New()
		kinds.IsList = true
		for _, w := range a.Project {
			if known := []string{"build", "lint", "test"}; !slices.Contains(known, w.Text) {
				c.report(w.Pos, CodeMember, nearest.Help(w.Text, known), "expected build, lint or test, got %q", w.Text)
			}
			kinds.Fields = append(kinds.Fields, Field{Value: c.lit(w.Text)})
		}
		with.Fields = append(with.Fields, Field{Key: "project", Value: kinds})
	}
	return &Delegate{Agent: Gatekeeper, Info: info, With: with, Checks: true, Else: c.text(a.Else)}
}

func (c *compiler) set(a *syntax.Set, info *stepInfo) Action {
	out := &Set{}
	for _, v := range a.Values {
		out.Values = append(out.Values, SetValue{Name: v.Name.Text, Expr: c.expr(v.Expr)})
		info.names = append(info.names, v.Name.Text)
		c.tierValue(v.Name.Text, v.Expr)
		c.name(v.Name)
	}
	return out
}

func (c *compiler) table(t *syntax.Table) *Table {
	if t == nil {
		return nil
	}
	out := &Table{Rows: c.expr(t.Rows), Title: c.text(t.Title)}
	for _, w := range t.Columns {
		out.Columns = append(out.Columns, w.Text)
	}
	return out
}

func (c *compiler) timeout(t *syntax.Timeout) formats.Timeout {
	if t == nil {
		return formats.Timeout{}
	}
	return formats.Timeout{Total: seconds(t.Total), Idle: seconds(t.Idle)}
}

// The defaults of a retry, in seconds.
const (
	retryBackoff = 2
	retryFactor  = 2
	retryCap     = 60
)

func (c *compiler) retry(r *syntax.Retry) *Retry {
	if r == nil {
		return nil
	}
	most := c.prog.Limits.WithDefaults().Retries
	if r.Max > most {
		c.report(r.Pos, CodeRetries, "", "expected at most %d retries, got %d", most, r.Max)
	}
	out := &Retry{Max: r.Max, Backoff: r.Backoff, Factor: r.Factor, Cap: r.Cap}
	if r.On != nil {
		out.On = make([]formats.Class, 0, len(r.On))
	}
	for _, w := range r.On {
		out.On = append(out.On, formats.Class(w.Text))
	}
	if len(out.On) == 0 {
		out.On = []formats.Class{formats.ClassTransient, formats.ClassTimeout, formats.ClassInvalidReturn}
	}
	if out.Backoff == 0 {
		out.Backoff = retryBackoff
	}
	if out.Factor == 0 {
		out.Factor = retryFactor
	}
	if out.Cap == 0 {
		out.Cap = retryCap
	}
	return out
}

func (c *compiler) expect(e *syntax.Expect) *Expect {
	if e == nil {
		return nil
	}
	out := &Expect{If: c.verdict(e.If), Schema: c.schema(e.Schema)}
	if e.Artifact != nil {
		kind, ok := artifactType(e.Artifact.Text)
		if !ok {
			c.report(e.Artifact.Pos, CodeArtifact, nearest.Help(e.Artifact.Text, artifactWords()), "expected one of %s, got %q", strings.Join(artifactWords(), ", "), e.Artifact.Text)
		}
		out.Artifact = kind
	}
	return out
}

func (c *compiler) ret(r *syntax.Return) *Return {
	if r == nil {
		return nil
	}
	out := &Return{
		Status: c.value(r.Status), Message: c.text(r.Message), Text: c.value(r.Text), Artifacts: c.value(r.Artifacts), NextSteps: c.text(r.NextSteps),
	}
	if r.Fields != nil {
		out.Fields = &Value{IsMap: true, Fields: c.fields(r.Fields)}
	}
	if r.Status != nil && r.Status.Kind == syntax.Literal {
		word := literal(r.Status)
		if !slices.Contains(formats.Outcomes(), formats.Outcome(word)) {
			c.report(r.Status.Pos, CodeOutcome, outcomeHelp(word), "expected a status, got %s", shown(r.Status))
		}
	}
	return out
}

func outcomeHelp(word string) string {
	names := make([]string, 0, len(formats.Outcomes()))
	for _, o := range formats.Outcomes() {
		names = append(names, o.String())
	}
	if help := nearest.Help(word, names); help != "" {
		return help
	}
	return "the statuses are " + strings.Join(names, ", ")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
