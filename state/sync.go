package state

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"tercet/formats"
	"tercet/state/files"
	"tercet/state/history"
	"tercet/state/statefile"
	"tercet/state/todo"
)

// todoPlan is what a sync read, for the rendering that follows.
type todoPlan struct {
	sha   string // of the file that was read; empty if there is none
	edits todo.Edits
}

// Edits compares TODO.md with the state that it shows. It changes nothing.
func (r *Reader) Edits(ctx context.Context) (todo.Edits, error) {
	d, err := r.load(ctx)
	if err != nil {
		return todo.Edits{}, err
	}

	archive, _, err := readArchive(r.cfg, statefile.ArchivePath)
	if err != nil {
		return todo.Edits{}, err
	}

	plan, err := readEdits(r.cfg, todo.States{Current: d, Archive: archive})
	if err != nil {
		return todo.Edits{}, err
	}
	return plan.edits, nil
}

// readEdits compares TODO.md with the state that it was rendered from, and with the current one.
func readEdits(cfg Config, states todo.States) (*todoPlan, error) {
	src, err := files.ReadIfExists(cfg.Root, todoFile, files.MaxState)
	if err != nil {
		return nil, err
	}

	states.At = func(serial uint64) (*statefile.Document, error) {
		c, err := history.Read(cfg.Root)
		if err != nil {
			return nil, err
		}
		src, err := c.At(serial)
		if err != nil {
			return nil, err
		}
		return statefile.Parse(statefile.Path, src)
	}

	plan := &todoPlan{}
	if src != nil {
		plan.sha = formats.Sum(src)
	}
	plan.edits, err = todo.Compare(src, states)
	return plan, err
}

// apply applies the hand edits of TODO.md.
func (op SyncTasks) apply(d *draft) error {
	archive, err := d.loadArchive()
	if err != nil {
		return err
	}

	plan, err := readEdits(d.cfg, todo.States{Current: d.base, Archive: archive, Force: d.tx.Force})
	if err != nil {
		return err
	}

	list := &formats.Diagnostics{Of: formats.CodeValidationFailed}
	for _, p := range plan.edits.Proposals {
		if p.Problem != "" {
			list.List = append(list.List, formats.Diagnostic{
				Code:     string(formats.CodeValidationFailed),
				Severity: formats.SeverityError,
				File:     todoFile,
				Pos:      formats.Pos{Line: p.Line, Col: 1},
				Message:  p.Problem,
				Help:     p.Help,
			})
		}
	}

	if len(list.List) > 0 {
		return list
	}
	d.warnings = append(d.warnings, plan.edits.Warnings...)
	if len(plan.edits.Missing) > 0 {
		d.warn("the lines of tasks " + statefile.JoinNumbers(plan.edits.Missing) +
			" are put back; abandon a task to be rid of it")
	}
	for i := range plan.edits.Proposals {
		if err := d.applyProposal(&plan.edits.Proposals[i]); err != nil {
			return fmt.Errorf("%s:%d: %w", todoFile, plan.edits.Proposals[i].Line, err)
		}
	}

	d.todo = plan
	return nil
}

// handEditReason is the reason of status changes that need one.
const handEditReason = "TODO.md was edited by hand"

// applyProposal applies one edit.
func (d *draft) applyProposal(p *todo.Proposal) error {
	switch p.Field {
	case "create":
		f, err := p.NewTask()
		if err != nil {
			return err
		}
		return d.create(NewTask{
			Title:        f.Title,
			Language:     f.Language,
			Priority:     f.Priority,
			Effort:       f.Effort,
			Dependencies: f.Dependencies,
			Parent:       f.Parent,
		})
	case "status":
		to := formats.TaskStatus(p.To)
		op := UpdateStatus{
			Tasks:  []int{p.Task},
			To:     to,
			Reason: handEditReason,
		}
		if to == formats.Blocked {
			op.Reason = cmp.Or(p.Reason(), handEditReason)
		}
		op.Recover = formats.TaskStatus(p.From).Terminal() && to == formats.NotStarted
		return op.apply(d)
	case "artifact":
		kind, name, _ := strings.Cut(p.To, ": ")
		link := LinkArtifacts{
			Task:      p.Task,
			Artifacts: []formats.Artifact{{Type: formats.ArtifactType(kind), Path: name}},
		}
		return link.apply(d)
	case "blocked_reason":
		t, err := d.editTask(p.Task)
		if err != nil {
			return err
		}
		if err := d.checkText(p.To, lineBreaks); err != nil {
			return err
		}
		t.BlockedReason = p.To
		d.touch(t)
		d.addVerdict(t, t.Status, true)
		return nil
	}

	return UpdateMetadata{Task: p.Task, Fields: map[string]any{p.Field: p.Value()}}.apply(d)
}
