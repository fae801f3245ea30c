// Package packs installs, updates and removes packs: commands, subagents, facets and templates that
// come together.
//
// Promise: a pack is read whole or refused with every place that is wrong. It never overwrites or
// deletes the user's edits: an update merges by lines, and keeps both texts where it cannot. A
// change writes all files or none, even if the process is killed at any point: Finish completes it.
//
// It will not start a process, ask the user, or approve a file: trust does that as for every other
// file.
//
// Concurrency: everything is pure or works on the given files. The caller's lock lets one process
// at a time apply a change.
package packs
