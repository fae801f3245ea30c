// Package lint finds, checks and formats command files and subagent files.
//
// Promise: place and first keys decide what a file is: another tool's, a subagent or a command. All
// findings of a file come at once; an unreadable file is a finding. A file is written only as a
// whole, and only if it still has the text that was read.
//
// It will not run a step, print, or choose an exit code.
//
// Concurrency: its functions may be called by any number of goroutines.
package lint
