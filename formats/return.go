package formats

import (
	"slices"
	"strconv"
	"strings"
)

// Table is rows to show; each cell is printed as it is, nothing in it is markup.
type Table struct {
	Title   string     `json:"title,omitempty"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Filled is the table, whose rows are all as long as its columns, without the columns that have nothing in any row.
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

// WorktreeClosed in Metadata.Worktree tells that the worktree of the run is gone.
const WorktreeClosed = "closed"

// ReturnStatus tells whether a subagent did its work.
type ReturnStatus string

// The statuses of a return.
const (
	StatusCompleted ReturnStatus = "completed"
	StatusPartial   ReturnStatus = "partial"
	StatusFailed    ReturnStatus = "failed"
	StatusBlocked   ReturnStatus = "blocked"
	// StatusSuspended is that of a command whose run waits; an agent may not say it.
	StatusSuspended ReturnStatus = "suspended"
)

// Verdict tells what a reviewer judged.
type Verdict string

// The verdicts.
const (
	VerdictApproved    Verdict = "approved"
	VerdictConditional Verdict = "conditional"
	VerdictRejected    Verdict = "rejected"
)

// Outcome is the status that a step has and that `on` routes by.
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
		OutcomeCompleted, OutcomeApproved, OutcomeConditional, OutcomeSkipped, OutcomePartial, OutcomeRejected,
		OutcomeBlocked, OutcomeSuspended, OutcomeFailed,
	}
}

// String is the word as it stands in `on` and in results.
func (o Outcome) String() string { return string(o) }

// Passes tells whether a step with this outcome goes on by default.
func (o Outcome) Passes() bool {
	return o == OutcomeCompleted || o == OutcomeApproved || o == OutcomeConditional || o == OutcomeSkipped
}

// ArtifactType is the kind of a file that a subagent made.
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

// IsDocument tells whether artifacts of this type are documents that the engine places in the task's folder, in
// contrast to files of the tree that was worked on.
func (t ArtifactType) IsDocument() bool {
	return t == ArtifactReport || t == ArtifactPlan || t == ArtifactSummary || t == ArtifactReview
}

// Artifact is a file that a subagent made. Path is slash-separated: relative to Request.Out for documents until the
// Dispatcher has placed them, then relative to the project root.
type Artifact struct {
	Type    ArtifactType `json:"type"`
	Guessed bool         `json:"-"` // the type was not told: where the file lies decides
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

// Issue is one thing found wrong in work that was done.
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

var errorTypes = []ErrorType{
	ErrorTimeout, ErrorValidation, ErrorExecution, ErrorPermission, ErrorToolUnavailable,
}

// ReturnError is one error of a failed return.
type ReturnError struct {
	Type           ErrorType `json:"type"`
	Message        string    `json:"message"`
	Code           Code      `json:"code"`
	Recoverable    bool      `json:"recoverable"`
	Recommendation string    `json:"recommendation,omitempty"`
}

// Metadata is stamped by the engine from what it measured; a claim by an agent is dropped.
type Metadata struct {
	Session  string   `json:"session_id,omitempty"`
	Run      string   `json:"run,omitempty"`
	Duration float64  `json:"duration_seconds"`
	Agent    string   `json:"agent_type,omitempty"`
	Runner   string   `json:"runner,omitempty"`
	Depth    int      `json:"delegation_depth"`
	Path     []string `json:"delegation_path,omitempty"`
	// Worktree is the folder that git-workflow-manager opened, absolute; only a built-in may set it.
	Worktree string `json:"worktree,omitempty"`
	// Asked is the model that was asked for, empty where the choice was left to the program.
	Asked string `json:"model_asked,omitempty"`
	// Model, Tokens and Cost are what the runner measured; zero where the program does not say.
	Model  string  `json:"model,omitempty"`
	Tokens Tokens  `json:"tokens,omitzero"`
	Cost   float64 `json:"cost_usd,omitempty"`
	// Metered says when the runner's program told its tokens, empty where it told none: a bound of tokens stops work only
	// while they are told.
	Metered Metered `json:"metered,omitempty"`
	// Spawns counts the workers that a command or a workflow called; zero for a worker.
	Spawns int `json:"spawns,omitempty"`
	// Sandbox is the tier that the work was done in, empty where no program of its own was started.
	Sandbox string `json:"sandbox,omitempty"`
	// Prompt is the SHA-256 of the prompt in hexadecimal, empty for runners without one.
	Prompt string `json:"prompt_sha256,omitempty"`
	// Told is that of the same prompt without nonce, folders and repair: what 'tercet verify' composes again.
	Told string `json:"told_sha256,omitempty"`
	// Attempts are the runners that were tried in order, the last one being the one that answered; nil if there was one.
	Attempts []RunnerAttempt `json:"attempts,omitempty"`
}

// Metered says when a program tells the tokens that it used.
type Metered string

// The times of telling.
const (
	MeteredSteps Metered = "steps" // after each answer of the model
	MeteredEnd   Metered = "end"   // when it has ended
)

// Tokens counts what a model read and wrote, as its program reports it.
type Tokens struct {
	Input  int64 `json:"input"`
	Cached int64 `json:"cached,omitempty"` // of Input, read from a cache
	Output int64 `json:"output"`
}

// Total is what limits are compared with.
func (t Tokens) Total() int64 { return t.Input + t.Output }

// RunnerAttempt is one runner of a chain of fallbacks.
type RunnerAttempt struct {
	Runner   string  `json:"runner"`
	Model    string  `json:"model,omitempty"`
	Code     Code    `json:"code,omitempty"` // why the next one was tried, empty for the one that answered
	Message  string  `json:"message,omitempty"`
	Duration float64 `json:"duration_seconds"`
}

// Return is the one record that a subagent, a step and a command give back. Maps and slices belong to the receiver.
type Return struct {
	Schema        string         `json:"schema,omitempty"` // tercet.return/1 at the edge, empty inside
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
	Tables        []Table        `json:"tables,omitempty"` // what a command showed; never from a subagent
	Resume        *Resume        `json:"resume,omitempty"` // of a command that is suspended
	Tasks         []TaskReturn   `json:"tasks,omitempty"`  // of a line that names several, in its order
	// Said is an outcome that the engine gave to the step (skipped, suspended, rejected); empty otherwise. It never comes
	// off the wire.
	Said Outcome `json:"-"`
}

// TaskReturn is what one task of a line that names several came to, in a run of its own.
type TaskReturn struct {
	Task   int    `json:"task"`
	Run    string `json:"run,omitempty"` // empty: none was begun
	Return Return `json:"return"`
}

// Outcome is the verdict if there is one, else what the engine said, else the status.
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

// Failed makes the failed return that an error of the engine amounts to.
func Failed(err error) Return {
	code := CodeOf(err)
	e := ReturnError{
		Type: code.kind(), Message: err.Error(), Code: code, Recommendation: HelpOf(err),
		Recoverable: slices.Contains([]Code{CodeTransient, CodeTimeout, CodeLocked, CodeLeaseHeld}, code),
	}
	return Return{
		Status: StatusFailed, Summary: firstLine(err.Error(), MaxSummary), Errors: []ReturnError{e},
		Class: ClassOf(e),
	}
}

// MaxSummary is the most characters that a summary may have.
const MaxSummary = 500

// MaxText is the most bytes that a text to show may have.
const MaxText = 256 << 10

// Clip shortens a text to a number of characters, of which the last is an ellipsis then.
func Clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Count is a number with its noun: 1 file, 2 files.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func firstLine(s string, limit int) string {
	line, _, _ := strings.Cut(s, "\n")
	return Clip(line, limit)
}
