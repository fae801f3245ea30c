package subagents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/formats/returns"
	"tercet/internal/secrets"
	"tercet/internal/trace"
)

// Dispatcher handles every delegation. It raises the depth, finds the subagent, makes its folder
// and bounds its time. Then it checks the return, places the documents and stamps the metadata.
type Dispatcher struct {
	Set   *Set
	Root  *os.Root // the project root; never closed here
	Dir   string   // absolute path of Root
	Specs string   // folder of the tasks' folders, relative to Root; empty: formats.Specs
	// Profiles are the project's own profiles of documents; nil: the shipped ones.
	Profiles *documents.ProjectProfiles
	Clock    Clock
	Trace    trace.Sink // may be nil
	// Derive applies a contract's queries (AgentInfo.StatusQuery, IssuesQuery) to finished work.
	// Its error is a violation of the contract. Nil is allowed if no subagent of the Set has such a
	// query.
	Derive func(
		ctx context.Context,
		info formats.AgentInfo,
		ret formats.Return,
	) (formats.Return, error)
	// Watch reads the state before a worker starts; the returned function reports foreign changes
	// after it has ended. Nil: no check.
	Watch func(ctx context.Context) (Unwatch, error)
	Mask  Masker // nil: no masking
	// Guard checks, before the call, what a subagent that is not built in must not change. after
	// checks again, however the call ended; its error ends the run. It also gives the refs that the
	// user may have moved. Nil values check nothing.
	Guard func(
		ctx context.Context,
		r formats.Request,
	) (after func() ([]formats.Moved, error), err error)
	// Ready prepares the tree for a subagent that is not built in, once before the call; it returns
	// warnings. Nil: no preparation.
	Ready func(ctx context.Context, r formats.Request) (said []string, err error)
	// Enter waits until a subagent that is not built in may be at work, and gives what ends that.
	// Its error is that of the context, or ends the run. Nil: at once. A workflow is not at work
	// itself: its subagents are.
	Enter func(ctx context.Context, r formats.Request) (leave func(), err error)
	// files that a result may contain although their name looks like a secret's
	Allow []secrets.Allowed

	mu     sync.Mutex
	placed map[docKey]Document // where the document of a step of a run stands; guarded by mu
	known  map[string]bool     // runs whose record on disk was read; guarded by mu
}

// Delegate runs one delegation. Depth and path of r are the caller's; it ignores r.Out, r.Repair
// and r.Refused. An unknown subagent, a delegation that is too deep or cyclic, and a fault of the
// engine are Go errors. A subagent's own mistakes are a failed Return.
func (d *Dispatcher) Delegate(ctx context.Context, r formats.Request) (formats.Return, error) {
	if err := d.checkFields(); err != nil {
		return formats.Return{}, err
	}
	g := &delegation{
		dispatcher: d,
		from:       r.Depth.Int(),
		begin:      d.Clock.Now(),
	}
	ret, err := g.start(ctx, r)
	g.traceEnd(ret, err)
	return ret, err
}

func (d *Dispatcher) checkFields() error {
	switch {
	case d.Set == nil:
		return formats.Unset("a set of subagents")
	case d.Root == nil || d.Dir == "":
		return formats.Unset("the project root")
	case d.Clock == nil:
		return formats.Unset("a clock")
	}
	return nil
}

// delegation is one call of Delegate and belongs to its goroutine.
type delegation struct {
	dispatcher *Dispatcher
	req        formats.Request // as the agent gets it
	info       formats.AgentInfo
	agent      Agent
	from       int // depth of the caller
	begin      time.Time
	folder     *folder
	used       Measured // by all calls of the agent
	moved      []formats.Moved
}

