package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/state"
)

// stateImport reads tasks out of another file. The file is never changed.
func stateImport(cmd *cobra.Command, _ *app) run {
	cmd.Long = `import takes over the tasks of a state.json, of a file with active_projects, or bare tasks. It first
reports what is wrong with the file, class by class: truncated, object_stream, trailing_comma,
wrong_document, duplicate_key, duplicate_task, conflict_markers, syntax, value. With --repair a
stream of objects, trailing commas and duplicate keys are mended in what is read, and of a file that
was cut off the whole tasks are taken; the file itself is never changed. Completed projects go into
the archive.`
	tx := txFlags(cmd)
	f := cmd.Flags()
	dry := f.Bool("dry-run", false, "report; write nothing")
	repair := f.Bool("repair", false,
		"mend what can be mended without a guess; leave out references to tasks that are nowhere")
	fresh := f.Bool("fresh-numbers", false, "give tasks whose number is taken a new one")
	return func(c call) error {
		src, err := c.input(c.args[0])
		if err != nil {
			return err
		}
		m := state.ReadImport(c.args[0], src, *repair)
		if *dry || m.Err() != nil {
			return c.importReport(m, state.Result{}, *dry)
		}
		res, err := c.apply(tx, state.ImportTasks{From: m, Fresh: *fresh})
		if err != nil {
			return err
		}
		if err := c.putAway(tx, &res); err != nil {
			return err
		}
		return c.importReport(m, res, false)
	}
}

// putAway moves those into the archive that the file has among its completed projects. It is a transaction of its own:
// what was imported stays if it does not come through, and the same import again goes on here.
func (c call) putAway(tx *state.Tx, res *state.Result) error {
	list := res.PutAway()
	if len(list) == 0 {
		return nil
	}
	if tx.ID != "" {
		tx.ID += "-archive"
	}
	moved, err := c.apply(tx, state.ArchiveTasks{Tasks: list})
	if err != nil {
		c.term.help("what was imported is there; put it away with: tercet task archive " + numerals(list))
		return err
	}
	res.Serial = moved.Serial
	return nil
}

// importReport says what was found and what came of it.
func (c call) importReport(m *state.Import, res state.Result, dry bool) error {
	failed := m.Err()
	if !c.document("tercet.state-import/1", fields{
		"file": m.File, "shape": m.Shape, "tasks": len(m.Tasks()), "findings": m.Findings, "ok": failed == nil,
		"dry_run": dry, "serial": res.Serial, "numbers": nonNil(res.Numbers), "changed": res.Changed,
	}) {
		c.importFindings(m)
		switch {
		case failed != nil:
			c.term.say(m.File + " was not imported")
		case dry:
			c.term.note("%s would be imported from the shape %s", count(len(m.Tasks()), "task"), m.Shape)
		default:
			c.term.answer("%s", numerals(res.Numbers))
			c.term.note("%s imported, serial %d", count(len(res.Numbers), "task"), res.Serial)
		}
	}
	if failed != nil {
		return shownAs(formats.CodeInvalidState)
	}
	return nil
}

// importFindings prints what is wrong with a file, and how often each class occurs.
func (c call) importFindings(m *state.Import) {
	counts := map[state.Damage]int{}
	for _, f := range m.Findings {
		counts[f.Class]++
		word := string(f.Class)
		if f.Mended && f.Class != state.DamageNote {
			word += " (mended)"
		}
		c.term.note("%s:%d:%d: %s: %s", m.File, f.Pos.Line, f.Pos.Col, word, f.Message)
		if !f.Mended {
			c.term.help(f.Help)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		c.term.note("%s: %d", class, counts[class])
	}
}

// numerals are numbers with blanks between them.
func numerals(list []int) string {
	return strings.Trim(sprintf("%v", list), "[]")
}
