package main

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/checkup"
	"tercet/internal/plain"
	"tercet/internal/query"
	"tercet/state"
	"tercet/state/exchange"
	"tercet/state/history"
	"tercet/state/statefile"
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
		c.changedOutside()
		return nil
	}
	n, err := taskNumber(c.args[0])
	if err != nil {
		return err
	}
	task, err := c.p.Reader.Task(c.ctx, n)
	if err != nil || c.app.document("tercet.task-show/1", fields{"task": task}) {
		return err
	}
	c.app.term.JSON(task)
	return nil
}

// changedOutside warns if state.json is not as it was written.
func (c call) changedOutside() {
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
	found, err := c.p.Reader.Verify(c.ctx)
	if err != nil {
		return err
	}
	d := &formats.Diagnostics{List: found, Of: formats.CodeInvalidState}
	d.Sort()
	return c.judge("tercet.state-verify/1", fields{}, d, "state.json is valid")
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
	if !c.app.document("tercet.transitions/1", fields{"transitions": table}) {
		c.app.term.Answer("%s", plain.Passage(state.TransitionsText()))
	}
	return nil
}

func stateAdopt(c call) error {
	res, err := c.p.Manager.Adopt(c.ctx)
	if err == nil {
		c.app.done("adopted, serial %d", res.Serial)
	}
	return err
}

func stateRestore(c call) (err error) {
	serial, ok := c.p.Manager.NewestBackup()
	switch {
	case len(c.args) == 1:
		if serial, err = strconv.ParseUint(c.args[0], 10, 64); err != nil {
			return usage("expected the serial of a backup, got %q", c.args[0])
		}
	case !ok:
		return formats.Fail(formats.CodeNotFound, "fix the file by hand", "there is no backup")
	}
	res, err := c.p.Manager.Restore(c.ctx, serial)
	if err != nil {
		return err
	}
	c.app.term.Warnings(res.Warnings)
	c.app.done("restored the backup of serial %d, now serial %d", serial, res.Serial)
	return nil
}

// stateExport prints the state in a shape.
func stateExport(cmd *cobra.Command, _ *app) run {
	shape := cmd.Flags().String("shape", exchange.ShapeTercet, "tercet or active_projects")
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
	format := cmd.Flags().String("format", exchange.GraphMermaid, "dot or mermaid")
	cmd.Long = `Draws an arrow from each task to those that depend on it, and a broken one to the task that it is
part of. Mermaid is drawn by GitHub, GitLab and editors where it stands in a fence. tercet lays out
no picture itself; for one, graphviz takes dot: tercet state graph --format dot | dot -Tsvg >tasks.svg`
	return func(c call) error {
		tasks, err := c.p.Reader.Tasks(c.ctx)
		if err != nil {
			return err
		}
		text, err := exchange.Graph(tasks, *format)
		if err == nil &&
			!c.app.document("tercet.state-graph/1", fields{"format": *format, "text": text}) {
			c.app.term.Raw([]byte(plain.Passage(text)))
		}
		return err
	}
}

// stateLayout lays the file out anew.
func stateLayout(cmd *cobra.Command, _ *app) run {
	cmd.ValidArgs = []string{string(statefile.LayoutLines), string(statefile.LayoutPretty)}
	tx := txFlags(cmd)
	return func(c call) error {
		if !slices.Contains(cmd.ValidArgs, c.args[0]) {
			return usage("expected layout lines or pretty, got %q", c.args[0])
		}
		return c.write(tx, state.SetLayout{To: statefile.Layout(c.args[0])})
	}
}

// stateHistory prints the audit log, newest last.
func stateHistory(cmd *cobra.Command, _ *app) run {
	limit := cmd.Flags().Int("limit", 0, "only the last `n` entries")
	return func(c call) error {
		list, err := c.p.Reader.History(c.ctx)
		if err != nil {
			return err
		}
		if len(c.args) == 1 {
			n, err := taskNumber(c.args[0])
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(e history.Entry) bool {
				return !e.About(n)
			})
		}
		if *limit > 0 {
			list = list[max(0, len(list)-*limit):]
		}
		if c.app.document("tercet.state-history/1", fields{"entries": list}) {
			return nil
		}

		tab := formats.Table{Columns: []string{"serial", "time", "kind", "what", "session"}}
		for i := range list {
			e := &list[i]
			tab.Rows = append(tab.Rows, []string{
				strconv.FormatUint(e.Serial, 10),
				e.Time,
				e.Kind,
				e.What(),
				e.Session,
			})
		}

		c.app.term.Table(tab)
		c.changedOutside()
		return nil
	}
}

