package formats

import (
	"cmp"
	"errors"
	"slices"
)

// Code names a failure in returns, messages and errors.json.
type Code string

// The codes, each with its exit in ExitFor.
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
	CodeSecretFound       Code = "SECRET_FOUND"
	CodeUnknown           Code = "UNKNOWN_ERROR"
)

// codeRow is what a code stands for.
type codeRow struct {
	code  Code
	exit  int       // how a program ends with it
	class Class     // empty: that of the type of the error
	kind  ErrorType // of an error of the engine
}

// codes is the one table of them.
var codes = []codeRow{
	{CodeUsage, 2, "", ErrorValidation},
	{CodeAuth, 4, ClassUnavailable, ErrorToolUnavailable},
	{CodeRejected, 5, "", ErrorExecution},
	{CodeNotFound, 6, "", ErrorExecution},
	{CodeLimit, 7, "", ErrorExecution},
	{CodeMaxDepth, 7, "", ErrorExecution},
	{CodeCycle, 7, "", ErrorExecution},
	{CodeInvalidReturn, 65, ClassInvalidReturn, ErrorValidation},
	{CodeInvalidCommand, 65, "", ErrorValidation},
	{CodeInvalidState, 65, "", ErrorValidation},
	{CodeToolUnavailable, 69, ClassUnavailable, ErrorToolUnavailable},
	{CodeBug, 70, "", ErrorExecution},
	{CodeIO, 74, "", ErrorExecution},
	{CodeNotDurable, 76, "", ErrorExecution},
	{CodeSuspended, 75, "", ErrorExecution},
	{CodeLocked, 75, "", ErrorExecution},
	{CodeLeaseHeld, 75, "", ErrorExecution},
	{CodeDenied, 77, ClassPermission, ErrorPermission},
	{CodeUntrusted, 77, ClassPermission, ErrorPermission},
	{CodeConfig, 78, "", ErrorExecution},
	{CodeNoWorkspace, 78, "", ErrorExecution},
	{CodeTimeout, 124, ClassTimeout, ErrorTimeout},
	{CodeCancelled, 130, ClassCancelled, ErrorExecution},
	{CodeSecretFound, 65, "", ErrorExecution},
	{CodeTransient, 1, ClassTransient, ErrorExecution},
	{CodePrecondition, 1, "", ErrorValidation},
	{CodePhasesOpen, 1, "", ErrorExecution},
	{CodeIllegalTransition, 1, "", ErrorExecution},
	{CodeValidationFailed, 1, "", ErrorValidation},
	{CodeBuildError, 1, "", ErrorExecution},
	{CodeFileNotFound, 1, "", ErrorExecution},
	{CodeStatusSyncFailed, 1, "", ErrorExecution},
	{CodeGitCommitFailed, 1, "", ErrorExecution},
	{CodeUnknown, 1, "", ErrorExecution},
}

// row is what a code stands for; one outside the table is as UNKNOWN_ERROR.
func (c Code) row() codeRow {
	i := slices.IndexFunc(codes, func(r codeRow) bool { return r.code == c })
	if i < 0 {
		i = len(codes) - 1
	}
	return codes[i]
}

// Codes lists every code.
func Codes() []Code {
	var out []Code
	for _, r := range codes {
		out = append(out, r.code)
	}
	return out
}

// ParseCode reads a code word; a word outside the table is a *ValueError.
func ParseCode(word string) (Code, error) {
	return OneOf("error code", word, Codes())
}

// String is the word as it stands in returns.
func (c Code) String() string { return string(c) }

// Coded is implemented by every error that has a place in the table of codes.
type Coded interface {
	error
	ErrorCode() Code
}

// CodeOf gives the code of the first error in the chain that has one, UNKNOWN_ERROR otherwise.
func CodeOf(err error) Code {
	if c, ok := errors.AsType[Coded](err); ok {
		return c.ErrorCode()
	}
	return CodeUnknown
}

// HelpOf gives the advice of the first error in the chain that has one, or the empty string.
func HelpOf(err error) string {
	if f, ok := errors.AsType[*Failure](err); ok && f.Help != "" {
		return f.Help
	}
	if h, ok := errors.AsType[interface {
		error
		Help() string
	}](err); ok {
		return h.Help()
	}
	return ""
}

// Class groups failures for retry and for `on`. It is the engine's: a claim by an agent is dropped.
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

// ClassOf gives the class that the first error of a failed return implies.
func ClassOf(e ReturnError) Class {
	byType := map[ErrorType]Class{
		ErrorPermission: ClassPermission, ErrorToolUnavailable: ClassUnavailable, ErrorTimeout: ClassTimeout,
	}
	return cmp.Or(e.Code.row().class, byType[e.Type], ClassQuality)
}
