package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/plain"
	"tercet/internal/query"
	"tercet/project"
)

var stateVerbs = []verb{
	{
		use:   "show [TASK]",
		short: "print the state, or one task",
		args:  words(0, 1),
		needs: aWorkspace,
		do:    stateShow,
	},
	{
		use:   "verify",
		short: "check the state, its log and the documents it names",
		args:  none,
		needs: aWorkspace,
		do:    stateVerify,
	},
	{
		use:   "transitions",
		short: "print which status may follow which",
		args:  none,
		do:    stateTransitions,
	},
	{
		use:   "adopt",
		short: "accept a state file that was changed from outside",
		args:  none,
		needs: userOnly | aWorkspace,
		do:    stateAdopt,
	},
	{
		use:   "restore [SERIAL]",
		short: "write a backup back as the state, the newest one if none is named",
		args:  words(0, 1),
		needs: userOnly | aWorkspace,
		do:    stateRestore,
	},
	{
		use:   "import FILE|FOLDER",
		short: "take over the tasks of another file",
		args:  one,
		make:  stateImport,
	},
	{
		use:   "export",
		short: "print the state in the shape of another system",
		args:  none,
		needs: aWorkspace,
		make:  stateExport,
	},
	{
		use:   "graph",
		short: "draw the tasks and what they depend on",
		args:  none,
		needs: aWorkspace,
		make:  stateGraph,
	},
	{
		use:   "layout lines|pretty",
		short: "write state.json with one task a line, or one member a line",
		args:  one,
		make:  stateLayout,
	},
	{
		use:   "history [TASK]",
		short: "list what was written, by whom, and which serials can still be read",
		args:  words(0, 1),
		needs: aWorkspace,
		make:  stateHistory,
	},
	{
		use:  "diff A [B]",
		args: words(1, 2),
		do:   stateDiff,
		short: "compare two states by task and field; each is a file or a serial (default B: the " +
			"state)",
	},
	{
		use:   "merge --ours|--theirs|--union [FILE]",
		short: "take one side, or both, of a state with conflict markers",
		args:  words(0, 1),
		make:  stateMerge,
	},
	{
		use:   "merge-driver BASE OURS THEIRS [PATH]",
		short: "merge two versions for git, by task and field",
		args:  words(3, 4),
		make:  stateMergeDriver,
	},
}

func stateShow(c call) error {
	if len(c.args) == 0 {
		src, err := c.p.Reader.Bytes(c.ctx)
		if err != nil {
			return err
		}
		if c.app.flags.json {
			c.app.term.RawJSON(src)
		} else {
			c.app.term.Raw(src)
		}
		c.warnChangedOutside()
		return nil
	}

	n, err := taskNumber(c.args[0])
	if err != nil {
		return err
	}
	task, err := c.p.Reader.Task(c.ctx, n)
	if err != nil || c.app.answerJSON("tercet.task-show/1", fields{"task": task}) {
		return err
	}
	c.app.term.JSON(task)
	return nil
}

