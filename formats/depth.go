package formats

// MaxDepth is the deepest level a delegation may reach: router 0, command 1, subagent 2, subagent of a subagent 3.
const MaxDepth = 3

// Depth is a level of delegation. Its number cannot be set from outside the package, so that an over-deep call cannot
// be written by accident; the zero value is the router's depth.
type Depth struct{ n int }

// CommandDepth is the depth at which a routed command runs.
func CommandDepth() Depth { return Depth{n: 1} }

// Next returns the depth one level deeper, or MAX_DEPTH_EXCEEDED past MaxDepth. Only the Dispatcher calls it.
func (d Depth) Next() (Depth, error) {
	if d.n >= MaxDepth {
		return d, Fail(CodeMaxDepth, "let the command delegate to the subagent itself",
			"expected delegation depth at most %d, got %d", MaxDepth, d.n+1)
	}
	return Depth{n: d.n + 1}, nil
}

// Int returns the level as a number for messages, traces and metadata.
func (d Depth) Int() int { return d.n }
