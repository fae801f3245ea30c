// Package live shows a run while it goes on.
//
// Promise: a View is a fold of events alone, so that the process that works, 'tercet logs -f' in another and 'tercet
// watch' draw the same. It takes events in any order, twice, with or without their ends, and text of strangers in them
// reaches no line but through internal/plain. Lines are never wider than they may be. A Screen shows on a terminal what
// is done as lines that stay, and below them the present part, which it draws anew in one write; everywhere else it
// prints a line a change and a sign of life every 30 seconds. At rest the cursor is always to be seen.
// Steps draws a run from its journal, with every visit and attempt.
//
// It will not read a file, a key or a clock, and no words of it stand in an event.
//
// Concurrency: a View belongs to one goroutine. A Screen may be used by any number; its one goroutine ends with Close.
package live
