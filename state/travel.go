package state

import (
	"context"

	"tercet/state/history"
)

// At returns state.json as of a serial, from a backup or by undoing the audit log step by step. An
// unreachable serial is NOT_FOUND, and the help lists the reachable ones.
func (r *Reader) At(ctx context.Context, serial uint64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	c, err := history.Read(r.cfg.Root)
	if err != nil {
		return nil, err
	}
	return c.At(serial)
}

// History returns the audit log, oldest first. Transactions that share a write are separate
// entries.
func (r *Reader) History(ctx context.Context) ([]history.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	c, err := history.Read(r.cfg.Root)
	if err != nil {
		return nil, err
	}
	return c.Entries(), nil
}
