package subagents

import (
	"context"
	"errors"
	"slices"

	"tercet/formats"
)

// Unwatch looks at state.json when a worker has ended. changed tells that the worker, or somebody who does not know the
// lock, had changed it; the change is taken back, and foreign is what stood there, empty if the file was gone. An error
// beside changed means that it could not be taken back.
type Unwatch func(ctx context.Context) (foreign []byte, changed bool, err error)

// watched does the work and refuses it if state.json was changed meanwhile by anybody but its writers. Subagents that
// are part of tercet are not watched: they write by the manager, and a workflow's own workers are watched one by one.
func (g *delegation) watched(ctx context.Context) (formats.Return, error) {
	if g.d.Watch == nil || g.info.Builtin || g.info.Workflow {
		return g.work(ctx)
	}
	unwatch, err := g.d.Watch(ctx)
	if err != nil {
		return formats.Return{}, err
	}
	ret, err := g.work(ctx)
	// What was changed is taken back also when the run is being cancelled.
	foreign, changed, failed := unwatch(context.WithoutCancel(ctx))
	if !changed {
		return ret, errors.Join(err, failed)
	}
	refused := formats.Fail(formats.CodeDenied, "let the subagent return what it wants changed",
		"state.json was changed while %s ran, and not by tercet: the change was taken back", g.req.Agent)
	kept := "" // what stood there, if anything did
	if len(foreign) > 0 {
		if err := g.folder.keep("state.json.refused", foreign); err != nil {
			return formats.Return{}, err
		}
		kept = g.folder.path + "/state.json.refused"
		refused.Help = "what stood there is in " + kept + ", 'diff " + kept +
			" .tercet/state.json' shows it; if the change was yours, " +
			"make it again while no command runs, by 'tercet task' or by hand; a subagent returns what it wants changed"
	}
	if failed != nil {
		refused = formats.Fail(formats.CodeDenied, "run 'tercet state verify'",
			"state.json was changed while %s ran, and not by tercet: it could not be taken back: %v", g.req.Agent, failed)
	}
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
