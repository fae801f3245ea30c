// Package compile turns a parsed command file into a Program that a runner can execute. It promises that a Program is
// complete and immutable: every name is resolved, every expression compiled, every loop bounded, every status change legal
// by the transition table, and everything that would fail for a reason in the file is reported before anything runs, all at
// once. `during`, `status` and the checks that run commands become delegations, so that the interpreter knows one way to
// have an effect. It reads no file and runs nothing. A Program is safe for concurrent runs.
package compile
