package compile

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/nearest"
)

// compileSteps checks a sequence in order; each step sees the results of those before it.
func (c *compiler) compileSteps(list []*syntax.Step) {
	ended := false
	var last *syntax.Target
	for _, s := range list {
		if ended {
			c.unreachable = append(c.unreachable, s)
		}
		if last != nil {
			c.usedUp = append(c.usedUp, usedUpRule{last, s})
		}

		c.scope.self = s.ID.Text
		info := c.compileStep(s, s.ID.Text)
		c.scope.self = ""
		ended = false
		last = nil
		if info != nil && !c.inErrors {
			ended = endsAlways(info)
			last = lastCounted(info)
		}
	}
}

// compileStep checks one step, and keeps what is known of it; nil for one that does nothing.
func (c *compiler) compileStep(s *syntax.Step, id string) *Info {
	info := &Info{
		Step:  s,
		ID:    id,
		Tiers: c.checkTierNames(s.Tier),
	}
	if c.host != nil {
		info.Host = c.host.ID
	} else if !c.inCompensation {
		c.prog.facts.steps[s] = info
	}

	c.compileExprs(s.When, s.Table)
	c.checkColumns(s.Table)
	if s.Action == nil && s.Table == nil && s.Return == nil {
		help := "add " + strings.Join(syntax.ActionWords(), ", ") + ", table or return"
		c.report(s.Pos, CodeAction, help, "step '%s' has no action", id)
		return nil
	}

	c.compileAction(info)
	checkCompanions(c, info)
	c.setTerms(info)

	judged := c.subject
	c.subject = info
	if s.Expect != nil { // else it may be that of the defaults
		info.Expect = s.Expect
		checkExpect(c, s.Expect)
	}

	// its own result is `.` and may be read in its targets
	c.scope.steps = append(c.scope.steps, info)
	c.checkRules(info)
	c.subject = judged

	checkReturn(c, s.Return)
	info.Undo = c.compileCompensation(s.Compensate, id)
	c.attachHooks(info)
	return info
}

// endsAlways tells whether nothing behind the step can be reached from it.
func endsAlways(info *Info) bool {
	if info.Step.When != nil || info.Tiers != nil {
		return false
	}
	if info.Step.Kind().Fails || info.Step.Return != nil && len(info.On) == 0 {
		return true
	}
	choices := kindOf(info.Step).choices
	return len(choices) > 0 && !slices.ContainsFunc(choices, mayGoOn) || leadsAway(info)
}

// mayGoOn tells whether the step behind a gate may run after a choice.
func mayGoOn(choice syntax.GateChoice) bool {
	t := choice.Target
	return t.If != nil || t.Kind == syntax.ToNext || t.Kind == syntax.ToRedo ||
		t.Kind == syntax.ToRollback
}

// leadsAway tells whether a rule takes every passing outcome somewhere else, and none of the others
// goes on.
func leadsAway(info *Info) bool {
	if !rulesOutcomes(info) {
		return false
	}
	for _, o := range info.Outcomes() {
		rule := ruleFor(info.On, o.String())
		if rule == nil {
			if o.Passes() {
				return false
			}
			continue
		}
		if len(rule.Targets) == 0 {
			return false // it could not be read
		}

		first := rule.Targets[0]
		away := first.Kind == syntax.ToFail || first.Kind == syntax.ToReturn ||
			first.Kind == syntax.ToGoto
		if first.If != nil || first.Max > 0 || !away || info.GoesBack(first) {
			return false
		}
	}

	return true
}

// checkCompanions reports keys that mean nothing beside the step's action: a key is never ignored.
func checkCompanions(c *compiler, info *Info) {
	s := info.Step
	kind := s.Kind()
	expect := cmp.Or(s.Expect, &syntax.Expect{})
	delegates := s.Delegation() != nil
	runsBody := kind.Body == syntax.Concurrent || kind.Body == syntax.Repeated

	if runsBody && !delegates {
		const inBody = "write it beside the delegate of the body"
		c.reportStray(s.Fallback, inBody, "'fallback' belongs to 'delegate'")
		c.reportStray(s.Prompt, inBody, "'prompt' belongs to 'delegate'")
		c.reportStray(expect.Artifact, "write it beside the delegates inside",
			"'artifact' belongs to a delegate")
	}
	if kind.Fails {
		const ends = "remove it: 'fail' ends the command"
		c.reportStray(s.Return, ends, "'return' belongs to a step that can pass")
		c.reportStray(s.On, ends, "'on' belongs to a step that can go on")
	}
	if info.Call == nil && !runsBody {
		c.reportStray(s.Timeout, "remove it", "'timeout' belongs to 'delegate'")
	}
	if !delegates {
		c.reportStray(expect.Schema, "write it beside the delegates inside",
			"'schema' belongs to a delegate")
	}
}

