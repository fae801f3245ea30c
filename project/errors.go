package project

import (
	"tercet/commands/argspec"
	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/trust"
)

// The errors of Start and Resume that a frontend can do something about.
type (
	// UsageError is the first place at which a line does not fit the arguments of its command. Open
	// are the arguments that it lacks.
	UsageError = argspec.UsageError
	// UntrustedError means that the user has not agreed to files that can start programs. Its
	// Verdict lists them.
	UntrustedError = trust.RefusedError
	// ResumableError means that a run of the line, or of its command, waits. Options.New begins a
	// new one all the same.
	ResumableError = control.WaitingError
)

// NoWorkspaceError means that the folder of the project has no workspace.
type NoWorkspaceError struct{ *formats.Failure }

// Unwrap returns the Failure, which has the code.
func (e *NoWorkspaceError) Unwrap() error {
	return e.Failure
}

// StaleEvidenceError says that something changed since it was shown. Now has it as it is.
type StaleEvidenceError struct {
	*formats.Failure

	Now Evidence
}

// Unwrap returns the Failure, which has the code.
func (e *StaleEvidenceError) Unwrap() error {
	return e.Failure
}

// NoWorkspace is the failure of what needs a workspace.
func NoWorkspace() error {
	return &NoWorkspaceError{
		formats.Fail(formats.CodeNoWorkspace, "run 'tercet init'", "no workspace here or above"),
	}
}

// usage makes a USAGE failure. A frontend may know a better advice.
func usage(format string, args ...any) error {
	return formats.Fail(formats.CodeUsage, AnyHelp, format, args...)
}

// AnyHelp is the advice of a failure that knows of no better one.
const AnyHelp = "run 'tercet --help'"

// IOFailure says that a workspace cannot be written; nil for nil.
func IOFailure(err error) error {
	if err == nil {
		return nil
	}
	return formats.Broken(formats.CodeIO, "workspace", err,
		"check the folder's permissions and the space on the disk")
}
