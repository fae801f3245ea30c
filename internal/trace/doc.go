// Package trace carries what a run did from the place where it happened to whoever watches.
//
// Promise: an event is a plain value; Encode writes it as one line of JSON whatever its attributes hold, and Decode
// reads that line; a File keeps the events of a run in memory until the run has a folder and appends to its trace.jsonl
// from then on.
//
// It will not log, filter by level, read a clock, open a file, or make a run fail: a sink has no way to give an error
// back.
//
// Concurrency: a Sink may be called from any number of goroutines and must not wait for anything but the disk. An Event
// belongs to its receivers together: none of them may change its slices and maps.
package trace
