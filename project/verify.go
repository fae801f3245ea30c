package project

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"tercet/commands"
	"tercet/commands/interp"
	"tercet/formats"
	"tercet/internal/dialect"
	"tercet/internal/journal"
	"tercet/internal/trace"
	"tercet/router"
	"tercet/subagents/agentcli"
	"tercet/subagents/prompt"
)

// allExist answers that every task and file exists, as it did when the run began.
type allExist struct{}

func (allExist) HasTask(context.Context, int) (bool, error) {
	return true, nil
}

func (allExist) ArchivedTask(context.Context, int) (bool, error) {
	return false, nil
}

func (allExist) Exists(context.Context, string) (bool, error) {
	return true, nil
}

// Verify replays a run and compares every decision and prompt with its journal. It has no effect.
// It gives the run and how many lines its journal has. A difference is a *formats.DivergedError.
func (s *Session) Verify(ctx context.Context, word string) (journal.Run, int, error) {
	r, records, err := s.Project.Control.FindVerified(word)
	if err != nil {
		return r, 0, err
	}
	for _, stage := range journal.Stages(records) {
		if _, err := s.replay(ctx, r, stage); err != nil {
			return r, 0, err
		}
	}
	return r, len(records), nil
}

// replayAgents delegates to no worker. The steps of a subagent are replayed, as those of the run.
type replayAgents struct{ session *Session }

// Delegate implements interp.Delegator.
func (d replayAgents) Delegate(ctx context.Context, r formats.Request) (formats.Return, error) {
	req, _, err := d.session.Dispatcher.Preview(r)
	if err != nil {
		return formats.Return{}, err
	}
	_, agent, _ := d.session.Set.Find(r)
	return agent.Run(ctx, req)
}

// replay runs the command again without any effect, and compares what it decides with the records.
// It gives what the run has counted, nothing of one that has ended.
func (s *Session) replay(
	ctx context.Context,
	r journal.Run,
	records []journal.Record,
) (formats.Counted, error) {
	s, err := s.cloneWith(func(*Session) {})
	if err != nil {
		return formats.Counted{}, err
	}
	list, err := s.Project.recordedInstructions(r.ID, r.Begun.Instructions)
	if err != nil {
		return formats.Counted{}, err
	}
	s.Project.instructions.set(r.ID, list)

	writer := journal.New(nil, journal.Options{Mask: s.Project.Mask}) // it writes nothing
	led := journal.NewLedger(writer, records, nil, false)
	cfg, err := s.runConfig(ctx, formats.Invocation{
		Run:     r.ID,
		Session: r.Begun.Session,
		DryRun:  true,
	})
	if err != nil {
		return formats.Counted{}, err
	}

	s.disableEffects(&cfg, led)
	cfg.Verify = func(r formats.Request, ret formats.Return) error {
		return s.checkPrompt(records, r, ret)
	}
	s.verifying = &cfg
	lib := s.replayLibrary(cfg)
	line := LineOf(r)
	route, err := s.Project.Table.Route(line)
	if err != nil {
		return formats.Counted{}, err
	}

	ids := func() (string, string) { return r.Begun.Session, r.ID }
	o := router.Orchestrator{
		Runner: lib,
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

// disableEffects makes a configuration reach nothing but the journal, which answers in place of
// workers, state and documents.
func (s *Session) disableEffects(cfg *interp.Config, led *journal.Ledger) {
	cfg.DryRun = false
	cfg.Journal = led
	cfg.Agents = replayAgents{s}
	cfg.Discard = nil
	cfg.Diff = nil
	cfg.State = noState{}
	cfg.Docs = noDocs{}
	cfg.Problems = noProblems{}
	cfg.Trace = trace.Discard{}
	cfg.Show = func(formats.Table) {}
	_, cfg.Killed = led.Resumed()
	cfg.EverKilled = led.EverKilled()
	cfg.Start.Files = s.Project.decidingSums
	cfg.AcceptChanges = s.Options.AcceptChanges
	cfg.Accepted = led.Accepted
}

// replayLibrary gives the commands of the session, each of which runs with one configuration and
// takes every task and file for there.
func (s *Session) replayLibrary(cfg interp.Config) *commands.Library {
	lib := *s.Library
	lib.Tasks = allExist{}
	lib.Docs = allExist{}
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
	return &lib
}

// checkPrompt composes the prompt of a worker again and compares it with the recorded one.
func (s *Session) checkPrompt(
	records []journal.Record,
	r formats.Request,
	ret formats.Return,
) error {
	was := ret.Metadata.Told
	if was == "" {
		return nil
	}

	req, info, err := s.Dispatcher.Preview(r)
	if err != nil {
		return err
	}
	in := prompt.Input{
		Request:      req,
		Info:         info,
		Instructions: s.Project.instructions.forPrompt(r.Run, ret.Metadata.Runner),
	}
	if ret.Metadata.Runner == agentcli.Runner { // a program gets none
		in.Instructions = nil
	}

	now := prompt.StableSum(in)
	if now == was {
		return nil
	}
	if strings.Contains(prompt.Stable(in).Text, journal.Masked) {
		s.Project.Host.Frontend.NoteOnce(
			"masked",
			"prompts in which the journal masked a secret are not compared",
		)
		return nil
	}

	line := slices.IndexFunc(records, func(one journal.Record) bool {
		return one.Type == formats.EntryDelegationResult && one.Step == r.At &&
			one.Attempt == r.Attempt
	}) + 1
	if _, before := journal.Accepted(records); line <= before {
		s.Project.Host.Frontend.NoteOnce(
			"told",
			"what was told before files that changed were accepted is not compared",
		)
		return nil
	}
	return &formats.DivergedError{Failure: formats.Fail(formats.CodeInvalidState,
		"compare it with the prompt that is kept in "+path.Join(journal.Folder, r.Run),
		"%s:%d:1: the prompt of step '%s' was %s and comes out as %s", journal.Name, line, r.At,
		was, now)}
}

// SerialAt is the serial of the state when a step of a run began.
func (p *Project) SerialAt(ctx context.Context, run, step string) (uint64, error) {
	_, records, err := p.Control.FindVerified(run)
	if err != nil {
		return 0, err
	}
	serial, at, err := journal.StateAt(records, step)
	if err != nil {
		return 0, err
	}

	history, err := p.Reader.History(ctx)
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
