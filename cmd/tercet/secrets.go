package main

import (
	"context"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/state"
)

// maskedProblems is errors.json without secrets.
type maskedProblems struct {
	store *state.Errors
	mask  *journal.Masker
}

func (p maskedProblems) Record(ctx context.Context, one formats.Problem) error {
	one.Message, one.Action = p.mask.Text(one.Message), p.mask.Text(one.Action)
	one.Context.Command = p.mask.Text(one.Context.Command)
	return p.store.Record(ctx, one)
}

func (p maskedProblems) List(ctx context.Context) ([]state.Recorded, error) { return p.store.List(ctx) }
