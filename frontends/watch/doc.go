// Package watch is the full screen of 'tercet watch'. It shows the runs of a project, and for one
// of them the tree, the log, the worktree's diff and the open question.
//
// Promise: its actions use the same calls as the verbs. Answering a question and cancelling a run
// take a typed line with Enter, never a single key or a paste. Untrusted text reaches the terminal
// only through internal/plain. It polls once a second and reads only what is new. At the end it
// restores the terminal.
//
// It will not run a step, write to a journal, or read what it does not show.
//
// Concurrency: Run belongs to one goroutine; what it starts has ended when it returns.
package watch
