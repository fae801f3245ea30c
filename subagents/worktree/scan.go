package worktree

import (
	"context"
	"path/filepath"
	"slices"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/secrets"
)

// refuseSecrets refuses staged changes, or what the commits from one to another add, if they
// contain what looks like a secret without consent. The files stay as they are.
func (m *Manager) refuseSecrets(ctx context.Context, repo *git.Repo, from, to string) error {
	found, err := m.findSecrets(ctx, repo, from, to)
	if err != nil || len(found) == 0 {
		return err
	}
	if from != "" {
		return branchSecretError(repo, found)
	}
	return secretError("the commit would hold", "take it out in "+repo.Dir, found)
}

func branchSecretError(repo *git.Repo, found []secrets.Finding) error {
	return secretError(
		"the branch holds",
		"take it out of the commits of the branch in "+repo.Dir,
		found,
	)
}

// refuseTreeSecrets is scan for what a tree has and another one, which was scanned, lacks.
func (m *Manager) refuseTreeSecrets(ctx context.Context, repo *git.Repo, from, to string) error {
	found, err := m.findSecretsIn(ctx, repo, func(emit emitLine) error {
		return repo.EachLineAddedToTree(ctx, from, to, emit)
	})
	if err != nil || len(found) == 0 {
		return err
	}
	return branchSecretError(repo, found)
}

// emitLine gets one added line.
type emitLine = func(file string, number int, text string)

// findSecrets are the findings of scan, with files relative to the folder of repo.
func (m *Manager) findSecrets(
	ctx context.Context,
	repo *git.Repo,
	from, to string,
) (found []secrets.Finding, err error) {
	return m.findSecretsIn(ctx, repo, func(emit emitLine) error {
		return repo.EachAddedLine(ctx, from, to, emit)
	})
}

// findSecretsIn are the findings in lines, with files relative to the folder of repo.
func (m *Manager) findSecretsIn(
	ctx context.Context,
	repo *git.Repo,
	eachLine func(emit emitLine) error,
) (found []secrets.Finding, err error) {
	_, rel, err := repo.Locate(ctx)
	if err != nil {
		return nil, err
	}

	lastFile := ""
	err = eachLine(func(file string, number int, text string) {
		shown := file
		below, err := filepath.Rel(filepath.FromSlash(rel), filepath.FromSlash(file))
		if err == nil {
			shown = filepath.ToSlash(below)
		}
		list := secrets.Line(shown, number, text)
		if file != lastFile {
			lastFile = file
			if f, ok := secrets.Name(shown); ok {
				list = append(list, f)
			}
		}
		for _, f := range withoutAllowed(list, m.Allow) {
			if !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	})
	return found, err
}

// withoutAllowed are the findings that the configuration does not allow.
func withoutAllowed(list []secrets.Finding, allow []secrets.Allowed) []secrets.Finding {
	return slices.DeleteFunc(list, func(f secrets.Finding) bool {
		return slices.ContainsFunc(allow, func(a secrets.Allowed) bool { return a.Allows(f) })
	})
}

// secretError says where secrets are, and never what they are.
func secretError(what, help string, found []secrets.Finding) error {
	var places []string
	for _, f := range found {
		places = append(places, f.String())
	}
	help += " and run the command again; if it is none, allow it in .tercet/config.yaml: " +
		found[0].Allow()
	return formats.Fail(formats.CodeSecretFound, help, "%s what looks like a secret: %s",
		what, joinFirst(places))
}
