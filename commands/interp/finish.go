package interp

import (
	"context"
	"slices"
	"strconv"
	"time"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/trace"
)

// What comes after a run that was stopped has five seconds; the last of them is kept for putting the task back.
const (
	afterLimit    = 5 * time.Second
	handlingLimit = 4 * time.Second
)

// finish runs Error Handling, puts tasks back where the run did not finish its work, and stamps the return.
func (r *run) finish(ctx context.Context, ret formats.Return) formats.Return {
	r.after, r.feedback = true, nil
	if r.dry.on {
		for _, key := range r.dry.left() {
			r.warn("nothing took the return given for '%s': no such step or subagent was reached", key)
		}
		r.stamp(&ret)
		return r.dry.tell(ret)
	}
	keep := context.WithoutCancel(ctx)
	handling, all, stop := r.afterwards(ctx)
	defer stop()
	if r.began && ret.Status == formats.StatusFailed {
		if err := r.compensate(handling, func(undo) bool { return true }); err != nil {
			r.warn("not everything was taken back: %s", err)
		}
	}
	if r.began {
		r.errorHandling(handling, ret.Outcome())
	}
	r.closeTree(all)
	r.settle(keep)
	for _, n := range slices.Clone(r.held) {
		r.back(all, n, ret.Outcome())
	}
	r.discard(keep, &ret)
	r.record(keep, ret)
	r.close(keep, &ret)
	r.stamp(&ret)
	return ret
}

// close writes the last entry of the journal. A run that was refused before its first one leaves none.
func (r *run) close(ctx context.Context, ret *formats.Return) {
	if !r.recorded {
		return
	}
	err := r.journal(ctx, formats.Entry{
		Type: formats.EntryRunFinished,
		Data: map[string]any{"status": ret.Outcome(), "summary": ret.Summary},
	})
	switch {
	case err == nil:
	case ret.Outcome().Passes():
		artifacts := ret.Artifacts
		*ret = formats.Failed(err)
		ret.Artifacts = artifacts
	default:
		r.warn("%s", err)
	}
}

// afterwards gives the contexts of Error Handling and of everything after the workflow. Neither ends with the run;
// where the run is stopped, or is stopped now, their time is short.
func (r *run) afterwards(ctx context.Context) (handling, all context.Context, stop func()) {
	all, endAll := context.WithCancel(context.WithoutCancel(ctx))
	handling, endHandling := context.WithCancel(all)
	stopTimers := context.AfterFunc(ctx, func() {
		time.AfterFunc(handlingLimit, endHandling)
		time.AfterFunc(afterLimit, endAll)
	})
	stopAbort := func() bool { return true }
	if r.cfg.Abort != nil {
		if r.cfg.Abort.Err() != nil {
			endAll()
		}
		stopAbort = context.AfterFunc(r.cfg.Abort, endAll)
	}
	return handling, all, func() {
		stopTimers()
		stopAbort()
		endHandling()
		endAll()
	}
}

// errorHandling runs the steps with always; their failures are warnings, they never change what the command ends with.
func (r *run) errorHandling(ctx context.Context, outcome formats.Outcome) {
	kind := "failed"
	if outcome.Passes() {
		kind = "completed"
	}
	list := slices.DeleteFunc(slices.Clone(r.prog.File.Errors), func(s *syntax.Step) bool {
		return s.Always.Text != "any" && s.Always.Text != kind
	})
	sc := newScope(r.root, list, "error_handling/")
	for _, op := range list {
		if ctx.Err() != nil {
			r.warn("error handling was cut short before '%s'", op.Title)
			return
		}
		end, err := r.step(ctx, sc, r.prog.Info(op))
		switch {
		case err != nil && ctx.Err() != nil:
			r.warn("error handling was cut short in '%s'", op.Title)
		case err != nil:
			r.warn("error handling: %s", err)
		case end != nil && !end.ret.Outcome().Passes():
			r.warn("error handling: %s: %s", op.Title, end.ret.Summary)
		}
	}
}

// settle asks the state what a call did that ended without telling: the tasks that this run holds, and the documents
// that are linked already.
func (r *run) settle(ctx context.Context) {
	if !r.uncertain {
		return
	}
	doc, _, err := r.cfg.State.Snapshot(ctx)
	if err != nil {
		r.unlinked = nil // a document that may be linked is not taken away
		r.warn("the state could not be read: %s", err)
		return
	}
	root := as[map[string]any](doc)
	tasks := as[[]any](root["tasks"])
	var held []int
	linked := map[string]bool{}
	for _, one := range tasks {
		task := as[map[string]any](one)
		lease := as[map[string]any](task["lease"])
		n, _ := number(task["number"])
		word := as[string](task["status"])
		if slices.Contains(r.held, n) && lease["run"] == r.cfg.IDs.Run && formats.TaskStatus(word).InProgress() {
			held = append(held, n)
		}
		list := as[[]any](task["artifacts"])
		for _, a := range list {
			m := as[map[string]any](a)
			path := as[string](m["path"])
			linked[path] = true
		}
	}
	r.held = held
	r.unlinked = slices.DeleteFunc(r.unlinked, func(a formats.Artifact) bool { return linked[a.Path] })
}