// warnChangedOutside warns if state.json is not as it was written.
func (c call) warnChangedOutside() {
	if notice := c.p.Reader.Notice(c.ctx); notice != "" {
		c.app.term.Note("warning: %s", notice)
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
	d, err := c.p.CheckState(c.ctx)
	if err != nil {
		return err
	}
	return c.concludeCheck("tercet.state-verify/1", fields{}, d, "state.json is valid")
}

func stateTransitions(c call) error {
	table := map[string][]fields{}
	for _, s := range formats.TaskStatuses() {
		table[s.String()] = []fields{}
		for _, m := range formats.Moves(s) {
			table[s.String()] = append(table[s.String()], fields{
				"to":                m.To,
				"reason":            m.NeedsReason,
				"children_terminal": m.ChildrenTerminal,
				"recover":           m.Recover,
			})
		}
	}
	if !c.app.answerJSON("tercet.transitions/1", fields{"transitions": table}) {
		c.app.term.Answer("%s", plain.Passage(project.TransitionsText()))
	}
	return nil
}

func stateAdopt(c call) error {
	res, err := c.p.Manager.Adopt(c.ctx)
	if err == nil {
		c.app.reportDone("adopted, serial %d", res.Serial)
	}
	return err
}

func stateRestore(c call) (err error) {
	serial := uint64(0)
	if len(c.args) == 1 {
		serial, err = strconv.ParseUint(c.args[0], 10, 64)
		if err != nil || serial == 0 {
			return usage("expected the serial of a backup, got %q", c.args[0])
		}
	}
	serial, res, err := c.p.Restore(c.ctx, serial)
	if err != nil {
		return err
	}
	c.app.term.Warnings(res.Warnings)
	c.app.reportDone("restored the backup of serial %d, now serial %d", serial, res.Serial)
	return nil
}

// stateExport prints the state in a shape.
func stateExport(cmd *cobra.Command, _ *app) run {
	shape := cmd.Flags().String("shape", "tercet", "tercet or active_projects")
	theirs := cmd.Flags().Bool(
		"archive",
		false,
		"the archive of the other system that was imported, instead of its state",
	)
	return func(c call) error {
		out, err := c.p.Reader.Export(c.ctx, *shape, *theirs)
		if err == nil {
			c.app.term.Raw(out)
		}
		return err
	}
}

// stateGraph draws the tasks.
func stateGraph(cmd *cobra.Command, _ *app) run {
	format := cmd.Flags().String("format", project.GraphMermaid, "dot or mermaid")
	cmd.Long = `Draws an arrow from each task to those that depend on it, and a broken one to the task that it is
part of. Mermaid is drawn by GitHub, GitLab and editors where it stands in a fence. tercet lays out
no picture itself; for one, graphviz takes dot: tercet state graph --format dot | dot -Tsvg >tasks.svg`
	return func(c call) error {
		text, err := c.p.Graph(c.ctx, *format)
		if err == nil &&
			!c.app.answerJSON("tercet.state-graph/1", fields{"format": *format, "text": text}) {
			c.app.term.Raw([]byte(plain.Passage(text)))
		}
		return err
	}
}

// stateLayout lays the file out anew.
func stateLayout(cmd *cobra.Command, _ *app) run {
	cmd.ValidArgs = []string{project.LayoutLines, project.LayoutPretty}
	tx := txFlags(cmd)
	return func(c call) error {
		return c.write(func(p *project.Project) (project.TaskResult, error) {
			return p.SetLayout(c.ctx, *tx, c.args[0])
		})
	}
}

// stateHistory prints the audit log, newest last.
func stateHistory(cmd *cobra.Command, _ *app) run {
	limit := cmd.Flags().Int("limit", 0, "only the last `n` entries")
	return func(c call) error {
		number := 0
		if len(c.args) == 1 {
			n, err := taskNumber(c.args[0])
			if err != nil {
				return err
			}
			number = n
		}

		list, err := c.p.History(c.ctx, number)
		if err != nil {
			return err
		}
		if *limit > 0 {
			list = list[max(0, len(list)-*limit):]
		}
		if c.app.answerJSON("tercet.state-history/1", fields{"entries": list}) {
			return nil
		}

		tab := formats.Table{Columns: []string{"serial", "time", "kind", "what", "session"}}
		for i := range list {
			e := &list[i]
			tab.Rows = append(tab.Rows, []string{
				strconv.FormatUint(e.Serial, 10),
				e.Time,
				e.Kind,
				e.Summary(),
				e.Session,
			})
		}

		c.app.term.Table(tab)
		c.warnChangedOutside()
		return nil
	}
}

// stateDiff compares two states, each a file or the serial of an earlier one.
func stateDiff(c call) error {
	p, err := c.app.open(c.ctx)
	if err != nil {
		return err
	}
	names := append(c.args, "")
	list, err := p.CompareStates(c.ctx, names[0], names[1])
	if err != nil || c.app.answerJSON("tercet.state-diff/1", fields{"differences": list}) {
		return err
	}

	for _, d := range list {
		c.app.term.Answer("%s", d.String())
	}
	if len(list) == 0 {
		c.app.term.Note("no difference")
	}
	return nil
}

// stateInput is the state of a serial as the input of a query.
func (c call) stateInput(word string, files []string) ([]query.Input, error) {
	run, step, ofRun := strings.Cut(word, ":")
	serial := uint64(0)
	if !ofRun {
		var err error
		run = ""
		serial, err = strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil, usage("expected the serial of a state, or RUN:STEP, for --at, got %q", word)
		}
	}

	if len(files) > 0 {
		return nil, usage("expected --at or files, got both")
	}

	p, err := c.app.workspace(c.ctx)
	if err != nil {
		return nil, err
	}
	data, err := p.StateAt(c.ctx, run, step, serial)
	return []query.Input{{Name: "state.json@" + word, Data: data}}, err
}

