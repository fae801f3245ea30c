// Package journal stores the record of a run: decisions, questions, delegations and answers, one
// line of JSON each.
//
// Promise: when Append returns nil, the entry is written after all entries before it. An entry
// about an event is then synced; a mere decision is synced with the next entry. Each line carries
// its number, the hash of the line before and its own. Read drops a torn last line; damage anywhere
// else is an error with its line. It masks values that look like secrets before writing them.
//
// It will not decide what to do next, lock, or write any file but the journal of one run.
//
// Concurrency: a Writer may be used by any number of goroutines; there may be one Writer of a run
// at a time. A Masker is immutable after NewMasker. Read is pure. Tasks belongs to one goroutine or
// to one Writer, which tells it in order.
package journal
