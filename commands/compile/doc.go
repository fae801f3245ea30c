// Package compile checks a parsed command file against the known subagents and gives a Program that
// package interp can run.
//
// It promises that a Program is complete and immutable: every name is resolved, every expression
// compiled, every loop bounded, and every status change legal. It reports all mistakes in a file at
// once, before anything runs.
//
// The tree stays that of package syntax; compile adds an Info for each step and the code of each
// expression. `during`, `status`, `publish` and checks that run commands all become a Call, so the
// interpreter has one way to cause an effect. The package reads no file and runs nothing. A Program
// is safe for concurrent runs.
package compile