// reportStray reports a key that means nothing where it stands; nothing for one that is absent.
func (c *compiler) reportStray(key any, help, what string) {
	var at syntax.Pos
	syntax.Walk(key, func(n any) bool {
		if v := reflect.ValueOf(n).Elem().FieldByName("Pos"); v.IsValid() && at.IsZero() {
			at = formats.As[syntax.Pos](v.Interface())
		}
		return at.IsZero()
	})
	if !at.IsZero() {
		c.report(at, CodeCompanion, help, "%s", what)
	}
}

// compileAction checks what the step does.
func (c *compiler) compileAction(info *Info) {
	if check := kindOf(info.Step).check; check != nil {
		check(c, info)
	}
}

// setTerms takes how the work of a step is done: as the step says, else as the loops around it,
// else as the defaults.
func (c *compiler) setTerms(info *Info) {
	s := info.Step
	info.Terms = c.termsOf(s)
	c.checkIn(info)
	c.checkSession(info)

	for _, around := range slices.Backward(c.loops) {
		switch {
		case info.Call != nil:
			info.Terms.fill(around.terms)
		case s.Kind().Judges: // it posts like the others
			info.Terms.fillBoard(around.terms)
		}
	}

	// its input is its own: what is given to all goes to those that list it
	if info.Call != nil && s.Fallback != nil {
		if call, ok := c.compileCall(*s.Fallback, info, s.Fallback.Pos); ok {
			info.Fallback = call
		}
	}

	if d := c.file.Defaults; d != nil && info.callsWorker() {
		info.Terms.fill(c.termsOf(&syntax.Step{
			Timeout: d.Timeout,
			Retry:   d.Retry,
			In:      d.In,
		}))
		if s.Expect == nil {
			info.Expect = d.Expect
			// of no result in particular: what one worker returns another need not
			checkExpect(c, d.Expect)
		}
	}
}

// callsWorker tells whether a step calls a worker, or one of several.
func (i *Info) callsWorker() bool {
	return i.Step.Kind().Delegates && !i.Call.Info.Builtin
}

// CallsWorker reports whether the steps, nested ones included, call a worker, so that running them
// again should change something. Steps that contain a wait do not count: they poll until something
// changes.
func (p *Program) CallsWorker(list ...*syntax.Step) bool {
	works, waits := p.callsAndWaits(list)
	return works && !waits
}

func (p *Program) callsAndWaits(list []*syntax.Step) (works, waits bool) {
	for _, s := range list {
		inWorks, inWaits := p.callsAndWaits(s.Body)
		info := p.Info(s)
		works = works || inWorks || info != nil && info.callsWorker()
		waits = waits || inWaits || s.Kind().Waits
	}
	return works, waits
}

func (c *compiler) termsOf(s *syntax.Step) Terms {
	if most := c.prog.Limits.WithDefaults().Retries; s.Retry != nil && s.Retry.Max > most {
		c.report(s.Retry.Pos, CodeRetries, "",
			"expected at most %d retries, got %d", most, s.Retry.Max)
	}

	out := Terms{
		Retry: s.Retry,
		In:    s.In.String(),
		Keep:  s.Session != nil,
	}

	if b := s.Board; b != nil {
		out.Board = b.Topic.String()
		out.Live = b.Live
	}

	if t := s.Timeout; t != nil {
		seconds := func(n float64) time.Duration {
			return time.Duration(n * float64(time.Second))
		}
		out.Timeout = formats.Timeout{Total: seconds(t.Total), Idle: seconds(t.Idle)}
	}
	return out
}

// fill takes what is not said from somewhere else.
func (t *Terms) fill(from Terms) {
	t.Timeout = cmp.Or(t.Timeout, from.Timeout)
	t.Retry = cmp.Or(t.Retry, from.Retry)
	t.In = cmp.Or(t.In, from.In)
	t.fillBoard(from)
}

func (t *Terms) fillBoard(from Terms) {
	if t.Board == "" {
		t.Board = from.Board
		t.Live = from.Live
	}
}

// checkWorktreeUse reports work in the run's worktree where nothing opens one: it would be done in
// the project itself. A workflow of a subagent works where its caller does.
func (c *compiler) checkWorktreeUse(in *syntax.Word) {
	if in.String() != "worktree" || c.prog.Workflow || c.file.Front.Worktree != nil {
		return
	}
	for _, k := range c.index.all {
		d := k.step.Delegation()
		if d != nil && (d.Agent.Text == GitWorkflow || d.Pick != nil) {
			return
		}
	}
	c.reportStray(in, "add worktree: {per: run} to the frontmatter",
		"'in: worktree' needs a worktree, and the file opens none")
}

