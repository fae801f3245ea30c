package router

import (
	"strings"
	"unicode"

	"tercet/formats"
)

// UnknownCommandError reports a slash name without a command.
type UnknownCommandError struct {
	Name       string   // without the slash
	DidYouMean []string // without the slash, nearest first, at most three
	LeftOut    string   // file of this name that could not be used, and why; empty: none
	Subagent   bool     // the caller sets it if a subagent has this name
}

// Error names the unknown command.
func (e *UnknownCommandError) Error() string {
	return "unknown command '/" + printable(e.Name) + "'"
}

// ErrorCode is USAGE.
func (e *UnknownCommandError) ErrorCode() formats.Code {
	return formats.CodeUsage
}

// Help says why a file of that name is unusable, or suggests the nearest names, or the command that
// lists all.
func (e *UnknownCommandError) Help() string {
	if e.LeftOut != "" {
		return clip(e.LeftOut, 300)
	}
	if e.Subagent {
		return "'" + e.Name + "' is a subagent: run /agent " + e.Name
	}
	if strings.ContainsFunc(e.Name, unicode.IsSpace) {
		return "quote only the words that belong together, or the whole line as one argument"
	}
	return suggestNames(e.DidYouMean)
}

// AmbiguousCommandError reports a short name that several commands share.
type AmbiguousCommandError struct {
	Name       string   // without the slash
	Candidates []string // without the slash, sorted
}

// Error names the ambiguous name.
func (e *AmbiguousCommandError) Error() string {
	return "'/" + printable(e.Name) + "' names more than one command"
}

// ErrorCode is USAGE.
func (e *AmbiguousCommandError) ErrorCode() formats.Code {
	return formats.CodeUsage
}

// Help lists the commands.
func (e *AmbiguousCommandError) Help() string {
	return "write /" + strings.Join(e.Candidates, " or /")
}

func suggestNames(names []string) string {
	if len(names) == 0 {
		return "/help lists the commands"
	}
	return "did you mean /" + strings.Join(names, " or /") + "?"
}

// printable quotes user input in a message: one line, no control characters, at most 60 characters.
func printable(s string) string {
	return clip(s, 60)
}

// clip is a text as one line without control characters, at most most characters.
func clip(s string, most int) string {
	return formats.Clip(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s), most)
}
