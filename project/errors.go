package project

import (
	"tercet/formats"
)

// NoWorkspace is the failure of what needs a workspace.
func NoWorkspace() error {
	return formats.Fail(formats.CodeNoWorkspace, "run 'tercet init'", "no workspace here or above")
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
