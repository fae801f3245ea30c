// Package dialect reads the command and agent files of other tools, each with that tool's own
// rules.
//
// It promises to load every file that its tool would load. Everything that it read leniently, did
// not understand or will not do is a diagnostic with a place and advice. It fills text into a
// template in one pass and never scans inserted text again. No argument becomes part of a shell
// script: the script refers to variables, and the text is in the environment.
//
// It starts no process, never asks the user and knows no subagent. Only a Finder opens files: it
// searches the folders of tools, those of the project through the caller's file system. Shell marks
// and file references of a template are returned as pieces to the caller.
//
// Reading is a pure function of its input. A Command and an Agent are not changed after they are
// returned and may be used by any number of goroutines.
package dialect
