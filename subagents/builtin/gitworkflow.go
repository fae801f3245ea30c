package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/atomicfile"
	"tercet/internal/git"
	"tercet/state/todo"
	"tercet/subagents/worktree"
)

// GitWorkflow is git-workflow-manager: it opens, commits to, publishes and closes the worktree of a
// run. It touches the user's own checkout only through worktree.Manager's Publish and
// CommitInCheckout.
type GitWorkflow struct {
	Trees *worktree.Manager
	// Open reads a file of the project, for its rules; nil: no rules.
	Open func(ctx context.Context, name string) ([]byte, error)
}

// action is one action whose input was read.
type action func(ctx context.Context, r formats.Request) (formats.Return, error)

// Run does one action.
func (w GitWorkflow) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	in := inputOf(r)
	var do action
	switch in.text("action") {
	case "open":
		do = w.open(in)
	case "commit":
		do = w.commit(in)
	case "publish":
		do = w.publish(in)
	case "close":
		do = w.close(in)
	case "issue":
		do = w.issue(in)
	case "open_issue":
		do = w.openIssue(in)
	case "pending":
		do = w.pending(in)
	case "push":
		do = w.push(in)
	case "put_back":
		do = w.restoreRefs(in)
	default:
		in.refuse(
			"action",
			"one of open, commit, publish, close, issue, open_issue, pending, push, put_back",
		)
	}

	if err := in.err(r.Agent); err != nil {
		return formats.Failed(err), nil
	}

	ret, err := do(ctx, r)
	return asReturn(ctx, ret, err)
}

func (w GitWorkflow) open(in input) action {
	in.allowOnly("action", "branch", "child", "base")
	branch := in.text("branch")
	child := in.text("child")
	base := in.text("base")
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		spec := worktree.Spec{
			Branch: branch,
			Run:    r.Run,
			Child:  child,
			Base:   base,
			Message: worktree.Message{
				Subject: "work of " + r.Command,
				Session: r.Session,
				Txn:     r.Txn,
			},
		}
		if r.Task != nil {
			spec.Task = r.Task.Number
			spec.Slug = r.Task.Slug
		}

		t, err := w.Trees.Open(ctx, spec)
		if err != nil {
			return formats.Return{}, err
		}

		ret := formats.Return{
			Status:  formats.StatusCompleted,
			Summary: "worktree on branch " + t.Branch,
			Fields: map[string]any{
				"branch":    t.Branch,
				"base":      t.Base,
				"head":      t.Head,
				"worktree":  w.displayPath(t.Dir),
				"continued": t.Continued,
			},
			Metadata: formats.Metadata{Worktree: w.displayPath(t.Dir)},
		}

		if t.Continued {
			ret.Summary += ", which has commits of an earlier run"
			by, err := w.Trees.Git(t.Dir).Trailers(ctx, t.Base, t.Head, worktree.TrailerTxn)
			if err != nil {
				return ret, err
			}
			if slices.Contains(by, "") {
				ret.Warnings = []string{
					t.Branch +
						" has commits that tercet did not make; they are published with the run's",
				}
			}
		}
		if child != "" {
			return ret, nil
		}

		unready, err := w.Trees.CheckoutWarning(ctx)
		if unready != "" {
			ret.Warnings = append(ret.Warnings, unready)
		}
		return ret, err
	}
}

// restoreRefs puts refs where they were before a worker ran.
func (w GitWorkflow) restoreRefs(in input) action {
	in.allowOnly("action", "refs")
	var list []formats.Moved
	for _, one := range in.objects("refs") {
		one.allowOnly("ref", "old", "new")
		list = append(list, formats.Moved{
			Ref: one.text("ref"),
			Old: one.text("old"),
			New: one.text("new"),
		})
	}
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		main := w.Trees.Git(w.Trees.Root)
		saved, err := worktree.RestoreRefs(ctx, main, main, r.Run, list)
		summary := clip("put back " + formats.MovedText(list) + saved)
		return formats.Return{Status: formats.StatusCompleted, Summary: summary}, err
	}
}