// back puts a task to its prior status, or, when a worker was called and the command did not get through, to the one
// that the file names for failures. Documents of a run that ended well or partial are linked on the way.
func (r *run) back(ctx context.Context, n int, outcome formats.Outcome) {
	s := syncCall{path: "during/back", task: n, d: r.prog.Own.Back, anyway: true}
	own := r.task != nil && r.task.Number == n
	if !own {
		s.path = "during/back_" + strconv.Itoa(n)
	}
	fell := outcome == formats.OutcomeFailed || outcome == formats.OutcomePartial || outcome == formats.OutcomeRejected
	if failed := r.prog.Own.Failed; own && failed != nil && r.worked && fell {
		s.d = failed
	}
	if s.d == nil || ctx.Err() != nil {
		r.warn("task %d keeps its status until its lease is stale", n)
		return
	}
	if own && (outcome.Passes() || outcome == formats.OutcomePartial) {
		linking := *s.d
		linking.Link = true
		s.d = &linking
	}
	got, err := r.sync(ctx, s)
	switch {
	case err != nil:
		r.warn("task %d keeps its status until its lease is stale: %s", n, err)
	case !got.Outcome().Passes():
		r.warn("task %d keeps its status until its lease is stale: %s", n, got.Summary)
	}
}

// discard takes back the documents of a run that came to nothing. A review that rejects is what the person has to read.
func (r *run) discard(ctx context.Context, ret *formats.Return) {
	outcome := ret.Outcome()
	if outcome.Passes() || outcome == formats.OutcomePartial || outcome == formats.OutcomeRejected ||
		r.cfg.Discard == nil {
		return
	}
	rejected := len(ret.Errors) > 0 && ret.Errors[0].Code == formats.CodeRejected
	var list []formats.Artifact
	for _, a := range newest(r.unlinked) {
		if a.Type.IsDocument() && (!rejected || a.Type != formats.ArtifactReview) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return
	}
	if err := r.cfg.Discard(ctx, list); err != nil {
		r.warn("%s", err)
	}
	ret.Artifacts = slices.DeleteFunc(slices.Clone(ret.Artifacts), func(a formats.Artifact) bool {
		return slices.ContainsFunc(list, func(g formats.Artifact) bool { return g.Path == a.Path })
	})
}

// record keeps a failure that prevented completion in errors.json; what a person decided or mistyped is none.
func (r *run) record(ctx context.Context, ret formats.Return) {
	if !r.began || ret.Outcome() != formats.OutcomeFailed || len(ret.Errors) == 0 {
		return
	}
	e := ret.Errors[0]
	if slices.Contains([]formats.Code{
		formats.CodeCancelled, formats.CodeRejected, formats.CodeUsage,
		formats.CodeInvalidReturn,
	}, e.Code) {
		return
	}
	p := formats.Problem{
		Type: string(e.Type), Severity: "critical", Message: string(e.Code) + ": " + e.Message, Action: e.Recommendation,
		Auto: e.Recoverable,
		Context: formats.ProblemContext{
			Session: r.cfg.IDs.Session, Run: r.cfg.IDs.Run, Command: r.cfg.IDs.Command, File: r.prog.File.Name,
			Step: r.last.path, Line: r.last.pos.Line,
		},
		Path: slices.Clone(r.cfg.IDs.Path), Depth: r.depth.Int(),
	}
	if r.task != nil {
		p.Context.Task = r.task.Number
	}
	if err := r.cfg.Problems.Record(ctx, p); err != nil {
		r.warn("errors.json: %s", err)
	}
}

// distinct keeps the first of equal lines.
func distinct(lines []string) []string {
	var out []string
	for _, line := range lines {
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// stamp gives the return what the engine measured.
func (r *run) stamp(ret *formats.Return) {
	ret.Summary = clip(ret.Summary)
	ret.Tables = r.tables
	ret.Warnings = distinct(append(slices.Clone(r.warnings), ret.Warnings...))
	if ret.Artifacts == nil {
		ret.Artifacts = []formats.Artifact{}
	}
	if ret.Errors == nil {
		ret.Errors = []formats.ReturnError{}
	}
	ret.Class = ""
	if len(ret.Errors) > 0 {
		ret.Class = formats.ClassOf(ret.Errors[0])
	}
	took := r.cfg.Clock.Now().Sub(r.started)
	ret.Metadata = formats.Metadata{
		Session: r.cfg.IDs.Session, Run: r.cfg.IDs.Run, Duration: took.Seconds(), Agent: "/" + r.prog.Name,
		Depth: r.depth.Int(), Path: slices.Clone(r.cfg.IDs.Path), Worktree: r.worktree,
		Tokens: r.spent.tokens, Cost: r.spent.cost, Spawns: r.spent.spawns,
	}
	r.emit(trace.Event{Kind: "run", Name: "/" + r.prog.Name, Duration: took, Outcome: ret.Outcome().String()})
}

func clip(s string) string {
	if r := []rune(s); len(r) > formats.MaxSummary {
		return string(r[:formats.MaxSummary-1]) + "…"
	}
	return s
}
