package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/proc"
	"tercet/internal/trust"
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

// guard looks at what a subagent must leave alone before it works, and again when it has ended: what git runs, and the files of
// the workspace that start programs. A change ends the run.
func (w *world) guard(ctx context.Context, r formats.Request) (func() error, error) {
	git, err := w.watchGit(ctx, r)
	if err != nil {
		return nil, err
	}
	own, err := w.watchOwn(r)
	if err != nil {
		return nil, err
	}
	return func() error {
		found := own()
		if git != nil {
			found = errors.Join(git(), found)
		}
		return found
	}, nil
}

// ownNames are the files of the workspace that start programs or answer gates, as they are now. What other tools read is not
// among them: to write that may be the work that was asked for, and the next command asks about it.
func (w *world) ownNames() []string {
	names := append([]string{formats.Workspace + "/config.yaml"}, autoApproves()...)
	for _, folder := range []string{"commands", "subagents", "facets", "templates", "hooks"} {
		for _, f := range below(w.root, formats.Workspace+"/"+folder, "") {
			names = append(names, f.path)
		}
	}
	return names
}

// watchOwn remembers these files. This run has read them already; the next one would be started by them, where the environment
// stands in for a person's answer without a question.
func (w *world) watchOwn(r formats.Request) (func() error, error) {
	if !w.has {
		return func() error { return nil }, nil
	}
	before, err := trust.Read(w.root, w.ownNames())
	if err != nil {
		return nil, &formats.Failure{Code: formats.CodeIO, Message: "files of the workspace that start programs", Err: err}
	}
	return func() error {
		now, err := trust.Read(w.root, w.ownNames())
		what := differing(before, now)
		if err != nil {
			what = []string{"something so that it cannot be read any more: " + err.Error()}
		}
		if len(what) == 0 {
			return nil
		}
		return &formats.Failure{
			Code: formats.CodeUntrusted, Message: "while subagent " + r.Agent + " worked, files of the workspace that start programs changed: " + strings.Join(what, ", "),
			Help: "if the change was not yours, undo it: these files decide what runs next; then run the command again",
		}
	}, nil
}

// differing names what is new, gone or different, in order.
func differing(before, now trust.Manifest) []string {
	var out []string
	for _, f := range now.Files {
		if old, ok := before.File(f.Path); !ok || old.SHA256 != f.SHA256 {
			out = append(out, f.Path)
		}
	}
	for _, f := range before.Files {
		if _, ok := now.File(f.Path); !ok {
			out = append(out, f.Path)
		}
	}
	slices.Sort(out)
	return out
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