// displayPath is a folder relative to the project root where it lies inside.
func (w GitWorkflow) displayPath(dir string) string {
	if rel, err := filepath.Rel(w.Trees.Root, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}

// isInCheckout tells whether the request works in the user's own checkout: no worktree is open.
func (w GitWorkflow) isInCheckout(r formats.Request) bool {
	return r.Dir == "" || r.Dir == w.Trees.Root
}

// requireTree refuses an action without an open worktree.
func (w GitWorkflow) requireTree(do action) action {
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		if w.isInCheckout(r) {
			// a repository may be what is missing
			if _, err := w.project().PendingFiles(ctx, nil); err != nil {
				return formats.Return{}, err
			}
			return formats.Return{}, formats.Fail(formats.CodePrecondition,
				"delegate with action: open before; to commit in the checkout, name the files",
				"expected an open worktree, got the project's own checkout")
		}
		if err := w.project().CheckTree(r.Dir); err != nil {
			return formats.Return{}, err
		}
		return do(ctx, r)
	}
}

func (w GitWorkflow) commit(in input) action {
	in.allowOnly("action", "message", "files")
	message := in.needText("message", "a message")
	only := in.paths("files")
	if in.has("files") && only == nil {
		only = []string{} // nothing, and not everything
	}
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		msg, err := w.commitMessage(ctx, r, message)
		if err != nil {
			return formats.Return{}, err
		}

		msg.Only = only
		if w.isInCheckout(r) && only != nil {
			return w.commitInCheckout(ctx, r, msg)
		}
		return w.requireTree(func(ctx context.Context, r formats.Request) (formats.Return, error) {
			done, err := w.Trees.Commit(ctx, r.Dir, msg)
			ret := commitReturn(msg, done.Hash, done.Files)
			if done.Hash != "" && err == nil {
				ret.Fields["changed"] = changedLines(done.Stats)
			}
			return ret, err
		})(ctx, r)
	}
}

// commitMessage is that of a commit of work, with the author whom the rules of the project name
// beside the one of git.
func (w GitWorkflow) commitMessage(
	ctx context.Context,
	r formats.Request,
	subject string,
) (worktree.Message, error) {
	msg := worktree.Message{
		Subject: subject,
		Session: r.Session,
		Txn:     r.Txn,
		First:   r.Begun == formats.BegunNow,
	}
	if w.Open == nil {
		return msg, nil
	}
	rules, err := documents.ReadRules(func(name string) ([]byte, error) {
		return w.Open(ctx, name)
	})
	if author, ok := rules["co_authored_by"].(string); ok && !strings.EqualFold(author, "none") {
		msg.CoAuthor = author
	}
	return msg, err
}

// changedLines are the files of a commit with their lines, for who watches.
func changedLines(stats []git.Stat) []any {
	out := make([]any, len(stats))
	for i, s := range stats {
		out[i] = map[string]any{"path": s.Path, "added": s.Added, "deleted": s.Deleted}
	}
	return out
}

// commitReturn is the return of a commit; an empty hash means that there was nothing to commit.
func commitReturn(msg worktree.Message, hash string, files []string) formats.Return {
	ret := formats.Return{
		Status:  formats.StatusCompleted,
		Summary: "nothing to commit",
		Fields:  map[string]any{"commit": nil, "files": formats.Values(files)},
	}
	if hash != "" {
		subject, _, _ := strings.Cut(msg.Subject, "\n")
		ret.Summary = clip(fmt.Sprintf("%.12s %s (%d files)", hash, subject, len(files)))
		ret.Fields["commit"] = hash
	}
	return ret
}

