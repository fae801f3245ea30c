package interp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"tercet/commands/compile"
	"tercet/formats"
)

// call is one attempt of a delegation.
type call struct {
	sc      *scope
	op      *compile.Op
	d       *compile.Delegate
	path    string
	attempt int
	agent   string
	info    formats.AgentInfo
}

// delegate calls the subagent with the step's retries and fallback, and holds the result against expect.
func (r *run) delegate(ctx context.Context, sc *scope, op *compile.Op, path string, d *compile.Delegate) (result, error) {
	ret, attempts, err := r.attempts(ctx, call{sc: sc, op: op, d: d, path: path, agent: d.Agent, info: d.Info})
	if err != nil {
		return result{}, err
	}
	r.warnings = append(r.warnings, ret.Warnings...)
	if ret, err = r.expect(ctx, sc, op, ret, attempts); err != nil {
		return result{}, err
	}
	if d.Checks && d.Else != nil && ret.Outcome() == formats.OutcomeRejected {
		if ret.Summary, err = r.text(ctx, sc, d.Else, resultOf(ret, attempts)); err != nil {
			return result{}, err
		}
	}
	return result{outcome: ret.Outcome(), ret: ret, value: resultOf(ret, attempts)}, nil
}

// attempts is the attempt, its retries by class, and the fallback once.
func (r *run) attempts(ctx context.Context, c call) (formats.Return, int, error) {
	wait := time.Duration(c.op.Retry.Backoff * float64(time.Second))
	for c.attempt = 1; ; c.attempt++ {
		ret, err := r.attempt(ctx, c)
		if err != nil {
			return ret, c.attempt, err
		}
		if ret.Outcome() != formats.OutcomeFailed || ret.Class == formats.ClassCancelled {
			return ret, c.attempt, nil
		}
		if c.attempt <= c.op.Retry.Max && slices.Contains(c.op.Retry.On, ret.Class) {
			if err := r.cfg.Clock.Sleep(ctx, min(wait, time.Duration(c.op.Retry.Cap*float64(time.Second)))); err != nil {
				return ret, c.attempt, context.Cause(ctx)
			}
			wait = time.Duration(float64(wait) * c.op.Retry.Factor)
			continue
		}
		if c.op.Fallback == "" || c.agent == c.op.Fallback {
			return ret, c.attempt, nil
		}
		r.warnings = append(r.warnings, fmt.Sprintf("%s: %s failed (%s); tried %s", c.path, c.agent, ret.Summary, c.op.Fallback))
		c.agent, c.info = c.op.Fallback, c.op.FallbackInfo
		c.attempt++
		ret, err = r.attempt(ctx, c)
		return ret, c.attempt, err
	}
}

// attempt makes one delegation and takes in what it changed.
func (r *run) attempt(ctx context.Context, c call) (formats.Return, error) {
	req, missing, err := r.request(ctx, c)
	if err != nil {
		return formats.Return{}, err
	}
	if r.dry.on {
		return r.dry.stub(r, c, req), nil
	}
	if missing != "" {
		return formats.Failed(&formats.Failure{
			Code: formats.CodeValidationFailed, Message: fmt.Sprintf("input '%s' of subagent %s is empty", missing, c.agent), Help: "see the step's with",
		}), nil
	}
	if err := r.journal(ctx, formats.Entry{Type: formats.EntryDelegationStarted, Step: c.path, Visit: req.Visit, Attempt: c.attempt, Key: req.Txn, Data: map[string]any{
		"agent": c.agent, "input": req.Input, "timeout_seconds": req.Timeout.Total.Seconds(),
	}}); err != nil {
		return formats.Return{}, err
	}
	r.worked = r.worked || !c.info.Builtin
	ret, err := r.cfg.Agents.Delegate(ctx, req)
	if err != nil {
		return ret, err
	}
	if ctx.Err() != nil {
		return ret, context.Cause(ctx)
	}
	if err := r.journal(ctx, formats.Entry{Type: formats.EntryDelegationResult, Step: c.path, Visit: req.Visit, Attempt: c.attempt, Key: req.Txn, Data: ret}); err != nil {
		return ret, err
	}
	return ret, r.take(ctx, c, req, ret)
}

