package main

import (
	"context"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/state"
)

// secretValues are the values of the caller's variables that hold a secret by their name. They stand nowhere that
// tercet writes.
func secretValues(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !secretName(name) {
			continue
		}
		out = append(out, value)
		// A value of several lines is printed line by line.
		for line := range strings.Lines(value) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func secretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(secretWords, func(word string) bool {
		return name == word || strings.HasSuffix(name, "_"+word)
	})
}

var secretWords = []string{"TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"}

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