// commitInCheckout commits named files in the user's checkout. What keeps it from that is a warning
// with the command to type. There is no warning if it was only to commit the project's state,
// because its commands do not ask for that.
func (w GitWorkflow) commitInCheckout(
	ctx context.Context, r formats.Request, msg worktree.Message,
) (formats.Return, error) {
	asked := slices.ContainsFunc(msg.Only, func(name string) bool {
		return !worktree.IsOwnFile(name)
	})

	msg.Only = slices.DeleteFunc(msg.Only, func(name string) bool {
		if path.Base(name) != "TODO.md" || !worktree.IsOwnFile(name) {
			return false
		}
		text, err := atomicfile.ReadPath(filepath.Join(w.Trees.Root, filepath.FromSlash(name)))
		_, intact := todo.Version(text)
		return err == nil && !intact
	})

	done, err := w.Trees.CommitInCheckout(ctx, r.Run, msg)
	ret := commitReturn(msg, done.Hash, done.Files)
	if done.After != "" {
		ret.Warnings = append(ret.Warnings, done.After)
	}

	if done.Why != "" && asked {
		ret.Summary = clip("not committed: " + done.Why)
		ret.Warnings = append(
			ret.Warnings,
			fmt.Sprintf("%s; to commit it yourself: git add -- %s && git commit -m %s",
				ret.Summary, worktree.Quoted(msg.Only...), worktree.Quoted(msg.Subject)),
		)
	}
	return ret, err
}

// publish brings the work of a worktree into another branch: as a merge, a squash, a patch or a
// request.
func (w GitWorkflow) publish(in input) action {
	in.allowOnly("action", "to", "as", "message", "child", "push", "closes")
	to := in.text("to")
	message := in.text("message")
	as := in.text("as")
	child := in.text("child")
	push := in.flag("push")
	closes := issueNumber(fmt.Sprint(in.values["closes"]))
	if as == "merge" {
		as = ""
	}
	if as != "" && as != worktree.AsSquash && as != worktree.AsPatch && as != worktree.AsRequest {
		in.refuse("as", "merge, squash, patch or pr")
	}
	if to == "current" {
		to = ""
	}

	return w.requireTree(func(ctx context.Context, r formats.Request) (formats.Return, error) {
		work := "work of " + r.Command
		if r.Task != nil && child == "" {
			work = fmt.Sprintf("task %d: %s", r.Task.Number, r.Task.Title)
		}

		target := worktree.Target{
			To:      to,
			Session: r.Session,
			Txn:     r.Txn,
			As:      as,
			Run:     r.Run,
			Child:   child != "",
			Closes:  closes,
		}
		if r.Task != nil && closes == 0 {
			target.Closes = issueNumber(r.Task.Issue)
		}

		skipped := "" // why nothing is pushed
		if push {
			state, err := w.project().State(ctx)
			if err != nil {
				return formats.Return{}, err
			}
			target.Push = state.Pushes()
			if target.Push {
				target.As = worktree.AsRequest
			} else {
				skipped = state.Skipped()
			}
		}

		if target.As == worktree.AsSquash || target.As == worktree.AsRequest {
			target.Message = cmp.Or(message, work)
		}

		// Work that no step committed is part of what is published; it would be left behind in the
		// worktree otherwise.
		rest, err := w.commitMessage(ctx, r, cmp.Or(message, "work of "+r.Command))
		if err != nil {
			return formats.Return{}, err
		}
		if _, err := w.Trees.Commit(ctx, r.Dir, rest); err != nil {
			return formats.Return{}, err
		}

		p, err := w.Trees.Publish(ctx, r.Dir, target)
		if ret, ok := unpublishedReturn(err); ok {
			return ret, nil
		}

		ret := publishReturn(message, p)
		if push {
			ret.Fields["push"] = cmp.Or(skipped, "pushed")
			ret.Fields["request"] = cmp.Or(p.URL, p.Skipped, skipped)
		}
		return ret, err
	})
}

