package main

import (
	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/state"
)

// syncVerb lists the hand edits of TODO.md, or applies them.
func syncVerb(cmd *cobra.Command, _ *app) run {
	tx := txFlags(cmd)
	check := cmd.Flags().Bool("check", false, "list the edits; write nothing")
	cmd.Flags().BoolVar(&tx.Force, "force", false,
		"make any change, also where it is not known what TODO.md was written from")
	return func(c call) error {
		if *check {
			return c.syncCheck()
		}
		return c.write(tx, state.SyncTasks{})
	}
}

func (c call) syncCheck() error {
	w, err := c.workspace(c.ctx)
	if err != nil {
		return err
	}
	edits, err := w.reader.Edits(c.ctx)
	if err != nil {
		return err
	}
	told := c.document("tercet.sync/1", fields{"edits": edits})
	problems := 0
	for i := range edits.Proposals {
		p := &edits.Proposals[i]
		if p.Problem != "" {
			problems++
		}
		switch {
		case told:
		case p.Problem == "":
			c.term.answer("%s", p.String())
		default:
			c.term.say(sprintf(".tercet/TODO.md:%d: %s", p.Line, p.Problem))
			c.term.help(p.Help)
		}
	}
	switch {
	case told:
	case edits.Edited:
		c.syncNotes(edits)
	default:
		c.term.note("TODO.md is as it was written")
	}
	if problems > 0 {
		return shownAs(formats.CodeValidationFailed)
	}
	return nil
}

func (c call) syncNotes(edits state.Edits) {
	c.term.warnings(edits.Warnings)
	for _, n := range edits.Missing {
		c.term.note("the line of task %d is gone; it comes back", n)
	}
	if edits.Notes > 0 {
		c.term.note("%s of other text stay", count(edits.Notes, "piece"))
	}
	if len(edits.Proposals) > 0 {
		c.term.note("apply with: tercet sync")
	}
}
