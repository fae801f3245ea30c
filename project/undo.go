package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/subagents/past"
)

type (
	// Undone is what undoing a run takes back.
	Undone = past.Undoing
	// Cleaned is what old runs leave behind when they go.
	Cleaned = past.Cleaning
)

// Undo takes back what a run changed, once its user agreed: commits, tasks, documents. With dry it
// only says what that would be.
func (s *Session) Undo(ctx context.Context, run string, dry bool) (*Undone, error) {
	p := s.Project
	if err := p.mayWrite(); err != nil {
		return nil, err
	}
	r, records, err := p.Control.TakeAny(ctx, run)
	if err == nil {
		err = s.MayStart(ctx, formats.Invocation{})
	}
	if err != nil {
		return nil, err
	}

	u, err := p.past().Plan(ctx, r, records)
	if err != nil || dry || u.IsEmpty() {
		return u, err
	}

	question := fmt.Sprintf("Take back run %s (%s)?", r.ID, r.Line)
	if err := s.Confirm(ctx, u.Lines(), question); err != nil {
		return nil, err
	}
	u.Reverts, err = u.Do(ctx)
	return u, err
}

// Clean removes old runs, and worktrees and branches that they left. With dry it only lists them.
func (p *Project) Clean(ctx context.Context, dry bool) (*Cleaned, error) {
	if err := p.mayWrite(); err != nil {
		return nil, err
	}
	found, err := p.past().FindOld(ctx, p.Retention())
	if err == nil && !dry {
		err = p.clean(ctx, found)
	}
	return found, err
}

// clean removes what was found. A remote that keeps snapshots of removed runs is no error: they are
// removed the next time.
func (p *Project) clean(ctx context.Context, found *Cleaned) error {
	err := found.Do(ctx, p.Control.Lock)
	if kept := found.DropSnapshots(ctx); kept != nil {
		p.note("warning: the remote still has snapshots of removed runs, and the next gc tries "+
			"again: %s", kept)
	}
	return err
}

// Bundle writes one file about a run for the report of a defect, without secrets, and gives its
// name. About is what else the file says; the texts of hide identify the user or the machine.
func (p *Project) Bundle(run string, about, hide map[string]string) (string, error) {
	if err := p.Host.MayCommand(); err != nil {
		return "", err
	}
	r, err := p.Find(run)
	if err != nil {
		return "", err
	}

	config, err := atomicfile.ReadFile(p.Root, ConfigFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", formats.Broken(formats.CodeIO, ConfigFile, err)
	}

	about["runner"] = p.Config.Runner
	about["line"] = r.Line
	about["status"] = r.Status
	hide[p.Dir] = "PROJECT"
	return p.past().Report(r.ID, past.Bundle{
		About:  about,
		Config: string(config),
		Mask:   p.Mask,
		Hide:   hide,
	})
}
