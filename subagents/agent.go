package subagents

import (
	"context"
	"time"

	"tercet/formats"
)

// Agent does the work of one delegation. A failed agent is a Return with status failed; a Go error
// means that the engine could not do its job. The caller owns the request: do not change its maps
// and pointers. An Agent ends soon after ctx does, and waits for every goroutine it started.
type Agent interface {
	Run(ctx context.Context, r formats.Request) (formats.Return, error)
}

// Measured is what a runner measured while it worked: Runner, Asked, Model, Tokens, Cost, Spawns,
// Sandbox, Metered, Prompt and Attempts. It is not a part of a Return, so that no agent's output
// can fake it.
type Measured = formats.Metadata

// Metered is an Agent that measures; the Dispatcher calls RunMetered instead of Run. The
// measurements are valid beside an error too.
type Metered interface {
	Agent
	RunMetered(ctx context.Context, r formats.Request) (formats.Return, Measured, error)
}

// Func makes a function an Agent.
type Func func(ctx context.Context, r formats.Request) (formats.Return, error)

// Run calls the function.
func (f Func) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	return f(ctx, r)
}

// Clock gives the time for durations and for the names of summaries.
type Clock interface{ Now() time.Time }