// start checks depth, cycle and input, prepares the folder of the call, lets the agent work, and
// finishes what it returns. Input that does not fit the contract is a failed return, not an error.
func (g *delegation) start(ctx context.Context, r formats.Request) (formats.Return, error) {
	g.req = r
	depth, err := g.nextDepth(r)
	if err != nil {
		return formats.Return{}, err
	}

	req, def, agent, err := g.dispatcher.prepare(r)
	if err != nil {
		return formats.Return{}, err
	}
	g.req = req
	g.info = def.Info
	g.agent = agent
	g.req.Depth = depth
	g.req.Path = append(slices.Clone(r.Path), r.Agent)
	if r.Question != "" {
		g.info = questionContract(g.info)
	}
	if bad := checkInput(g.info, r.Input); len(bad) > 0 {
		return g.finish(formats.Failed(BadInput(r.Agent, bad))), nil
	}

	g.folder, err = g.dispatcher.openFolder(r, !def.Info.Builtin || !def.Info.NoArtifacts)
	if err != nil {
		return formats.Return{}, err
	}
	defer g.folder.close()
	g.req.Out = g.folder.outPath()
	if r.NoTree {
		g.req.Dir, err = g.folder.emptyTree()
		if err != nil {
			return formats.Return{}, err
		}
	}
	if !g.info.Builtin {
		g.send(trace.Event{Kind: trace.Agent})
	}

	if g.dispatcher.Enter != nil && g.isExternal() {
		leave, err := g.dispatcher.Enter(ctx, g.req)
		if err != nil {
			return formats.Return{}, err
		}
		defer leave()
		g.begin = g.dispatcher.Clock.Now()
	}

	var said []string
	if g.dispatcher.Ready != nil && g.isExternal() {
		said, err = g.dispatcher.Ready(ctx, g.req)
		if err != nil {
			return formats.Return{}, err
		}
	}

	ret, err := g.workWatched(ctx)
	ret.Warnings = append(ret.Warnings, said...)
	if !g.info.Builtin {
		err = errors.Join(err, g.folder.maskFiles(g.dispatcher.Mask))
	}
	if err != nil {
		return formats.Return{}, err
	}
	return g.finish(ret), nil
}

// nextDepth gives the depth of the agent. A delegation that is too deep is an error, and so is one
// to an agent that waits for it.
func (g *delegation) nextDepth(r formats.Request) (formats.Depth, error) {
	depth, err := r.Depth.Next()
	if err != nil {
		return depth, err
	}
	if g.from < formats.CommandDepth().Int() {
		return depth, formats.Fail(formats.CodeBug, "",
			"a delegation starts at a command, not at the router")
	}
	onPath := func(name string) bool { return base(name) == base(r.Agent) }
	if slices.ContainsFunc(r.Path, onPath) {
		return depth, formats.Fail(formats.CodeCycle,
			"let the command delegate to each of them in turn",
			"%s would delegate to %q, which is already on that path",
			strings.Join(r.Path, " > "), r.Agent)
	}
	return depth, nil
}

// Preview gives the request for an agent, with its file's facets and default timeouts, and its
// contract. It starts and writes nothing; Out is empty.
func (d *Dispatcher) Preview(r formats.Request) (formats.Request, formats.AgentInfo, error) {
	req, def, _, err := d.prepare(r)
	if err == nil {
		req.Depth, err = r.Depth.Next()
	}
	req.Path = append(slices.Clone(r.Path), r.Agent)
	return req, def.Info, err
}

// prepare finds the subagent and joins what its file says with the request.
func (d *Dispatcher) prepare(r formats.Request) (formats.Request, Definition, Agent, error) {
	def, agent, ok := d.Set.Find(r)
	if !ok {
		return r, Definition{}, nil, d.Set.unknownError(r.Agent)
	}
	if def.Info.Pack == "" &&
		(strings.Contains(r.Agent, ":") || strings.HasPrefix(def.Info.Name, Shipped)) {
		r.Agent = def.Info.Name // the words before a name say only where the file is
	}
	if def.Info.Pack != "" { // it knows itself by its plain name
		r.Pack = def.Info.Pack
		r.Agent = base(def.Info.Name)
	}

	own := def.Facets
	if r.Question != "" {
		own.Knowledge = nil
		own.Instruction = ""
		own.Output = ""
	}
	for _, spec := range def.Info.Artifacts {
		if form := d.Profiles.Form(spec.Document); form != "" && r.Question == "" {
			own.Output = strings.TrimLeft(own.Output+"\n\n"+form, "\n")
		}
	}

	r.Facets = joinFacets(own, r.Facets)
	r.Timeout = timeoutOf(r.Timeout, def.Info.Timeout)
	r.Repair = nil
	r.Refused = ""
	r.Out = ""
	r.Dir = cmp.Or(r.Dir, d.Dir)
	return r, def, agent, nil
}