// request evaluates the input. The second result names a required input that came out empty.
func (r *run) request(ctx context.Context, c call) (formats.Request, string, error) {
	var input map[string]any
	if c.d.With != nil {
		v, err := r.value(ctx, c.sc, c.d.With, nil)
		if err != nil {
			if !r.dry.on {
				return formats.Request{}, "", err
			}
			v = map[string]any{}
		}
		input, _ = v.(map[string]any)
	}
	missing := ""
	for name, v := range input {
		if v == nil {
			delete(input, name)
			if c.info.Inputs[name].Required {
				missing = name
			}
		}
	}
	if c.d.Link && len(r.unlinked) > 0 {
		input["artifacts"] = normal(r.unlinked)
	}
	visit := max(1, r.visits[c.path])
	operation, _ := input["operation"].(string)
	req := formats.Request{
		Agent: c.agent, Task: r.task, Input: input, Feedback: r.feedback, Session: r.cfg.IDs.Session, Run: r.cfg.IDs.Run,
		Command: r.cfg.IDs.Command, Step: c.path, Visit: visit, Attempt: c.attempt, Depth: r.depth, Path: r.cfg.IDs.Path,
		Txn: txn(r.cfg.IDs.Run, c.path, visit, c.attempt, operation), Timeout: r.timeout(c), Dir: r.cfg.Dir,
	}
	if r.worktree != "" {
		req.Dir = r.worktree
	}
	if r.feedback != nil {
		req.Facets.Instruction = Inject("", r.feedback.Attempt, *r.feedback)
	}
	if c.d.Prompt != nil {
		extra, err := r.text(ctx, c.sc, c.d.Prompt, nil)
		if err != nil {
			return req, "", err
		}
		req.Facets.Instruction = join(extra, req.Facets.Instruction)
	}
	return req, missing, nil
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

func (r *run) timeout(c call) formats.Timeout {
	t := c.op.Timeout
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

// txn is the id of the state change that a delegation may make; the same place in the same run gives the same id, so that
// nothing is applied twice.
func txn(run, path string, visit, attempt int, operation string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s", run, path, visit, attempt, operation))
	return hex.EncodeToString(sum[:16])
}

// take keeps what a return brought: artifacts, the worktree, and a change of the bound task's status.
func (r *run) take(ctx context.Context, c call, req formats.Request, ret formats.Return) error {
	switch ret.Metadata.Worktree {
	case "":
	case formats.WorktreeClosed:
		r.worktree = ""
	default:
		r.worktree = ret.Metadata.Worktree
	}
	for _, a := range ret.Artifacts {
		r.artifacts = append(r.artifacts, a)
		if !a.Deleted {
			r.unlinked = append(r.unlinked, a)
		}
	}
	if c.agent != compile.StatusSync || !ret.Outcome().Passes() {
		return nil
	}
	r.state = nil
	if req.Input["artifacts"] != nil {
		r.unlinked = nil
	}
	if word, ok := req.Input["status"].(string); ok && c.d.Sync && r.task != nil {
		if n, ok := number(req.Input["task_number"]); ok && n == r.task.Number && req.Input["operation"] == "update_status" {
			r.inside = formats.TaskStatus(word).InProgress()
		}
	}
	return r.journal(ctx, formats.Entry{Type: formats.EntryStateCommitted, Step: c.path, Key: req.Txn, Data: ret.Fields})
}

// expect turns a breach of the step's own conditions into a rejection whose issues are the breaches.
func (r *run) expect(ctx context.Context, sc *scope, op *compile.Op, ret formats.Return, attempts int) (formats.Return, error) {
	e := op.Expect
	if e == nil || r.dry.on || !ret.Outcome().Passes() {
		return ret, nil
	}
	var breaches []formats.Issue
	if e.Artifact != "" && !slices.ContainsFunc(ret.Artifacts, func(a formats.Artifact) bool { return a.Type == e.Artifact }) {
		breaches = append(breaches, formats.Issue{Level: formats.LevelError, Description: fmt.Sprintf("expected an artifact of type %s, got none", e.Artifact), Source: "check"})
	}
	if e.If != nil {
		v, err := r.eval(ctx, sc, e.If, resultOf(ret, attempts))
		if err != nil {
			return ret, err
		}
		if !truth(v) {
			breaches = append(breaches, formats.Issue{Level: formats.LevelError, Description: "expected " + e.If.Src, Source: "check"})
		}
	}
	if breaches != nil {
		ret.Verdict, ret.Said = "", formats.OutcomeRejected
		ret.Issues = append(breaches, ret.Issues...)
		ret.Summary = breaches[0].Description
	}
	return ret, nil
}
