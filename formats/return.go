package formats

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Table is rows to show. A cell is printed as it is and holds no markup.
type Table struct {
	Title   string     `json:"title,omitempty"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Filled drops columns that are empty in every row. Each row must have a cell for each column.
func (t Table) Filled() Table {
	out := Table{Title: t.Title, Rows: make([][]string, len(t.Rows))}
	for i, name := range t.Columns {
		if !slices.ContainsFunc(t.Rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		out.Columns = append(out.Columns, name)
		for n, row := range t.Rows {
			out.Rows[n] = append(out.Rows[n], row[i])
		}
	}
	return out
}

// WorktreeClosed in Metadata.Worktree means that the run's worktree is gone.
const WorktreeClosed = "closed"

// ReturnStatus says whether a subagent did its work.
type ReturnStatus string

// The statuses of a return.
const (
	StatusCompleted ReturnStatus = "completed"
	StatusPartial   ReturnStatus = "partial"
	StatusFailed    ReturnStatus = "failed"
	StatusBlocked   ReturnStatus = "blocked"
	// StatusSuspended is only for commands whose run waits; an agent may not return it.
	StatusSuspended ReturnStatus = "suspended"
)

// Verdict is a reviewer's judgement.
type Verdict string

// The verdicts.
const (
	VerdictApproved    Verdict = "approved"
	VerdictConditional Verdict = "conditional"
	VerdictRejected    Verdict = "rejected"
)

// Outcome is the status of a step; `on` routes by it.
type Outcome string

// The outcomes; the first four pass.
const (
	OutcomeCompleted   Outcome = "completed"
	OutcomeApproved    Outcome = "approved"
	OutcomeConditional Outcome = "conditional"
	OutcomeSkipped     Outcome = "skipped"
	OutcomePartial     Outcome = "partial"
	OutcomeRejected    Outcome = "rejected"
	OutcomeBlocked     Outcome = "blocked"
	OutcomeSuspended   Outcome = "suspended"
	OutcomeFailed      Outcome = "failed"
)

// Outcomes lists every outcome, passing ones first.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeCompleted, OutcomeApproved, OutcomeConditional, OutcomeSkipped, OutcomePartial,
		OutcomeRejected, OutcomeBlocked, OutcomeSuspended, OutcomeFailed,
	}
}

func (o Outcome) String() string {
	return string(o)
}

// Passes reports whether a step with this outcome continues by default.
func (o Outcome) Passes() bool {
	return o == OutcomeCompleted || o == OutcomeApproved || o == OutcomeConditional ||
		o == OutcomeSkipped
}

// ArtifactType is the kind of a subagent's file.
type ArtifactType string

// The artifact types.
const (
	ArtifactReport         ArtifactType = "report"
	ArtifactPlan           ArtifactType = "plan"
	ArtifactImplementation ArtifactType = "implementation"
	ArtifactSummary        ArtifactType = "summary"
	ArtifactReview         ArtifactType = "review"
	ArtifactDocumentation  ArtifactType = "documentation"
)

// IsDocument reports whether the engine places artifacts of this type in the task's folder; others
// are files of the working tree.
func (t ArtifactType) IsDocument() bool {
	return t == ArtifactReport || t == ArtifactPlan || t == ArtifactSummary || t == ArtifactReview
}

// Artifact is a file that a subagent made. Path has slashes. For a document it is relative to
// Request.Out until the Dispatcher has placed it; otherwise it is relative to the project root.
type Artifact struct {
	Type    ArtifactType `json:"type"`
	Guessed bool         `json:"-"` // the type was missing and follows from the path
	Path    string       `json:"path"`
	Summary string       `json:"summary,omitempty"`
	Deleted bool         `json:"deleted,omitempty"`
	Created string       `json:"created,omitempty"` // RFC 3339, set by the state manager
}

// Level grades an issue.
type Level string

// The levels of an issue.
const (
	LevelError      Level = "error"
	LevelWarning    Level = "warning"
	LevelSuggestion Level = "suggestion"
)

// Issue is one defect found in work.
type Issue struct {
	Level        Level    `json:"level"`
	Description  string   `json:"description"`
	Files        []string `json:"files,omitempty"`
	Line         int      `json:"line,omitempty"`
	SuggestedFix string   `json:"suggested_fix,omitempty"`
	Source       string   `json:"source,omitempty"` // agent, check or user
}

// ErrorType is the coarse kind of a return's error.
type ErrorType string

// The error types.
const (
	ErrorTimeout         ErrorType = "timeout"
	ErrorValidation      ErrorType = "validation"
	ErrorExecution       ErrorType = "execution"
	ErrorPermission      ErrorType = "permission"
	ErrorToolUnavailable ErrorType = "tool_unavailable"
)

// ErrorTypes lists every error type.
func ErrorTypes() []ErrorType {
	return []ErrorType{
		ErrorTimeout, ErrorValidation, ErrorExecution, ErrorPermission, ErrorToolUnavailable,
	}
}

// ReturnError is one error of a failed return.
type ReturnError struct {
	Type           ErrorType `json:"type"`
	Message        string    `json:"message"`
	Code           Code      `json:"code"`
	Recoverable    bool      `json:"recoverable"`
	Recommendation string    `json:"recommendation,omitempty"`
}

// Metadata is measured and stamped by the engine; an agent's claims are dropped.
type Metadata struct {
	Session  string   `json:"session_id,omitempty"`
	Run      string   `json:"run,omitempty"`
	Duration float64  `json:"duration_seconds"`
	Agent    string   `json:"agent_type,omitempty"`
	Runner   string   `json:"runner,omitempty"`
	Depth    int      `json:"delegation_depth"`
	Path     []string `json:"delegation_path,omitempty"`
	// Worktree is the folder that git-workflow-manager opened, relative to the project root, so
	// that the run can go on in another clone; only a built-in subagent may set it.
	Worktree string `json:"worktree,omitempty"`
	// Asked is the requested model; empty if the runner chose.
	Asked string `json:"model_asked,omitempty"`
	// Model, Tokens and Cost are the runner's measurements; zero if the agent CLI does not report
	// them.
	Model  string  `json:"model,omitempty"`
	Tokens Tokens  `json:"tokens,omitzero"`
	Cost   float64 `json:"cost_usd,omitempty"`
	// AgentSession is the session in which a worker of a step with `session: keep` ended.
	AgentSession *AgentSession `json:"agent_session,omitempty"`
	// Metered says when the agent CLI reported its tokens; empty if it reported none. A token limit
	// can stop work only while it reports them.
	Metered Metered `json:"metered,omitempty"`
	// Spawns counts the workers called by a command or a workflow; zero for a worker.
	Spawns int `json:"spawns,omitempty"`
	// Sandbox is the tier of the work; empty if no process was started.
	Sandbox string `json:"sandbox,omitempty"`
	// Prompt is the SHA-256 of the prompt in hex; empty for runners without a prompt.
	Prompt string `json:"prompt_sha256,omitempty"`
	// Told is the SHA-256 of the prompt without nonce, folders and repair, which 'tercet verify'
	// composes again.
	Told string `json:"told_sha256,omitempty"`
	// Attempts are the runners tried, in order; the last one answered. Nil if there was only one.
	Attempts []RunnerAttempt `json:"attempts,omitempty"`
	// Moved are the refs of git that moved while the worker ran, and not by tercet. The run notes a
	// branch that only gained commits, and asks about the others.
	Moved []Moved `json:"refs_moved,omitempty"`
}

// Moved is a ref of git with its values before and after; an empty one means that there was no such
// ref.
type Moved struct {
	Ref string `json:"ref"`
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Forward says that a branch which is not tercet's own gained commits and lost none.
	Forward bool `json:"forward,omitempty"`
}

// MovedText describes moved refs: "refs/heads/main moved from 1a2b3c to nothing, HEAD moved from
// ...".
func MovedText(list []Moved) string {
	words := make([]string, len(list))
	for i, m := range list {
		short := func(value string) string {
			if to, symbolic := strings.CutPrefix(value, "ref: "); symbolic {
				return to
			}
			return cmp.Or(value[:min(12, len(value))], "nothing")
		}
		words[i] = fmt.Sprintf("%s moved from %s to %s", m.Ref, short(m.Old), short(m.New))
	}
	return strings.Join(words, ", ")
}

// Metered says when an agent CLI reports its tokens.
type Metered string

// The values of Metered.
const (
	MeteredSteps Metered = "steps" // after each answer of the model
	MeteredEnd   Metered = "end"   // at the end
)

// Tokens counts what a model read and wrote, as the agent CLI reports it.
type Tokens struct {
	Input  int64 `json:"input"`
	Cached int64 `json:"cached,omitempty"` // part of Input that came from a cache
	Output int64 `json:"output"`
}

// Total is compared with limits.
func (t Tokens) Total() int64 {
	return t.Input + t.Output
}

// RunnerAttempt is one attempt in a chain of runners.
type RunnerAttempt struct {
	Runner string `json:"runner"`
	Model  string `json:"model,omitempty"`
	// why tercet tried the next runner; empty for the last attempt
	Code     Code    `json:"code,omitempty"`
	Message  string  `json:"message,omitempty"`
	Duration float64 `json:"duration_seconds"`
}

// Return is the record that a subagent, a step and a command give back. Its maps and slices belong
// to the receiver.
type Return struct {
	// tercet.return/1 in output, empty inside
	Schema        string         `json:"schema,omitempty"`
	Status        ReturnStatus   `json:"status"`
	Verdict       Verdict        `json:"verdict,omitempty"`
	Summary       string         `json:"summary"`
	Text          string         `json:"text,omitempty"`
	Artifacts     []Artifact     `json:"artifacts"`
	Issues        []Issue        `json:"issues,omitempty"`
	Fields        map[string]any `json:"fields,omitempty"`
	BlockedReason string         `json:"blocked_reason,omitempty"`
	BlockedTarget string         `json:"blocked_target,omitempty"`
	Warnings      []string       `json:"warnings,omitempty"`
	Class         Class          `json:"class,omitempty"`
	Metadata      Metadata       `json:"metadata"`
	Errors        []ReturnError  `json:"errors"`
	NextSteps     string         `json:"next_steps,omitempty"`
	Tables        []Table        `json:"tables,omitempty"` // only of commands, never of a subagent
	Resume        *Resume        `json:"resume,omitempty"` // only of a suspended command
	// of a line with several tasks, in its order
	Tasks []TaskReturn `json:"tasks,omitempty"`
	// Said is the outcome that the engine set (skipped, suspended, rejected); empty otherwise. It
	// is never parsed.
	Said Outcome `json:"-"`
}

// TaskReturn is the result of one task of a line with several, in a run of its own.
type TaskReturn struct {
	Task   int    `json:"task"`
	Run    string `json:"run,omitempty"` // empty: not begun
	Return Return `json:"return"`
}

// Outcome is the verdict if there is one, else Said, else the status.
func (r Return) Outcome() Outcome {
	switch {
	case r.Verdict != "":
		return Outcome(r.Verdict)
	case r.Said != "":
		return r.Said
	case r.Status == "":
		return OutcomeFailed
	}
	return Outcome(r.Status)
}

// RunState is the state of a run that ends with the return: the outcome, or cancelled.
func (r Return) RunState() string {
	outcome := r.Outcome()
	if outcome == OutcomeFailed && len(r.Errors) > 0 && r.Errors[0].Code == CodeCancelled {
		return RunCancelled
	}
	return outcome.String()
}

// Failed makes the failed return for an error of the engine.
func Failed(err error) Return {
	code := CodeOf(err)
	e := ReturnError{
		Type:           code.ErrorType(),
		Message:        err.Error(),
		Code:           code,
		Recommendation: HelpOf(err),
		Recoverable:    slices.Contains([]Code{CodeTransient, CodeLocked, CodeLeaseHeld}, code),
	}
	return Return{
		Status:  StatusFailed,
		Summary: FirstLine(err.Error(), MaxSummary),
		Errors:  []ReturnError{e},
		Class:   ClassOf(e),
	}
}

// MaxSummary bounds a summary, in characters.
const MaxSummary = 500

// MaxText bounds a text to show, in bytes.
const MaxText = 256 << 10
