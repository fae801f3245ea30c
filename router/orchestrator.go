package router

import (
	"context"

	"tercet/formats"
	"tercet/internal/trace"
)

// Runner runs a routed command. An error means that the engine could not do its job; a failed
// command is a Return.
type Runner interface {
	RunCommand(ctx context.Context, in formats.Invocation) (formats.Return, error)
}

// Orchestrator is layer 1: it passes a routed line to the command layer. All fields are required.
type Orchestrator struct {
	Runner Runner
	Trace  trace.Sink
	// NewRun returns the session id and a fresh run id.
	NewRun func() (session, run string)
}

// Handle runs the command of a routed line; a dry run writes nothing and stubs delegations. The
// return is the command's own, unchanged.
func (o *Orchestrator) Handle(
	ctx context.Context,
	l Line,
	r Route,
	dryRun bool,
) (formats.Return, error) {
	if o.Runner == nil || o.Trace == nil || o.NewRun == nil {
		return formats.Return{}, formats.Fail(formats.CodeBug, "",
			"expected an orchestrator with runner, trace and ids, got one without")
	}

	line := l.Text()
	depth := formats.CommandDepth()
	in := formats.Invocation{
		Name:   r.Name,
		File:   r.File,
		Source: r.Source,
		Raw:    r.Raw,
		Words:  r.Words,
		Depth:  depth,
		Path:   []string{routerName, "/" + r.Name},
		Line:   line,
		DryRun: dryRun,
	}
	in.Session, in.Run = o.NewRun()
	attrs := map[string]any{
		"line":       line,
		"file":       r.File,
		"source":     r.Source,
		"session_id": in.Session,
	}
	if len(r.Shadows) > 0 {
		attrs["shadows"] = r.Shadows
	}
	if r.Dialect != "" {
		attrs["dialect"] = r.Dialect
	}
	o.Trace.Emit(trace.Event{
		Run:       in.Run,
		Kind:      trace.Route,
		Name:      r.Name,
		FromDepth: formats.Depth{}.Int(),
		ToDepth:   depth.Int(),
		Path:      in.Path,
		Outcome:   "routed",
		Attrs:     attrs,
	})
	return o.Runner.RunCommand(ctx, in)
}

// routerName is what delegation paths call the router.
const routerName = "router"
