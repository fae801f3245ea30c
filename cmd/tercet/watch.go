package main

import (
	"context"

	"tercet/subagents"
)

// watchState looks at state.json before a worker starts, and again when it has ended.
func (w *world) watchState(ctx context.Context) (subagents.Unwatch, error) {
	mark, err := w.manager.Mark(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]byte, bool, error) { return w.manager.Guard(ctx, mark) }, nil
}
