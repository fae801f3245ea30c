package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/checkup"
	"tercet/internal/journal"
	"tercet/project"
	"tercet/subagents"
)

// doctor says what is there, what is missing and what to do about it. It changes nothing.
func doctor(c call) error {
	about := strings.TrimPrefix(aboutBinary(), "tercet ")
	p := checkup.Programs{
		Starter: c.p.Starter,
		Gate:    c.p.Trust,
		Keeper:  c.p.Keeper,
		Config:  &c.p.Config,
		Runner:  c.app.flags.runner,
		Dir:     c.p.Dir,
		Speaker: c.p.Speaker,
		Model: func(runner string) (model, from string) {
			return c.s.Models.For(subagents.Definition{}, runner)
		},
	}
	list := append(
		[]checkup.Finding{{Name: "tercet", Grade: checkup.Fine, Text: about}},
		p.Look(c.ctx)...,
	)
	if c.p.HasWorkspace {
		w := checkup.Workspace{
			Root:     c.p.Root,
			Dir:      c.p.Dir,
			Verify:   c.p.Reader.Verify,
			Lockable: c.p.Manager.Lockable,
			Tasks: func(ctx context.Context) ([]formats.Task, error) {
				doc, err := c.p.Reader.Doc(ctx)
				return doc.Tasks, err
			},
			Alive:   c.p.StateConfig(0, nil).Alive,
			Keep:    c.p.Retention(),
			Table:   c.p.Table,
			Library: c.s.Library,
			May:     p.May,
			Inside:  c.app.insideRun(),
		}
		list = slices.Concat(
			list,
			w.Look(c.ctx),
			checkup.Packs(atomicfile.FS(c.p.Root), packCall(c).shippedPacks()),
			checkup.Agents(project.Replaced(c.s.Set), c.s.AgentNotes, subagents.OfNames),
		)
	} else {
		list = append(list, checkup.Finding{
			Name:  "workspace",
			Grade: checkup.Warning,
			Text:  "none here or above",
			Fix:   "run tercet init",
		})
	}

	settings := project.SecretSettings(c.p.Config.Env)
	list = append(list, checkup.Secrets(settings, journal.MinSecret, os.Getenv)...)
	list = append(list, checkup.Unfollowed(c.s.Set.Names(), func(name string) []string {
		def, _, _ := c.s.Set.Lookup(name, "")
		return def.Unfollowed
	})...)
	bad := slices.ContainsFunc(list, func(f checkup.Finding) bool {
		return f.Grade == checkup.Failure
	})
	if !c.app.document("tercet.doctor/1", fields{"ok": !bad, "findings": list}) {
		for _, f := range list {
			c.app.term.Sentence("%-4s  %-10s  %s", f.Grade, f.Name, f.Text)
			for line := range strings.Lines(f.Fix) {
				c.app.term.Answer("                  %s", strings.TrimSuffix(line, "\n"))
			}
		}
	}
	if bad {
		return shown{1}
	}
	return nil
}