// canRepair tells whether another call may mend a return that breaks the contract. A built-in
// subagent returns the same again. So does a workflow, whose return is computed from its steps, and
// another call would start all of them again.
func (g *delegation) canRepair() bool {
	return g.isExternal()
}

// isExternal tells whether another program does the work: the subagent is neither built in nor a
// workflow.
func (g *delegation) isExternal() bool {
	return !g.info.Builtin && !g.info.Workflow
}

// work runs the agent, has a return that breaks the contract repaired once, and places the
// documents of a good one.
func (g *delegation) work(ctx context.Context) (formats.Return, error) {
	within, cancel := context.WithTimeout(ctx, min(g.req.Timeout.Total, g.budgetTime()))
	defer cancel()
	answer, err := g.ask(within)
	if err != nil {
		return formats.Return{}, err
	}

	if len(answer.bad)+len(answer.schemaProblems) > 0 && within.Err() == nil && g.canRepair() {
		if err := g.folder.write("return-1", answer.raw); err != nil {
			return formats.Return{}, err
		}
		g.req.Repair = slices.Concat(answer.bad, answer.schemaProblems)
		g.req.Refused = strings.ToValidUTF8(
			string(answer.raw[:min(len(answer.raw), formats.MaxRefused)]),
			"",
		)
		answer, err = g.ask(within)
		if err != nil {
			return formats.Return{}, err
		}
	}

	switch {
	case len(answer.bad) > 0 && within.Err() != nil:
		return g.stoppedReturn(ctx, answer.ret), nil
	case len(answer.bad) > 0:
		return g.invalidReturn(answer)
	case answer.ret.Status == formats.StatusFailed && within.Err() != nil:
		return g.stoppedReturn(ctx, answer.ret), nil
	}

	if answer.secretFiles != nil {
		answer.ret.Issues = append(answer.ret.Issues, answer.secretFiles...)
		if answer.ret.Status == formats.StatusCompleted ||
			answer.ret.Status == formats.StatusPartial {
			answer.ret.Verdict = formats.VerdictRejected
			answer.ret.Summary = answer.secretFiles[0].Description
		}
	}
	return g.place(answer)
}

// answer is what one call of the agent gave. It is a return with the artifacts that were found, or
// violations with the text they were found in.
type answer struct {
	ret  formats.Return
	docs []document
	bad  []string
	raw  []byte
	// unshaped are breaches of the request's schema. They too are worth a repair round, but then
	// the step decides what follows from work not done as asked.
	schemaProblems []string
	// keys are the files of secrets that were taken out: the work is rejected for them.
	secretFiles []formats.Issue
}

// ask calls the agent once and judges what comes back.
func (g *delegation) ask(ctx context.Context) (answer, error) {
	ret, fault, err := g.callGuarded(ctx)
	if err != nil {
		return answer{}, err
	}

	if broken, ok := errors.AsType[*ReturnError](fault); ok {
		a := answer{
			bad: g.maskTexts(slices.Clone(broken.Problems)),
			raw: []byte(g.maskText(string(broken.Raw))),
		}
		err := g.addPartialProblems(&a, broken.Partial)
		return a, err
	}
	if fault != nil && (ctx.Err() != nil || isAgentFailure(formats.CodeOf(fault))) {
		ret := g.maskReturn(formats.Failed(fault))
		return answer{ret: ret}, nil //nolint:nilerr // the agent failed, not the engine
	}
	if fault != nil {
		return answer{}, fault
	}

	a := answer{ret: g.maskReturn(g.dropClaims(ret))}
	var unfit error
	a.raw, unfit = json.MarshalIndent(g.maskReturn(ret), "", "  ")
	if unfit != nil {
		// A value that JSON cannot hold stands in fields: the agent put it there.
		a.raw = []byte(g.maskText(fmt.Sprintf("%+v\n", ret)))
		a.bad = []string{fmt.Sprintf("fields hold a value that is no JSON: %v", unfit)}
	}
	if err := g.judge(ctx, &a); err != nil {
		return answer{}, err
	}
	return a, nil
}

