package interp

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/trace"
)

// Delegator runs one delegation. A failed agent is a Return; an error means that the engine could
// not do its job.
type Delegator interface {
	Delegate(ctx context.Context, r formats.Request) (formats.Return, error)
}

// Reader gives the current state with effective statuses, and its serial. The document is shared;
// do not change it.
type Reader interface {
	Snapshot(ctx context.Context) (doc any, serial uint64, err error)
}

// Docs reads files of the project root only.
type Docs interface {
	Open(ctx context.Context, path string) ([]byte, error)
	Sum(ctx context.Context, path string) (sha256 string, err error)
	Glob(ctx context.Context, patterns []string) ([]string, error)
}

// Problems keeps critical errors.
type Problems interface {
	Record(ctx context.Context, p formats.Problem) error
}

// Approver asks the user; a *formats.GateOpenError means that there is no answer now.
type Approver interface {
	Approve(ctx context.Context, g formats.Gate) (formats.Decision, error)
	// Remember takes the answer to a gate that a worker opened. Approve then gives it when the
	// worker of the same run asks about the same digest again.
	Remember(run, digest string, d formats.Decision)
}

// Lint checks a command file or a subagent file of the project.
type Lint func(name string, src []byte, subagent bool) []formats.Diagnostic

// Journal stores the decisions of the run. It is safe for concurrent use.
type Journal interface {
	// Append makes an entry durable before it returns. If an earlier process of the run made the
	// entry, Append does not write it again, and old is true. Alone means that nothing runs in
	// parallel. A *formats.StoppedError means that the run was stopped here, a
	// *formats.DivergedError that the entry differs from the journal's.
	Append(ctx context.Context, e formats.Entry, alone bool) (old bool, err error)
	// Recall gives the data of an entry that an earlier process of the run made, and consumes it.
	Recall(e formats.Entry) (data json.RawMessage, ok bool)
	// Live declares that the run now does something new. Its errors are those of Append.
	Live(alone bool) error
	// Resumable reports whether there is something to go on with: a step has finished, or a
	// question was asked.
	Resumable() bool
}

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// IDs identify the run. Path is the command's delegation path, router first.
type IDs struct {
	Run, Session, Command string
	Path                  []string
}

// Config holds everything that a run can reach. Agents, State, Docs, Problems, Approve, Lint,
// Journal, Clock, Trace and Show are required; every other field may be empty.
type Config struct {
	Agents   Delegator
	State    Reader
	Docs     Docs
	Problems Problems
	Approve  Approver
	Lint     Lint
	Profiles *documents.ProjectProfiles // of the project; nil: the shipped ones
	Journal  Journal
	Clock    Clock
	Trace    trace.Sink
	// Show prints a table at once; the return has the rows too.
	Show   func(formats.Table)
	IDs    IDs
	Limits formats.Limits // can only lower those of the file
	// Specs is the project folder for the documents of tasks, relative to Dir; empty:
	// .tercet/specs.
	Specs string
	// Dir is the project root, absolute: steps work there until a worktree is open.
	Dir string
	// Env looks up a variable that the command file names; nil: no variables.
	Env func(name string) (string, bool)
	// Discard removes the documents of a failed run from the task's folder; nil keeps them.
	Discard func(ctx context.Context, run string, list []formats.Artifact) error
	// HowToReach says which line brings a task to one of these statuses, or what else can be done
	// with it; nil: nothing is known.
	HowToReach func(t *formats.Task, to []formats.TaskStatus) string
	// Abort, when cancelled, cuts Error Handling short, as the second Ctrl-C does. Nil never does.
	Abort context.Context //nolint:containedctx // a second signal beside the run's own context
	// Pause, when cancelled with a *formats.LaterError, starts nothing new and suspends the run.
	// Nil never does.
	Pause context.Context //nolint:containedctx // a further signal beside the run's own context
	// Stop, when cancelled, ends this run, as the end of its context does. Nil never does.
	Stop context.Context //nolint:containedctx // a run among others is ended by its own id
	// Admit waits until the run may do something new, and gives what ends that; the time of the run
	// stands still meanwhile. When the context ends, so does the wait, without an error. Nil: at
	// once.
	Admit func(ctx context.Context) (leave func(), err error)
	// Mask masks secrets in what a worker publishes; nil masks nothing.
	Mask func(string) string
	// Messages are those of the user to the run; nil: there are none.
	Messages Messages
	// GateID makes the id of a gate; nil: gates have no id, and only Approve answers them.
	GateID func() string
	// AutoApprove is $run.auto_approve.
	AutoApprove bool
	// Commit is $run.commit: what commands commit by themselves; empty: nothing.
	Commit string
	// Consent is the auto-approve file that answers this run's gates, as it was when the run
	// started.
	Consent formats.Consent
	// DryRun replaces every delegation by a stub; the run writes nothing.
	DryRun bool
	// IfNeeded completes the run at once if the task is past every status from which the command
	// starts.
	IfNeeded bool
	// Stubs are the returns of a dry run by step id or subagent, taken in order; the last one
	// repeats. The run treats them like real returns.
	Stubs map[string][]formats.Return
	// Diff gives the changes of a tree since the run began, as a patch and as a list of files; nil
	// gives none.
	Diff func(ctx context.Context, dir string) (diff, stat string, err error)
	// RepoState gives what tercet does with the repository beyond commits; nil: there is no
	// repository.
	RepoState func(ctx context.Context) (formats.RepoState, error)
	// For a workflow subagent: its input, the command's task, the feedback, and the prefix of its
	// step paths.
	Input    map[string]any
	Task     *formats.Task
	Feedback *formats.Feedback
	Prefix   string
	// Start is what run_started records: version, user, line, and the files that decide.
	Start formats.Started
	// For a resumed run: whether its last process was killed, and its working time so far.
	// AcceptChanges is the user's yes to changed files; Accept then gets their hashes, unless it is
	// nil. Accepted are the files accepted before, by their hashes.
	Resumed       bool
	Killed        bool
	EverKilled    bool // a process of the run was killed, the last one or an earlier one
	Spent         time.Duration
	AcceptChanges bool
	Accepted      map[string]string
	Accept        func(changed map[string]string)
	// Verify replays a run without effects to verify its journal. Run calls it for each recorded
	// answer of a worker; at the end of the journal Run gives a *formats.EndError.
	Verify func(r formats.Request, ret formats.Return) error
}

// Runner runs one program once.
type Runner struct{ cfg Config }

// New checks that all required fields of the Config are set.
func New(cfg Config) (*Runner, error) {
	v := reflect.ValueOf(cfg)
	for _, what := range []string{
		"Agents", "State", "Docs", "Problems", "Approve", "Lint", "Journal", "Clock", "Trace",
		"Show",
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
