// Package trace carries the events of a run to their observers.
//
// Promise: an event is a plain value. Encode writes it as one line of JSON whatever its attributes
// hold, and Decode reads that line. A File keeps events in memory until the run has a folder, and
// then appends to its trace.jsonl.
//
// It will not log, filter by level, read a clock, open a file, or make a run fail: a Sink returns
// no error.
//
// Concurrency: a Sink may be called from any number of goroutines and must not wait for anything
// but the disk. Receivers share an Event: none may change its slices and maps.
package trace
