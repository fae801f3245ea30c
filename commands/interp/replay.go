package interp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
)

// Replay: a run that is resumed runs from its beginning, makes every decision again by the same
// code in the same order, and takes from its journal what it cannot decide, which is the answers of
// workers and users, and what was read from files, trees and the state. Effects begin where the
// journal ends. A new run is one whose journal is empty.

// begin writes the first entry, or takes from it what the run began with, and prepares the run.
func (r *run) begin() error {
	var recorded formats.Started
	e := formats.Entry{Type: formats.EntryRunStarted}
	replayed, err := r.main.journal.recall(e, &recorded)
	if err != nil {
		return err
	}

	started := r.startedNow()
	if replayed {
		r.started = recorded.At
		r.cfg.AutoApprove = recorded.Consent
		r.cfg.Consent = recorded.Agreed
		r.cfg.Commit = recorded.Commit
		r.journal.past = recorded.Seen
		if err := r.checkUnchanged(recorded, started); err != nil {
			return err
		}
	}

	if err := r.prepare(); err != nil || replayed {
		r.journal.begun = replayed
		return err
	}

	started.Seen = r.journal.seen
	if r.tasks.commandTask != nil {
		started.Task = r.tasks.commandTask.Number
	}
	e.Data = started
	r.journal.begun = true // what fails from here on is known to be a run
	if err := r.main.journal.append(e); err != nil {
		r.journal.begun = false
		return err
	}
	return nil
}

// startedNow is the first entry of a run that begins now, without what prepare finds.
func (r *run) startedNow() formats.Started {
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
	s.Commit = r.cfg.Commit
	return s
}

// checkUnchanged refuses to go on if a file that decides was changed, unless the user accepts that.
func (r *run) checkUnchanged(was, now formats.Started) error {
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

// recordedAnswer is the answer to a delegation as the journal has it: the return with the outcome
// that the engine gave it, or the error of the engine.
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

func (e *recordedError) failure() error {
	if e == nil {
		return nil
	}
	return formats.Fail(e.Code, e.Help, "%s", e.Message)
}

// decodeAnswer decodes an answer from the journal.
func decodeAnswer(data []byte) answer {
	var k recordedAnswer
	if err := read(data, &k); err != nil {
		return answer{err: err}
	}
	k.Return.Said = k.Said
	return answer{ret: k.Return, err: k.Error.failure()}
}
