package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/git"
)

// Watch holds the refs of dir's repository from before a worker runs.
type Watch struct {
	m      *Manager
	repo   *git.Repo
	before git.Refs
	ours   bool // it is a worktree that a Manager opened
	made   func(txn string) bool
}

// Watch reads the refs before a worker starts.
func (m *Manager) Watch(dir string) (*Watch, error) {
	repo := m.Git(dir)
	before, err := repo.Refs()
	ours := strings.HasPrefix(dir, m.Base+string(filepath.Separator))
	return &Watch{m: m, repo: repo, before: before, ours: ours, made: m.Made()}, err
}

// lookTime is how long it may take to look at what git runs.
const lookTime = 30 * time.Second

// Guard checks what git runs, and the refs, before a worker starts; the returned function checks again after its end.
// It reports a change of the former to tamper, and asks about the latter with ask. Without a repository there is
// nothing to check.
func (w *Watch) Guard(
	ctx context.Context, r formats.Request, tamper func(what string) error,
	ask func(context.Context, formats.Gate) (formats.Decision, error),
) (func() error, error) {
	before, err := w.repo.Fingerprint(ctx)
	if err != nil || before == nil {
		return func() error { return nil }, err
	}
	return func() error {
		look, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime) // also when the run is over
		defer cancel()
		now, err := w.repo.Fingerprint(look)
		if err == nil && now == nil {
			err = git.ErrNoRepo
		}
		changed := before.Changes(now)
		if err != nil {
			changed = []string{"something so that it cannot be read any more: " + err.Error()}
		}
		if len(changed) > 0 {
			err = tamper(strings.Join(changed, ", "))
		}
		if err == nil {
			err = w.Look(ctx, r, ask)
		}
		return err
	}, nil
}

// The choices of the question about moved refs.
const (
	answerMine = "mine"
	answerBack = "back"
	answerStop = "stop"
)

// Look finds the refs that moved while a worker ran. It ignores tercet's own changes: new names of existing commits,
// commits that a journal knows, and branches with saved work. It also ignores deleted branches whose commits another
// branch has. It restores the branch and HEAD of the run's worktree, keeps their new commits below refs/tercet/stray,
// and returns DENIED. The user may have moved any other ref, so it asks about those.
func (w *Watch) Look(
	ctx context.Context, r formats.Request, ask func(context.Context, formats.Gate) (formats.Decision, error),
) error {
	asking, ctx := ctx, context.WithoutCancel(ctx) // also a run that is cancelled gets its branch back
	now, err := w.repo.Refs()
	if err != nil {
		return err
	}
	own, _ := strings.CutPrefix(w.before[git.OwnHead], "ref: ")
	var mine, others []git.RefChange
	for _, c := range w.before.Changes(now) {
		isOwn := w.ours && (c.Ref == git.OwnHead || c.Ref == own)
		known, err := w.explained(ctx, c)
		switch {
		case err != nil:
			return err
		case isOwn && (c.New == "" || !known):
			mine = append(mine, c)
		case known || strings.HasPrefix(c.Ref, "refs/remotes/"):
		default:
			others = append(others, c)
		}
	}
	if len(mine) > 0 {
		kept, err := w.back(ctx, r.Run, mine)
		return errors.Join(formats.Fail(formats.CodeDenied, "a subagent leaves its work in the files; the run commits it",
			"while %s worked, and not by tercet, %s: put back%s", r.Agent, listed(mine), kept), err)
	}
	if len(others) == 0 {
		return nil
	}
	d, err := ask(asking, formats.Gate{
		Question: fmt.Sprintf("while %s worked, and not by tercet, %s: was it you?", r.Agent, listed(others)),
		Choices:  []formats.Choice{{Label: answerMine}, {Label: answerBack}, {Label: answerStop, Leaves: true}},
		Digest:   formats.Sum([]byte(listed(others))), NeedsPerson: true, Run: r.Run, Step: r.Step,
	})
	if err != nil || d.Answer == answerMine {
		return err
	}
	kept := ""
	if d.Answer == answerBack {
		if kept, err = w.back(ctx, r.Run, others); err == nil {
			return nil
		}
	}
	return errors.Join(formats.Fail(formats.CodeDenied, "look at them with 'git reflog'",
		"while %s worked, and not by tercet, %s%s", r.Agent, listed(others), kept), err)
}

// explained tells whether tercet makes such a change, or nothing can be lost by it. A worker in the user's own checkout
// may use its branches: commit there and go to another one.
func (w *Watch) explained(ctx context.Context, c git.RefChange) (bool, error) {
	if !strings.HasPrefix(c.Ref, "refs/") {
		return !w.ours, nil
	}
	switch {
	case c.New == "":
		holders, err := w.repo.BranchesWith(ctx, c.Old)
		return len(holders) > 0, err
	case strings.HasPrefix(c.Ref, strayPrefix):
		return c.Old == "", nil
	case c.Old == "":
		for _, hash := range w.before {
			if hash == c.New {
				return true, nil
			}
		}
	default:
		if forward, err := w.repo.IsAncestor(ctx, c.Old, c.New); err != nil || !forward {
			return false, err
		}
	}
	if !w.ours || strings.HasPrefix(c.Ref, "refs/heads/"+wipPrefix) {
		return true, nil
	}
	by, err := w.repo.Trailers(ctx, c.Old, c.New, TrailerTxn) // any author can write one
	return !slices.ContainsFunc(by, func(txn string) bool { return txn == "" || !w.made(txn) }), err
}

const strayPrefix = "refs/tercet/stray/"

// back puts refs where they were, each only if it still is where it was seen, and names what is kept of them.
func (w *Watch) back(ctx context.Context, run string, list []git.RefChange) (kept string, err error) {
	for _, c := range list {
		name, isBranch := strings.CutPrefix(c.Old, "ref: refs/heads/")
		switch {
		case c.Ref == git.OwnHead && isBranch:
			err = errors.Join(err, w.repo.SetHead(ctx, name))
		case c.Ref == "HEAD" && isBranch:
			err = errors.Join(err, w.m.Git(w.m.Root).SetHead(ctx, name))
		case !strings.HasPrefix(c.Ref, "refs/") || c.Old == "":
			// A new ref takes nothing away.
		default:
			if c.New != "" {
				stray := strayPrefix + run + "/" + c.New[:min(12, len(c.New))]
				if serr := w.repo.UpdateRef(ctx, stray, c.New, ""); serr != nil {
					return kept, errors.Join(err, serr)
				}
				kept += "; what it pointed to is kept as " + stray
			}
			err = errors.Join(err, w.repo.UpdateRef(ctx, c.Ref, c.Old, c.New))
		}
	}
	return kept, err
}

// listed names the changes.
func listed(list []git.RefChange) string {
	short := func(value string) string {
		if to, ok := strings.CutPrefix(value, "ref: "); ok {
			return to
		}
		if value == "" {
			return "nothing"
		}
		return value[:min(12, len(value))]
	}
	words := make([]string, len(list))
	for i, c := range list {
		words[i] = fmt.Sprintf("%s moved from %s to %s", c.Ref, short(c.Old), short(c.New))
	}
	return strings.Join(words, ", ")
}
