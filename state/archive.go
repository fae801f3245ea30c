package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/state/exchange"
	"tercet/state/files"
	"tercet/state/history"
	"tercet/state/statefile"
)

// loadArchive returns the archive, nil if there is none. It is read once a session.
func (s *session) loadArchive() (*statefile.Document, error) {
	if s.archiveRead {
		return s.archive, nil
	}

	resolved, err := files.ResolveLinks(s.cfg.Root, statefile.ArchivePath)
	if err != nil {
		return nil, err
	}
	doc, info, err := readArchive(s.cfg, resolved)
	if err != nil {
		return nil, err
	}

	s.archive = doc
	s.archiveInfo = info
	s.archiveResolved = resolved
	s.archiveRead = true
	return doc, nil
}

func readArchive(cfg Config, resolved string) (*statefile.Document, fs.FileInfo, error) {
	src, info, err := files.ReadInfo(cfg.Root, resolved, files.MaxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, files.Failure("reading", statefile.ArchivePath, err)
	}
	doc, err := statefile.Parse(statefile.ArchivePath, src)
	return doc, info, err
}

// addToArchive writes the tasks that a draft removes to the archive, before state.json is written.
func (s *session) addToArchive(d *draft, line history.Line) error {
	archive, err := s.loadArchive()
	if err != nil {
		return err
	}

	base := archive
	if base == nil {
		base, err = emptyState(
			statefile.ArchivePath,
			statefile.Doc{Lineage: s.doc.Lineage, NextNumber: d.nextNumber},
		)
		if err != nil {
			return err
		}
	}

	a := newDraft(s.cfg, base, d.tx, s.loadArchive)
	a.nextNumber = max(a.nextNumber, d.nextNumber)
	for _, i := range d.removedIndexes() {
		t := s.doc.Tasks[i]
		if base.Find(t.Number) != nil {
			return activeAndArchived(s.doc, i)
		}
		a.restored = append(a.restored,
			statefile.RawTask{Task: t, Raw: s.doc.Values[i].Raw(s.doc.Src)})
	}
	return s.writeArchive(a, archive, line)
}

// writeArchive commits a draft of the archive.
func (s *session) writeArchive(a *draft, old *statefile.Document, line history.Line) error {
	data, err := a.render(a.base.Serial + 1)
	if err != nil {
		return err
	}

	dir := path.Dir(s.archiveResolved)
	if old == nil {
		if err := atomicfile.MkdirAll(s.cfg.Root, dir, 0); err != nil {
			return files.Failure("making the folder", dir, err)
		}
	}
	if err := s.cfg.sweep(s.archiveResolved); err != nil {
		return err
	}

	line.File = statefile.ArchivePath
	line.Pre = ""
	line.Post = formats.Sum(data)
	line.Undo = nil
	line.Added, line.Removed = line.Removed, line.Added
	if old != nil {
		line.Pre = old.SHA
	}
	c := change{
		name:     statefile.ArchivePath,
		resolved: s.archiveResolved,
		data:     data,
		line:     line,
		readInfo: s.archiveInfo,
	}
	if err := s.commit(c); err != nil {
		return err
	}

	s.archive = nil
	s.archiveRead = false
	return nil
}

// removeFromArchive removes tasks from the archive that are in state.json again.
func (s *session) removeFromArchive(line history.Line) error {
	archive, err := s.loadArchive()
	if err != nil || archive == nil {
		return err
	}

	a := newDraft(s.cfg, archive, Tx{}, s.loadArchive)
	a.nextNumber = archive.NextNumber
	for _, n := range line.Added {
		if i, ok := archive.Index[n]; ok {
			a.removed[i] = true
		}
	}
	if len(a.removed) == 0 {
		return nil
	}

	if top := archive.Highest(); a.nextNumber <= top {
		a.nextNumber = top + 1
	}
	return s.writeArchive(a, archive, line)
}