// stateDiff compares two states, each a file or the serial of an earlier one.
func stateDiff(c call) (err error) {
	names := append(c.args, "")[:2]
	var text [2][]byte
	for i, name := range names {
		if text[i], err = c.stateNamed(name); err != nil {
			return err
		}
	}
	names[1] = cmp.Or(names[1], formats.Workspace+"/state.json")
	list, err := history.Diff(names[0], text[0], names[1], text[1])
	if err != nil || c.app.document("tercet.state-diff/1", fields{"differences": list}) {
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

// stateNamed gives the bytes of a state: of a file, of a serial, or the present one for the empty
// word.
func (c call) stateNamed(word string) ([]byte, error) {
	serial, err := strconv.ParseUint(word, 10, 64)
	if word != "" && (err != nil || exists(word)) {
		data, err := os.ReadFile(word)
		if err != nil {
			err = broken(formats.CodeUsage, word, err, "name a file or the serial of a state")
		}
		return data, err
	}
	w, err := c.app.workspace(c.ctx)
	if err != nil {
		return nil, err
	}
	if word == "" {
		return w.Reader.Bytes(c.ctx)
	}
	return w.Reader.At(c.ctx, serial)
}

// inputAt is the state of a serial as the input of a query.
func (c call) inputAt(word string, files []string) ([]query.Input, error) {
	run, step, ofRun := strings.Cut(word, ":")
	serial, err := strconv.ParseUint(word, 10, 64)
	switch {
	case err != nil && !ofRun:
		return nil, usage("expected the serial of a state, or RUN:STEP, for --at, got %q", word)
	case len(files) > 0:
		return nil, usage("expected --at or files, got both")
	}
	w, err := c.app.workspace(c.ctx)
	if err != nil {
		return nil, err
	}
	if ofRun {
		if serial, err = w.SerialAt(c.ctx, run, step); err != nil {
			return nil, err
		}
	}
	data, err := w.Reader.At(c.ctx, serial)
	return []query.Input{{Name: "state.json@" + word, Data: data}}, err
}

// stateImport reads tasks out of another file. The file is never changed.
func stateImport(cmd *cobra.Command, _ *app) run {
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

Titles of tasks that have only a slug come from the TODO.md beside the file. Completed projects go
into the archive, and so do the tasks of an archive/state.json beside the file. If you name a FOLDER
of the project, such as specs, import reads its state.json and its folders NUMBER_NAME. It copies them
to where documents live, or uses them in place if specs_dir in
config.yaml names that folder. It links each report, plan, summary and review to its task.`
	tx := txFlags(cmd)
	f := cmd.Flags()
	dry := f.Bool("dry-run", false, "report; write nothing")
	repair := f.Bool("repair", false, "fix what tercet can fix without a guess")
	fresh := f.Bool("fresh-numbers", false, "give tasks whose number is taken a new one")
	return func(c call) error {
		opt := exchange.Options{
			Repair: *repair,
			Fresh:  *fresh,
			Strict: c.app.flags.strict,
		}
		folder, err := importFolders(&c, &opt)
		if err != nil {
			return err
		}

		src, err := c.app.input(c.args[0])
		if err != nil {
			return err
		}
		todo, err := os.ReadFile(filepath.Join(filepath.Dir(c.args[0]), "TODO.md"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.app.term.Note("warning: titles: %s", err)
		}
		opt.Todo = todo // which need not be there
		if opt.Archive, err = archiveBeside(c, opt); err != nil {
			return err
		}
		if opt.Archive != nil && opt.Archive.Err() != nil {
			return c.importReport(opt.Archive, state.Result{}, *dry)
		}

		m := exchange.Read(c.args[0], src, opt)
		if m.Err() != nil {
			return c.importReport(m, state.Result{}, *dry)
		}
		var res state.Result
		op := state.ImportTasks{From: m, Fresh: *fresh}
		if *dry || folder {
			if res, err = c.try(tx, op); err == nil && folder {
				err = opt.Folders.Copy(c.app.project.Root, *dry)
			}
		}
		switch {
		case err == nil && *dry:
			c.app.term.Warnings(res.Warnings)
		case err == nil:
			if res, err = c.apply(tx, op); err == nil {
				err = c.putAway(tx, &res)
			}
		}
		if err != nil {
			if !c.app.flags.json {
				c.importFindings(m)
			}
			return err
		}
		return c.importReport(m, res, *dry)
	}
}

// archiveBeside reads the archive that lies beside the file of an import as its system keeps it;
// nil if there is none.
func archiveBeside(c call, opt exchange.Options) (*exchange.Import, error) {
	name := filepath.Join(filepath.Dir(c.args[0]), filepath.FromSlash(exchange.ArchiveName))
	if c.args[0] == "-" || !exists(name) {
		return nil, nil
	}
	src, err := c.app.input(name)
	if err != nil {
		return nil, err
	}
	opt.Todo = nil
	opt.Folders = exchange.Folders{}
	m := exchange.Read(name, src, opt)
	if m.Err() == nil {
		c.app.term.Note("%s lies beside it and comes along: %s for the archive",
			name, formats.Count(len(m.Tasks()), "task"))
		if !c.app.flags.json {
			c.importFindings(m)
		}
	}
	return m, nil
}

// importFolders finds the folders of tasks that come along where a folder is named instead of a
// file, whose state.json is the file then.
func importFolders(c *call, opt *exchange.Options) (bool, error) {
	name := c.args[0]
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return false, nil //nolint:nilerr // a file is read later, and what is wrong with it said there
	}
	if err := c.app.mayCommand(); err != nil {
		return true, err
	}
	w, err := c.app.workspace(c.ctx)
	if err != nil {
		return true, err
	}
	full, err := filepath.Abs(name)
	if err == nil {
		full, err = filepath.Rel(w.Dir, full)
	}
	if err != nil || full == "." || !filepath.IsLocal(full) {
		return true, usage("expected a folder inside the project %s, got %q", w.Dir, name)
	}
	c.args = []string{filepath.Join(name, "state.json")}
	opt.Folders, err = exchange.FindFolders(
		w.Root,
		filepath.ToSlash(full),
		cmp.Or(w.Config.Specs, formats.Specs),
	)
	return true, err
}

// putAway moves those into the archive that the file has among its completed projects. It is a
// transaction of its own: what was imported stays if it does not come through, and the same import
// again goes on here.
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
		c.app.term.Help("the import is done; archive its tasks with: tercet task archive " +
			numerals(list))
		return err
	}
	res.Serial = moved.Serial
	return nil
}

// importReport says what was found and what came of it.
func (c call) importReport(m *exchange.Import, res state.Result, dry bool) error {
	failed := m.Err()
	left := m.LeftOut()
	if !c.app.document("tercet.state-import/1", fields{
		"file":     m.File,
		"shape":    m.Shape,
		"tasks":    len(m.Tasks()),
		"findings": m.Findings,
		"ok":       failed == nil,
		"dry_run":  dry,
		"serial":   res.Serial,
		"numbers":  nonNil(res.Numbers),
		"changed":  res.Changed,
		"left_out": left,
		"warnings": nonNil(res.Warnings),
	}) {
		c.importFindings(m)
		switch {
		case failed != nil:
			c.app.term.Say(m.File + " was not imported")
		case dry:
			c.app.term.Note("%s would be imported from the shape %s",
				formats.Count(len(res.Numbers), "task"), m.Shape)
		default:
			c.app.term.Answer("%s", numerals(res.Numbers))
			c.app.term.Note("%s imported, serial %d",
				formats.Count(len(res.Numbers), "task"), res.Serial)
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
		return shownAs(formats.CodeInvalidState)
	case left > 0:
		return shown{formats.ExitCode(formats.Return{Status: formats.StatusPartial})}
	}

	return nil
}

// importFindings prints what is wrong with a file, and how often each class occurs. One note of
// many tasks is a line.
func (c call) importFindings(m *exchange.Import) {
	counts := map[exchange.Damage]int{}
	same := map[string][]string{}
	for _, f := range m.Findings {
		task, text, _ := strings.Cut(f.Message, ": ")
		same[text] = append(same[text], task)
	}

	for _, f := range m.Findings {
		word := string(f.Class)
		task, text, of := strings.Cut(f.Message, ": ")
		if f.Class != exchange.DamageNote {
			counts[f.Class]++
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
			f.Message += "; the same for " + checkup.FirstFew(same[text][1:], ", ")
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

// numerals are numbers with blanks between them.
func numerals(list []int) string {
	return strings.Trim(sprintf("%v", list), "[]")
}
