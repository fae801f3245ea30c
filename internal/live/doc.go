// Package live shows a run while it goes on.
//
// Promise: a View depends on events alone, so the working process, 'tercet show --log -f' and
// 'tercet watch' draw the same. Events may come in any order, twice, or without their ends, and
// untrusted text in them passes internal/plain. Lines never exceed the width. On a terminal a
// Screen prints finished work as lasting lines, and below them redraws the running part in one
// write. Elsewhere it prints one line a change, and a heartbeat every 30 seconds. At rest the
// cursor is visible. Steps draws a run from its journal, with every visit and attempt.
//
// It will not read a file, a key or a clock.
//
// Concurrency: a View belongs to one goroutine. A Screen may be used by any number; its one
// goroutine ends with Close.
package live
