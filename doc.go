// Package tercet is the map of the house; nothing is exported from here.
//
// A slash command is a markdown file. A line such as `/plan 196` passes three layers, and what a
// layer may import is a test (deps_test.go reads the table of docs/design.md):
//
//	router            1  names the file for a line, suggests names, records the decision; reads no file
//	commands/...      2  parses, compiles and runs the file; has no way to the state or to an agent but by delegation
//	subagents/...     3  does one piece of work and returns one standard record
//
// Around them: formats holds the wire types, parsers and tables. state is the one writer of
// state.json. templates make new commands. internal holds leaves with one owner each. cmd/tercet
// builds the world by hand in wire.go and is the only package with a mouth, a clock and an
// environment.
package tercet
