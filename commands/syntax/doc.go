// Package syntax parses a command file into a File in which every part has its position.
//
// It promises: one pass reports every mistake in the form of a file, with line and column. An
// unknown key or word is an error with a suggestion. A word of the grammar that this version cannot
// run is refused by name. What Parse accepts follows the grammar.
//
// It does not know which steps, subagents, arguments or variables exist, and it compiles no jq:
// package compile does. It opens no file.
//
// Parse is a pure function of its arguments. A File does not change after Parse returned it; any
// number of goroutines may read it.
package syntax
