package project

import (
	"cmp"
	"errors"

	"tercet/formats"
)

// sentError is an error that goes from one process to another. The receiver finds again what it
// knows itself, such as the files that need trust.
type sentError struct {
	Code          formats.Code
	Message, Help string

	Usage       *UsageError
	Diagnostics *formats.Diagnostics
	NoWorkspace bool
	Untrusted   bool
	// Waiting is the run of a ResumableError.
	Waiting, Of, Why string
}

// encodeError makes an error that can be sent to another process; nil for nil.
func encodeError(err error) *sentError {
	if err == nil {
		return nil
	}
	out := &sentError{
		Code:    formats.CodeOf(err),
		Message: err.Error(),
		Help:    formats.HelpOf(err),
	}

	out.Usage, _ = errors.AsType[*UsageError](err)
	out.Diagnostics, _ = errors.AsType[*formats.Diagnostics](err)
	_, out.NoWorkspace = errors.AsType[*NoWorkspaceError](err)
	_, out.Untrusted = errors.AsType[*UntrustedError](err)

	if waits, ok := errors.AsType[*ResumableError](err); ok {
		out.Waiting = waits.Run.ID
		out.Of = waits.Of
		out.Why = waits.Why
	}
	return out
}

// decodeError restores an error that was sent.
func (p *Project) decodeError(e *sentError) error {
	switch {
	case e.Usage != nil:
		return e.Usage
	case e.Diagnostics != nil:
		return e.Diagnostics
	case e.NoWorkspace:
		return NoWorkspace()
	case e.Untrusted:
		if v, err := p.Trust.Verdict(); err == nil && v.By == "" {
			return v.Refused()
		}
	case e.Waiting != "":
		if r, err := p.Find(e.Waiting); err == nil {
			return &ResumableError{Run: r, Of: e.Of, Why: e.Why}
		}
	}
	return formats.Fail(cmp.Or(e.Code, formats.CodeUnknown), e.Help, "%s", e.Message)
}
