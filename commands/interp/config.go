package interp

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"tercet/formats"
	"tercet/internal/trace"
)

// Delegator hands one piece of work to a subagent. A failed agent is a Return; an error means that the engine could not
// do its job.
type Delegator interface {
	Delegate(ctx context.Context, r formats.Request) (formats.Return, error)
}

// Reader gives the state as it is now, with effective statuses, and its serial. The document is shared and not changed.
type Reader interface {
	Snapshot(ctx context.Context) (doc any, serial uint64, err error)
}

// Docs reads files of the project root and nothing else.
type Docs interface {
	Open(ctx context.Context, path string) ([]byte, error)
	Glob(ctx context.Context, patterns []string) ([]string, error)
}

// Problems keeps critical errors.
type Problems interface {
	Record(ctx context.Context, p formats.Problem) error
}

// Approver asks a person; a *formats.GateOpenError says that nobody can answer.
type Approver interface {
	Approve(ctx context.Context, g formats.Gate) (formats.Decision, error)
}

// Lint checks a command file, or a subagent file, of the project.
type Lint func(name string, src []byte, subagent bool) []formats.Diagnostic

// Journal keeps the decisions of the run. Both are safe for concurrent use.
type Journal interface {
	// Append makes an entry durable before it returns. An entry that the run made before, in an earlier process, is not
	// written again, and old tells that. Alone says that nothing goes on beside it. A *formats.StoppedError tells that the
	// run was stopped here, a *formats.DivergedError that it comes out otherwise than before.
	Append(ctx context.Context, e formats.Entry, alone bool) (old bool, err error)
	// Recall takes an entry that the run made before, if there is one, and gives its data.
	Recall(e formats.Entry) (data json.RawMessage, ok bool)
	// Live tells that something is done now that the journal does not have. Its errors are those of Append.
	Live(alone bool) error
}

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// IDs name the run. Path is that of the command, router first.
type IDs struct {
	Run, Session, Command string
	Path                  []string
}

// Config is everything that a run can reach. Agents, State, Docs, Problems, Approve, Lint, Journal, Clock, Trace and
// Show are required; the rest has a meaning when empty.
type Config struct {
	Agents   Delegator
	State    Reader
	Docs     Docs
	Problems Problems
	Approve  Approver
	Lint     Lint
	Journal  Journal
	Clock    Clock
	Trace    trace.Sink
	// Show prints a table at once; the rows are in the return as well.
	Show   func(formats.Table)
	IDs    IDs
	Limits formats.Limits // may only lower those of the file
	// Specs is the folder of the project that holds the documents of tasks, relative to Dir; empty: tercet's own.
	Specs string
	// Dir is the project root, absolute: where work is done until a worktree is open.
	Dir string
	// Env looks up a variable that the command file names; nil: there are none.
	Env func(name string) (string, bool)
	// Discard takes back documents of a run that failed; nil keeps them.
	Discard func(ctx context.Context, run string, list []formats.Artifact) error
	// Abort, when cancelled, cuts Error Handling short: the second Ctrl-C. Nil never does.
	Abort context.Context //nolint:containedctx // it is a second signal beside the run's own context, not a replacement
	// Pause, when cancelled with a *formats.LaterError, lets the run begin nothing new: it is suspended. Nil never does.
	Pause context.Context //nolint:containedctx // it is a further signal beside the run's own context
	// Stop, when cancelled, ends this run alone, as the end of its context does. Nil never does.
	Stop context.Context //nolint:containedctx // a run among others is ended by its own id
	// GateID makes the id of a gate that is opened; nil: gates have none, and are answered by the approver alone.
	GateID func() string
	// AutoApprove is what $run.auto_approve says.
	AutoApprove bool
	// Consent is the auto-approve file that answers for the run, as it stood when the run started.
	Consent formats.Consent
	// DryRun stubs every delegation; nothing is written.
	DryRun bool
	// IfNeeded completes a run at once whose task is past every status that the command starts from.
	IfNeeded bool
	// Stubs are the returns of a dry run by step id or subagent, each taken in order, the last one again and again. What
	// they decide is decided as in a run.
	Stubs map[string][]formats.Return
	// Diff gives the changes of a tree against where the run began, as a patch and as a list of files; nil gives none.
	Diff func(ctx context.Context, dir string) (diff, stat string, err error)
	// RepoState gives what can be done with the repository beyond commits; nil: there is none.
	RepoState func(ctx context.Context) (formats.RepoState, error)
	// Of a subagent with steps: its input, the task of the command, why it is called again, and what its step paths begin
	// with.
	Input    map[string]any
	Task     *formats.Task
	Feedback *formats.Feedback
	Prefix   string
	// Start is what the journal keeps of how the run came about: version, person, line, and the files that decide.
	Start formats.Started
	// Of a run that another process began: that it is one, that the last process of it was killed, how long it took
	// before, and that a person accepts changed files.
	Resumed       bool
	Killed        bool
	Spent         time.Duration
	AcceptChanges bool
	// Look has a run gone through again without any effect, to hold it against its journal. It is called for each answer
	// of a worker that stands there; where the journal ends, Run gives a *formats.EndError.
	Look func(r formats.Request, ret formats.Return) error
}

// Runner runs one program once.
type Runner struct{ cfg Config }

// New checks that everything a run needs is there.
func New(cfg Config) (*Runner, error) {
	v := reflect.ValueOf(cfg)
	for _, what := range []string{
		"Agents", "State", "Docs", "Problems", "Approve", "Lint", "Journal", "Clock", "Trace", "Show",
	} {
		if v.FieldByName(what).IsNil() {
			return nil, formats.Fail(formats.CodeBug, "", "a run needs %s, got nil", what)
		}
	}
	if cfg.GateID == nil {
		cfg.GateID = func() string { return "" }
	}
	return &Runner{cfg: cfg}, nil
}
