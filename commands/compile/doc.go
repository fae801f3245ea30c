// Package compile checks a parsed command file against the subagents there are and gives a Program that a runner can
// execute.
//
// It promises that a Program is complete and immutable: every name is resolved, every expression compiled, every loop
// bounded, every status change legal by the transition table, and everything that would fail for a reason in the file
// is reported before anything runs, all at once.
//
// There is one tree, that of package syntax. What is proved of a part of it stands beside it: an Info for each step,
// the code of each expression. `during`, `status`, `publish` and the checks that run commands come down to a Call, so
// that the interpreter knows one way to have an effect. The package reads no file and runs nothing. A Program is safe
// for concurrent runs.
package compile
