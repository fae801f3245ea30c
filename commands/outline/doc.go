// Package outline shows what a compiled command would do: its steps with subagents, gates and ways back, what it reads
// and writes, and the most it can cost. It makes a tree, JSON, and a drawing.
//
// It promises to show every step of the program; a step of an unknown kind appears with the name of the kind and its
// plain fields. The same program always gives the same bytes. It runs nothing, reads no state, and resolves no
// expression.
//
// Everything is a pure function of the program; an Outline is not changed after it was made and may be read by any
// number of goroutines.
package outline
