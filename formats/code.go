package formats

import (
	"cmp"
	"errors"
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

// kinds are the types of the errors that the engine makes of a failure, where they are not execution.
var kinds = map[Code]ErrorType{
	CodeUsage: ErrorValidation, CodeInvalidReturn: ErrorValidation, CodeInvalidCommand: ErrorValidation,
	CodeInvalidState: ErrorValidation, CodePrecondition: ErrorValidation, CodeValidationFailed: ErrorValidation,
	CodeAuth: ErrorToolUnavailable, CodeToolUnavailable: ErrorToolUnavailable,
	CodeDenied: ErrorPermission, CodeUntrusted: ErrorPermission, CodeTimeout: ErrorTimeout,
}

// kind is the type of an error of the engine with this code.
func (c Code) kind() ErrorType { return cmp.Or(kinds[c], ErrorExecution) }

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

// The classes that a code implies, and those of the type of an error with another code.
var (
	classByCode = map[Code]Class{
		CodeInvalidReturn: ClassInvalidReturn, CodeCancelled: ClassCancelled, CodeTransient: ClassTransient,
	}
	classByType = map[ErrorType]Class{
		ErrorPermission: ClassPermission, ErrorToolUnavailable: ClassUnavailable, ErrorTimeout: ClassTimeout,
	}
)

// ClassOf gives the class that the first error of a failed return implies.
func ClassOf(e ReturnError) Class {
	return cmp.Or(classByCode[e.Code], classByType[e.Code.kind()], classByType[e.Type], ClassQuality)
}
