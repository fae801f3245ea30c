package worktree

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
	"tercet/internal/secrets"
)

// Issue fetches an issue from the remote of the checkout's branch, with gh or glab.
func (m *Manager) Issue(ctx context.Context, number int) (_ git.Issue, err error) {
	defer setCode(&err, formats.CodeToolUnavailable)
	main := m.Git(m.Root)
	to, err := main.CurrentBranch(ctx)
	if err != nil {
		return git.Issue{}, err
	}

	remote, err := main.PushRemote(ctx, to)
	if err != nil {
		return git.Issue{}, err
	}
	cli, loggedOut, err := main.HostCLI(ctx, remote)
	switch {
	case err != nil:
		return git.Issue{}, err
	case cli == nil && loggedOut == "":
		return git.Issue{}, formats.Fail(formats.CodeToolUnavailable,
			"install gh or glab and log in, or write the task yourself: tercet /task TEXT",
			"neither gh nor glab is installed, so tercet cannot read an issue")
	case cli == nil:
		help := "log in: " + loggedOut + " auth login"
		if remote.Host != "" {
			help += " --hostname " + remote.Host
		}
		return git.Issue{}, formats.Fail(formats.CodeAuth, help, "%s is not logged in", loggedOut)
	}

	issue, err := cli.Issue(ctx, number)
	if none, ok := errors.AsType[*git.NoIssueError](err); ok {
		return issue, formats.Fail(
			formats.CodeNotFound,
			"look at the number, or name the repository of the issues: "+
				"git config remote.pushDefault NAME",
			"%s",
			none,
		)
	}
	if err != nil {
		err = networkError(err, "run it again, or write the task yourself: tercet /task TEXT")
	}
	return issue, err
}

// FiledIssue is the issue of a planning document.
type FiledIssue struct {
	URL     string // empty: none
	Payload string // payload of the document; empty: none
	Skipped string // why none was opened
}

// maxBody bounds the text of an issue, in bytes; hosts accept about 65,000 characters.
const maxBody = 60_000

// FileIssue opens an issue for a planning document of a tree, and writes its number and URL into
// the document. A document that names an issue stays as it is. A run opens one issue, however often
// it is killed.
func (m Repository) FileIssue(
	ctx context.Context, dir, name, run string,
) (done FiledIssue, err error) {
	defer setCode(&err, formats.CodeIO)
	tree, err := os.OpenRoot(dir)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()

	src, err := atomicfile.ReadFile(tree, name)
	if err != nil {
		return done, formats.Broken(
			formats.CodeIO,
			name,
			err,
			"write the planning document before, or name another",
		)
	}

	text := string(src)
	//nolint:errcheck // a document with problems gets an issue too
	doc, _ := documents.Parse(documents.ProfilePlanning, name, src)
	plan, _ := doc.Values["payload"].(map[string]any) //nolint:errcheck // null is none
	done.Payload = textValue(doc.Values, "payload_text")
	done.URL = cmp.Or(textValue(doc.Values, "issue_url"), textValue(plan, "issue_url"))
	if done.URL != "" || doc.Values["issue_number"] != nil || plan["issue_number"] != nil {
		return done, nil
	}

	repo := m.Trees.Git(m.Trees.Root)
	state, err := m.State(ctx)
	if err != nil || state != formats.RepoGitHub {
		done.Skipped = state.Skipped()
		return done, err
	}

	branch, err := repo.CurrentBranch(ctx)
	if err != nil {
		return done, err
	}
	remote, err := repo.PushRemote(ctx, branch)
	if err != nil {
		return done, err
	}

	cli, state, err := m.hostCLI(ctx, remote, true)
	if err != nil || cli == nil {
		done.Skipped = state.Skipped()
		return done, err
	}

	if found := withoutAllowed(secrets.File(name, text), m.Trees.Allow); len(found) > 0 {
		return done, secretError("the issue would hold", "take it out", found)
	}

	title := cmp.Or(textValue(plan, "issue_title"), doc.Title, path.Base(name))
	body := strings.Replace(text, "> GitHub Issue: none\n", "", 1)
	body = strings.ToValidUTF8(body[:min(maxBody, len(body))], "")
	done.URL, err = cli.FileIssue(ctx, formats.Clip(title, 200), body, attribution(run))
	if err != nil {
		return done, networkError(err, "run the command again, or open the issue yourself")
	}

	number, err := strconv.Atoi(path.Base(done.URL))
	if err != nil {
		return done, formats.Fail(formats.CodeToolUnavailable,
			"look at it, and write it into "+name,
			"expected the address of an issue with its number, got %q", done.URL)
	}

	text = documents.WithIssue(text, number, done.URL)
	//nolint:errcheck // as above
	doc, _ = documents.Parse(documents.ProfilePlanning, name, []byte(text))
	done.Payload = textValue(doc.Values, "payload_text")
	options := atomicfile.Options{Mode: 0o644, Alone: true}
	return done, atomicfile.WriteIn(tree, name, []byte(text), options)
}

// textValue is a text among the values of a document, or empty.
func textValue(values map[string]any, key string) string {
	text, _ := values[key].(string) //nolint:errcheck // null is none
	return text
}