// checkIn reports `in` at a step that works in no tree, and `in: none` at a delegate to no worker.
// Those act for the run, wherever it works.
func (c *compiler) checkIn(info *Info) {
	in := info.Step.In
	c.checkWorktreeUse(in)
	if in == nil {
		return
	}
	switch {
	case kindOf(info.Step).treeless:
		c.reportStray(in, "remove it", "'in' belongs to a step that works in a tree")
	case !info.Step.Kind().Judges && info.Call == nil: // what stands inside has it
	case in.Text == "none" && (!info.callsWorker() || info.Call.Agent == GitWorkflow):
		c.reportStray(in, "remove it", "'in: none' belongs to a delegate to a worker")
	}
}

// checkSession reports `session` at a step whose work has no session, and for a reviewer: who
// judges what was mended begins afresh.
func (c *compiler) checkSession(info *Info) {
	at := info.Step.Session
	if at == nil || info.Call == nil {
		return
	}
	reviews := func(call *Call) bool { return call.Info.Role == formats.RoleReviewer }

	switch {
	case at.Text != "keep":
		c.report(at.Pos, syntax.CodeValue, "write session: keep, or remove it",
			"expected 'keep' in 'session', got %q", at.Text)
	case !info.callsWorker() || info.Call.Info.Workflow:
		c.reportStray(at, "remove it", "'session' belongs to a delegate to a worker")
	case reviews(info.Call) || slices.ContainsFunc(info.Call.Among, reviews):
		c.reportStray(at, "remove it: a review begins afresh each time",
			"'session: keep' does not belong to a reviewer")
	}
}

// compileDelegate takes the contract of the subagent that a step names, or of those of which it
// picks one.
func (c *compiler) compileDelegate(a *syntax.Delegate, info *Info) {
	c.compileExprs(info.Step.Prompt)
	if a.Pick == nil {
		// an unknown subagent was reported there
		info.Call, _ = c.compileCall(a.Agent, info, a.Pos)
		if a.Agent.Text == StatusSync && changesStatus(info.Step.With) {
			c.noteMove("", false)
		}
		return
	}

	info.Call = &Call{Info: &formats.AgentInfo{}}
	c.compileExprs(a.Pick)
	for _, w := range a.Among {
		one, _ := c.compileCall(w, info, w.Pos) // the same
		info.Call.Among = append(info.Call.Among, one)
	}

	if a.Among == nil { // the line names it, and then the program is compiled with it
		info.Call.With = c.callInput(info.Step.With, info.Call.Info)
	}
}

func (c *compiler) compileCall(w syntax.Word, info *Info, pos syntax.Pos) (call *Call, ok bool) {
	agent, ok := c.checkAgent(w)
	call = &Call{
		Agent: w.Text,
		Info:  agent,
		With:  c.callInput(info.Step.With, agent),
	}
	if ok {
		checkInputs(c, call, pos)
	}
	return call, ok
}

// compileCheck makes the call of a check that runs commands; nil for one that the engine makes
// itself.
func (c *compiler) compileCheck(a *syntax.Check, s *syntax.Step) *Call {
	c.compileExprs(a)
	c.compileValues(a.Path, a.File)
	if a.Command == nil && a.Project == nil {
		c.reportStray(s.Retry, "remove it", "'retry' belongs to a check that runs commands")
	}

	switch {
	case a.Command != nil:
		return c.builtinCall(
			a.Pos,
			Gatekeeper,
			newField("command", &syntax.Value{Kind: syntax.List, Items: a.Command}),
		)
	case a.Project != nil:
		kinds := &syntax.Value{Kind: syntax.List}
		for _, w := range a.Project {
			c.checkWord(
				w,
				CodeMember,
				[]string{"build", "lint", "test"},
				"",
				"expected build, lint or test, got %q",
			)
			kinds.Items = append(kinds.Items, &syntax.Value{Lit: w.Text})
		}
		return c.builtinCall(a.Pos, Gatekeeper, newField("project", kinds))
	}

	d := a.Document
	if d == nil || !c.checkProfile(*d, documents.FileProfiles()...) || a.Path != nil {
		return nil
	}
	if documentType(d.Text) == "" && documents.HandoffFiles(d.Text) == nil {
		c.report(d.Pos, CodeProfile, "add path: ...",
			"'%s' is no type of artifact, so its file must be named", d.Text)
	}
	return nil
}

// documentType is the type of artifact that a profile is for, empty if it is for none.
func documentType(profile string) formats.ArtifactType {
	t := formats.ArtifactType(strings.TrimSuffix(profile, "-short"))
	if slices.Contains(formats.ArtifactTypes(), t) && t.IsDocument() {
		return t
	}
	return ""
}

