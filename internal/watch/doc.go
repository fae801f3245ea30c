// Package watch is the full screen of 'tercet watch': the runs of a project, and of one of them the tree, the log, the
// diff of its worktree and the question that it asks.
//
// Promise: what it does goes through the same calls as the verbs do. A question is answered, and a run is cancelled, by
// a line that a person types and ends with Enter, never by a single key, and never by a paste. Text of strangers
// reaches the terminal through internal/plain alone. It looks once a second and reads only what is new. However it
// ends, the terminal is as it was.
//
// It will not run a step, write to a journal, or read what nobody looks at.
//
// Concurrency: Run belongs to one goroutine; what it starts has ended when it returns.
package watch
