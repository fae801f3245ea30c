// Package outline tells what a compiled command would do before it does anything: its steps with the subagents, gates
// and ways back, what it reads and writes, the most it can cost, as a tree, as JSON, and as a drawing.
//
// It promises to show every step that the program has; one of a kind that is new here is shown by the name of the kind
// and the plain members of its node. The same program always gives the same bytes. It runs nothing, reads no state, and
// resolves no expression.
//
// Everything is a pure function of the program; an Outline is not changed after it was made and may be read by any
// number of goroutines.
package outline
