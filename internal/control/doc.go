// Package control has the runs of a project in hand: it finds the one that a line or a word means, takes it for this
// process and gives it back, answers its gates, and lets it pause or end.
//
// Promise: one process works on a run at a time. A run is gone on with, answered and ordered about only where its
// journal was written with the person's key. An answer counts once, for the gate as it stands open; who comes too late
// is told whose it is. What an order came to is read in the journal of the run.
//
// It will not run a step, ask a person, print, or decide what an answer leads to.
//
// Concurrency: a Desk may be used by any number of goroutines, and by any number of processes at once.
package control
