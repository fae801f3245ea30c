package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/secrets"
)

// publishRequest pushes the branch and opens a request for it, unless there is one. Both are looked
// up at the remote, so that a call that was killed at any point is done once. The target stays as
// it is. If a push is enough, the state of the repository may rule out a request.
func (p *publication) publishRequest(ctx context.Context, base string) (PublishResult, error) {
	var none PublishResult
	q := git.Request{
		Branch: p.branch,
		To:     p.to,
		Commit: p.tip,
		Body:   attribution(p.target.Run),
	}
	var closes string
	q.Title, closes, _ = strings.Cut(p.msg.Subject, "\n\n")
	if closes != "" {
		q.Body += "\n\n" + closes
	}
	if found := secrets.Line("the title", 1, q.Title); len(found) > 0 {
		return none, formats.Fail(
			formats.CodeSecretFound,
			"take it out of the title of the task and run the command again",
			"the title of the request holds what looks like a secret",
		)
	}

	remote, err := p.main.PushRemote(ctx, p.to)
	if err != nil {
		return none, err
	}
	_, protected, err := Repository{p.m}.checkProtected(ctx, remote, p.branch)
	if err != nil {
		return none, err
	}
	if protected {
		return none, formats.Fail(formats.CodeDenied,
			"name another in the file: worktree: {branch: ...}",
			"branch %s is never pushed", p.branch)
	}

	cli, state, err := Repository{p.m}.hostCLI(ctx, remote, p.target.Push)
	switch {
	case err != nil:
		return none, err
	case cli == nil && !p.target.Push:
		if strings.Contains(remote.Host, "gitlab") {
			state = formats.RepoGitLab
		}
		return none, formats.Fail(formats.CodeToolUnavailable,
			fmt.Sprintf(
				"log in with 'gh auth login' or 'glab auth login' and run it again, or type: git "+
					"push %s && %s",
				Quoted(remote.Name, p.branch), manualCommand(state, remote, p.branch, p.to),
			),
			"neither gh nor glab is installed and logged in, so tercet cannot open a request")
	}

	if err := p.main.Push(ctx, remote, p.tip, p.branch); err != nil {
		return none, networkError(err, "look at the remote: git ls-remote "+remote.Name)
	}
	if cli == nil {
		return p.pushedWithoutRequest(ctx, remote, state, base)
	}

	verb, address, err := openRequest(ctx, cli, q)
	if err != nil {
		return none, err
	}
	files, err := p.m.changedFiles(ctx, p.main, base, p.tip)
	message := fmt.Sprintf("pushed %s to %s and %s %s", p.branch, remote.Name, verb, address)
	return PublishResult{
		Commit:  p.tip,
		URL:     address,
		Message: message,
		Files:   files,
	}, err
}

// attribution is the line of a request or an issue about the run that opened it.
func attribution(run string) string {
	return "Made by tercet, run " + run + "."
}

// openRequest opens a request for a pushed branch, unless there is one.
func openRequest(
	ctx context.Context, cli *git.HostCLI, q git.Request,
) (verb, address string, err error) {
	verb = "found"
	address, err = cli.Find(ctx, q)
	if err == nil && address == "" {
		verb = "opened"
		address, err = cli.Open(ctx, q)
	}
	if err != nil {
		err = networkError(
			err,
			"branch "+q.Branch+" is pushed; run the command again, or open the request yourself",
		)
	}
	return verb, address, err
}

// hostCLI finds the program that opens requests and issues; nil if none is logged in or, if
// checkState is set, the state of the repository rules it out.
func (m Repository) hostCLI(
	ctx context.Context, remote git.Remote, checkState bool,
) (a *git.HostCLI, state formats.RepoState, err error) {
	state = formats.RepoGitHub
	if checkState {
		if state, err = m.State(ctx); err != nil || state != formats.RepoGitHub {
			return nil, state, err
		}
	}
	a, _, err = m.Trees.Git(m.Trees.Root).HostCLI(ctx, remote)
	if a == nil {
		state = formats.RepoGitHubUnauth
	}
	return a, state, err
}

// pushedWithoutRequest is the result of a push without a request.
func (p *publication) pushedWithoutRequest(
	ctx context.Context, remote git.Remote, state formats.RepoState, base string,
) (PublishResult, error) {
	out := PublishResult{
		Commit:  p.tip,
		Skipped: state.Skipped(),
		Message: "pushed " + p.branch + " to " + remote.Name,
	}
	out.Help = manualCommand(state, remote, p.branch, p.to)
	var err error
	out.Files, err = p.m.changedFiles(ctx, p.main, base, p.tip)
	return out, err
}

// manualCommand is the command with which the user opens the request.
func manualCommand(state formats.RepoState, remote git.Remote, branch, to string) string {
	if state == formats.RepoGitea {
		return "open a request for branch " + branch + " at " + cmp.Or(remote.Host, remote.Name)
	}
	create := "gh pr create --head %s --base %s"
	if state == formats.RepoGitLab {
		create = "glab mr create --source-branch %s --target-branch %s"
	}
	return fmt.Sprintf(create, Quoted(branch), Quoted(to))
}

// networkError adds code and advice to a failure at a remote. A failed call may succeed later.
// Unexpected output means that the program is not the expected one. A declined push is not a
// failure of the network.
func networkError(err error, help string) error {
	if _, refused := errors.AsType[*git.RefusedError](err); refused {
		return err
	}
	code := formats.CodeToolUnavailable
	if _, failed := errors.AsType[*git.Error](err); failed {
		code = formats.CodeTransient
	}
	setCode(&err, code)
	return &formats.Failure{
		Code: formats.CodeOf(err),
		Err:  err,
		Help: help,
	}
}

// Quoted quotes words for a shell.
func Quoted(words ...string) string {
	out := make([]string, len(words))
	needsQuotes := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./,:+@", r)
	}
	for i, word := range words {
		out[i] = word
		if strings.ContainsFunc(word, needsQuotes) {
			out[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
