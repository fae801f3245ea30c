package main

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/state"
)

var stateVerbs = []verb{
	{
		use: "show [TASK]", short: "print the state, or one task", args: words(0, 1), needs: aWorkspace,
		do: stateShow,
	},
	{
		use: "verify", short: "check the state, its log and the documents it names", args: none,
		needs: aWorkspace, do: stateVerify,
	},
	{use: "transitions", short: "print which status may follow which", args: none, do: stateTransitions},
	{
		use: "adopt", short: "accept a state file that was changed from outside", args: none,
		needs: aPerson | aWorkspace, do: stateAdopt,
	},
	{
		use: "restore [SERIAL]", short: "write a backup back as the state, the newest one if none is named",
		args: words(0, 1), needs: aPerson | aWorkspace, do: stateRestore,
	},
	{use: "import FILE", short: "take over the tasks of another file", args: one, make: stateImport},
	{
		use: "export", short: "print the state in the shape of another system", args: none, needs: aWorkspace,
		make: stateExport,
	},
	{
		use: "layout lines|pretty", short: "lay state.json out with one task a line, or one member a line",
		args: one, make: stateLayout,
	},
	{
		use: "history [TASK]", short: "list what was written, by whom, and which serials can still be read",
		args: words(0, 1), needs: aWorkspace, make: stateHistory,
	},
	{
		use: "diff A [B]", args: words(1, 2), do: stateDiff,
		short: "compare two states by task and field; each is a file or a serial (default B: the state)",
	},
	{
		use: "merge --ours|--theirs|--union [FILE]", short: "take one side, or both, of a state with conflict markers",
		args: words(0, 1), make: stateMerge,
	},
	{
		use: "merge-driver BASE OURS THEIRS [PATH]", short: "merge two versions for git, by task and field",
		args: words(3, 4), make: stateMergeDriver,
	},
}

func stateShow(c call) error {
	if len(c.args) == 0 {
		src, err := c.w.reader.Bytes(c.ctx)
		if err != nil {
			return err
		}
		if c.flags.json {
			c.term.rawJSON(src)
		} else {
			c.term.raw(src)
		}
		c.changedOutside()
		return nil
	}
	n, err := taskNumber(c.args[0])
	if err != nil {
		return err
	}
	task, err := c.w.reader.Task(c.ctx, n)
	if err != nil || c.document("tercet.task-show/1", fields{"task": task}) {
		return err
	}
	data, err := json.MarshalIndent(task, "", "  ")
	if err == nil {
		c.term.raw(append(data, '\n'))
	}
	return err
}

// changedOutside warns if state.json is not as it was written.
func (c call) changedOutside() {
	if notice := c.w.reader.Notice(c.ctx); notice != "" {
		c.term.note("warning: %s", notice)
	}
}

func taskNumber(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 {
		return 0, usage("expected a task number, got %q", word)
	}
	return n, nil
}

func stateVerify(c call) error {
	found, err := c.w.reader.Verify(c.ctx)
	if err != nil {
		return err
	}
	d := &formats.Diagnostics{List: found, Of: formats.CodeInvalidState}
	d.Sort()
	if !c.document("tercet.state-verify/1", fields{"diagnostics": diagnosticsOf(d)}) {
		c.term.diagnostics(d)
	}
	if d.HasErrors() {
		return shownAs(formats.CodeInvalidState)
	}
	c.term.note("state.json is valid")
	return nil
}

func stateTransitions(c call) error {
	table := map[string][]fields{}
	for _, s := range formats.TaskStatuses() {
		table[s.String()] = []fields{}
		for _, m := range formats.Moves(s) {
			table[s.String()] = append(table[s.String()], fields{
				"to": m.To, "reason": m.NeedsReason, "children_terminal": m.ChildrenTerminal, "recover": m.Recover,
			})
		}
	}
	if !c.document("tercet.transitions/1", fields{"transitions": table}) {
		c.term.answer("%s", passage(state.TransitionsText()))
	}
	return nil
}

func stateAdopt(c call) error {
	res, err := c.w.manager.Adopt(c.ctx)
	if err == nil {
		c.term.note("adopted, serial %d", res.Serial)
	}
	return err
}

func stateRestore(c call) error {
	serial, ok := c.w.manager.NewestBackup()
	if len(c.args) == 1 {
		var err error
		if serial, err = strconv.ParseUint(c.args[0], 10, 64); err != nil {
			return usage("expected the serial of a backup, got %q", c.args[0])
		}
	} else if !ok {
		return formats.Fail(formats.CodeNotFound, "mend the file by hand", "there is no backup")
	}
	res, err := c.w.manager.Restore(c.ctx, serial)
	if err != nil {
		return err
	}
	c.term.warnings(res.Warnings)
	c.term.note("restored the backup of serial %d, now serial %d", serial, res.Serial)
	return nil
}

// stateExport prints the state in a shape.
func stateExport(cmd *cobra.Command, _ *app) run {
	shape := cmd.Flags().String("shape", state.ShapeTercet, "tercet or active_projects")
	return func(c call) error {
		out, err := c.w.reader.Export(c.ctx, *shape)
		if err == nil {
			c.term.raw(out)
		}
		return err
	}
}

// stateLayout lays the file out anew.
func stateLayout(cmd *cobra.Command, _ *app) run {
	cmd.ValidArgs = []string{string(state.LayoutLines), string(state.LayoutPretty)}
	tx := txFlags(cmd)
	return func(c call) error {
		if !slices.Contains(cmd.ValidArgs, c.args[0]) {
			return usage("expected layout lines or pretty, got %q", c.args[0])
		}
		return c.write(tx, state.SetLayout{To: state.Layout(c.args[0])})
	}
}