// stateImport reads tasks out of another file. The file is never changed.
func stateImport(cmd *cobra.Command, a *app) run {
	cmd.Long = `import takes over tasks: from a state.json, from a file with active_projects, or from bare tasks. It
never changes the file. First it reports what is wrong with it, by class: truncated, object_stream,
trailing_comma, wrong_document, duplicate_key, duplicate_task, conflict_markers, syntax, value, file.
--dry-run reports, and ends with the exit code of the import.

A record that cannot be read is left out, and so is a link in a folder of documents: the code is 3.
Of two tasks with one number import takes the active one, else the newer. state.json keeps the records
that it leaves out. A reference to a task that does not exist goes into the notes of its task. With
--strict import refuses the file for any of these.

--repair reads a stream of objects, and past trailing commas and duplicate keys. Of a file that was
cut off it takes the whole tasks. With it, two tasks with one number are no reason for the code 3.

An errors.json beside the file comes along into tercet's own.

Titles of tasks that have only a slug come from the TODO.md beside the file. Completed projects go
into the archive, and so do the tasks of an archive/state.json beside the file. If you name a FOLDER
of the project, such as specs, import reads its state.json and its folders NUMBER_NAME. It copies them
to where documents live, or uses them in place if specs_dir in
config.yaml names that folder. It links each report, plan, summary and review to its task.

Import a file of the project again to take over what changed in it since. A task that changed only
there is replaced, one that changed only here stays. For those that changed on both sides say --ours
or --theirs; without either nothing is written.`
	tx := txFlags(cmd)
	f := cmd.Flags()
	dry := f.Bool("dry-run", false, "report; write nothing")
	f.BoolVar(&a.flags.strict, "strict", false,
		"refuse a file of which something would be left out, and a config.yaml with an unknown key")
	repair := f.Bool("repair", false, "fix what tercet can fix without a guess")
	fresh := f.Bool("fresh-numbers", false, "give tasks whose number is taken a new one")
	ours := f.Bool("ours", false, "keep a task that changed both here and in the file")
	theirs := f.Bool("theirs", false, "take a task that changed both here and in the file")
	return func(c call) error {
		tx.Try = *dry
		o := project.ImportOptions{
			Name:   c.args[0],
			Repair: *repair,
			Fresh:  *fresh,
			Strict: c.app.flags.strict,
			Ours:   *ours,
			Theirs: *theirs,
		}
		if o.Name == "-" {
			src, err := c.app.input("-")
			if err != nil {
				return err
			}
			o.Text = append([]byte{}, src...)
		}

		p, err := c.app.open(c.ctx)
		if err != nil {
			return err
		}
		deferGC()
		r, err := p.Import(c.ctx, *tx, o)
		if r == nil {
			return err
		}
		return c.reportImport(r, err, *dry)
	}
}

// reportImport says what was found and what came of it. The error is that of the import.
func (c call) reportImport(r *project.ImportReport, err error, dry bool) error {
	if r.Archive != nil {
		c.app.term.Note("%s lies beside it and comes along: %s for the archive",
			r.Archive.File, formats.Count(len(r.Archive.Tasks()), "task"))
		if !c.app.flags.json {
			c.importFindings(r.Archive)
		}
	}
	if n := len(r.Errors.Errors); n > 0 {
		c.app.term.Note("errors.json lies beside it and comes along: %s, which /errors groups",
			formats.Count(n, "error"))
	}
	if n := r.Errors.LeftOut; n > 0 {
		c.app.term.Note("errors.json: %s without a message left out", formats.Count(n, "record"))
	}

	c.app.term.Warnings(r.Result.Warnings)
	if err == nil {
		return c.printImport(r, dry)
	}

	if len(r.Unarchived) > 0 {
		c.app.term.Help("the import is done; archive its tasks with: tercet task archive " +
			joinNumbers(r.Unarchived))
	}
	if !c.app.flags.json {
		c.importFindings(r.File)
	}
	return err
}

