package interp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// call is one attempt of a delegation.
type call struct {
	step     step
	to       *compile.Call
	attempt  int
	question string // all that is asked; empty for work

	// messages are those of the user that its earlier attempts got.
	messages []formats.Message

	// Of the engine's own calls.
	task       int    // the number of the task to act on
	extraInput object // to be added to what the file gives
	// evenUnrecorded makes the call even if the journal cannot be written.
	evenUnrecorded bool
}

// tolerate turns an error of the journal into a warning where the call is made all the same: a task
// must be put back even if that cannot be recorded.
func (c call) tolerate(err error) error {
	r := c.step.run
	if err != nil && c.evenUnrecorded && r.journal.diverged == nil {
		r.report.warn("%s", err)
		return nil
	}
	return err
}

// delegate makes the call of a step, with its retries and fallback.
func (s step) delegate() (result, error) {
	c := call{step: s, to: s.info.Call}
	if pick := pickOf(s.info.Step); pick != nil {
		one, err := s.chooseAgent(pick)
		if err != nil {
			return resultOf(formats.Failed(err), 1), nil
		}
		c.to = one
	}
	ret, err := c.tryAll()
	if err != nil {
		return result{}, err
	}
	s.run.report.warnings = append(s.run.report.warnings, ret.Warnings...)
	c.emitWarnings(ret)
	if check := checkOf(s.info.Step); check != nil {
		if err := s.useElse(check, &ret, c.attempt); err != nil {
			return result{}, err
		}
	}
	out := resultOf(ret, c.attempt)
	out.value["agent"] = c.to.Agent
	return out, nil
}

