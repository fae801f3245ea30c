package worktree

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"

	"tercet/formats"
	"tercet/internal/git"
)

// Repository is the project's repository in the user's checkout, with its remote.
type Repository struct{ Trees *Manager }

// State says what tercet can do with the repository beyond commits. It uses no network: tercet
// checks gh's login only when it needs a request.
func (m Repository) State(ctx context.Context) (s formats.RepoState, err error) {
	defer setCode(&err, formats.CodeIO)
	repo := m.Trees.Git(m.Trees.Root)
	if !repo.Exists() {
		return formats.RepoNone, nil
	}

	names, err := repo.Remotes(ctx)
	switch {
	case errors.Is(err, git.ErrNotInstalled):
		return formats.RepoNone, nil
	case err != nil:
		return "", err
	case len(names) == 0:
		return formats.RepoLocal, nil
	}

	remoteType := ""
	if m.Trees.RemoteType != nil {
		remoteType, err = m.Trees.RemoteType(ctx)
		if err != nil {
			return "", err
		}
	}
	branch, err := repo.CurrentBranch(ctx)
	if err != nil {
		return "", err
	}

	remote, err := repo.PushRemote(ctx, branch)
	// a remote that cannot be used is reported by the push
	if _, unusable := errors.AsType[*git.RemoteError](err); err != nil && !unusable {
		return "", err
	}
	return formats.RepoStateOf(remoteType, remote.Host), nil
}

// PendingFiles returns the given files, relative to the project root, that differ from the last
// commit: a worktree would lack them.
func (m Repository) PendingFiles(
	ctx context.Context, names []string,
) (pending []string, err error) {
	defer setCode(&err, formats.CodeIO)
	repo := m.Trees.Git(m.Trees.Root)
	_, rel, err := repo.Locate(ctx)
	if err != nil {
		return nil, err
	}

	files := make([]string, len(names))
	for i, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, &formats.ValueError{What: "a path inside the project", Got: name}
		}
		files[i] = path.Join(filepath.ToSlash(rel), name)
	}

	committed := map[string]string{}
	if head, err := repo.Head(ctx); err == nil {
		committed, err = repo.Files(ctx, head, files...)
		if err != nil {
			return nil, err
		}
	} else if !errors.Is(err, git.ErrNoCommit) {
		return nil, err
	}

	entries, err := repo.StatusPorcelain(ctx)
	for i, file := range files {
		changed := slices.ContainsFunc(entries, func(e git.Entry) bool {
			return e.Path == file
		})
		if (changed || committed[file] == "") && !slices.Contains(pending, names[i]) {
			pending = append(pending, names[i])
		}
	}

	return pending, err
}

// PushResult is the result of pushing the checkout's branch.
type PushResult struct {
	Branch, Remote string
	Skipped        string // why nothing was pushed; empty: it was pushed
	// the address of the request, or why there is none; empty: none was asked for
	Request string
	Help    string // the command that pushes, or opens the request
}

// Push scans the commits that the remote lacks, and pushes the branch of the user's checkout. It
// never pushes the remote's default branch. With a title it opens a request too, as publishing
// does.
func (m Repository) Push(ctx context.Context, title, run string) (done PushResult, err error) {
	defer setCode(&err, formats.CodeIO)
	state, err := m.State(ctx)
	if err != nil || !state.Pushes() {
		return PushResult{Skipped: state.Skipped(), Request: state.Skipped()}, err
	}

	repo := m.Trees.Git(m.Trees.Root)
	done.Branch, err = repo.CurrentBranch(ctx)
	if err != nil {
		return done, err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return done, err
	}

	remote, err := repo.PushRemote(ctx, done.Branch)
	if err != nil {
		return done, err
	}
	done.Remote = remote.Name
	defaultBranch, protected, err := m.checkProtected(ctx, remote, done.Branch)
	if err != nil {
		return done, err
	}
	if done.Branch == "" || protected {
		done.Skipped = "skipped (" + branchLabel(done.Branch) +
			" is not a branch that tercet pushes)"
		done.Request = done.Skipped
		done.Help = "git switch -c NAME && git push -u " + Quoted(remote.Name) + " NAME"
		return done, nil
	}

	if err := m.Trees.refuseSecrets(ctx, repo, git.RemoteCommits+remote.Name, head); err != nil {
		return done, err
	}
	if err := repo.Push(ctx, remote, head, done.Branch); err != nil {
		return done, networkError(err, "look at the remote: git ls-remote "+remote.Name)
	}
	if title == "" {
		return done, nil
	}

	if base, err := repo.Resolve(ctx, "refs/remotes/"+remote.Name+"/"+defaultBranch); err == nil {
		// gh refuses such a request
		if merged, err := repo.IsAncestor(ctx, head, base); merged || err != nil {
			done.Request = "skipped (" + defaultBranch + " has everything of " + done.Branch + ")"
			return done, err
		}
	}
	cli, state, err := m.hostCLI(ctx, remote, true)
	if err == nil && cli == nil {
		done.Request = state.Skipped()
		done.Help = manualCommand(state, remote, done.Branch, defaultBranch)
	} else if err == nil {
		_, done.Request, err = openRequest(ctx, cli, git.Request{
			Branch: done.Branch,
			To:     defaultBranch,
			Commit: head,
			Title:  title,
			Body:   attribution(run),
		})
	}
	return done, err
}

// checkProtected reports whether a branch is never pushed: main, master, or the default branch of
// the remote. It returns the default branch too, except for main and master.
func (m Repository) checkProtected(
	ctx context.Context,
	remote git.Remote,
	branch string,
) (defaultBranch string, protected bool, err error) {
	if branch == "main" || branch == "master" {
		return "", true, nil
	}
	defaultBranch, err = m.Trees.Git(m.Trees.Root).DefaultBranch(ctx, remote)
	if err != nil {
		err = networkError(err, "look at the remote: git ls-remote "+remote.Name)
	}
	return defaultBranch, branch == defaultBranch, err
}