// callGuarded calls the agent between two looks of the Guard. err is what the looks found, and
// counts more than any answer.
func (g *delegation) callGuarded(ctx context.Context) (ret formats.Return, fault, err error) {
	if g.dispatcher.Guard == nil || !g.isExternal() {
		ret, fault = g.callAgent(ctx)
		return ret, fault, nil
	}
	after, err := g.dispatcher.Guard(ctx, g.req)
	if err != nil {
		return formats.Return{}, nil, err
	}

	ret, fault = g.callAgent(ctx)
	if after != nil {
		var moved []formats.Moved
		moved, err = after()
		g.moved = append(g.moved, moved...)
	}
	return ret, fault, err
}

// addPartialProblems adds what the contract asks of a return that could be read in part only, so
// that the repair round names all of it.
func (g *delegation) addPartialProblems(a *answer, partial *formats.Return) error {
	if partial == nil {
		return nil
	}
	ret := *partial
	ret.Status = cmp.Or(ret.Status, formats.StatusCompleted) // named already
	ret.Summary = cmp.Or(ret.Summary, "none")                // named already
	ret.Artifacts = slices.Clone(ret.Artifacts)
	g.resolveTypes(ret.Artifacts)

	a.bad = append(a.bad, returns.Validate(ret, g.info)...)
	_, bad, err := g.checkArtifacts(&ret)
	a.bad = append(a.bad, bad...)
	return err
}

// callAgent calls the agent. What a runner measured is added up, and taken off the budget of a call
// that follows.
func (g *delegation) callAgent(ctx context.Context) (formats.Return, error) {
	agent, ok := g.agent.(Metered)
	if !ok {
		return g.agent.Run(ctx, g.req)
	}
	r := g.req
	r.Budget = remainingBudget(r.Budget, g.used)
	if r.Budget.Seconds > 0 {
		const least = 0.001
		passed := g.dispatcher.Clock.Now().Sub(g.begin).Seconds()
		r.Budget.Seconds = max(least, r.Budget.Seconds-passed)
	}

	ret, used, err := agent.RunMetered(ctx, r)
	used.Tokens.Input += g.used.Tokens.Input
	used.Tokens.Cached += g.used.Tokens.Cached
	used.Tokens.Output += g.used.Tokens.Output
	used.Cost += g.used.Cost
	used.Spawns += g.used.Spawns
	used.Attempts = slices.Concat(g.used.Attempts, used.Attempts)
	g.used = used
	return ret, err
}

// remainingBudget is what a budget still allows, at least the smallest amount where it is used up:
// zero would mean no bound.
func remainingBudget(b formats.Budget, used Measured) formats.Budget {
	if b.Tokens > 0 {
		b.Tokens = max(1, b.Tokens-used.Tokens.Total())
	}
	if b.Cost > 0 {
		const least = 0.0001 // US dollars
		b.Cost = max(least, b.Cost-used.Cost)
	}
	return b
}

// judge checks the return against the contract and its artifacts against the disk.
func (g *delegation) judge(ctx context.Context, a *answer) error {
	finished := a.ret.Status == formats.StatusCompleted || a.ret.Said == formats.OutcomeRejected
	hasQuery := g.info.StatusQuery+g.info.IssuesQuery != ""
	if g.dispatcher.Derive != nil && finished && hasQuery {
		derived, err := g.dispatcher.Derive(ctx, g.info, a.ret)
		if err != nil {
			a.bad = append(a.bad, err.Error())
		} else {
			a.ret = derived
		}
	}

	g.resolveTypes(a.ret.Artifacts)
	a.bad = append(a.bad, returns.Validate(a.ret, g.info)...)
	a.secretFiles = g.dropSecretFiles(&a.ret)
	docs, bad, err := g.checkArtifacts(&a.ret)
	if err != nil {
		return err
	}

	done := a.ret.Status == formats.StatusCompleted || a.ret.Status == formats.StatusPartial
	if !done {
		// What failed is known already: a file that is not there must not hide it.
		for _, one := range bad {
			a.ret.Warnings = append(a.ret.Warnings, "dropped: "+one)
		}
		bad = nil
	}
	a.docs = docs
	a.bad = append(a.bad, bad...)
	a.schemaProblems, err = schemaProblems(g.req, a.ret)
	return err
}