// finishMove completes a move between the two files that was interrupted. A task that is in both
// with equal updated goes where the move was going, or to the archive if that is unknown.
func (s *session) finishMove(direction string, cause history.Line) error {
	archive, err := s.loadArchive()
	if err != nil || archive == nil {
		return err
	}

	d := newDraft(s.cfg, s.doc, Tx{}, s.loadArchive)
	line := history.Line{
		TxnInfo: history.TxnInfo{
			Session:  cause.Session,
			Run:      cause.Run,
			Verdicts: cause.Verdicts,
		},
		Serial: s.serial + 1,
		Txn:    cause.Txn,
		Kind:   history.KindWrite,
		File:   statefile.Path,
		Move:   direction,
		Time:   timestamp(s.now),
		Pre:    s.doc.SHA,
	}

	var numbers []int
	for i := range s.doc.Tasks {
		t := &s.doc.Tasks[i]
		other := archive.Find(t.Number)
		if other == nil {
			continue
		}
		if other.Updated != t.Updated {
			return activeAndArchived(s.doc, i)
		}
		numbers = append(numbers, t.Number)
		d.removed[i] = true
	}

	if len(numbers) == 0 {
		return nil
	}
	s.warn(fmt.Sprintf("finished the interrupted move of tasks %v", numbers))
	if direction == history.MoveBack {
		line.Serial = s.serial
		line.Added = numbers
		return s.removeFromArchive(line)
	}

	line.Removed = numbers
	if err := s.commitDraft(d, line); err != nil {
		return err
	}

	warnings := s.warnings
	err = s.read()
	s.warnings = warnings
	return err
}

// activeAndArchived reports a task that is active and archived with different content.
func activeAndArchived(doc *statefile.Document, i int) error {
	return statefile.Invalid(doc.File, doc.Src, statefile.Finding(
		formats.SeverityError,
		doc.File,
		statefile.Position(doc.Src, doc.Values[i].Start),
		"remove one of the two by hand",
		fmt.Sprintf("task %d is active here and archived in %s, and the two differ",
			doc.Tasks[i].Number, statefile.ArchivePath),
	))
}

// apply adds the tasks of an import.
func (op ImportTasks) apply(d *draft) error {
	if op.From == nil {
		return d.invalidOp(0, "", "expected tasks, got none")
	}
	archive, err := d.loadArchive()
	if err != nil {
		return err
	}
	add, err := op.From.Into(exchange.Target{
		Base:      d.base,
		Archive:   archive,
		Fresh:     op.Fresh,
		Conflicts: op.Conflicts,
	})
	if err != nil {
		return err
	}

	for _, t := range add.Unchanged {
		d.addVerdict(t, t.Status, false)
	}
	for i := range add.Tasks {
		t := &add.Tasks[i]
		d.restored = append(d.restored, t.RawTask)
		d.numbers = append(d.numbers, t.Task.Number)
		from := formats.TaskStatus("")
		if t.Archived {
			from = t.Task.Status // it was archived in the source, which the log records
		}
		d.addVerdict(&t.Task, from, true)
	}
	for i := range add.Replaced {
		if err := d.replaceTask(&add.Replaced[i]); err != nil {
			return err
		}
	}
	d.sortRestored()
	slices.Sort(d.numbers)
	d.imported = true
	d.nextNumber = add.NextNumber
	d.members = add.Members
	d.warnings = append(d.warnings, add.Warnings...)
	return nil
}

// replaceTask puts the task of an import in the place of the one that an earlier import added. It
// refuses one with a live lease of another session.
func (d *draft) replaceTask(t *exchange.Added) error {
	n := t.Task.Number
	old, err := d.editTask(n)
	if err != nil {
		return err
	}

	from := old.Status
	switch {
	case t.FormOnly:
	case t.Archived:
		from = t.Task.Status // it is archived in the source now
	case from == t.Task.Status:
		from = "" // nothing to archive
	}

	*old = t.Task
	if d.replaced == nil {
		d.replaced = map[int][]byte{}
	}
	d.replaced[d.base.Index[n]] = t.Raw
	d.addVerdict(&t.Task, from, !t.FormOnly)
	return nil
}
