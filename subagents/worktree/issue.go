package worktree

import (
	"context"
	"errors"

	"tercet/formats"
	"tercet/internal/git"
)

// Issue fetches an issue from the remote of the checkout's branch, with gh or glab.
func (m *Manager) Issue(ctx context.Context, number int) (_ git.Issue, err error) {
	defer code(&err, formats.CodeToolUnavailable)
	main := m.Git(m.Root)
	to, err := main.CurrentBranch(ctx)
	if err != nil {
		return git.Issue{}, err
	}
	remote, err := main.PushRemote(ctx, to)
	if err != nil {
		return git.Issue{}, err
	}
	asker, there, err := main.Asker(ctx, remote)
	switch {
	case err != nil:
		return git.Issue{}, err
	case asker == nil && there == "":
		return git.Issue{}, formats.Fail(formats.CodeToolUnavailable,
			"install gh or glab and log in, or write the task yourself: tercet /task TEXT",
			"neither gh nor glab is installed, so tercet cannot read an issue")
	case asker == nil:
		help := "log in: " + there + " auth login"
		if remote.Host != "" {
			help += " --hostname " + remote.Host
		}
		return git.Issue{}, formats.Fail(formats.CodeAuth, help, "%s is not logged in", there)
	}
	issue, err := asker.Issue(ctx, number)
	if none, ok := errors.AsType[*git.NoIssueError](err); ok {
		return issue, formats.Fail(formats.CodeNotFound, "look at the number, or name the repository of the issues: "+
			"git config remote.pushDefault NAME", "%s", none)
	}
	if err != nil {
		err = overNetwork(err, "run it again, or write the task yourself: tercet /task TEXT")
	}
	return issue, err
}
