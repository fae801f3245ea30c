// Package control manages the runs of a project. It finds a run by its line or id, takes and
// releases it, answers its gates, and pauses or ends it.
//
// Promise: one process works on a run at a time. It resumes, answers or orders a run only if the
// user's key wrote the journal. An answer counts once, for the open gate; a later one fails and
// names the first. The journal of the run shows the result of an order.
//
// It will not run a step, ask the user, print, or decide what an answer leads to.
//
// Concurrency: a Controller may be used by any number of goroutines, and by any number of processes
// at once.
package control