// dropClaims takes away what an agent may not say of itself. What stands on the wire was dropped
// with a warning.
func (g *delegation) dropClaims(ret formats.Return) formats.Return {
	ret.Warnings = slices.Clone(ret.Warnings)
	ret.Artifacts = slices.Clone(ret.Artifacts)
	m := ret.Metadata
	ret.Metadata = (formats.Metadata{Runner: m.Runner})
	if g.info.Builtin {
		ret.Metadata.Worktree = m.Worktree
	}
	ret.Class = ""
	ret.Schema = ""
	return ret
}

// finish stamps what the engine measured.
func (g *delegation) finish(ret formats.Return) formats.Return {
	m := g.used
	m.Worktree = ret.Metadata.Worktree
	m.Runner = cmp.Or(m.Runner, ret.Metadata.Runner)
	m.Session = g.req.Session
	m.Run = g.req.Run
	m.Agent = cmp.Or(g.info.Name, g.req.Agent)
	m.Depth = g.req.Depth.Int()
	m.Path = slices.Clone(g.req.Path)
	m.Duration = g.dispatcher.Clock.Now().Sub(g.begin).Seconds()
	m.Moved = g.moved

	if named, ok := g.agent.(interface{ Runner() string }); ok {
		m.Runner = named.Runner()
	}
	if m.Runner == "" && g.info.Builtin {
		m.Runner = runnerBuiltin
	}

	ret.Metadata = m
	ret.Class = ""
	if ret.Status == formats.StatusFailed && len(ret.Errors) > 0 {
		ret.Class = formats.ClassOf(ret.Errors[0])
	}
	if ret.Artifacts == nil {
		ret.Artifacts = []formats.Artifact{}
	}
	if ret.Errors == nil {
		ret.Errors = []formats.ReturnError{}
	}
	return ret
}

// budgetTime is the time that the budget leaves, without end where there is no bound. The end of
// the run itself comes a moment earlier and tells of it better.
func (g *delegation) budgetTime() time.Duration {
	const moment = 100 * time.Millisecond
	if s := g.req.Budget.Seconds; s > 0 {
		return moment + time.Duration(s*float64(time.Second))
	}
	return math.MaxInt64
}

// stoppedReturn is the return of an agent that was ended before it was done. What it said of the
// reason is kept behind.
func (g *delegation) stoppedReturn(ctx context.Context, said formats.Return) formats.Return {
	f := formats.Fail(formats.CodeTimeout, "give the step a longer `timeout`",
		"%s did not end within %s", g.req.Agent, g.req.Timeout.Total)
	err := ctx.Err()
	switch {
	case errors.Is(err, context.Canceled):
		*f = formats.Failure{Code: formats.CodeCancelled, Message: g.req.Agent + " was cancelled"}
	case err != nil, g.budgetTime() < g.req.Timeout.Total:
		f.Message = "the time of the run was over before " + g.req.Agent + " had ended"
		f.Help = "raise `limits.duration`"
	}

	if len(said.Errors) > 0 && said.Errors[0].Code == f.Code {
		return said
	}
	ret := formats.Failed(f)
	for _, e := range said.Errors {
		// that it was ended is said already
		if e.Message != context.DeadlineExceeded.Error() && e.Message != context.Canceled.Error() {
			ret.Errors = append(ret.Errors, e)
		}
	}
	ret.Issues = said.Issues
	ret.Warnings = said.Warnings
	ret.NextSteps = said.NextSteps
	ret.Metadata.Runner = said.Metadata.Runner
	return ret
}

// invalidReturn stores a second return that broke the contract too, and gives the failure about it.
func (g *delegation) invalidReturn(a answer) (formats.Return, error) {
	broken := &ReturnError{
		Agent:    g.req.Agent,
		Raw:      a.raw,
		Problems: a.bad,
	}
	if err := g.folder.write("return", a.raw); err != nil {
		return formats.Return{}, err
	}
	broken.File = g.folder.path + "/return"

	ret := formats.Failed(broken)
	ret.Metadata.Runner = a.ret.Metadata.Runner
	for _, one := range a.bad {
		ret.Issues = append(ret.Issues, formats.Issue{
			Level:       formats.LevelError,
			Description: one,
			Source:      "check",
		})
	}
	return ret, nil
}

