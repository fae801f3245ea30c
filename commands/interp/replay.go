package interp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/query"
)

// A run that is resumed is the same run from its beginning: it decides everything anew, by the same
// code and in the same order. It takes from its journal what it cannot decide: the answers of
// workers, users, files, trees and the state. Where the journal ends, effects begin. A new run is
// one whose journal is empty.

// begin writes the first entry, or takes from it what the run began with.
func (r *run) begin() error {
	s := r.cfg.Start
	s.Format = formats.JournalFormat
	s.At = r.started.UTC()
	s.Session = r.cfg.IDs.Session
	s.Line = r.cfg.IDs.Command
	s.Files = r.prog.Files()
	maps.Copy(s.Files, r.cfg.Start.Files)
	for _, step := range r.prog.File.Steps {
		s.Steps = append(s.Steps, r.prog.Info(step).ID)
	}

	s.Depth = r.depth.Int()
	s.Definition = r.prog.Hash()
	s.Args = r.args.Map()
	s.Consent = r.cfg.AutoApprove
	s.Agreed = r.cfg.Consent
	var was formats.Started
	e := formats.Entry{Type: formats.EntryRunStarted}
	old, err := r.main.journal.recall(e, &was)
	if err != nil {
		return err
	}
	if old {
		r.started = was.At
		r.cfg.AutoApprove = was.Consent
		r.cfg.Consent = was.Agreed
		r.journal.past = was.Seen
		if err := r.unchanged(was, s); err != nil {
			return err
		}
	}
	if err := r.prepare(); err != nil || old {
		r.journal.begun = old
		return err
	}

	s.Seen = r.journal.seen
	if r.tasks.own != nil {
		s.Task = r.tasks.own.Number
	}
	e.Data = s
	r.journal.begun = true // what fails from here on is known to be a run
	if err := r.main.journal.append(e); err != nil {
		r.journal.begun = false
		return err
	}
	return nil
}

// unchanged refuses to go on where a file that decides is another than it was, unless the user
// accepts that.
func (r *run) unchanged(was, now formats.Started) error {
	changed := map[string]string{}
	compare := func(name, was, now string) {
		if sum, accepted := r.cfg.Accepted[name]; was != now && (!accepted || sum != now) {
			changed[name] = now
		}
	}
	compare(r.prog.File.Name, was.Definition, now.Definition)
	for name, sum := range was.Files {
		compare(name, sum, now.Files[name])
	}
	if len(changed) == 0 || r.cfg.AcceptChanges {
		if len(changed) > 0 && r.cfg.Accept != nil {
			r.cfg.Accept(changed)
		}
		return nil
	}
	r.journal.diverged = formats.Fail(formats.CodeSuspended,
		fmt.Sprintf(
			"run 'tercet resume %s --accept-changes' to go on with what stands there now, or "+
				"type the line with "+
				"--new to begin afresh",
			r.cfg.IDs.Run,
		),
		"%s changed since the run began", strings.Join(slices.Sorted(maps.Keys(changed)), ", "))
	return r.journal.diverged
}

// takeOver gives this process what the run holds.
func (r *run) takeOver() error {
	if err := r.sameDocuments(); err != nil {
		return err
	}
	if err := r.reenterTasks(); err != nil {
		return err
	}
	return r.lease(false)
}

// sameDocuments asks whether to go on with a run although documents that it began with, rules among
// them, changed. What the run made itself is no such change, nor what the user accepted before.
func (r *run) sameDocuments() error {
	changed := map[string]string{}
	for name, sum := range r.loadedSums {
		own := slices.ContainsFunc(r.artifacts.all, func(a formats.Artifact) bool {
			return a.Path == name
		})
		now := r.hashOf(r.main.ctx, name)
		if agreed, ok := r.cfg.Accepted[name]; !own && now != sum && (!ok || now != agreed) {
			changed[name] = now
		}
	}

	if len(changed) == 0 || r.cfg.AcceptChanges {
		return nil
	}
	what := strings.Join(slices.Sorted(maps.Keys(changed)), ", ") + " changed since the run began"
	const on = "Go on"
	const stop = "Stop"
	d, err := r.cfg.Approve.Approve(r.main.ctx, formats.Gate{
		Run:      r.cfg.IDs.Run,
		Question: what + ". Go on with what the run read then?",
		Auto:     stop,
		Choices:  []formats.Choice{{Label: on}, {Label: stop, Leaves: true, Ends: true}},
	})
	if err == nil && d.Answer == on {
		if r.cfg.Accept != nil {
			r.cfg.Accept(changed)
		}
		return nil
	}
	if err != nil && asGateOpen(err) == nil {
		return err
	}

	help := fmt.Sprintf(
		"run 'tercet resume %s --accept-changes' to go on with what the run read then, or type "+
			"the line "+
			"with --new to begin afresh",
		r.cfg.IDs.Run,
	)
	return formats.Fail(formats.CodeSuspended, help, "%s", what)
}

