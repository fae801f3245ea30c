package subagents

import (
	"context"
	"errors"
	"slices"

	"tercet/formats"
)

// Unwatch checks the state after a worker has ended. A DENIED error says how the worker, or another writer without the
// lock, changed it; found is then the content of state.json. From then on every write fails until the user decides.
type Unwatch func(ctx context.Context) (found []byte, err error)

// watched does the work and refuses it if the state changed meanwhile without its writers. Subagents that are part of
// tercet are not watched: they write by the manager, and a workflow's own workers are watched one by one.
func (g *delegation) watched(ctx context.Context) (formats.Return, error) {
	if g.d.Watch == nil || g.info.Builtin || g.info.Workflow {
		return g.work(ctx)
	}
	unwatch, err := g.d.Watch(ctx)
	if err != nil {
		return formats.Return{}, err
	}
	ret, err := g.work(ctx)
	// The look is not left out when the run is being cancelled.
	found, foreign := unwatch(context.WithoutCancel(ctx))
	if formats.CodeOf(foreign) != formats.CodeDenied {
		return ret, errors.Join(err, foreign)
	}
	kept := "" // what stands there, if anything does
	if len(found) > 0 {
		if err := g.folder.keep("state.json.refused", found); err != nil {
			return formats.Return{}, err
		}
		kept = g.folder.path + "/state.json.refused"
	}
	refused := formats.Fail(formats.CodeDenied, formats.HelpOf(foreign),
		"while %s ran, and not by tercet, %v", g.req.Agent, foreign)
	bad := formats.Failed(refused)
	bad.Warnings, bad.Metadata = ret.Warnings, ret.Metadata
	g.record(ctx, &bad, formats.ErrorPermission, kept)
	return bad, err
}

// record puts what went wrong into errors.json.
func (g *delegation) record(ctx context.Context, ret *formats.Return, kind formats.ErrorType, file string) {
	task := 0
	if g.req.Task != nil {
		task = g.req.Task.Number
	}
	// The record must be written also when the run is being cancelled.
	err := g.d.Problems.Record(context.WithoutCancel(ctx), formats.Problem{
		Type: string(kind), Severity: "critical", Message: ret.Errors[0].Message,
		Context: formats.ProblemContext{
			Session: g.req.Session, Run: g.req.Run, Command: g.req.Command, Task: task, Step: g.req.Step, File: file,
		},
		Path: slices.Clone(g.req.Path), Depth: g.req.Depth.Int(), Action: ret.Errors[0].Recommendation,
	})
	if err != nil {
		ret.Warnings = append(ret.Warnings, "not recorded in errors.json: "+err.Error())
	}
}
