package interp

import (
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
	sc      *scope
	op      *compile.Info
	d       *compile.Call
	path    string
	attempt int
	agent   string
	info    formats.AgentInfo
	task    int  // the engine's own calls: the number of the task to act on
	anyway  bool // even when the journal does not take it
	// question is all that is asked, empty for work.
	question string
}

// write appends an entry of the call.
func (r *run) write(ctx context.Context, c call, e formats.Entry) error {
	e.Step = c.path
	err := r.journal(ctx, e)
	if err != nil && c.anyway {
		r.warn("%s", err)
		return nil
	}
	return err
}

// delegate makes the call of a step, with its retries and fallback.
func (r *run) delegate(ctx context.Context, sc *scope, op *compile.Info, path string) (result, error) {
	d := op.Call
	if a, ok := op.Action.(*syntax.Delegate); ok && a.Pick != nil {
		one, err := r.pick(ctx, sc, a.Pick, d.Among)
		if err != nil {
			return verdict(formats.Failed(err)), nil
		}
		d = one
	}
	c := call{sc: sc, op: op, d: d, path: path, agent: d.Agent, info: *d.Info}
	ret, err := r.attempts(ctx, &c)
	if err != nil {
		return result{}, err
	}
	attempts := c.attempt
	r.warnings = append(r.warnings, ret.Warnings...)
	if a, ok := op.Action.(*syntax.Check); ok && a.Else != nil && ret.Outcome() == formats.OutcomeRejected {
		if ret.Summary, err = r.text(ctx, sc, a.Else, resultOf(ret, attempts)); err != nil {
			return result{}, err
		}
	}
	value := resultOf(ret, attempts)
	value["agent"] = c.agent
	return result{outcome: ret.Outcome(), ret: ret, attempts: attempts, value: value}, nil
}