// reenterTasks puts the tasks of a run that was reopened in progress again: they went back when it
// failed. One that an earlier process of it took up again is in progress already.
func (r *run) reenterTasks() error {
	if r.counts.reopened == 0 || len(r.tasks.inProgress) == 0 {
		return nil
	}
	doc, _, err := r.cfg.State.Snapshot(context.WithoutCancel(r.main.ctx))
	var tasks []formats.Task
	if err == nil {
		err = decode(as[map[string]any](query.Normalize(doc))["tasks"], &tasks)
	}
	if err != nil {
		return err
	}

	for _, task := range tasks {
		ours := task.Lease != nil && task.Lease.Run == r.cfg.IDs.Run && task.Status.InProgress()
		if ours || !slices.Contains(r.tasks.inProgress, task.Number) {
			continue
		}
		err := r.syncDirectly("reenter", map[string]any{
			"operation":   compile.OpUpdateStatus,
			"task_number": task.Number,
			"status":      r.tasks.entered[task.Number],
			"reason":      r.cfg.IDs.Command,
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// lease renews the leases of the tasks that the run put in progress, or marks them as those of a
// run that waits. Each process does it for itself: one that was killed behind it may have left no
// trace in the journal.
func (r *run) lease(suspended bool) error {
	for _, n := range r.tasks.inProgress {
		err := r.syncDirectly("lease", map[string]any{
			"operation": "set_lease", "task_number": n, "suspended": suspended,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// syncDirectly has the status-sync manager do something that each process does for itself, so that
// the journal has nothing of it.
func (r *run) syncDirectly(step string, input map[string]any) error {
	ids := r.cfg.IDs
	key := fmt.Sprintf("%s %v %v %d",
		step, input["task_number"], input["suspended"], r.processStarted.UnixNano())
	ret, err := r.cfg.Agents.Delegate(context.WithoutCancel(r.main.ctx), formats.Request{
		Agent:   compile.StatusSync,
		Task:    r.tasks.own,
		Session: ids.Session,
		Run:     ids.Run,
		Command: ids.Command,
		Step:    step,
		Input:   input,
		Visit:   1,
		Attempt: 1,
		Depth:   r.depth,
		Path:    slices.Clone(ids.Path),
		Dir:     r.cfg.Dir,
		Timeout: formats.Timeout{Total: formats.DefaultStepTimeout},
		Txn:     txn(ids.Run, key, 1, 1),
	})
	if err == nil && ret.Outcome() == formats.OutcomeFailed && len(ret.Errors) > 0 {
		e := ret.Errors[0]
		err = formats.Fail(e.Code, e.Recommendation, "%s", e.Message)
	}
	return err
}

// recordedAnswer is what the journal has of the answer to a delegation. It is the return with the
// outcome that the engine gave it, or the engine's error.
type recordedAnswer struct {
	formats.Return

	Said  formats.Outcome `json:"said,omitempty"`
	Error *recordedError  `json:"engine_error,omitempty"`
}

type recordedError struct {
	Code    formats.Code `json:"code"`
	Message string       `json:"message"`
	Help    string       `json:"help,omitempty"`
}

func recordError(err error) *recordedError {
	if err == nil {
		return nil
	}
	return &recordedError{formats.CodeOf(err), err.Error(), formats.HelpOf(err)}
}

func (e *recordedError) err() error {
	if e == nil {
		return nil
	}
	return formats.Fail(e.Code, e.Help, "%s", e.Message)
}

// decodeAnswer is the answer that the journal has.
func decodeAnswer(data []byte) answer {
	var k recordedAnswer
	if err := read(data, &k); err != nil {
		return answer{err: err}
	}
	k.Return.Said = k.Said
	return answer{ret: k.Return, err: k.Error.err()}
}

// suspension is why and how the run waits.
type suspension struct {
	reason       *formats.Suspended // nil: it does not wait
	openGate     *formats.Gate      // the question that was open when the run was interrupted
	terminalOnly bool               // only an answer at the run's own terminal counts
}

// postponedReturn is the command's return when the run cannot go on before a time.
func (r *run) postponedReturn(e *formats.LaterError) formats.Return {
	r.suspension.reason = &formats.Suspended{
		Step:      r.lastFailure.Step,
		Postponed: formats.Postponed{Why: e.Why, Until: e.Until},
	}
	next := "run it to go on"
	if !e.Until.IsZero() {
		if r.limits.AutoResume > 0 {
			r.suspension.reason.Alone = r.cfg.Clock.Now().Add(r.limits.AutoResume).UTC()
		}
		next = "run it with --wait to sleep until it can go on"
	}
	return formats.Return{
		Status:        formats.StatusBlocked,
		Said:          formats.OutcomeSuspended,
		Summary:       e.Error(),
		BlockedReason: e.Error(),
		NextSteps:     next,
		Artifacts:     r.artifacts.newest(),
	}
}

// cutReturn is the command's return when a signal, or an I/O error of the engine, breaks the run
// off: it can be resumed.
func (r *run) cutReturn(err error, why string) formats.Return {
	r.suspension.reason = &formats.Suspended{
		Postponed: formats.Postponed{Why: why, Code: formats.CodeOf(err)},
	}
	if g := r.suspension.openGate; g != nil {
		r.suspension.reason.Question = g.Question
		r.suspension.reason.Gate = g.ID
		r.suspension.reason.Step = g.Step
	}
	next := fmt.Sprintf("run it to go on, or 'tercet cancel %s' to give it up", r.cfg.IDs.Run)
	return formats.Return{
		Status:        formats.StatusBlocked,
		Said:          formats.OutcomeSuspended,
		Summary:       why,
		BlockedReason: why,
		Errors:        formats.Failed(err).Errors,
		NextSteps:     next,
		Artifacts:     r.artifacts.newest(),
	}
}

// suspend ends the run for now: nothing is taken back, and what it holds stays its own.
func (r *run) suspend(ret formats.Return) formats.Return {
	r.main = r.main.withContext(context.WithoutCancel(r.main.ctx))
	err := r.main.journal.append(formats.Entry{
		Type: formats.EntrySuspended,
		Data: r.suspension.reason,
	})
	if r.journal.diverged != nil {
		return ret
	} else if err != nil {
		r.warn("%s", err)
	}
	if err := r.lease(true); err != nil {
		r.warn("%s", err)
	}
	ret = r.explainResume(ret)
	r.stamp(&ret)
	return ret
}

// explainResume says in the return of a suspended run how it goes on.
func (r *run) explainResume(ret formats.Return) formats.Return {
	ret.Status = formats.StatusSuspended
	ret.NextSteps = strings.Replace(
		ret.NextSteps,
		"run it",
		"run 'tercet resume "+r.cfg.IDs.Run+"'",
		1,
	)
	ret.Resume = r.resume()
	if r.suspension.reason.Gate != "" && !r.suspension.terminalOnly {
		ret.NextSteps += fmt.Sprintf("; or answer by 'tercet approve %s' or 'tercet reject %[1]s'",
			r.cfg.IDs.Run)
	}
	ret.Resume.Gate = r.suspension.reason.Question
	ret.Resume.Until = r.suspension.reason.Until
	return ret
}

func (r *run) resume() *formats.Resume {
	return &formats.Resume{Run: r.cfg.IDs.Run, Line: "tercet resume " + r.cfg.IDs.Run}
}

// elapsed is how long processes have worked on the run.
func (r *run) elapsed() time.Duration {
	return r.cfg.Spent + r.cfg.Clock.Now().Sub(r.processStarted)
}
