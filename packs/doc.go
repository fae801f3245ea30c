// Package packs installs, updates and removes packs: commands, subagents, facets and templates that come together.
//
// Promise: a pack is read whole or refused with every place that is wrong. What a person edited is never written over
// and never deleted: an update merges by lines, and keeps both texts where it cannot. All files of a change are written
// or none, also when the process is killed at any point: Finish brings a change that was begun to its end.
//
// It will not start a process, talk to a person, or put a file in force: trust decides that as for every other file.
//
// Concurrency: everything is pure or works on the files it is given; one process at a time may apply a change, which
// its caller sees to by a lock.
package packs
