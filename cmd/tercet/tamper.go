package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/proc"
)

// tampering remembers that a subagent changed what git runs. From then on git is not started any more in this world: a
// worktree shares configuration and hooks with its repository, and the next call would be the engine's own.
type tampering struct {
	mu  sync.Mutex
	err error
}

func (t *tampering) get() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *tampering) set(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	return err
}

// lookTime bounds the second look at a repository, which also happens when the run is over.
const lookTime = 30 * time.Second

// watchGit takes a fingerprint of the repository before a subagent works in it, and compares it afterwards.
func (w *world) watchGit(ctx context.Context, r formats.Request) (func() error, error) {
	repo := w.git(r.Dir)
	before, err := repo.Fingerprint(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		if denied, ok := errors.AsType[*proc.DeniedError](err); ok {
			return nil, denied.Err
		}
		_, missing := errors.AsType[*git.MissingError](err)
		if _, refused := errors.AsType[*git.Error](err); missing || refused {
			return nil, nil // no repository, or one that git does not work in: nothing that it could run
		}
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
		defer cancel()
		what := ""
		now, err := repo.Fingerprint(ctx)
		if err != nil {
			if w.tampered.get() != nil {
				return w.tampered.get()
			}
			what = "something so that it cannot be read any more: " + err.Error()
		} else if changed := before.Changes(now); len(changed) > 0 {
			what = strings.Join(changed, ", ")
		}
		if what == "" {
			return nil
		}
		return w.tampered.set(&formats.Failure{
			Code: formats.CodeUntrusted, Message: "while subagent " + r.Agent + " worked, what git runs or reads in this repository changed: " + what,
			Help: "look at these before you use git here: a hook or a setting of git runs programs with your rights; undo what you do not want, then run the command again",
		})
	}, nil
}
