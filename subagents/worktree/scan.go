package worktree

import (
	"context"
	"path/filepath"
	"slices"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/secrets"
)

// scan refuses staged changes, or what the commits from one to another add, if they contain what
// looks like a secret without consent. The files stay as they are.
func (m *Manager) scan(ctx context.Context, repo *git.Repo, from, to string) error {
	found, err := m.findings(ctx, repo, from, to)
	if err != nil || len(found) == 0 {
		return err
	}
	if from != "" {
		return branchHolds(repo, found)
	}
	return secretFound("the commit would hold", "take it out in "+repo.Dir, found)
}

func branchHolds(repo *git.Repo, found []secrets.Finding) error {
	return secretFound(
		"the branch holds",
		"take it out of the commits of the branch in "+repo.Dir,
		found,
	)
}

// scanTree is scan for what a tree has and another one, which was scanned, lacks.
func (m *Manager) scanTree(ctx context.Context, repo *git.Repo, from, to string) error {
	found, err := m.findingsOf(ctx, repo, func(see seeLine) error {
		return repo.EachLineAddedToTree(ctx, from, to, see)
	})
	if err != nil || len(found) == 0 {
		return err
	}
	return branchHolds(repo, found)
}

// seeLine gets one added line.
type seeLine = func(file string, number int, text string)

// findings are the findings of scan, with files relative to the folder of repo.
func (m *Manager) findings(
	ctx context.Context,
	repo *git.Repo,
	from, to string,
) (found []secrets.Finding, err error) {
	return m.findingsOf(ctx, repo, func(see seeLine) error {
		return repo.EachAddedLine(ctx, from, to, see)
	})
}

// findingsOf are the findings in lines, with files relative to the folder of repo.
func (m *Manager) findingsOf(
	ctx context.Context,
	repo *git.Repo,
	added func(see seeLine) error,
) (found []secrets.Finding, err error) {
	_, rel, err := repo.Locate(ctx)
	if err != nil {
		return nil, err
	}
	last := ""
	err = added(func(file string, number int, text string) {
		shown := file
		below, err := filepath.Rel(filepath.FromSlash(rel), filepath.FromSlash(file))
		if err == nil {
			shown = filepath.ToSlash(below)
		}
		list := secrets.Line(shown, number, text)
		if file != last {
			last = file
			if f, ok := secrets.Name(shown); ok {
				list = append(list, f)
			}
		}
		for _, f := range disallowed(list, m.Allow) {
			if !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	})
	return found, err
}

// disallowed are the findings that the configuration does not allow.
func disallowed(list []secrets.Finding, allow []secrets.Allowed) []secrets.Finding {
	return slices.DeleteFunc(list, func(f secrets.Finding) bool {
		return slices.ContainsFunc(allow, func(a secrets.Allowed) bool { return a.Allows(f) })
	})
}

// secretFound says where secrets are, and never what they are.
func secretFound(what, help string, found []secrets.Finding) error {
	var places []string
	for _, f := range found {
		places = append(places, f.String())
	}
	help += " and run the command again; if it is none, allow it in .tercet/config.yaml: " +
		found[0].Allow()
	return formats.Fail(formats.CodeSecretFound, help, "%s what looks like a secret: %s",
		what, firstOf(places))
}
