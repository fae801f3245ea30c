package subagents

import (
	"context"
	"errors"

	"tercet/formats"
)

// Unwatch checks the state after a worker has ended. A DENIED error says how the worker, or another
// writer without the lock, changed it; found is then the content of state.json. From then on every
// write fails until the user decides.
type Unwatch func(ctx context.Context) (found []byte, err error)

// workWatched does the work and refuses it if the state changed meanwhile without its writers.
// Subagents that are part of tercet are not watched: they write by the manager, and a workflow's
// own workers are watched one by one.
func (g *delegation) workWatched(ctx context.Context) (formats.Return, error) {
	if g.dispatcher.Watch == nil || !g.isExternal() {
		return g.work(ctx)
	}
	unwatch, err := g.dispatcher.Watch(ctx)
	if err != nil {
		return formats.Return{}, err
	}

	ret, err := g.work(ctx)
	// The look is not left out when the run is being cancelled.
	found, foreign := unwatch(context.WithoutCancel(ctx))
	if formats.CodeOf(foreign) != formats.CodeDenied {
		return ret, errors.Join(err, foreign)
	}
	if len(found) > 0 {
		if err := g.folder.write("state.json.refused", found); err != nil {
			return formats.Return{}, err
		}
	}

	refused := formats.Fail(formats.CodeDenied, formats.HelpOf(foreign),
		"while %s ran, and not by tercet, %v", g.req.Agent, foreign)
	bad := formats.Failed(refused)
	bad.Warnings = ret.Warnings
	bad.Metadata = ret.Metadata
	if len(found) > 0 {
		kept := g.folder.path + "/state.json.refused"
		bad.Warnings = append(bad.Warnings, "what stood in state.json is kept as "+kept)
	}
	return bad, err
}
