package router

import (
	"strconv"
	"strings"
	"unicode"

	"tercet/formats"
)

// UnknownCommandError reports a slash name that no command has.
type UnknownCommandError struct {
	Name       string   // without the slash
	DidYouMean []string // without the slash, nearest first, at most three
	LeftOut    string   // the file that has this name and could not be taken, and why; empty: none
}

// Error names the command that is not there.
func (e *UnknownCommandError) Error() string { return "unknown command '/" + printable(e.Name) + "'" }

// ErrorCode is USAGE.
func (e *UnknownCommandError) ErrorCode() formats.Code { return formats.CodeUsage }

// Help says why a file of that name is none, or offers the nearest names, or says where all of them stand.
func (e *UnknownCommandError) Help() string {
	if e.LeftOut != "" {
		return clipped(e.LeftOut, 300)
	}
	return offer(e.DidYouMean)
}

// AmbiguousCommandError reports the last part of a name that several commands have.
type AmbiguousCommandError struct {
	Name       string   // without the slash
	Candidates []string // without the slash, sorted
}

// Error names what was typed.
func (e *AmbiguousCommandError) Error() string {
	return "'/" + printable(e.Name) + "' names more than one command"
}

// ErrorCode is USAGE.
func (e *AmbiguousCommandError) ErrorCode() formats.Code { return formats.CodeUsage }

// Help lists the commands.
func (e *AmbiguousCommandError) Help() string {
	return "write /" + strings.Join(e.Candidates, " or /")
}

// NoSlashError reports a line that does not begin with a slash and a name.
type NoSlashError struct {
	Line       string
	DidYouMean []string // lines without the slash: a command's name, or task "…" for prose
}

// Error says how a line begins.
func (e *NoSlashError) Error() string {
	if strings.TrimSpace(e.Line) == "" {
		return "expected a slash command, got an empty line"
	}
	return "commands start with '/', got '" + printable(e.Line) + "'"
}

// ErrorCode is USAGE.
func (e *NoSlashError) ErrorCode() formats.Code { return formats.CodeUsage }

// Help offers the command that was probably meant.
func (e *NoSlashError) Help() string { return offer(e.DidYouMean) }

// ScanError reports a source whose folders cannot be read.
type ScanError struct {
	Source string
	Path   string // inside the source
	Err    error  // the cause, may be inspected
}

// Error names source and folder.
func (e *ScanError) Error() string {
	return "commands of " + e.Source + ": " + e.Path + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *ScanError) Unwrap() error { return e.Err }

// ErrorCode is IO.
func (e *ScanError) ErrorCode() formats.Code { return formats.CodeIO }

// AliasError reports an alias whose name or target is no slash name.
type AliasError struct{ Alias, Target string }

// Error names the alias.
func (e *AliasError) Error() string {
	return "expected slash names as alias, got " + strconv.Quote(e.Alias) + " for " + strconv.Quote(e.Target)
}

// ErrorCode is CONFIG.
func (e *AliasError) ErrorCode() formats.Code { return formats.CodeConfig }

// Help shows the form.
func (e *AliasError) Help() string { return "write it like p: plan" }

func offer(names []string) string {
	if len(names) == 0 {
		return "/help lists the commands"
	}
	return "did you mean /" + strings.Join(names, " or /") + "?"
}

// printable repeats what was typed within a message: one line, no control characters, at most 60 characters.
func printable(s string) string { return clipped(s, 60) }

// clipped is a text as one line without control characters, at most so many characters of it.
func clipped(s string, most int) string {
	r := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}
