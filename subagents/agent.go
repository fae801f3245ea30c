package subagents

import (
	"context"
	"time"

	"tercet/formats"
)

// Agent does the work of one delegation. A failed agent is a Return with status failed; a Go error means that the
// engine could not do its job. The request belongs to the caller: its maps and pointers must not be changed. An Agent
// ends soon after ctx does, and waits for every goroutine it started.
type Agent interface {
	Run(ctx context.Context, r formats.Request) (formats.Return, error)
}

// Measured is what a runner measured of the program it ran: Runner, Asked, Model, Tokens, Cost, Spawns, Sandbox,
// Metered, Prompt and Attempts. It is no part of a Return, so that nothing a program prints or writes can become it.
type Measured = formats.Metadata

// Metered is an Agent that measures. Run of such an agent is not called by the Dispatcher. What was measured is valid
// beside an error too.
type Metered interface {
	Agent
	RunMetered(ctx context.Context, r formats.Request) (formats.Return, Measured, error)
}

// Func makes a function an Agent.
type Func func(ctx context.Context, r formats.Request) (formats.Return, error)

// Run calls the function.
func (f Func) Run(ctx context.Context, r formats.Request) (formats.Return, error) { return f(ctx, r) }

// Clock gives the time that durations and the names of summaries are made from.
type Clock interface{ Now() time.Time }

// Problems keeps critical errors in errors.json.
type Problems interface {
	Record(ctx context.Context, p formats.Problem) error
}
