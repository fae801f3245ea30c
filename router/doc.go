// Package router finds the command file that a line names and passes the rest of the line on.
//
// Promise: Scan reads folders and never a file, so the name of a command is the name of its file.
// Route is a lookup that allocates nothing when it hits. An unknown name is an error with the
// nearest names. Every routed line is traced.
//
// It will not read a command file, parse arguments, run a workflow, call a subagent, or look at
// what a command returns.
//
// Concurrency: a Table is immutable after Scan and safe for concurrent use; an Orchestrator is too,
// if its fields are.
package router
