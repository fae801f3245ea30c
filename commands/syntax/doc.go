// Package syntax reads a command file into a File with the place of every part of it.
//
// It promises: every mistake in the form of a file is reported, with line and column, in one pass; an unknown key or
// word is an error with a suggestion, never ignored; a word of the grammar that this version does not run is refused by
// name; what Parse accepts holds only words that the grammar has, at the places where it has them.
//
// It does not know which steps, subagents, arguments or variables exist, does not compile jq, and opens no file: that
// is the work of package compile and of the library.
//
// Parse is a pure function of its arguments; a File is not changed after it is returned and may be read by any number
// of goroutines.
package syntax
