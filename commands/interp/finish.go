package interp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/trace"
)

// A stopped run has five seconds for its clean-up. The last second is reserved for putting the task
// back.
const (
	afterLimit    = 5 * time.Second
	handlingLimit = 4 * time.Second
)

// finish does what follows the workflow: Error Handling, worktrees, tasks whose work was not
// finished, documents of failed work, and the last entry of the journal.
func (r *run) finish(ret formats.Return) formats.Return {
	r.finishing = true
	r.main = r.main.withFeedback(nil)
	switch {
	case r.dry.on:
		return r.dryReturn(ret)
	case r.journal.diverged != nil:
		r.stamp(&ret)
		return ret
	case r.suspension.reason != nil && r.journal.begun && r.cfg.Prefix == "" &&
		ret.Outcome() == formats.OutcomeSuspended:
		return r.suspend(ret)
	}

	keep := context.WithoutCancel(r.main.ctx)
	handling, all, stop := r.cleanupContexts()
	defer stop()
	r.main = r.main.withContext(handling)
	if r.stepStarted {
		if ret.Status == formats.StatusFailed {
			if err := r.compensate(r.main, func(step) bool { return true }); err != nil {
				r.report.warn("not everything was taken back: %s", err)
			}
		}
		r.errorHandling(ret.Outcome())
	}

	r.main = r.main.withContext(all)
	r.tree.close(r.main)
	r.resolveUnknownSync()
	for _, n := range slices.Clone(r.tasks.inProgress) {
		r.putBack(n, ret.Outcome())
	}

	r.main = r.main.withContext(keep)
	aborted := r.cfg.Abort != nil && r.cfg.Abort.Err() != nil
	if aborted && r.journal.begun && r.cfg.Prefix == "" {
		ret.Resume = r.suspension.resume() // not everything was done that follows a stop
		r.stamp(&ret)
		return ret
	}

	r.warnUndelivered()
	r.discardDocuments(&ret)
	r.recordProblems(ret)
	r.writeEnd(&ret)
	r.stamp(&ret)
	return ret
}

// writeEnd writes the last entry of the journal. A run that was refused before its first one leaves
// none.
func (r *run) writeEnd(ret *formats.Return) {
	if !r.journal.begun {
		return
	}
	end := formats.Finished{
		Status:    ret.RunState(),
		Summary:   ret.Summary,
		Text:      ret.Text,
		Cost:      r.budget.spent.Cost,
		NextSteps: ret.NextSteps,
	}
	if len(ret.Errors) > 0 {
		end.Code = ret.Errors[0].Code
	}

	err := r.main.journal.append(formats.Entry{Type: formats.EntryRunFinished, Data: end})
	artifacts := ret.Artifacts
	switch {
	case err == nil:
	case ret.Outcome().Passes() && isIOError(err) && r.cfg.Prefix == "":
		cut := r.withArtifacts(r.suspension.interruptedReturn(err, formats.Failed(err).Summary))
		*ret = r.suspension.explainResume(cut)
	case ret.Outcome().Passes():
		*ret = formats.Failed(err)
		ret.Artifacts = artifacts
	default:
		r.report.warn("%s", err)
	}
}

// errorHandling runs the steps with always. Their failures are warnings; they never change what the
// command ends with.
func (r *run) errorHandling(outcome formats.Outcome) {
	kind := "failed"
	if outcome.Passes() {
		kind = "completed"
	}
	sc := r.root.child(
		slices.DeleteFunc(slices.Clone(r.prog.File.Errors), func(s *syntax.Step) bool {
			return s.Always.Text != "any" && s.Always.Text != kind
		}),
		"error_handling/",
	)

	for _, s := range sc.list {
		if r.main.ctx.Err() != nil {
			r.report.warn("error handling was cut short before '%s'", s.Title)
			return
		}
		end, err := sc.step(r.main, r.prog.Info(s)).execute()
		switch {
		case err != nil && r.main.ctx.Err() != nil:
			r.report.warn("error handling was cut short in '%s'", s.Title)
		case err != nil:
			r.report.warn("error handling: %s", err)
		case end != nil && !end.ret.Outcome().Passes():
			r.report.warn("error handling: %s: %s", s.Title, end.ret.Summary)
		}
	}
}

