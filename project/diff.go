package project

import (
	"context"
	"errors"
	"slices"

	"tercet/internal/journal"
	"tercet/subagents"
)

// RunChanges are what a run changed in the repository, and the documents that it wrote.
type RunChanges struct {
	Run       RunInfo  `json:"run"`
	Patch     string   `json:"patch"`
	Branch    string   `json:"branch,omitempty"` // that alone has the work; empty: it is published
	Documents []string `json:"documents"`
}

// RunChanges gives what a run changed: its commits on your branches, or the work on its own branch
// that is not published.
func (p *Project) RunChanges(ctx context.Context, run string) (RunChanges, error) {
	r, err := p.Find(run)
	if err != nil {
		return RunChanges{}, err
	}
	c := RunChanges{Run: r, Documents: []string{}}

	records, err := journal.Load(p.Root, r.ID)
	if err != nil {
		return c, err
	}
	documents, err := subagents.Documents(p.Root, r.ID)
	if err != nil {
		return c, err
	}
	for _, doc := range documents {
		c.Documents = append(c.Documents, doc.Path)
	}

	made, err := p.past().FindWork(ctx, records)
	if err != nil {
		return c, err
	}
	repo := p.Git(p.Dir)
	for _, one := range slices.Backward(made.Commits) { // the oldest first
		patch, failed := repo.Diff(ctx, one.Commit+"~1", one.Commit)
		c.Patch += p.Mask.Text(string(patch))
		err = errors.Join(err, failed)
	}
	if made.Branch != "" {
		patch, failed := repo.Diff(ctx, made.From, "refs/heads/"+made.Branch)
		c.Patch += p.Mask.Text(string(patch))
		c.Branch = made.Branch
		err = errors.Join(err, failed)
	}
	return c, err
}
