// Package journal keeps the record of a run: what was decided, asked, delegated and answered, one line of JSON each.
//
// Promise: when Append returns nil, the entry is written after all entries before it. One that says what has happened
// is on the disk then; what a run only decides gets there with the next entry. Each line carries its number, the hash
// of the line before and its own. Read cuts a last line that a crash has torn; damage anywhere else is an error with
// its line. Values that look like secrets are masked before they are written.
//
// It will not decide what to do next, lock, or write anything but the journal of one run.
//
// Concurrency: a Writer may be used by any number of goroutines; there may be one Writer of a run at a time. A Masker
// is immutable after NewMasker. Read is pure. Tasks belongs to one goroutine or to one Writer, which tells it in order.
package journal
