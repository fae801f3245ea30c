package formats

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// Code names a failure in returns, messages and errors.json.
type Code string

// The codes; ExitFor gives the exit number of each.
const (
	CodeUsage             Code = "USAGE"
	CodeAuth              Code = "AUTH"
	CodeRejected          Code = "REJECTED"
	CodeNotFound          Code = "NOT_FOUND"
	CodeLimit             Code = "LIMIT"
	CodeMaxDepth          Code = "MAX_DEPTH_EXCEEDED"
	CodeCycle             Code = "CYCLE_DETECTED"
	CodeInvalidReturn     Code = "INVALID_RETURN"
	CodeInvalidCommand    Code = "INVALID_COMMAND"
	CodeInvalidState      Code = "INVALID_STATE"
	CodeToolUnavailable   Code = "TOOL_UNAVAILABLE"
	CodeBug               Code = "BUG"
	CodeIO                Code = "IO"
	CodeNotDurable        Code = "NOT_DURABLE"
	CodeLocked            Code = "LOCKED"
	CodeLeaseHeld         Code = "LEASE_HELD"
	CodeDenied            Code = "DENIED"
	CodeUntrusted         Code = "UNTRUSTED"
	CodeConfig            Code = "CONFIG"
	CodeNoWorkspace       Code = "NO_WORKSPACE"
	CodeTimeout           Code = "TIMEOUT"
	CodeCancelled         Code = "CANCELLED"
	CodeTransient         Code = "TRANSIENT"
	CodePrecondition      Code = "PRECONDITION"
	CodePhasesOpen        Code = "PHASES_OPEN"
	CodeIllegalTransition Code = "ILLEGAL_TRANSITION"
	CodeValidationFailed  Code = "VALIDATION_FAILED"
	CodeBuildError        Code = "BUILD_ERROR"
	CodeFileNotFound      Code = "FILE_NOT_FOUND"
	CodeStatusSyncFailed  Code = "STATUS_SYNC_FAILED"
	CodeGitCommitFailed   Code = "GIT_COMMIT_FAILED"
	CodeSuspended         Code = "SUSPENDED"
	CodeStillRunning      Code = "STILL_RUNNING"
	CodeSecretFound       Code = "SECRET_FOUND"
	CodeUnknown           Code = "UNKNOWN_ERROR"
)

// typeByCode maps codes of failures of tercet to error types other than execution.
var typeByCode = map[Code]ErrorType{
	CodeUsage:            ErrorValidation,
	CodeInvalidReturn:    ErrorValidation,
	CodeInvalidCommand:   ErrorValidation,
	CodeInvalidState:     ErrorValidation,
	CodePrecondition:     ErrorValidation,
	CodeValidationFailed: ErrorValidation,
	CodeAuth:             ErrorToolUnavailable,
	CodeToolUnavailable:  ErrorToolUnavailable,
	CodeDenied:           ErrorPermission,
	CodeUntrusted:        ErrorPermission,
	CodeTimeout:          ErrorTimeout,
}

// ErrorType is the error type of a failure of tercet with this code.
func (c Code) ErrorType() ErrorType {
	return cmp.Or(typeByCode[c], ErrorExecution)
}

// NeedsPerson reports whether the same work fails with this code again until a person changes
// something: it is too large, holds a secret, or stands where it must not.
func (c Code) NeedsPerson() bool {
	return c == CodeLimit || c == CodeSecretFound || c == CodePrecondition
}

// Codes lists every code.
func Codes() []Code {
	var out []Code
	for _, e := range exits {
		out = append(out, e.Codes...)
	}
	return append(out, failures...)
}

// ParseCode reads a code word; a word outside the table is a *ValueError.
func ParseCode(word string) (Code, error) {
	return OneOf("error code", word, Codes())
}

// String is the code as written in returns.
func (c Code) String() string {
	return string(c)
}

// Coded is implemented by every error that has a code.
type Coded interface {
	error
	ErrorCode() Code
}

// CodeOf returns the first code in an error chain, or UNKNOWN_ERROR.
func CodeOf(err error) Code {
	if c, ok := errors.AsType[Coded](err); ok {
		return c.ErrorCode()
	}
	return CodeUnknown
}

// HelpOf returns the first advice in an error chain, or nothing.
func HelpOf(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok && f.Help != "" {
		return f.Help
	}

	h, ok := errors.AsType[interface {
		error
		Help() string
	}](err)
	if ok {
		return h.Help()
	}

	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "make room on the disk, then run it again"
	case errors.Is(err, fs.ErrPermission):
		return "change its mode or its owner ('ls -ld' shows them), or run tercet as that user"
	case errors.Is(err, syscall.EROFS):
		return "the file system cannot be written: name another place"
	case errors.Is(err, fs.ErrNotExist) && CodeOf(err) == CodeUsage:
		return "write its path from the folder you are in"
	case errors.Is(err, syscall.EISDIR):
		return "name a file in it"
	case errors.Is(err, syscall.ELOOP):
		return "the link leads to itself: name the file"
	}
	return ""
}