// unpublishedReturn is the return for an error that is an answer to publishing: the remote or a
// merge says no, or the checkout has to be cleaned first.
func unpublishedReturn(err error) (_ formats.Return, ok bool) {
	if refused, ok := errors.AsType[*git.RefusedError](err); ok {
		return rejectedReturn(pushRefused(refused), refused.Error(), nil), true
	}
	if conflict, ok := errors.AsType[*worktree.ConflictError](err); ok {
		why := fmt.Sprintf("%s and %s changed the same lines", conflict.Branch, conflict.To)
		return rejectedReturn(conflict, why, conflict.Files), true
	}
	if dirty, ok := errors.AsType[*worktree.NotCleanError](err); ok {
		return formats.Return{
			Status:    formats.StatusPartial,
			Summary:   clip(dirty.Error()),
			NextSteps: dirty.Help(),
			Fields:    map[string]any{"branch": dirty.To, "files": formats.Values(dirty.Files)},
		}, true
	}
	return formats.Return{}, false
}

func (w GitWorkflow) project() worktree.Repository {
	return worktree.Repository{Trees: w.Trees}
}

// pending tells which of the files the last commit does not have as they stand in the checkout.
func (w GitWorkflow) pending(in input) action {
	in.allowOnly("action", "files")
	names := in.paths("files")
	return func(ctx context.Context, _ formats.Request) (formats.Return, error) {
		files, err := w.project().PendingFiles(ctx, names)
		return formats.Return{
			Status:  formats.StatusCompleted,
			Summary: formats.Count(len(files), "file") + " not committed",
			Fields:  map[string]any{"files": formats.Values(files)},
		}, err
	}
}

// push pushes the branch of the checkout. What is not pushed is told, and no failure.
func (w GitWorkflow) push(in input) action {
	in.allowOnly("action", "message")
	title := in.text("message")
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		p, err := w.project().Push(ctx, title, r.Run)
		if refused, ok := errors.AsType[*git.RefusedError](err); ok {
			return rejectedReturn(pushRefused(refused), refused.Error(), nil), nil
		}

		ret := formats.Return{
			Status:    formats.StatusCompleted,
			Summary:   clip("pushed " + p.Branch + " to " + p.Remote),
			Fields:    map[string]any{"push": cmp.Or(p.Skipped, "pushed")},
			NextSteps: p.Help,
		}
		if title != "" {
			ret.Fields["request"] = p.Request
		}

		if p.Skipped != "" {
			ret.Summary = "not pushed: " + p.Skipped
			ret.NextSteps = ""
			if p.Help != "" {
				ret.Warnings = []string{ret.Summary + "; to push it: " + p.Help}
			}
		}
		return ret, err
	}
}

// openIssue opens an issue for a planning document that names none. What is not opened is told, and
// no failure.
func (w GitWorkflow) openIssue(in input) action {
	in.allowOnly("action", "files")
	names := in.paths("files")
	if len(names) == 0 {
		in.refuse("files", "a planning document")
	}
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		i, err := w.project().FileIssue(ctx, r.Dir, names[0], r.Run)

		ret := formats.Return{Status: formats.StatusCompleted, Fields: map[string]any{}}
		ret.Summary = clip(names[0] + " names its issue")
		if i.Skipped != "" {
			ret.Summary = "no issue: " + i.Skipped
		}
		if i.Payload != "" {
			ret.Fields["payload"] = i.Payload
		}
		if opened := cmp.Or(i.URL, i.Skipped); opened != "" {
			ret.Fields["opened"] = opened
		}
		return ret, err
	}
}

// pushRefused is the error of a push that the remote declined.
func pushRefused(err error) error {
	return formats.Fail(formats.CodeRejected, "look at what the branch has there", "%s", err)
}

// issue fetches an issue. Its text comes from a stranger and is only quoted.
func (w GitWorkflow) issue(in input) action {
	in.allowOnly("action", "number")
	number := in.number("number")
	if number < 1 {
		in.refuse("number", "the number of an issue")
	}
	return func(ctx context.Context, _ formats.Request) (formats.Return, error) {
		i, err := w.Trees.Issue(ctx, number)
		if err != nil {
			return formats.Return{}, err
		}

		fields := map[string]any{
			"number": number,
			"url":    i.URL,
			"title":  i.Title,
			"text":   i.Text,
			"labels": formats.Values(i.Labels),
		}
		if i.CutBytes > 0 {
			fields["left"] = i.CutBytes
		}

		ret := formats.Return{
			Status:  formats.StatusCompleted,
			Summary: clip(fmt.Sprintf("issue %d: %s", number, i.Title)),
			Fields:  map[string]any{"issue": fields},
		}
		if i.Closed {
			ret.Warnings = []string{fmt.Sprintf("issue %d is closed", number)}
		}
		return ret, nil
	}
}

