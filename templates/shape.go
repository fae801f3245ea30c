package templates

import "tercet/formats"

// Shape is the form of a workflow.
type Shape string

// The shapes.
const (
	// Single is one subagent and what follows from its role.
	Single Shape = "single"
	// Sequential is one subagent after the other.
	Sequential Shape = "sequential"
	// Conditional is the first subagent for a task with a plan, the second for one without.
	Conditional Shape = "conditional"
	// Iterative is all subagents for each open phase of the plan, or for each part of the task.
	Iterative Shape = "iterative"
)

// Shapes lists every shape.
func Shapes() []Shape { return []Shape{Single, Sequential, Conditional, Iterative} }

// ParseShape reads the name of a shape; a word outside the set is a *formats.ValueError.
func ParseShape(word string) (Shape, error) { return formats.OneOf("shape", word, Shapes()) }

// String is the name as it is typed.
func (s Shape) String() string { return string(s) }

// maxAgents bounds the subagents of one command; more belong into several commands.
const maxAgents = 10

// bounds gives the least and the most subagents of a shape.
func (s Shape) bounds() (least, most int) {
	b := map[Shape][2]int{Single: {1, 1}, Sequential: {2, maxAgents}, Conditional: {2, 2}, Iterative: {1, maxAgents}}[s]
	return b[0], b[1]
}
