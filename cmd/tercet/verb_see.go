package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/journal"
	"tercet/internal/plain"
	"tercet/internal/query"
	"tercet/internal/trace"
	"tercet/router"
	"tercet/subagents/prompt"
)

// seeVerbs are those that look at runs.
func seeVerbs() []verb {
	return []verb{
		{
			use:   "verify RUN [RUN]",
			short: "replay a run and compare it with its journal; or compare two runs",
			args:  words(1, 2),
			make:  verifyVerb,
		},
		{
			use:   "watch",
			short: "show the runs on the whole screen; answer, pause, resume and cancel them",
			args:  none,
			needs: userOnly | aWorkspace,
			make:  watchVerb,
		},
	}
}

// anything says that every task and file is there: it was when the run began.
type anything struct{}

func (anything) HasTask(context.Context, int) (bool, error) {
	return true, nil
}
func (anything) ArchivedTask(context.Context, int) (bool, error) {
	return false, nil
}
func (anything) Exists(context.Context, string) (bool, error) {
	return true, nil
}

// frozen does nothing. The steps of a subagent are gone through, as those of the run.
type frozen struct{ runs }

// Delegate implements interp.Delegator.
func (f frozen) Delegate(ctx context.Context, r formats.Request) (formats.Return, error) {
	req, _, err := f.dispatcher.Preview(r)
	if err != nil {
		return formats.Return{}, err
	}
	_, agent, _ := f.set.Find(r)
	return agent.Run(ctx, req)
}

// look goes through a run again without any effect, and holds it against its records. It gives what
// the run has counted, nothing of one that has ended.
func (w runs) look(
	ctx context.Context,
	r journal.Run,
	records []journal.Record,
) (formats.Counted, error) {
	led := journal.NewLedger(journal.New(nil, journal.Options{Mask: w.mask}), records, nil, false)
	cfg, err := w.runConfig(ctx, formats.Invocation{
		Run:     r.ID,
		Session: r.Begun.Session,
		DryRun:  true,
	})
	if err != nil {
		return formats.Counted{}, err
	}

	cfg.DryRun = false
	cfg.Journal = led
	cfg.Agents = frozen{w}
	cfg.Discard = nil
	cfg.Diff = nil
	cfg.State = noState{}
	cfg.Docs = noDocs{}
	cfg.Problems = noProblems{}
	cfg.Trace = trace.Discard{}
	cfg.Show = func(formats.Table) {}
	cfg.Look = func(r formats.Request, ret formats.Return) error {
		return w.retold(records, r, ret)
	}
	_, cfg.Killed = led.Resumed()
	cfg.Start.Files = w.deciding
	cfg.AcceptChanges = w.flags.acceptChanges
	cfg.Accepted = led.Accepted
	w.frozen = &cfg
	defer func() { w.frozen = nil }()
	lib := *w.library
	lib.Tasks = anything{}
	lib.Docs = anything{}
	lib.Begin = nil
	lib.Admit = nil
	lib.Warn = nil
	lib.Inject = func(
		context.Context,
		formats.Invocation,
		*dialect.Command,
		[]dialect.Output,
	) (string, error) {
		return "", formats.Fail(
			formats.CodePrecondition,
			"",
			"what commands and files gave to this prompt is not kept",
		)
	}
	lib.Config = func(_ context.Context, inv formats.Invocation) (interp.Config, error) {
		own := cfg
		own.IDs = interp.IDs{
			Run:     inv.Run,
			Session: inv.Session,
			Command: inv.Line,
			Path:    inv.Path,
		}
		return own, nil
	}
	line := typed(r)
	route, err := w.table.Route(line)
	if err != nil {
		return formats.Counted{}, err
	}

	ids := func() (string, string) { return r.Begun.Session, r.ID }
	o := router.Orchestrator{
		Runner: &lib,
		Trace:  trace.Discard{},
		NewRun: ids,
	}
	_, err = o.Handle(ctx, line, route, false)
	end, ends := errors.AsType[*formats.EndError](err)
	_, differs := errors.AsType[*formats.DivergedError](err)
	if !ends && err != nil {
		if !differs && formats.CodeOf(err) == formats.CodeSuspended {
			err = formats.Fail(formats.CodePrecondition,
				"look at it with the files as they were, or pass --accept-changes", "%s", err)
		}
		return formats.Counted{}, err
	}

	if err := led.Unreached(); err != nil || !ends {
		return formats.Counted{}, err
	}
	return end.Counted, nil
}

// retold composes what a worker was told once more.
func (w runs) retold(records []journal.Record, r formats.Request, ret formats.Return) error {
	was := ret.Metadata.Told
	if was == "" {
		return nil
	}

	req, info, err := w.dispatcher.Preview(r)
	if err != nil {
		return err
	}
	in := prompt.Input{Request: req, Info: info}
	now := prompt.StableSum(in)
	if now == was {
		return nil
	}
	if strings.Contains(prompt.Stable(in).Text, journal.Masked) {
		w.noteOnce("masked", "prompts in which the journal masked a secret are not compared")
		return nil
	}

	line := slices.IndexFunc(records, func(one journal.Record) bool {
		return one.Type == formats.EntryDelegationResult && one.Step == r.At &&
			one.Attempt == r.Attempt
	}) + 1
	if _, before := journal.Accepted(records); line <= before {
		w.noteOnce("told", "what was told before files that changed were accepted is not compared")
		return nil
	}
	return &formats.DivergedError{Failure: formats.Fail(formats.CodeInvalidState,
		"compare it with the prompt that is kept in "+path.Join(journal.Folder, r.Run),
		"%s:%d:1: the prompt of step '%s' was %s and comes out as %s", journal.Name, line, r.At,
		was, now)}
}

