package main

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"runtime"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/plain"
	"tercet/subagents/past"
)

var pastVerbs = []verb{
	{
		use:   "undo RUN",
		short: "take back what a run changed: commits, tasks, documents",
		args:  one,
		needs: userOnly,
		make:  undoVerb,
	},
	{
		use:   "gc",
		short: "remove old runs, and worktrees and branches that they left",
		args:  none,
		needs: userOnly,
		make:  gcVerb,
	},
}

// over is a project for one who does something with runs that are over.
func (c call) over() (runs, past.Project, error) {
	w, err := c.inside(c.ctx)
	if err != nil {
		return runs{}, past.Project{}, err
	}
	return runs{w}, past.Project{
		Root:    w.root,
		State:   w.manager,
		Trees:   w.trees,
		Session: w.sessionID(),
	}, nil
}

func undoVerb(cmd *cobra.Command, _ *app) run {
	dry := cmd.Flags().Bool("dry-run", false, "show what would be taken back; write nothing")
	return func(c call) error {
		w, p, err := c.over()
		if err != nil {
			return err
		}

		r, records, err := w.desk.TakeAny(c.ctx, c.args[0])
		if err == nil {
			err = consent(w).first(c.ctx, formats.Invocation{})
		}
		if err != nil {
			return err
		}

		u, err := p.Plan(c.ctx, r, records)
		if err != nil {
			return err
		}
		if !*dry && !u.Empty() {
			if err := w.sure(
				c.ctx,
				u.Lines(),
				sprintf("Take back run %s (%s)?", r.ID, r.Line),
			); err != nil {
				return err
			}
			if u.Reverts, err = u.Do(c.ctx); err != nil {
				return err
			}
		}
		if c.document("tercet.undo/1", fields{"undo": u, "dry_run": *dry, "nothing": u.Empty()}) {
			return nil
		}

		for _, line := range u.Lines() {
			c.term.answer("%s", plain.Line(line))
		}
		switch {
		case u.Empty():
			c.term.note("run %s changed nothing that could be taken back", r.ID)
		case *dry:
			c.term.note("nothing was written")
		default:
			c.term.note("run %s is taken back", r.ID)
		}

		return nil
	}
}

func gcVerb(cmd *cobra.Command, _ *app) run {
	dry := cmd.Flags().Bool("dry-run", false, "show what would be removed; remove nothing")
	return func(c call) error {
		w, p, err := c.over()
		if err != nil {
			return err
		}
		found, err := p.Old(c.ctx, w.kept())
		if err == nil && !*dry {
			err = found.Do(c.ctx, w.desk.Lock)
		}
		if err != nil || c.document("tercet.gc/1", fields{"gc": found, "dry_run": *dry}) {
			return err
		}
		for _, line := range found.Lines() {
			c.term.answer("%s", plain.Line(line))
		}
		switch {
		case found.Empty():
			c.term.note("nothing to remove")
		case *dry:
			c.term.note("nothing was removed")
		}
		return nil
	}
}

// bundleRun writes one file about a run for the report of a defect, without secrets.
func (c call) bundleRun() error {
	if err := c.mayCommand(); err != nil {
		return err
	}
	r, err := c.desk.Named(c.args[0])
	if err != nil {
		return err
	}

	config, err := atomicfile.ReadFile(c.root, configFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return broken(formats.CodeIO, configFile, err)
	}
	to, err := past.Project{Root: c.root}.Report(r.ID, past.Bundle{
		About: map[string]string{
			"tercet": version,
			"go":     runtime.Version(),
			"os":     runtime.GOOS,
			"arch":   runtime.GOARCH,
			"runner": c.cfg.Runner,
			"line":   r.Line,
			"status": r.Status,
		},
		Config: string(config),
		Mask:   c.mask,
		Hide: map[string]string{
			c.dir:                          "PROJECT",
			c.env("HOME"):                  "HOME",
			`"user": "` + userName() + `"`: `"user": "USER"`,
		},
	})
	if err != nil || c.document("tercet.report-file/1", fields{"file": to}) {
		return err
	}

	c.term.answer("%s", to)
	c.term.note("read it before you send it: it holds the texts of the run's tasks and answers")
	return nil
}

// kept says which runs the configuration keeps.
func (w runs) kept() past.Keep {
	r := w.cfg.Retention
	if r.Off {
		return past.Keep{
			Age:  math.MaxInt64,
			Size: math.MaxInt64,
			Now:  clock{}.Now(),
		}
	}
	return past.Keep{
		Age:  r.Age,
		Size: r.Size,
		Now:  clock{}.Now(),
	}
}

// tidy removes old runs behind a command, at most once a day.
func (w runs) tidy(ctx context.Context) {
	p := past.Project{
		Root:    w.root,
		State:   w.manager,
		Trees:   w.trees,
		Session: w.sessionID(),
	}
	if w.reader == nil || w.readOnly || w.flags.dryRun || w.cfg.Retention.Off ||
		!p.Daily(clock{}.Now()) {
		return
	}
	found, err := p.Old(ctx, w.kept())
	if err == nil {
		err = found.Do(ctx, w.desk.Lock)
	}
	if err != nil {
		w.term.note("warning: old runs: %s", err)
	}
}

// sure shows what would be done and asks whether to do it. --yes says yes; without a terminal the
// answer is no.
func (w runs) sure(ctx context.Context, show []string, question string) error {
	d, err := w.approver.decide(ctx, formats.Gate{
		Question:    question,
		Show:        show,
		NeedsPerson: true,
		Choices:     []formats.Choice{{Label: "yes", Approves: true}, {Label: "no", Leaves: true}},
	})
	if err == nil && d.Answer != "yes" {
		err = formats.Fail(formats.CodeRejected, "", "nothing was done")
	}
	return err
}
