// Package argspec splits the rest of a slash command's line into words and binds them to the
// arguments that the command file declares.
//
// Promise: Split(Join(words)) gives the words again, and prose without quotes survives as it was
// typed. A line that does not fit its declarations is a *UsageError: the place in the line, what
// was expected, and the usage line. It expands nothing: no variable, no pattern, no tilde, no
// comment.
//
// It checks form only; package commands checks that tasks and files exist. It reads no file and no
// environment.
//
// Concurrency: functions are pure; Spec and Values are values that must not be changed once they
// are shared.
package argspec
