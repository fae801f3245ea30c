package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"tercet/checkup"
	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
	"tercet/subagents"
)

// doctor says what is there, what is missing and what to do about it. It changes nothing.
func doctor(c call) error {
	about := strings.TrimPrefix(aboutBinary(), "tercet ")
	p := checkup.Programs{
		Starter: c.starter,
		Gate:    c.gate,
		Keeper:  c.keeper,
		Config:  &c.cfg,
		Runner:  c.flags.runner,
		Dir:     c.dir,
		Speaker: workers{c.world}.speaker,
		Model: func(runner string) (model, from string) {
			return c.models.For(subagents.Definition{}, runner)
		},
	}
	list := append(
		[]checkup.Finding{{Name: "tercet", Grade: checkup.Fine, Text: about}},
		p.Look(c.ctx)...,
	)
	if c.has {
		w := checkup.Workspace{
			Root:     c.root,
			Dir:      c.dir,
			Verify:   c.reader.Verify,
			Lockable: c.manager.Lockable,
			Tasks: func(ctx context.Context) ([]formats.Task, error) {
				doc, err := c.reader.Doc(ctx)
				return doc.Tasks, err
			},
			Alive:   stateConfig(c.root, c.dir, 0, nil).Alive,
			Keep:    runs{c.world}.kept(),
			Table:   c.table,
			Library: c.library,
			May:     p.May,
			Inside:  c.insideRun(),
		}
		list = slices.Concat(
			list,
			w.Look(c.ctx),
			checkup.Packs(atomicfile.FS(c.root), shelf{c}.shippedPacks()),
			checkup.Agents(replaced(c.set), c.agentNotes, subagents.OfNames),
		)
	} else {
		list = append(list, checkup.Finding{
			Name:  "workspace",
			Grade: checkup.Warning,
			Text:  "none here or above",
			Fix:   "run tercet init",
		})
	}

	list = append(list, checkup.Secrets(secretSettings(c.cfg.Env), journal.MinSecret, os.Getenv)...)
	list = append(list, checkup.Unfollowed(c.set.Names(), func(name string) []string {
		def, _, _ := c.set.Lookup(name, "")
		return def.Unfollowed
	})...)
	bad := slices.ContainsFunc(list, func(f checkup.Finding) bool {
		return f.Grade == checkup.Failure
	})
	if !c.document("tercet.doctor/1", fields{"ok": !bad, "findings": list}) {
		for _, f := range list {
			c.term.sentence("%-4s  %-10s  %s", f.Grade, f.Name, f.Text)
			for line := range strings.Lines(f.Fix) {
				c.term.answer("                  %s", strings.TrimSuffix(line, "\n"))
			}
		}
	}
	if bad {
		return shown{1}
	}
	return nil
}