// pick gives the delegation to the subagent that the expression names, which must be one of those that the file lists.
func (r *run) pick(ctx context.Context, sc *scope, by *syntax.Text, among []*compile.Call) (*compile.Call, error) {
	name, err := r.dryText(ctx, sc, by, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range among {
		if one.Agent == name {
			return one, nil
		}
		names = append(names, one.Agent)
	}
	if r.dry.on {
		return among[0], nil
	}
	return nil, &formats.Failure{
		Code:    formats.CodeValidationFailed,
		Message: fmt.Sprintf("expected one of %s to delegate to, got %q", strings.Join(names, ", "), name),
		Help:    "name it under among",
	}
}

// attempts is the attempt, its retries by class, and the fallback once. The call then tells who did it, and how many
// there were.
func (r *run) attempts(ctx context.Context, c *call) (formats.Return, error) {
	retry := syntax.Retry{}
	if c.op.Terms.Retry != nil {
		retry = *c.op.Terms.Retry
	}
	wait := time.Duration(retry.Backoff * float64(time.Second))
	longest := time.Duration(retry.Cap * float64(time.Second))
	most := min(retry.Max, r.limits.Retries)
	for c.attempt = 1; ; c.attempt++ {
		ret, err := r.attempt(ctx, *c)
		if err != nil {
			return ret, err
		}
		if ret.Outcome() != formats.OutcomeFailed || ret.Class == formats.ClassCancelled {
			return ret, nil
		}
		if c.attempt <= most && slices.ContainsFunc(retry.On,
			func(w syntax.Word) bool { return w.Text == string(ret.Class) }) {
			wait = min(wait, longest)
			if err := r.pause(ctx, wait); err != nil {
				return ret, err
			}
			wait = time.Duration(float64(wait) * retry.Factor)
			continue
		}
		second := c.op.Fallback
		if second == nil {
			return ret, nil
		}
		r.warn("%s: %s failed (%s); tried %s", c.op.Title, c.agent, ret.Summary, second.Agent)
		c.d, c.agent, c.info = second, second.Agent, *second.Info
		c.attempt++
		return r.attempt(ctx, *c)
	}
}

// attempt makes one delegation and takes in what it changed. What was done is kept even when the run was stopped
// meanwhile; the reason of the stop then comes back as the error.
func (r *run) attempt(ctx context.Context, c call) (formats.Return, error) {
	if ctx.Err() != nil {
		return formats.Return{}, context.Cause(ctx)
	}
	if err := r.tree(ctx, c); err != nil {
		return formats.Return{}, err
	}
	req, missing, err := r.request(ctx, c)
	if err != nil {
		return formats.Return{}, err
	}
	if r.dry.on {
		return r.dry.stub(r, c, req), nil
	}
	if missing != "" {
		return formats.Failed(&formats.Failure{
			Code:    formats.CodeValidationFailed,
			Message: fmt.Sprintf("expected a value for input '%s' of subagent '%s', got null", missing, c.agent),
			Help:    fmt.Sprintf("see 'with' of the step at %s:%d", r.prog.File.Name, c.op.Pos.Line),
		}), nil
	}
	if err := r.spawn(c); err != nil {
		return formats.Return{}, err
	}
	if err := r.write(ctx, c, formats.Entry{
		Type: formats.EntryDelegationStarted, Visit: req.Visit, Attempt: c.attempt,
		Key: req.Txn, Data: map[string]any{
			"agent": c.agent, "input": req.Input, "timeout_seconds": req.Timeout.Total.Seconds(),
		},
	}); err != nil {
		return formats.Return{}, err
	}
	r.worked = r.worked || !c.info.Builtin
	ret, err := r.send(ctx, req, !c.info.Builtin)
	if err != nil {
		if c.agent == compile.StatusSync {
			r.uncertain = true
			r.hold(req, true)
		}
		return ret, err
	}
	r.spend(c, ret.Metadata)
	r.take(c, req, ret)
	if err := r.write(ctx, c, formats.Entry{
		Type: formats.EntryDelegationResult, Visit: req.Visit, Attempt: c.attempt,
		Key: req.Txn, Data: ret,
	}); err != nil {
		return ret, err
	}
	if c.agent == compile.StatusSync && ret.Outcome().Passes() {
		if err := r.write(ctx, c, formats.Entry{
			Type: formats.EntryStateCommitted, Key: req.Txn,
			Data: ret.Fields,
		}); err != nil {
			return ret, err
		}
	}
	if ctx.Err() != nil {
		return ret, context.Cause(ctx)
	}
	return ret, nil
}

// request evaluates the input. The second result names a required input that came out empty.
func (r *run) request(ctx context.Context, c call) (formats.Request, string, error) {
	input, missing, err := r.input(ctx, c)
	if err != nil {
		return formats.Request{}, "", err
	}
	visit := max(1, r.visits[c.path])
	operation := as[string](input["operation"])
	req := formats.Request{
		Agent: c.agent, Task: r.task, Input: input, Feedback: r.feedback, Session: r.cfg.IDs.Session, Run: r.cfg.IDs.Run,
		Command: r.cfg.IDs.Command, Step: c.path, Visit: visit, Attempt: c.attempt, Depth: r.depth,
		Path: slices.Clone(r.cfg.IDs.Path),
		Txn:  txn(r.cfg.IDs.Run, c.path, visit, c.attempt, operation), Timeout: r.timeout(c), Dir: r.cfg.Dir,
	}
	switch {
	case c.op.Terms.In == inNone && !c.info.Builtin: // the others act for the run, not in a tree of their own choice
		req.Dir, req.NoTree = "", true
	case r.worktree != "" && c.op.Terms.In != inMain:
		req.Dir = r.worktree
	}
	req.Facets.Knowledge = r.knowledge(c.op.Terms.Board)
	if e := c.op.Expect; e != nil && e.Schema != nil && c.question == "" {
		req.Schema = r.prog.Schema(e.Schema).JSON()
	}
	if req.Question = c.question; c.question != "" {
		req.Facets.Instruction = "Answer only this question, and do nothing else: " + c.question
	}
	if r.feedback != nil {
		req.Facets.Instruction = Inject("", r.feedback.Attempt, *r.feedback)
	}
	if c.op.Prompt != nil {
		extra, err := r.dryText(ctx, c.sc, c.op.Prompt, nil)
		if err != nil {
			return req, "", err
		}
		req.Facets.Instruction = join(extra, req.Facets.Instruction)
	}
	return req, missing, nil
}

func (r *run) input(ctx context.Context, c call) (map[string]any, string, error) {
	input, err := r.fields(ctx, c.sc, c.d.With, nil)
	if err != nil && !r.dry.on {
		return nil, "", err
	}
	if input == nil {
		input = map[string]any{}
	}
	if c.task != 0 {
		input["task_number"] = c.task
	}
	missing := ""
	for _, name := range slices.Sorted(maps.Keys(input)) {
		if input[name] != nil {
			continue
		}
		delete(input, name)
		if missing == "" && c.info.Inputs[name].Required {
			missing = name
		}
	}
	if c.d.Link && len(r.unlinked) > 0 {
		input["artifacts"] = normal(newest(r.unlinked))
	}
	return input, missing, nil
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

func (r *run) timeout(c call) formats.Timeout {
	t := c.op.Terms.Timeout
	if t.Total == 0 {
		t.Total = c.info.Timeout.Total
	}
	if t.Idle == 0 {
		t.Idle = c.info.Timeout.Idle
	}
	if t.Total == 0 {
		t.Total = formats.DefaultStepTimeout
	}
	return t
}

// txn is the id of the state change that a delegation may make; the same place in the same run gives the same id, so
// that nothing is applied twice.
func txn(run, path string, visit, attempt int, operation string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s", run, path, visit, attempt, operation))
	return hex.EncodeToString(sum[:16])
}

// take keeps what a return brought: artifacts, the worktree, and changes of the tasks' statuses.
func (r *run) take(c call, req formats.Request, ret formats.Return) {
	switch ret.Metadata.Worktree {
	case "":
	case formats.WorktreeClosed:
		r.worktree = ""
	default:
		r.worktree = ret.Metadata.Worktree
	}
	for _, a := range ret.Artifacts {
		if ret.Status != formats.StatusCompleted && ret.Status != formats.StatusPartial {
			break // what a failed attempt left is not the run's work
		}
		r.brought(a)
		if !a.Deleted && !r.linked[a.Path] {
			r.unlinked = append(r.unlinked, a)
		}
	}
	if c.agent != compile.StatusSync || !ret.Outcome().Passes() {
		return
	}
	list := as[[]any](req.Input["artifacts"])
	for _, one := range list {
		m := as[map[string]any](one)
		r.linked[as[string](m["path"])] = true // what is made anew in its place stays the task's
		r.unlinked = slices.DeleteFunc(r.unlinked, func(a formats.Artifact) bool { return a.Path == m["path"] })
	}
	r.hold(req, false)
}

// hold notes which tasks a call of the status-sync manager put in progress, and which it took out of it. Of a call that
// ended without telling, only the first is assumed: the state is asked before a task is put back.
func (r *run) hold(req formats.Request, unsure bool) {
	var tasks []int
	if n, ok := number(req.Input["task_number"]); ok {
		tasks = append(tasks, n)
	}
	list := as[[]any](req.Input["task_numbers"])
	for _, one := range list {
		if n, ok := number(one); ok {
			tasks = append(tasks, n)
		}
	}
	word := as[string](req.Input["status"])
	enters := false
	switch operation := as[string](req.Input["operation"]); operation {
	case compile.OpUpdateStatus:
		enters = formats.TaskStatus(word).InProgress()
	case compile.OpArchiveTasks:
	default:
		return
	}
	for _, n := range tasks {
		has := slices.Contains(r.held, n)
		switch {
		case enters && !has:
			r.held = append(r.held, n)
		case !enters && has && !unsure:
			r.held = slices.DeleteFunc(r.held, func(h int) bool { return h == n })
		}
	}
}