// printImport prints the report of an import that came to its end.
func (c call) printImport(r *project.ImportReport, dry bool) error {
	m := r.File
	res := r.Result
	failed := m.Err()
	left := m.LeftOut() + r.Errors.LeftOut
	updated := ""
	if list := res.Updated(); len(list) > 0 {
		updated = ", " + formats.Count(len(list), "task") + " updated"
	}

	if !c.app.answerJSON("tercet.state-import/1", fields{
		"file":     m.File,
		"shape":    m.Shape,
		"tasks":    len(m.Tasks()),
		"findings": m.Findings,
		"ok":       failed == nil,
		"dry_run":  dry,
		"serial":   res.Serial,
		"numbers":  nonNil(res.Numbers),
		"changed":  res.Changed,
		"updated":  nonNil(res.Updated()),
		"errors":   len(r.Errors.Errors),
		"left_out": left,
		"kept":     m.Kept(),
		"warnings": nonNil(res.Warnings),
	}) {
		c.importFindings(m)
		switch {
		case failed != nil:
			c.app.term.Say(m.File + " was not imported")
		case dry:
			c.app.term.Note("%s would be imported%s from the shape %s",
				formats.Count(len(res.Numbers), "task"), updated, m.Shape)
		default:
			c.app.term.Answer("%s", joinNumbers(res.Numbers))
			c.app.term.Note("%s imported%s, serial %d",
				formats.Count(len(res.Numbers), "task"), updated, res.Serial)
		}

		if text := keptKinds(m.Kept()); failed == nil && text != "" {
			c.app.term.Note("kept as it is: %s", text)
		}
		if failed == nil && left > 0 {
			c.app.term.Note("%s left out", formats.Count(left, "record"))
			c.app.term.Help(
				"mend what is named above and import again; --strict refuses such a file as " +
					"a whole",
			)
		}
	}

	switch {
	case failed != nil:
		return exitWith(formats.CodeInvalidState)
	case left > 0:
		return shownError{formats.ExitCode(formats.Return{Status: formats.StatusPartial})}
	}

	return nil
}

// keptKinds lists what an import keeps without a place of its own, by kind.
func keptKinds(kinds map[string]int) string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if n := kinds[kind]; n > 0 {
			list = append(list, sprintf("%s (%d)", kind, n))
		}
	}
	return strings.Join(list, ", ")
}

// importFindings prints what is wrong with a file, and how often each class occurs. One note of
// many tasks is a line.
func (c call) importFindings(m *project.Import) {
	counts := map[string]int{}
	same := map[string][]string{}
	for _, f := range m.Findings {
		task, text, _ := strings.Cut(f.Message, ": ")
		same[text] = append(same[text], task)
	}

	for _, f := range m.Findings {
		word := string(f.Class)
		task, text, of := strings.Cut(f.Message, ": ")
		if f.Class != project.ImportNote {
			counts[string(f.Class)]++
			switch {
			case f.Mended:
				word += " (mended)"
			case f.LeftOut:
				word += " (left out)"
			}
		} else if of && len(same[text]) > 2 {
			if task != same[text][0] {
				continue
			}
			f.Message += "; the same for " + formats.FirstFew(same[text][1:], ", ")
		}

		if f.Pos.Line == 0 {
			c.app.term.Note("%s: %s", word, f.Message)
			continue
		}
		c.app.term.Note("%s:%d:%d: %s: %s", m.File, f.Pos.Line, f.Pos.Col, word, f.Message)
		if !f.Mended {
			c.app.term.Help(f.Help)
		}
	}

	for _, class := range slices.Sorted(maps.Keys(counts)) {
		c.app.term.Note("%s: %d", class, counts[class])
	}
}

// joinNumbers are numbers with blanks between them.
func joinNumbers(list []int) string {
	return strings.Trim(sprintf("%v", list), "[]")
}