// chooseAgent is the call to the subagent that an expression names. It must be one of those that
// the file lists.
func (s step) chooseAgent(pick *syntax.Text) (*compile.Call, error) {
	name, err := s.env().dryText(pick, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, candidate := range s.info.Call.Among {
		if candidate.Agent == name {
			return candidate, nil
		}
		names = append(names, candidate.Agent)
	}
	if s.run.dry.on && names != nil {
		return s.info.Call.Among[0], nil
	}
	return nil, formats.Fail(formats.CodeValidationFailed, "name it under among",
		"expected one of %s to delegate to, got %q", strings.Join(names, ", "), name)
}

// tryAll makes the first attempt, its retries by class, and the fallback once. Afterwards the call
// names the subagent of the last attempt and its number.
func (c *call) tryAll() (formats.Return, error) {
	r := c.step.run
	retry := c.retryTerms()
	wait := seconds(retry.Backoff)
	feedback := c.step.frame.feedback
	var faults []formats.Issue // of the last attempt, if its return was none
	for c.attempt = 1; ; c.attempt++ {
		ret, err := c.try()
		if err != nil || ret.Outcome() != formats.OutcomeFailed ||
			ret.Class == formats.ClassCancelled {
			return ret, err
		}
		failure := r.problem(ret, stepError{Step: c.step.path, Pos: c.step.info.Step.Pos})
		failure.Path = append(failure.Path, c.to.Agent)
		failure.Depth++
		r.report.failures = append(r.report.failures, failure)
		sameFaults := ret.Class == formats.ClassInvalidReturn && len(ret.Issues) > 0 &&
			slices.EqualFunc(faults, ret.Issues, func(a, b formats.Issue) bool {
				return a.Description == b.Description
			})
		faults = ret.Issues
		if !sameFaults && c.attempt <= min(retry.Max, r.limits.Retries) && shouldRetry(retry, ret) {
			if len(ret.Errors) > 0 && ret.Errors[0].Code == formats.CodeBuildError {
				c.step = c.step.withFeedback(c.buildFeedback(ret))
			}
			wait = min(wait, seconds(retry.Cap))
			if err := c.step.sleep(wait, c.attempt); err != nil {
				return ret, err
			}
			wait = time.Duration(float64(wait) * retry.Factor)
			continue
		}
		if c.step.info.Fallback == nil {
			return ret, nil
		}
		fallback := c.step.info.Fallback
		r.report.warn("%s: %s failed (%s); tried %s",
			c.step.info.Step.Title, c.to.Agent, ret.Summary, fallback.Agent)
		c.to = fallback
		c.step = c.step.withFeedback(feedback)
		c.attempt++
		return c.try()
	}
}

// retryTerms are the retries of the step. A worker of a file without them has two further attempts
// for transient failures; the steps in a workflow subagent have their own. A question has none.
func (c call) retryTerms() *syntax.Retry {
	if c.step.info.Terms.Retry != nil {
		return c.step.info.Terms.Retry
	}
	info := c.to.Info
	if info.Builtin || info.Workflow || info.AgentResult || c.question != "" {
		return &syntax.Retry{}
	}
	return syntax.DefaultRetry()
}

// shouldRetry tells whether the terms allow to repeat after a failure. What a worker reports as
// recoverable counts as transient: a tool that was missing or slow, and a build that it can mend.
func shouldRetry(retry *syntax.Retry, ret formats.Return) bool {
	on := func(class formats.Class) bool {
		return slices.ContainsFunc(retry.On, func(w syntax.Word) bool {
			return w.Text == string(class)
		})
	}
	if on(ret.Class) {
		return true
	}
	if len(ret.Errors) == 0 || !ret.Errors[0].Recoverable || !on(formats.ClassTransient) {
		return false
	}
	return slices.Contains([]formats.Code{
		formats.CodeTimeout, formats.CodeToolUnavailable, formats.CodeBuildError,
	}, ret.Errors[0].Code)
}

func seconds(n float64) time.Duration {
	return time.Duration(n * float64(time.Second))
}

// try makes one delegation and applies what it changed. What was done is kept even if the run was
// stopped meanwhile; the reason of the stop is then the error.
func (c *call) try() (formats.Return, error) {
	r := c.step.run
	fr := c.step.frame
	if fr.ctx.Err() != nil {
		return formats.Return{}, context.Cause(fr.ctx)
	}
	if err := c.ensureWorktree(); err != nil {
		return formats.Return{}, err
	}

	req, missing, err := c.request()
	if err != nil {
		return formats.Return{}, err
	}
	if r.dry.on {
		return c.stub(req), nil
	}
	if missing != "" {
		line := c.step.info.Step.Pos.Line
		return formats.Failed(formats.Fail(formats.CodeValidationFailed,
			fmt.Sprintf("see 'with' of the step at %s:%d", r.prog.File.Name, line),
			"expected a value for input '%s' of subagent '%s', got null", missing, c.to.Agent)), nil
	}
	if err := c.begin(req); err != nil {
		return formats.Return{}, err
	}

	replayed := fr.journal.replayed
	req.Begun = c.begunState()
	if !replayed && !r.journal.off {
		req.Begun = formats.BegunNow
	}
	unfinished := replayed && !r.journal.pastEnd
	board := c.attachBoard(&req)
	kept := c.openSession(&req)
	got := c.performAndAsk(effect{
		req:     &req,
		worker:  c.isWorker(),
		flow:    c.to.Info.Workflow,
		board:   board,
		session: kept,
		entry: formats.Entry{
			Type:    formats.EntryDelegationResult,
			Step:    req.At,
			Attempt: c.attempt,
			Key:     req.Txn,
		},
	})
	c.messages = req.Facets.Messages
	board.close(r)
	kept.close(*c, req, got)
	if got.err != nil {
		c.abandon(req, got)
		return got.ret, got.err
	}
	// Whether the process that began the call was killed shows when its answer is not there.
	if err := c.complete(req, got, unfinished && r.journal.pastEnd); err != nil {
		return got.ret, err
	}
	if fr.ctx.Err() != nil {
		return got.ret, context.Cause(fr.ctx)
	}
	return got.ret, c.checkMovedRefs(got.ret)
}

// begunState says of a call that was replayed that it was begun before. In a tree where other
// branches work too, nobody knows what the interrupted call did.
func (c call) begunState() formats.Begun {
	if c.step.frame.journal.replayed && !c.step.frame.shared {
		return formats.BegunAgain
	}
	return formats.BegunUnknown
}

// isWorker tells whether the call is for a subagent that works outside of tercet.
func (c call) isWorker() bool {
	return !c.to.Info.Builtin
}

// isSync tells whether the call changes the state.
func (c call) isSync() bool {
	return c.to.Agent == compile.StatusSync
}

// begin counts a worker and records that the delegation starts.
func (c call) begin(req formats.Request) error {
	r := c.step.run
	if c.isWorker() {
		if err := r.budget.reserveWorker(); err != nil {
			return err
		}
		if err := c.checkNextAgent(); err != nil {
			return err
		}
	}
	err := c.step.frame.journal.append(formats.Entry{
		Type:    formats.EntryDelegationStarted,
		Step:    req.At,
		Attempt: c.attempt,
		Key:     req.Txn,
		Data: object{
			"agent":           c.to.Agent,
			"input":           req.Input,
			"timeout_seconds": req.Timeout.Total.Seconds(),
		},
	})
	if err := c.tolerate(err); err != nil {
		return err
	}
	r.workerCalled = r.workerCalled || c.isWorker()
	return nil
}

// abandon applies what is known of a call that ended with an error.
func (c call) abandon(req formats.Request, got answer) {
	r := c.step.run
	if c.isSync() {
		r.tasks.applyUnknownChange(req.Input)
	}
	if c.isWorker() && asInterrupt(got.err) != nil {
		r.budget.settle(got.ret.Metadata)
	}
}

// complete applies what a call did, and records a change of the state. It renews the lease where a
// killed process began that change.
func (c call) complete(req formats.Request, got answer, takenOver bool) error {
	r := c.step.run
	ret := got.ret
	if c.isWorker() {
		r.budget.settle(ret.Metadata)
		c.noteNextAgent(ret)
		if len(req.Facets.Messages) > 0 && ret.Metadata.Runner == runnerOffline {
			r.report.warn(
				"step '%s' got a message and worked offline, where nobody reads it", req.Step,
			)
		}
	}
	c.apply(req, ret)

	changed := c.isSync() && ret.Outcome().Passes()
	if changed && takenOver {
		if err := r.renewLeases(false); err != nil {
			return err
		}
	}
	if got.journalErr != nil {
		if err := c.tolerate(r.journal.failed(got.journalErr)); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	return c.tolerate(c.step.frame.journal.append(formats.Entry{
		Type: formats.EntryStateCommitted,
		Step: req.At,
		Key:  req.Txn,
		Data: ret.Fields,
	}))
}

// request builds the request. The second result names a required input that came out empty.
func (c call) request() (formats.Request, string, error) {
	s := c.step
	r := s.run
	input, missing, err := c.input()
	if err != nil {
		return formats.Request{}, "", err
	}

	ids := r.cfg.IDs
	visit := r.counts.visit(s.path)
	req := formats.Request{
		Agent:    c.to.Agent,
		Pack:     r.prog.CallingPack(),
		Task:     r.tasks.current(),
		Input:    input,
		Feedback: s.frame.feedback,
		Session:  ids.Session,
		Run:      ids.Run,
		Command:  ids.Command,
		Step:     s.path,
		At:       s.journalPath(),
		Visit:    visit,
		Attempt:  c.attempt,
		Depth:    r.depth,
		Path:     slices.Clone(ids.Path),
		Timeout:  c.timeout(),
		Dir:      r.cfg.Dir,
		Question: c.question,
		Txn:      txn(ids.Run, s.journalPath(), visit, c.attempt),
		Terms:    formats.Terms{Commits: r.commits, Wishes: r.prog.Wishes},
	}
	switch {
	case s.info.Terms.In == inNone && !c.to.Info.Builtin:
		// the others act for the run, not in a tree of their own choice
		req.Dir = ""
		req.NoTree = true
	case s.frame.dir() != "" && s.info.Terms.In != inMain:
		req.Dir = s.frame.dir()
	}

	req.Facets.Messages = slices.Clone(c.messages)
	req.Facets.Knowledge = r.board.promptText(s.info.Terms.Board)
	req.Terms.Live = c.usesLiveBoard()
	if e := s.info.Expect; e != nil && e.Schema != nil && c.question == "" {
		req.Schema = r.prog.Schema(e.Schema).JSON()
	}
	if c.question != "" {
		req.Facets.Instruction = "Answer only this question, and do nothing else: " + c.question
	}
	extra, err := s.env().dryText(s.info.Step.Prompt, nil)
	if extra != "" && req.Facets.Instruction != "" {
		extra += "\n\n"
	}
	req.Facets.Instruction = extra + req.Facets.Instruction
	return req, missing, err
}

func (c call) input() (object, string, error) {
	r := c.step.run
	input, err := c.step.env().fields(c.to.With, nil)
	if err != nil && !r.dry.on {
		return nil, "", err
	}
	if input == nil {
		input = object{}
	}
	if c.task != 0 {
		input["task_number"] = c.task
	}
	maps.Copy(input, c.extraInput)
	missing := ""
	for _, name := range slices.Sorted(maps.Keys(input)) {
		if input[name] != nil {
			continue
		}
		delete(input, name)
		if c.to.Info.Inputs[name].Required {
			missing = cmp.Or(missing, name)
		}
	}
	if c.to.Link && len(r.artifacts.unlinked) > 0 {
		input["artifacts"] = normalize(newest(r.artifacts.unlinked))
	}
	return input, missing, nil
}

func (c call) timeout() formats.Timeout {
	own := c.step.info.Terms.Timeout
	agent := c.to.Info.Timeout
	return formats.Timeout{
		Total: cmp.Or(own.Total, agent.Total, formats.DefaultStepTimeout),
		Idle:  cmp.Or(own.Idle, agent.Idle),
	}
}

// txn is the id of the one change that a delegation may make. The same place in the same run gives
// the same id, so nothing is applied twice.
func txn(run, path string, visit, attempt int) string {
	const index = 0 // of the operation
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%d",
		run, path, visit, attempt, index))
	return hex.EncodeToString(sum[:16])
}

// apply keeps what a return brought: artifacts, the worktree, and changes of the status of tasks.
func (c call) apply(req formats.Request, ret formats.Return) {
	r := c.step.run
	tree := &r.tree.dir
	if c.step.frame.subtree != nil {
		tree = &c.step.frame.subtree.dir
	}
	switch dir := ret.Metadata.Worktree; dir {
	case "":
	case formats.WorktreeClosed:
		*tree = ""
	default:
		*tree = localDir(r.cfg.Dir, dir)
	}

	if ret.Status == formats.StatusCompleted || ret.Status == formats.StatusPartial {
		for _, a := range ret.Artifacts { // what a failed attempt left is not the run's work
			c.step.frame.addArtifact(a)
			r.artifacts.queueLink(a)
		}
	}
	if c.to.Agent != compile.StatusSync || !ret.Outcome().Passes() {
		return
	}

	for _, one := range formats.As[[]any](req.Input["artifacts"]) {
		r.artifacts.markLinked(formats.As[string](formats.As[object](one)["path"]))
	}

	r.tasks.applyChange(req.Input)
}