// issueNumber is that at the end of an issue's address, of #12 or of 12; 0 without one.
func issueNumber(issue string) int {
	n, _ := strconv.Atoi(strings.TrimLeftFunc(path.Base(issue), unicode.IsPunct)) //nolint:errcheck // 0 is what it means
	return n
}

// publishReturn is the return of published work.
func publishReturn(message string, p worktree.PublishResult) formats.Return {
	summary := p.Message
	files := p.Files
	if message != "" {
		summary = message + ": " + summary
	}
	if p.Patches != nil {
		files = p.Patches
	}

	var commit any
	if p.Commit != "" {
		commit = p.Commit
	}

	ret := formats.Return{
		Status:  formats.StatusCompleted,
		Summary: clip(summary),
		Fields: map[string]any{
			"branch": p.To,
			"commit": commit,
			"files":  formats.Values(files),
		},
	}

	if p.URL != "" {
		ret.Fields["url"] = p.URL
		ret.NextSteps = "review " + p.URL
	}
	if p.Help != "" {
		ret.NextSteps = p.Help
	}
	if len(p.Patches) > 0 {
		ret.NextSteps = "git am " + path.Dir(p.Patches[0]) + "/*.patch"
	}
	return ret
}

// rejectedReturn is the return of what was tried and does not work: it was done, and the answer is
// no. The files are its feedback.
func rejectedReturn(err error, why string, files []string) formats.Return {
	ret := formats.Failed(err)
	ret.Said = formats.OutcomeRejected
	ret.NextSteps = formats.HelpOf(err)
	ret.Issues = []formats.Issue{{
		Level:       formats.LevelError,
		Description: why,
		Files:       files,
		Source:      "check",
	}}
	return ret
}

func (w GitWorkflow) close(in input) action {
	in.allowOnly("action", "keep", "discard", "child")
	keep, discard, _ := in.flag("keep"), in.flag("discard"), in.text("child")
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		ret := formats.Return{
			Status: formats.StatusCompleted,
			Fields: map[string]any{"removed": false},
		}
		switch {
		case w.isInCheckout(r):
			ret.Summary = "no worktree is open"
			return ret, nil
		case keep:
			ret.Summary = "worktree kept"
			return ret, nil
		case discard:
			bundle, err := w.Trees.Discard(ctx, r.Dir, r.Run,
				worktree.Message{
					Subject: "discarded",
					Session: r.Session,
					Txn:     r.Txn,
				})
			ret.Metadata.Worktree = formats.WorktreeClosed
			ret.Summary = "worktree and branch removed"
			ret.Fields["removed"] = true
			if bundle != "" {
				ret.Summary += ", its commits are in " + bundle
				ret.Fields["bundle"] = bundle
			}
			return ret, err
		}

		c, err := w.Trees.Close(ctx, r.Dir)
		if err != nil {
			return formats.Return{}, err
		}
		ret.Metadata.Worktree = formats.WorktreeClosed
		ret.Summary = "worktree removed"
		ret.Fields["removed"] = c.Removed
		if !c.Removed {
			ret.Summary = "worktree closed, its folder stays"
			ret.Warnings = append(ret.Warnings, c.KeptReason)
		}
		if c.Wip != "" {
			ret.Summary += ", unfinished work is on branch " + c.Wip
			ret.Warnings = append(ret.Warnings, "what no step committed is on branch "+c.Wip)
			ret.Fields["wip"] = c.Wip
		}
		return ret, nil
	}
}
