package project

import (
	"context"
	"errors"
	"iter"
	"time"

	"tercet/commands"
	"tercet/commands/outline"
	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/proc"
	"tercet/internal/scenario"
	"tercet/internal/trace"
	"tercet/internal/trust"
)

// Host is what a process gives to the projects that it opens.
type Host struct {
	Frontend Frontend
	Clock    Clock

	Version     string   // of tercet
	User        string   // who answers, and who writes the state
	Session     string   // the id under which this process writes
	CommandLine string   // of this process, shown to those who wait for its locks
	Supervisor  []string // the words that start a supervisor, before those of its child
	ChildWord   string   // that marks a supervisor among processes
	Detached    []string // the words that start the process of a run in the background
	// InsideRun reports whether a subagent started this process; nil: it did not.
	InsideRun func() bool

	// Env looks up a variable of the user, empty if it is not set. LookupEnv and Environ are the
	// variables of the process, of which children get some.
	Env       func(name string) string
	LookupEnv func(name string) (string, bool)
	Environ   func() []string
	// AbortContext gives the context of what the first signal must not cut short.
	AbortContext func() context.Context

	// Home keeps the runs of a team; nil: all runs are this machine's own.
	Home Home

	Strict      bool            // unknown keys of the configuration are errors
	LockTimeout time.Duration   // 0: that of the configuration
	Trust       string          // the digest of files that the user agrees to
	Agreed      map[string]bool // by digest: files that the user agreed to in this process
	OwnProject  string          // a folder that this process made itself, which needs no trust
	TrustedAs   string          // a folder; what the user agreed to there is agreed to here
}

// program is the file of this program, absolute; empty if it could not be found.
func (h *Host) program() string {
	if len(h.Supervisor) == 0 {
		return ""
	}
	return h.Supervisor[0]
}

// NewStarter makes what starts processes that no project asks for, with all variables of the
// process. The caller closes it.
func (h *Host) NewStarter() (*proc.Starter, error) {
	return proc.NewStarter(proc.Starter{
		Allow:      func(context.Context, proc.Command) error { return nil },
		Env:        h.Environ(),
		Now:        h.Clock.Now,
		Supervisor: h.Supervisor,
	})
}

// Clock is the time.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Frontend is where a project tells and asks. Its methods may be called by several goroutines.
type Frontend interface {
	Teller
	Observer
	Asker
}

// Teller is told what is to be shown at once.
type Teller interface {
	// Note tells one line about what happens.
	Note(format string, args ...any)
	// NoteOnce tells a line unless it told one with this key before.
	NoteOnce(key, text string)
	// Diagnostics shows what was found in files that can be used all the same.
	Diagnostics(d *formats.Diagnostics)
	// Table shows a table that a step prints.
	Table(t formats.Table)
	// Mask hands over what masks the secrets of the project in a text.
	Mask(m *journal.Masker)
}

// Observer follows runs while they are at work.
type Observer interface {
	// Begin says that events of runs follow until end is called. Past is what other processes did
	// of the run, nil if it is a new one.
	Begin(p *Project, past iter.Seq2[trace.Event, error]) (end func())
	// Event shows an event; line is its masked JSON. A silent one belongs to a run whose answer is
	// all that it shows.
	Event(e trace.Event, line []byte, silent bool)
	// Label names a run among several that go on at once.
	Label(run, text string)
	// Answered tells that a consent answered a gate, in the words of the user's language.
	Answered(g formats.Gate, answer, by string)
	// ShowRun shows the steps of a run before a question about it.
	ShowRun(p *Project, r journal.Run) error
}

// Asker asks the user.
type Asker interface {
	// Interactive tells whether a user can be asked.
	Interactive() bool
	// Ask puts a question to the user. The error is ErrLeft or ErrInterrupted, or that of the
	// context.
	Ask(ctx context.Context, q Question) (Reply, error)
	// AskTrust asks whether the files of a project may start programs.
	AskTrust(ctx context.Context, s *Session, v *trust.Verdict) (bool, error)
	// AskMissing asks for the arguments that a line lacks.
	AskMissing(ctx context.Context, m commands.MissingArguments) ([]string, error)
	// Leaving gives a context that the user can end alone, without ending what runs.
	Leaving(ctx context.Context) (context.Context, func())
}

// Question is a gate with what the user may look at before the answer.
type Question struct {
	Gate formats.Gate
	Note string // given in advance
	// Project has the documents of the gate; nil if it is about none.
	Project *Project
	// Diff gives the changes of the work that the gate is about, nil: there is none.
	Diff func(ctx context.Context) (string, error)
}

// Reply is the answer to a question: a choice with a note, or an edited document instead. Channel
// is the frontend through which it came, empty for a terminal.
type Reply struct{ Label, Note, Edited, Channel string }

// ErrLeft means that the user left a question without an answer, ErrInterrupted that this was by
// an interrupt, which ends the run.
var (
	ErrLeft        = errors.New("left without an answer")
	ErrInterrupted = errors.New("interrupted")
)

// Options are what the user wants of one line, or of one run that goes on.
type Options struct {
	Runner string // of all workers; empty: that of their files, or of the configuration
	Model  string
	DryRun bool
	Stubs  string // the file of returns for a dry run
	Record string // the folder to which the answers of workers are recorded
	Replay string // the folder from which they are replayed
	Yes    bool   // approve every gate
	Await  bool   // wait at a question until it is answered elsewhere

	New           bool // give up the unfinished run of the line
	IfNeeded      bool // succeed without a run if the task is past the command
	AcceptChanges bool // go on although files that decide have changed
	Parallel      string
	Most          outline.Ceiling

	Typed bool // the line was typed at the prompt
	// TellsBroken: the caller reports subagent files that cannot be used.
	TellsBroken bool
	// Workers are the scripted workers of a test.
	Workers *scenario.Workers `json:"-"`
}
