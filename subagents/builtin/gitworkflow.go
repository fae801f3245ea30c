package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/subagents/worktree"
)

// GitWorkflow is git-workflow-manager: it opens, commits to, publishes and closes the worktree of a run. It never
// touches the person's own checkout but by what worktree.Manager promises of Publish.
type GitWorkflow struct{ Trees *worktree.Manager }

// act is one action whose input was read.
type act func(ctx context.Context, r formats.Request) (formats.Return, error)

// Run does one action.
func (w GitWorkflow) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	in := inputOf(r)
	var do act
	switch in.text("action") {
	case "open":
		do = w.open(in)
	case "commit":
		do = w.commit(in)
	case "publish":
		do = w.publish(in)
	case "close":
		do = w.close(in)
	default:
		in.wrong("action", "one of open, commit, publish, close")
	}
	if err := in.err(r.Agent); err != nil {
		return formats.Failed(err), nil
	}
	ret, err := do(ctx, r)
	return settled(ctx, ret, err)
}

func (w GitWorkflow) open(in input) act {
	in.only("action", "branch")
	branch := in.text("branch")
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		spec := worktree.Spec{Branch: branch, Run: r.Run}
		if r.Task != nil {
			spec.Task, spec.Slug = r.Task.Number, r.Task.Slug
		}
		t, err := w.Trees.Open(ctx, spec)
		if err != nil {
			return formats.Return{}, err
		}
		ret := formats.Return{
			Status: formats.StatusCompleted, Summary: "worktree on branch " + t.Branch,
			Fields: map[string]any{
				"branch": t.Branch, "base": t.Base, "head": t.Head, "worktree": w.shown(t.Dir), "continued": t.Continued,
			},
			Metadata: formats.Metadata{Worktree: t.Dir},
		}
		if t.Continued {
			ret.Summary += ", which has commits of an earlier run"
		}
		return ret, nil
	}
}

// shown is a folder relative to the project root where it lies inside.
func (w GitWorkflow) shown(dir string) string {
	if rel, err := filepath.Rel(w.Trees.Root, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return dir
}

// away tells whether the request works in the person's own checkout: no worktree is open.
func (w GitWorkflow) away(r formats.Request) bool { return r.Dir == "" || r.Dir == w.Trees.Root }

// inTree refuses an action without an open worktree.
func (w GitWorkflow) inTree(do act) act {
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		if w.away(r) {
			return formats.Return{}, formats.Fail(formats.CodePrecondition, "delegate with action: open before",
				"expected an open worktree, got the project's own checkout")
		}
		return do(ctx, r)
	}
}

func (w GitWorkflow) commit(in input) act {
	in.only("action", "message", "files")
	message, only := in.need("message", "a message"), in.paths("files")
	return w.inTree(func(ctx context.Context, r formats.Request) (formats.Return, error) {
		hash, files, err := w.Trees.Commit(ctx, r.Dir,
			worktree.Message{Subject: message, Session: r.Session, Txn: r.Txn, Only: only})
		if err != nil {
			return formats.Return{}, err
		}
		ret := formats.Return{
			Status: formats.StatusCompleted, Summary: "nothing to commit",
			Fields: map[string]any{"commit": nil, "files": plain(files)},
		}
		if hash != "" {
			subject, _, _ := strings.Cut(message, "\n")
			ret.Summary = clip(fmt.Sprintf("%.12s %s (%d files)", hash, subject, len(files)))
			ret.Fields["commit"] = hash
		}
		return ret, nil
	})
}

func (w GitWorkflow) publish(in input) act {
	in.only("action", "to", "as", "message")
	to, message := in.text("to"), in.text("message")
	if as := in.text("as"); as != "" && as != "merge" {
		in.wrong("as", "merge")
	}
	return w.inTree(func(ctx context.Context, r formats.Request) (_ formats.Return, err error) {
		if to == "" || to == "current" { // a checkout that is on no branch is refused by Publish
			if to, err = w.Trees.Git(w.Trees.Root).CurrentBranch(ctx); err != nil {
				return formats.Return{}, err
			}
		}
		// Work that no step committed is part of what is published; it would be left behind in the worktree otherwise.
		left := worktree.Message{Subject: cmp.Or(message, "work of "+r.Command), Session: r.Session}
		if _, _, err := w.Trees.Commit(ctx, r.Dir, left); err != nil {
			return formats.Return{}, err
		}
		p, err := w.Trees.Publish(ctx, r.Dir, worktree.Target{To: to, Session: r.Session, Txn: r.Txn})
		if conflict, ok := errors.AsType[*worktree.ConflictError](err); ok {
			return rejected(conflict), nil
		}
		if dirty, ok := errors.AsType[*worktree.NotCleanError](err); ok {
			return formats.Return{
				Status: formats.StatusPartial, Summary: clip(dirty.Error()), NextSteps: dirty.Help(),
				Fields: map[string]any{"branch": to, "files": plain(dirty.Files)},
			}, nil
		}
		said := p.Message
		if message != "" {
			said = message + ": " + said
		}
		return formats.Return{
			Status: formats.StatusCompleted, Summary: clip(said),
			Fields: map[string]any{"branch": to, "commit": p.Commit, "files": plain(p.Files)},
		}, err
	})
}

// rejected is the return of a merge that was tried and does not work: it was done, and the answer is no. The files are
// the feedback.
func rejected(e *worktree.ConflictError) formats.Return {
	ret := formats.Failed(e)
	ret.Said = formats.OutcomeRejected
	for _, f := range e.Files {
		ret.Issues = append(ret.Issues, formats.Issue{
			Level: formats.LevelError, Description: fmt.Sprintf("%s and %s changed the same lines", e.Branch, e.To),
			Files: []string{f}, Source: "check",
		})
	}
	return ret
}

func (w GitWorkflow) close(in input) act {
	in.only("action", "keep")
	keep := in.flag("keep")
	return func(ctx context.Context, r formats.Request) (formats.Return, error) {
		ret := formats.Return{Status: formats.StatusCompleted, Fields: map[string]any{"removed": false}}
		switch {
		case w.away(r):
			ret.Summary = "no worktree is open"
			return ret, nil
		case keep:
			ret.Summary = "worktree kept"
			return ret, nil
		}
		c, err := w.Trees.Close(ctx, r.Dir)
		if err != nil {
			return formats.Return{}, err
		}
		ret.Metadata.Worktree = formats.WorktreeClosed
		ret.Summary, ret.Fields["removed"] = "worktree removed", c.Removed
		if !c.Removed {
			ret.Summary = "worktree closed, its folder stays"
			ret.Warnings = append(ret.Warnings, "it holds repositories of its own: "+strings.Join(c.Nested, ", "))
		}
		if c.Wip != "" {
			ret.Summary += ", unfinished work is on branch " + c.Wip
			ret.Fields["wip"] = c.Wip
		}
		return ret, nil
	}
}