// Class groups failures for retry and `on`. The engine sets it; an agent's claim is dropped.
type Class string

// The classes.
const (
	ClassTransient     Class = "transient"
	ClassTimeout       Class = "timeout"
	ClassQuality       Class = "quality"
	ClassPermission    Class = "permission"
	ClassUnavailable   Class = "unavailable"
	ClassInvalidReturn Class = "invalid_return"
	ClassCancelled     Class = "cancelled"
)

// The classes of codes, and of errors with another code by their type.
var (
	classByCode = map[Code]Class{
		CodeInvalidReturn: ClassInvalidReturn,
		CodeCancelled:     ClassCancelled,
		CodeTransient:     ClassTransient,
	}
	classByType = map[ErrorType]Class{
		ErrorPermission:      ClassPermission,
		ErrorToolUnavailable: ClassUnavailable,
		ErrorTimeout:         ClassTimeout,
	}
)

// ClassOf returns the class of the first error of a failed return.
func ClassOf(e ReturnError) Class {
	return cmp.Or(
		classByCode[e.Code],
		classByType[e.Code.ErrorType()],
		classByType[e.Type],
		ClassQuality,
	)
}

// Exit is one row of the table of exit codes.
type Exit struct {
	Number  int
	Name    string
	Codes   []Code // the codes that end with this number
	Meaning string
}

// exits is the table of exit codes, ascending.
var exits = []Exit{
	{0, "ok", nil, "completed, or an empty list"},
	{1, "failed", nil, "every failure that no other row names"},
	{2, "usage", []Code{CodeUsage}, "unknown slash command, unknown flag, bad or missing argument"},
	{3, "partial", nil, "the command did a part of its work"},
	{4, "auth", []Code{CodeAuth}, "the agent CLI is installed but not logged in"},
	{5, "rejected", []Code{CodeRejected}, "a gate or a review said no"},
	{6, "not-found", []Code{CodeNotFound}, "no such task, run or subagent"},
	{
		7, "limit",
		[]Code{CodeLimit, CodeMaxDepth, CodeCycle},
		"a limit was reached: rollbacks, depth, visits, turns, budget",
	},
	{
		65, "data",
		[]Code{CodeInvalidReturn, CodeInvalidCommand, CodeInvalidState, CodeSecretFound},
		"a file or a return breaks its format, or a commit would hold a secret",
	},
	{69, "unavailable", []Code{CodeToolUnavailable}, "an agent CLI or a tool is not installed"},
	{70, "bug", []Code{CodeBug}, "a defect of tercet itself"},
	{74, "io", []Code{CodeIO}, "reading or writing a file did not work"},
	{
		75, "suspended",
		[]Code{CodeSuspended, CodeLocked, CodeLeaseHeld},
		"blocked or suspended: waiting for an answer or a lock",
	},
	{76, "not-durable", []Code{CodeNotDurable}, "written, durability unknown"},
	{77, "denied", []Code{CodeDenied, CodeUntrusted}, "not allowed here"},
	{
		78,
		"config",
		[]Code{CodeConfig, CodeNoWorkspace},
		"the configuration or the workspace is missing or wrong",
	},
	{
		79,
		"running",
		[]Code{CodeStillRunning},
		"'tercet wait' was over before the run, which goes on",
	},
	{124, "timeout", []Code{CodeTimeout}, "a step or the run took too long"},
	{
		130,
		"interrupted",
		[]Code{CodeCancelled},
		"interrupted by SIGINT: the run can be resumed; or cancelled",
	},
	{143, "terminated", nil, "terminated by SIGTERM or SIGHUP: the run can be resumed"},
}

// failures are the codes without a row, which end with 1.
var failures = []Code{
	CodeTransient, CodePrecondition, CodePhasesOpen, CodeIllegalTransition, CodeValidationFailed,
	CodeBuildError, CodeFileNotFound, CodeStatusSyncFailed, CodeGitCommitFailed, CodeUnknown,
}

// Exits returns the table of exit codes, ascending.
func Exits() []Exit {
	return slices.Clone(exits)
}

// ExitFor returns the exit code of a code; 1 for codes without a row.
func ExitFor(c Code) int {
	for _, e := range exits {
		if slices.Contains(e.Codes, c) {
			return e.Number
		}
	}
	return 1
}

// ExitCode is the exit number of a command's return.
func ExitCode(r Return) int {
	switch r.Outcome() {
	case OutcomeCompleted, OutcomeApproved, OutcomeConditional, OutcomeSkipped:
		return 0
	case OutcomePartial:
		return 3
	case OutcomeRejected:
		return 5
	case OutcomeBlocked, OutcomeSuspended:
		// the reason for stopping the run, such as a signal
		if r.Status == StatusSuspended && len(r.Errors) > 0 {
			return ExitFor(r.Errors[0].Code)
		}
		return 75
	case OutcomeFailed:
		if len(r.Errors) > 0 {
			return ExitFor(r.Errors[0].Code)
		}
		return 1
	}
	return 1
}