func (g *delegation) traceEnd(ret formats.Return, err error) {
	e := trace.Event{
		Kind:     trace.Delegate,
		Duration: g.dispatcher.Clock.Now().Sub(g.begin),
		Outcome:  ret.Outcome().String(),
		Attrs:    map[string]any{"visit": g.req.Visit, "attempt": g.req.Attempt},
	}
	switch {
	case err != nil:
		e.Outcome = formats.OutcomeFailed.String()
		e.Message = err.Error()
	case len(ret.Errors) > 0:
		e.Message = ret.Errors[0].Message
	default:
		e.Message = ret.Summary
	}

	if ret.Metadata.Runner != "" {
		e.Attrs["runner"] = ret.Metadata.Runner
	}
	if m := ret.Metadata; m.Asked+m.Model != "" {
		e.Attrs["model_asked"] = m.Asked
		e.Attrs["model"] = m.Model
	}
	if m := ret.Metadata; m.Tokens.Total() > 0 {
		e.Attrs["tokens"] = m.Tokens.Total()
		e.Attrs["cost_usd"] = m.Cost
	}
	if a := ret.Metadata.Attempts; len(a) > 0 {
		e.Attrs["attempts"] = a
	}
	if changed := ret.Fields["changed"]; changed != nil && g.info.Builtin {
		e.Attrs["changed"] = changed
	}
	g.send(e)
}

// send traces the delegation, if there is a listener.
func (g *delegation) send(e trace.Event) {
	if g.dispatcher.Trace == nil {
		return
	}
	e.Time = g.begin
	e.Run = g.req.Run
	e.Name = g.req.Agent
	e.Step = g.req.Step
	e.FromDepth = g.from
	e.ToDepth = g.req.Depth.Int()
	e.Path = slices.Clone(g.req.Path)
	g.dispatcher.Trace.Emit(e)
}

// isAgentFailure tells whether a Go error with this code is about the agent's work. The command may
// then retry, fall back or route. With any other code the engine could not do its job.
func isAgentFailure(c formats.Code) bool {
	return slices.Contains([]formats.Code{
		formats.CodeToolUnavailable, formats.CodeAuth, formats.CodeTimeout, formats.CodeTransient,
		formats.CodeDenied, formats.CodeUntrusted, formats.CodeValidationFailed,
		formats.CodeBuildError, formats.CodeFileNotFound, formats.CodeGitCommitFailed,
		formats.CodePrecondition, formats.CodeRejected, formats.CodeNotFound,
	}, c)
}

// questionContract is the contract of a subagent that only answers a question: nothing of what its
// work needs or makes.
func questionContract(info formats.AgentInfo) formats.AgentInfo {
	return formats.AgentInfo{
		Name:        info.Name,
		Description: info.Description,
		Role:        formats.RoleUtility,
		Runner:      info.Runner,
		Builtin:     info.Builtin,
		NoArtifacts: true,
		Tools:       info.Tools,
		Timeout:     info.Timeout,
		AgentResult: info.AgentResult,
		File:        info.File,
	}
}

// timeoutOf takes each bound from the step, else from the subagent's file, else the documented
// default.
func timeoutOf(step, file formats.Timeout) formats.Timeout {
	return formats.Timeout{
		Total: cmp.Or(max(step.Total, 0), max(file.Total, 0), formats.DefaultStepTimeout),
		Idle:  cmp.Or(max(step.Idle, 0), file.Idle),
	}
}

// joinFacets puts what the step adds behind what the subagent's file says.
func joinFacets(file, step formats.Facets) formats.Facets {
	text := func(a, b string) string {
		return strings.Trim(a+"\n\n"+b, "\n")
	}
	return formats.Facets{
		Messages:    step.Messages,
		Persona:     text(file.Persona, step.Persona),
		Knowledge:   slices.Concat(file.Knowledge, step.Knowledge),
		Instruction: text(file.Instruction, step.Instruction),
		Output:      text(file.Output, step.Output),
		Policy:      slices.Concat(file.Policy, step.Policy),
	}
}
