// Package outline shows what a compiled command would do: its steps with subagents, gates and ways
// back, its reads and writes, and its highest cost. It makes a tree, JSON, and a drawing.
//
// It promises to show every step of the program. A step of an unknown kind appears with the kind's
// name and its plain fields. The same program always gives the same bytes. It runs nothing, reads
// no state, and resolves no expression.
//
// Everything is a pure function of the program. An Outline does not change after it was made; any
// number of goroutines may read it.
package outline
