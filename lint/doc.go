// Package lint checks and formats the files that commands and subagents are written in, and finds them.
//
// Promise: a file is what its place and its first keys say: one of another tool, a subagent or a command. All findings
// of a file come at once; what cannot be read is a finding too. A file is written only as a whole, and only over the
// text that was read.
//
// It will not run a step, print, or decide which findings end a program.
//
// Concurrency: its functions may be called by any number of goroutines.
package lint