func verifyVerb(cmd *cobra.Command, a *app) run {
	cmd.Flags().BoolVar(&a.flags.acceptChanges, "accept-changes", false,
		"go on even if a command, subagent or configuration file has changed")
	cmd.Long = `With one run, verify makes every decision and prompt of it again, and compares them with its journal.
With two, it shows the first decision, prompt or return in which they differ, and ends with 1 then.`
	return func(c call) error {
		if len(c.args) == 2 {
			return c.compareRuns()
		}
		world, err := c.inside(c.ctx)
		if err != nil {
			return err
		}
		w := runs{world}
		r, records, err := w.desk.FindVerified(c.args[0])
		if err != nil {
			return err
		}
		for _, stage := range journal.Stages(records) {
			if _, err := w.look(c.ctx, r, stage); err != nil {
				return err
			}
		}
		if !c.document("tercet.verify/1", fields{
			"run":       r.ID,
			"identical": true,
			"lines":     len(records),
		}) {
			c.term.answer("%s: identical, %s", r.ID, formats.Count(len(records), "line"))
		}
		return nil
	}
}

// compareRuns tells the first place in which two runs differ, and ends with 1 then, as diff does.
func (c call) compareRuns() error {
	w, err := c.workspace(c.ctx)
	if err != nil {
		return err
	}

	var ids [2]string
	var both [2][]journal.Record
	for i, word := range c.args {
		r, records, err := w.desk.FindVerified(word)
		if err != nil {
			return err
		}
		ids[i] = r.ID
		both[i] = records
	}

	d := journal.Differ(both[0], both[1])
	if !c.document("tercet.diff/1", fields{"runs": ids, "identical": d == nil, "difference": d}) {
		if d == nil {
			c.term.answer("%s and %s: no decision, prompt or return differs", ids[0], ids[1])
		} else {
			c.term.answer("%s", plain.Line(d.String()))
		}
	}
	if d != nil {
		return shown{1}
	}
	return nil
}

// logs prints the log of a run, or of a step of it, and follows it until the run has ended.
func (c call) logs(step string, follow bool) error {
	r, err := c.desk.Named(c.args[0])
	if err != nil {
		return err
	}

	log := journal.NewLog(c.root, r.ID, step)
	all := []journal.Event{}
	if wide, _ := c.term.stage.room(); wide > 0 && follow && step == "" && !c.flags.json {
		return c.follow(log)
	}

	for {
		events, over, err := log.Poll()
		if err != nil {
			return err
		}
		for _, e := range events {
			if !c.flags.json {
				c.term.answer("%s", plain.Line(e.String()))
			}
		}
		all = append(all, events...)
		if over || !follow {
			break
		}
		if err := (clock{}).Sleep(c.ctx, pollEvery); err != nil {
			return context.Cause(c.ctx)
		}
	}

	if len(all) == 0 && step != "" {
		records, err := journal.Load(c.root, r.ID)
		if err == nil {
			_, _, err = journal.StateAt(records, step) // which says what there is
		}
		return err
	}

	c.document("tercet.logs/1", fields{"run": r.ID, "events": all})
	return nil
}

// follow draws a run of another process until it has ended.
func (c call) follow(log *journal.Log) (err error) {
	defer c.term.stage.show(c.dir, nil)()
	over := false
	for {
		was := over
		if _, over, err = log.Poll(); err != nil {
			return err
		}
		news := false
		for e, err := range traced(log) {
			if err != nil {
				return err
			}
			c.term.stage.Emit(e)
			news = true
		}
		over = over || was
		if was && !news { // the last event comes behind the end of the journal
			return nil
		}
		if err := (clock{}).Sleep(c.ctx, pollEvery); err != nil {
			return context.Cause(c.ctx)
		}
	}
}

// traced are the events of a run that were written since, as they are read; an error is the last.
func traced(log *journal.Log) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for {
			lines, err := log.Trace()
			if err != nil {
				yield(trace.Event{}, err)
			}
			if err != nil || len(lines) == 0 {
				return
			}
			for e := range trace.Lines(lines) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// pollEvery is how often a run of another process is looked at.
const pollEvery = 200 * time.Millisecond

// allRuns are all runs as one document.
func (c call) allRuns() ([]query.Input, error) {
	w, err := c.workspace(c.ctx)
	if err != nil {
		return nil, err
	}
	list, err := journal.Runs(w.root, false)
	if err != nil {
		return nil, err
	}
	type one struct {
		journal.Run

		Steps []journal.Step `json:"steps"`
	}
	out := []one{}
	for _, r := range list {
		records, err := journal.Load(w.root, r.ID)
		if err != nil {
			w.term.note("warning: run %s is left out: %s", r.ID, err)
			continue
		}
		out = append(out, one{r, nonNil(journal.Steps(records))})
	}
	data, err := json.Marshal(fields{"schema": "tercet.runs/1", "runs": out})
	return []query.Input{{Name: "runs", Data: data}}, err
}

// serialAt is the serial of the state when a step of a run began.
func (w *world) serialAt(ctx context.Context, run, step string) (uint64, error) {
	_, records, err := w.desk.FindVerified(run)
	if err != nil {
		return 0, err
	}
	serial, at, err := journal.StateAt(records, step)
	if err != nil {
		return 0, err
	}
	history, err := w.reader.History(ctx)
	for _, e := range history {
		// Others write as well; the history has seconds.
		when, perr := time.Parse(time.RFC3339, e.Time)
		if perr == nil && e.Serial > serial && when.Before(at.Truncate(time.Second)) {
			serial = e.Serial
		}
	}
	if err == nil && serial == 0 {
		err = formats.Fail(formats.CodeNotFound,
			"'tercet state history' says which states can be read",
			"the state at step '%s' of run %s is not kept", step, run)
	}
	return serial, err
}
