package statefile

import (
	"strings"

	"tercet/formats"
)

// SyntaxError reports an invalid state file, which stays as it is. Package state adds the
// copy and the recovery to it.
type SyntaxError struct {
	List     *formats.Diagnostics // every finding with its place
	Conflict bool                 // the file has markers of an unfinished merge
	Copy     string               // copy of the broken file, empty if there is none
	Backup   string               // newest valid backup, empty if there is none
	Restore  string               // the command that restores it
}

// Error lists the findings.
func (e *SyntaxError) Error() string {
	return e.List.Error()
}

// Unwrap returns the findings as a *formats.Diagnostics.
func (e *SyntaxError) Unwrap() error {
	return e.List
}

// ErrorCode is INVALID_STATE.
func (e *SyntaxError) ErrorCode() formats.Code {
	return formats.CodeInvalidState
}

// Help names the command that recovers.
func (e *SyntaxError) Help() string {
	var out []string
	if e.Conflict {
		out = append(
			out,
			"both sides of the merge are in the file: tercet state merge --ours, --theirs or "+
				"--union",
		)
	}
	if e.Backup != "" {
		out = append(out, "the newest valid backup is "+e.Backup+": "+e.Restore)
	}
	if e.Copy != "" {
		out = append(out, "a copy of the file is in "+e.Copy)
	}

	if len(out) == 0 {
		return "fix the file by hand; nothing was written"
	}
	return strings.Join(out, "; ")
}