// resolveUnknownSync asks the state what a change did that ended without an answer: which tasks the
// run holds, and which documents are linked.
func (r *run) resolveUnknownSync() {
	if !r.tasks.syncUnknown {
		return
	}
	doc, _, err := r.cfg.State.Snapshot(context.WithoutCancel(r.main.ctx))
	var tasks []formats.Task
	if err == nil {
		err = decode(formats.As[object](doc)["tasks"], &tasks)
	}
	if err != nil {
		r.artifacts.unlinked = nil // a document that may be linked is not removed
		r.report.warn("the state could not be read: %s", err)
		return
	}

	r.tasks.keepLeased(tasks, r.cfg.IDs.Run)
	for _, task := range tasks {
		for _, a := range task.Artifacts {
			r.artifacts.markLinked(a.Path)
		}
	}
}

// putBack puts a task back to its prior status. If a worker was called and the command failed, that
// is the status that the file names for failures. Documents of a run that ended well or partial are
// linked in the same call.
func (r *run) putBack(n int, outcome formats.Outcome) {
	c := r.main.engineCall("during/back", r.prog.EngineCalls.Back)
	c.task = n
	c.evenUnrecorded = true
	own := r.tasks.isCommandTask(n)
	if !own {
		c.step.path += "_" + strconv.Itoa(n)
		r.counts.giveNewVisit(c.step.path)
	}

	fell := outcome == formats.OutcomeFailed || outcome == formats.OutcomePartial ||
		outcome == formats.OutcomeRejected
	if failed := r.prog.EngineCalls.Failed; own && failed != nil && r.workerCalled && fell {
		c.to = failed
	}

	stays := fmt.Sprintf("task %d keeps its status until the next command on it takes it over", n)
	if c.to == nil || r.main.ctx.Err() != nil {
		r.report.warn("%s", stays)
		return
	}

	if own && (outcome.Passes() || outcome == formats.OutcomePartial) {
		linking := *c.to
		linking.Link = true
		c.to = &linking
	}
	c.mayFail(stays)
}

// discardDocuments removes the documents of a run that came to nothing, but not a review that
// rejects, because the user has to read it.
func (r *run) discardDocuments(ret *formats.Return) {
	outcome := ret.Outcome()
	if outcome.Passes() || outcome == formats.OutcomePartial ||
		outcome == formats.OutcomeRejected ||
		r.cfg.Discard == nil || r.journal.unwritable {
		return
	}

	rejected := len(ret.Errors) > 0 && ret.Errors[0].Code == formats.CodeRejected
	var list []formats.Artifact
	for _, a := range newest(r.artifacts.unlinked) {
		if a.Type.IsDocument() && (!rejected || a.Type != formats.ArtifactReview) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return
	}

	err := r.cfg.Discard(r.main.ctx, r.cfg.IDs.Run, list)
	if err != nil {
		r.report.warn("%s", err)
	}

	gone := map[string]bool{}
	for _, a := range list {
		gone[a.Path] = true
	}
	var left []formats.Artifact
	for _, a := range ret.Artifacts {
		if !gone[a.Path] {
			left = append(left, a)
		}
	}
	ret.Artifacts = left
}

// stamp adds to the return what the engine measured, and emits the end of the run.
func (r *run) stamp(ret *formats.Return) {
	ret.Summary = formats.Clip(ret.Summary, formats.MaxSummary)
	ret.Tables = r.report.tables
	ret.Warnings = r.report.allWarnings(ret.Warnings)
	ret.Artifacts = nonNil(ret.Artifacts)
	ret.Errors = nonNil(ret.Errors)
	ret.Class = ""
	if len(ret.Errors) > 0 {
		ret.Class = formats.ClassOf(ret.Errors[0])
	}

	took := r.elapsed()
	ret.Metadata = formats.Metadata{
		Session:  r.cfg.IDs.Session,
		Run:      r.cfg.IDs.Run,
		Duration: took.Seconds(),
		Agent:    "/" + r.prog.Name,
		Depth:    r.depth.Int(),
		Path:     slices.Clone(r.cfg.IDs.Path),
		Worktree: r.tree.dir,
		Tokens:   r.budget.spent.Tokens,
		Cost:     r.budget.spent.Cost,
		Spawns:   r.budget.spent.Spawns,
	}

	r.main.emit(trace.Event{
		Kind:     trace.Run,
		Name:     "/" + r.prog.Name,
		Duration: took,
		Outcome:  ret.RunState(),
		Attrs:    object{"artifacts": newest(ret.Artifacts)},
	})
}
