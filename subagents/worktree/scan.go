package worktree

import (
	"context"
	"path/filepath"
	"slices"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/secrets"
)

// scan refuses what is staged, or what the commits from one to another add, if it holds what looks like a secret
// without your consent. The files stay as they are.
func (m *Manager) scan(ctx context.Context, repo *git.Repo, from, to string) error {
	found, err := m.findings(ctx, repo, from, to)
	if err != nil || len(found) == 0 {
		return err
	}
	return secretFound(repo.Dir, from != "", found)
}

// findings are what scan refuses, with files relative to the folder of repo.
func (m *Manager) findings(ctx context.Context, repo *git.Repo, from, to string) (found []secrets.Finding, err error) {
	_, rel, err := repo.Within(ctx)
	if err != nil {
		return nil, err
	}
	last := ""
	err = repo.Added(ctx, from, to, func(file string, number int, text string) {
		shown := file
		if below, err := filepath.Rel(filepath.FromSlash(rel), filepath.FromSlash(file)); err == nil {
			shown = filepath.ToSlash(below)
		}
		list := secrets.Line(shown, number, text)
		if file != last {
			last = file
			if f, ok := secrets.Name(shown); ok {
				list = append(list, f)
			}
		}
		for _, f := range list {
			allowed := func(a secrets.Allowed) bool { return a.Allows(f) }
			if !slices.ContainsFunc(m.Allow, allowed) && !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	})
	return found, err
}

// secretFound tells where secrets are, and never what they are.
func secretFound(dir string, committed bool, found []secrets.Finding) error {
	var places []string
	for _, f := range found {
		places = append(places, f.String())
	}
	what := "the commit would hold"
	help := "take it out in " + dir + " and run the command again"
	if committed {
		what = "the branch holds"
		help = "take it out of the commits of the branch in " + dir + " and run the command again"
	}
	return &formats.Failure{
		Code: formats.CodeSecretFound, Message: what + " what looks like a secret: " + firstOf(places),
		Help: help + "; if it is none, allow it in .tercet/config.yaml: " + found[0].Allow(),
	}
}
