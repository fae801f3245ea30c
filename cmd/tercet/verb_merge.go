package main

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/project"
)

// stateMerge takes one side, or both, of a file with conflict markers: of state.json itself, or of
// another file, whose merge is printed.
func stateMerge(cmd *cobra.Command, _ *app) run {
	f := cmd.Flags()
	sides := map[project.Side]*bool{
		project.SideOurs:   f.Bool("ours", false, "take our side"),
		project.SideTheirs: f.Bool("theirs", false, "take their side"),
		project.SideUnion: f.Bool("union", false,
			"merge both by task and field; where both changed one field, the later update counts"),
	}
	return func(c call) error {
		maps.DeleteFunc(sides, func(_ project.Side, on *bool) bool {
			return !*on
		})
		if len(sides) != 1 {
			return usage("expected one of --ours, --theirs and --union, got %s",
				[]string{"none", "", "two", "three"}[len(sides)])
		}

		how := slices.Collect(maps.Keys(sides))[0]
		if len(c.args) == 1 {
			src, err := c.app.input(c.args[0])
			if err != nil {
				return err
			}
			out, err := project.Unmark(c.args[0], src, how)
			if err == nil {
				c.app.term.Raw(out)
			}
			return err
		}

		w, err := c.writableWorkspace()
		if err != nil {
			return err
		}
		res, err := w.ResolveState(c.ctx, how)
		c.app.term.Warnings(res.Warnings)
		if err == nil {
			c.app.reportDone("merged, serial %d", res.Serial)
		}
		return err
	}
}

// stateMergeDriver is what git calls for a file that both branches changed. Like every driver it
// leaves its result in OURS and ends with 1 if the user has to look.
func stateMergeDriver(cmd *cobra.Command, _ *app) run {
	cmd.Long = `git calls merge-driver with the three versions of state.json, archive/state.json or TODO.md. It merges
by task number and by field, and leaves the result in OURS. A new task of the other branch gets a new
number if its own is taken. Install it with:

  tercet init --merge-driver
  git config merge.tercet.driver 'tercet state merge-driver %O %A %B %P'`
	return func(c call) error {
		name := formats.Workspace + "/state.json"
		if len(c.args) == 4 {
			name = filepath.ToSlash(c.args[3])
		}
		m, err := project.MergeFile(name, c.args[0], c.args[1], c.args[2])
		if err != nil {
			return err
		}

		for old, now := range m.Renumbered {
			c.app.term.Note("%s: task %d of their side is task %d now", name, old, now)
		}
		for _, one := range m.Conflicts {
			c.app.term.Say(name + ": " + one)
		}

		switch {
		case m.HandEdits:
			c.app.term.Say(name +
				": both sides were edited by hand; ours is kept, look at theirs with git")
			return shownError{1}
		case len(m.Conflicts) > 0:
			c.app.term.Help(
				"take one side, or both: tercet state merge --ours, --theirs or --union",
			)
			return shownError{1}
		}
		return nil
	}
}

// driverConfig is what the user runs once in each clone: git takes no configuration out of a
// repository.
const driverConfig = "git config merge.tercet.driver 'tercet state merge-driver %O %A %B %P'"

// adviseMergeDriver says what is left to do for the merge driver, or, on a terminal and in a git
// repository, that there is one.
func (c call) adviseMergeDriver(dir string, asked bool) {
	if asked {
		c.app.term.Note("run once in each clone: %s", driverConfig)
		return
	}
	if !c.app.term.Interactive() || !exists(filepath.Join(dir, ".git")) {
		return
	}
	if missing, err := project.MissingAttributes(dir); err == nil && len(missing) > 0 {
		c.app.term.Note(
			"git can merge state.json by task; install that with: tercet init --merge-driver",
		)
	}
}