// compilePublish makes the call of `publish`.
func (c *compiler) compilePublish(a *syntax.Publish) *Call {
	if c.workflow != nil {
		c.report(a.Pos, CodeTalks, "publish in the command", "a subagent cannot publish")
	}
	if a.As != nil {
		word := literalText(a.As)
		ways := []string{"merge", "squash", "patch", "pr"}
		if a.As.Kind != syntax.Literal || !slices.Contains(ways, word) {
			c.report(a.As.Pos, CodeMember, nearest.Help(word, ways), "expected one of %s, got %s",
				joinWords(ways), a.As)
		}
	}

	c.compileValues(a)
	return c.builtinCall(
		a.Pos,
		GitWorkflow,
		literalField("action", "publish"),
		newField("to", a.To),
		newField("as", a.As),
		newField("push", a.Push),
		newField("closes", a.Closes),
	)
}

func checkExpect(c *compiler, e *syntax.Expect) {
	if e == nil {
		return
	}
	c.compileCondition(e.If)
	c.compileExprs(e.Else)
	c.compileSchema(e.Schema)

	w := e.Artifact
	types := formats.Words(formats.ArtifactTypes())
	if w != nil {
		c.checkWord(*w, CodeArtifact, types, "", "expected one of "+joinWords(types)+", got %q")
	}
}

func checkReturn(c *compiler, r *syntax.Return) {
	if r == nil {
		return
	}
	c.compileValues(r)
	if r.Status != nil && r.Status.Kind == syntax.Literal {
		word := literalText(r.Status)
		if !slices.Contains(formats.Outcomes(), formats.Outcome(word)) {
			help := adviceFor(word, formats.Outcomes(), "the statuses are %s")
			c.report(r.Status.Pos, CodeOutcome, help, "expected a status, got %s", r.Status)
		}
	}
}

// compileGate checks a step that asks.
func (c *compiler) compileGate(a *syntax.Gate, info *Info) {
	if on := info.Step.On; len(on) > 0 {
		c.report(on[0].Status.Pos, CodeGate, "name the targets in choices",
			"a gate has 'choices' instead of 'on'")
	}
	checkGate(c, a, info)
}

// checkGate checks a question of a step or of a rule.
func checkGate(c *compiler, a *syntax.Gate, info *Info) {
	c.checkMayAsk(a.Pos)
	c.compileExprs(a.Question, a.Show)
	c.compileValues(a.Evidence)
	c.checkEvidence(a.Evidence)
	var labels []string
	for _, ch := range a.Choices {
		labels = append(labels, ch.Label.Text)
		c.checkTarget(ch.Target, info)
	}

	if len(labels) == 0 {
		c.report(
			a.Pos,
			CodeGate,
			"write {approve: next, reject: fail}, or leave the key out",
			"a gate has no choices",
		)
	}
	chosen := []*syntax.Word{a.Auto}
	if a.Timeout != nil {
		chosen = append(chosen, a.Timeout.Choose)
	}
	for _, w := range chosen {
		if w != nil {
			c.checkWord(*w, CodeMember, labels, "the choices are %s", "no choice is named '%s'")
			if at := slices.Index(labels, w.Text); at >= 0 && a.Choices[at].Target.Note {
				c.report(w.Pos, CodeGate, "name another choice",
					"'%s' needs a note, which nobody gives here", w.Text)
			}
		}
	}
}

// checkEvidence refuses a bare word that is neither a step nor can be a file: a misspelt step would
// bind the answer to nothing.
func (c *compiler) checkEvidence(v *syntax.Value) {
	if v == nil {
		return
	}
	for _, one := range append([]*syntax.Value{v}, v.Items...) {
		word, ok := one.Lit.(string)
		if !ok || one.Kind != syntax.Literal || strings.ContainsAny(word, "./*?[") ||
			c.scope.find(word) != nil {
			continue
		}
		if c.checkStepID(syntax.Word{Pos: one.Pos, Text: word}) {
			c.report(one.Pos, CodeNotYetRun, "", "step '%s' cannot have run yet", word)
		}
	}
}

// compileCompensation checks the step that takes this one's effect back.
func (c *compiler) compileCompensation(s *syntax.Step, id string) *Info {
	if s == nil {
		return nil
	}

	outer := c.place
	before := len(c.scope.steps)
	self := c.scope.self
	c.inCompensation = true
	c.conditional = true
	info := c.compileStep(s, id+".compensate")

	// nothing reads its result
	c.scope.steps = c.scope.steps[:before]
	c.scope.self = self
	c.place = outer
	return info
}
