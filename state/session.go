package state

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/formats"
	"tercet/state/exchange"
	"tercet/state/files"
	"tercet/state/history"
	"tercet/state/statefile"
)

// session is one critical section under the lock: the state as it was read, repaired after a killed
// write.
type session struct {
	m        *Manager
	cfg      Config
	now      time.Time
	audit    *history.Log
	adopt    bool // accept an external change even if it loses tasks
	resolved string
	info     fs.FileInfo
	doc      *statefile.Document
	serial   uint64 // of the state; higher than the file's after an external change
	warnings []string

	archive         *statefile.Document // nil if there is none, or before loadArchive was called
	archiveInfo     fs.FileInfo
	archiveResolved string
	archiveRead     bool
}

// session reads the audit log. The caller holds the lock.
func (m *Manager) session() (*session, error) {
	audit, err := history.ReadLog(m.cfg.Root)
	return &session{
		m:     m,
		cfg:   m.cfg,
		now:   m.cfg.now(),
		audit: audit,
	}, err
}

func (s *session) warn(text string) {
	s.warnings = append(s.warnings, text)
}

// open reads state.json, finishes an interrupted write, and checks whether another program changed
// the file.
func (s *session) open() error {
	if err := s.read(); err != nil {
		return err
	}
	if err := s.recover(); isNotDurable(err) {
		// The error is not about this transaction; the next write tries again.
		return formats.Fail(formats.CodeIO, "",
			"%s", "finishing an interrupted write: "+err.Error())
	} else if err != nil {
		return err
	}
	return s.rotate()
}

func (s *session) read() error {
	root := s.cfg.Root
	resolved, err := files.ResolveLinks(root, statefile.Path)
	if err != nil {
		return err
	}

	s.resolved = resolved
	if err := s.sweep(); err != nil {
		return err
	}
	src, info, err := s.cfg.readState(resolved)
	if err != nil {
		return err
	}

	s.info = info
	if linkCount(info) > 1 {
		// A write that was killed before its rename leaves .bak as a second name of the same file.
		if bak, err := root.Stat(statefile.Path + ".bak"); err != nil || !files.Same(bak, info) {
			s.warn("state.json has another name by a hard link; that name keeps the old content")
		}
	}
	doc, err := statefile.Parse(statefile.Path, src)
	if err != nil {
		if e, ok := errors.AsType[*statefile.SyntaxError](err); ok {
			var copying error
			e.Copy, copying = s.copyCorrupt(src)
			err = errors.Join(err, copying)
		}
		return addBackupHint(s.cfg, err)
	}

	s.doc = doc
	s.serial = doc.Serial
	s.audit.Seal = s.cfg.seal(doc.Lineage)
	return nil
}

// sweep removes the temporary files of killed writes. All of them are made under the lock that is
// held now.
func (s *session) sweep() error {
	err := s.cfg.sweep(
		statefile.Path,
		path.Base(statefile.Path)+".bak",
		path.Base(infoFile),
		path.Base(history.AuditFile),
	)
	if s.resolved != statefile.Path {
		err = errors.Join(err, s.cfg.sweep(s.resolved))
	}
	return err
}

// missingStateError is the error for a missing state.json. It is damage if the log, a backup or the
// archive shows that there were tasks. An interrupted init leaves a log and a backup of serial 0.
func (c Config) missingStateError() error {
	list, err := history.Backups(c.Root)
	if err != nil {
		return files.Failure("reading the folder", history.BackupDir, err)
	}

	_, archive := c.Root.Lstat(statefile.ArchivePath)
	hadTasks := archive == nil || len(list) > 0 && list[len(list)-1] > 0
	audit, err := history.ViewLog(c.Root)
	if err != nil {
		return err
	}

	for l := range audit.Lines() {
		hadTasks = hadTasks || l.Serial > 0
	}
	if hadTasks {
		return formats.Fail(
			formats.CodeInvalidState,
			"put the newest backup back with: tercet state restore; or begin anew "+
				"after the highest number that was given, with: tercet init --new-state",
			"%s is missing, though tasks were kept here",
			statefile.Path,
		)
	}
	return &formats.Failure{
		Code:    formats.CodeNoWorkspace,
		Message: statefile.Path,
		Err:     fs.ErrNotExist,
		Help:    "run tercet init",
	}
}

// recover reconciles audit log and files after a kill, and accepts or refuses an external change.
func (s *session) recover() error {
	log := s.audit
	if !log.Exists {
		if err := s.doc.CheckHeadroom(); err != nil {
			return err
		}
		return s.finishMove(history.MoveOut, history.Line{})
	}

	last := log.Last
	if last.IsIntent() && last.File != statefile.Path {
		if err := s.recoverOther(last); err != nil {
			return err
		}
	}

	state := log.StateLine

	switch {
	case state.Kind == history.KindDenied && !s.adopt:
		return deniedState()
	case state.Post == s.doc.SHA && state.Kind != history.KindDenied:
		s.serial = max(s.serial, state.Serial)
	case state.IsIntent() && state.Pre == s.doc.SHA && log.Last.File == statefile.Path:
		if err := s.abort(state, s.doc.SHA); err != nil {
			return err
		}
	default:
		if err := s.acceptExternal(state); err != nil {
			return err
		}
		return s.finishMove(history.MoveOut, history.Line{})
	}

	// A move is complete when both of its files are written. The last line of a complete move is
	// about its second file.
	second := map[string]string{
		history.MoveOut:  statefile.Path,
		history.MoveBack: statefile.ArchivePath,
	}[last.Move]
	if now := log.Last; last.Move != "" &&
		(last.File != second || now.Kind == history.KindAborted) {
		return s.finishMove(last.Move, last)
	}
	return nil
}

// recoverOther checks whether the last write-ahead of a plan or of the archive was carried out, and
// removes its temporary files.
func (s *session) recoverOther(last history.Line) error {
	resolved, err := files.ResolveLinks(s.cfg.Root, last.File)
	if err != nil {
		return err
	}
	if err := s.cfg.sweep(resolved); err != nil {
		return err
	}

	sha := ""
	src, err := files.ReadIfExists(s.cfg.Root, last.File, files.MaxState)
	if err != nil {
		return err
	}
	if src != nil {
		sha = formats.Sum(src)
	}

	if sha == last.Pre {
		return s.abort(last, sha)
	}
	return nil
}

const helpExternal = "take the file as it is with: tercet state adopt; or go back with: tercet " +
	"state restore"

func deniedState() error {
	return formats.Fail(formats.CodeInvalidState, helpExternal,
		"%s or its log was changed while a worker ran, and not by tercet", statefile.Path)
}

// checkExternal refuses a state that another program wrote and that lost tasks. It returns the task
// numbers of the last known state.
func (s *session) checkExternal(state history.Line) ([]int, error) {
	if err := s.doc.CheckHeadroom(); err != nil {
		return nil, addBackupHint(s.cfg, err)
	}

	known, numbers := s.lastKnownState(state)
	if known == nil || s.adopt {
		return numbers, nil
	}
	if known.Lineage != s.doc.Lineage {
		return nil, formats.Fail(formats.CodeInvalidState, helpExternal,
			"%s was replaced from outside: expected lineage %s, got %s",
			statefile.Path, known.Lineage, s.doc.Lineage)
	}

	archive, err := s.loadArchive()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, n := range numbers {
		if s.doc.Find(n) == nil && archive.Find(n) == nil {
			missing = append(missing, strconv.Itoa(n))
		}
	}

	if len(missing) > 0 {
		return nil, formats.Fail(formats.CodeInvalidState, helpExternal,
			"%s was changed from outside and lost tasks %s",
			statefile.Path, strings.Join(missing, ", "))
	}
	return numbers, nil
}

// acceptExternal accepts a state that another program wrote, unless tasks are lost.
func (s *session) acceptExternal(state history.Line) error {
	numbers, err := s.checkExternal(state)
	if err != nil {
		return err
	}

	kind := history.KindExternal
	if s.adopt {
		kind = history.KindAdopted
	}
	s.serial = max(s.doc.Serial, s.audit.MaxSerial) + 1
	line := history.Line{
		Serial: s.serial,
		Kind:   kind,
		File:   statefile.Path,
		Time:   timestamp(s.now),
		Pre:    state.Post,
		Post:   s.doc.SHA,
	}
	for _, n := range numbers {
		if s.doc.Find(n) == nil {
			line.Removed = append(line.Removed, n)
		}
	}

	if err := s.writeBackup(s.serial, s.doc.Src); err != nil {
		return files.Failure("keeping a backup of", statefile.Path, err)
	}
	if err := s.audit.Append(line); err != nil {
		return err
	}

	s.warn(fmt.Sprintf("state.json was changed from outside; taken over as serial %d", s.serial))
	return nil
}

// lastKnownState returns the last state that tercet wrote and the numbers of its tasks. They come
// from a backup of that state, or from the backup before it and the tasks that the line adds and
// removes. Without either it returns nil.
func (s *session) lastKnownState(state history.Line) (*statefile.Document, []int) {
	for serial, src := range history.EachBackup(s.cfg.Root) {
		sha := formats.Sum(src)
		if sha != state.Post && sha != state.Pre {
			continue
		}
		doc, err := statefile.Parse(history.BackupName(serial), src)
		if err != nil {
			continue
		}

		var numbers []int
		for i := range doc.Tasks {
			if n := doc.Tasks[i].Number; sha == state.Post || !slices.Contains(state.Removed, n) {
				numbers = append(numbers, n)
			}
		}
		if sha == state.Pre {
			numbers = append(numbers, state.Added...)
		}
		return doc, numbers
	}

	if doc := history.NewestBackup(s.cfg.Root); doc != nil {
		return doc, nil
	}
	return nil, nil
}

// missingBackupError is the error for a serial without a backup; it lists the existing ones.
func missingBackupError(cfg Config, serial uint64) error {
	list, err := history.Backups(cfg.Root)
	if err != nil {
		return files.Failure("reading the folder", history.BackupDir, err)
	}

	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.FormatUint(n, 10)
	}

	help := "there are no backups"
	if len(words) > 0 {
		help = "there are backups of serial " + strings.Join(words, ", ")
	}
	return formats.Fail(formats.CodeNotFound, help, "no backup of serial %d", serial)
}

// restore replaces the state by a backup.
func (s *session) restore(serial uint64) (Result, error) {
	name := history.BackupName(serial)
	src, err := files.Read(s.cfg.Root, name, files.MaxState)
	if errors.Is(err, fs.ErrNotExist) {
		// The log may reach further back than the backups.
		c, failed := history.Read(s.cfg.Root)
		if failed != nil {
			return Result{}, failed
		}
		src, err = c.At(serial)
		if err != nil {
			return Result{}, missingBackupError(s.cfg, serial)
		}
	}
	if err != nil {
		return Result{}, files.Failure("reading", name, err)
	}

	backup, err := statefile.Parse(name, src)
	if err != nil {
		return Result{}, err
	}

	dropped := s.describeLostWrites(backup.Serial)
	res, err := s.replaceState(backup, history.KindRestored)
	res.Warnings = append(res.Warnings, dropped...)
	return res, err
}

// maxLeftOut bounds how many lost changes a restore lists.
const maxLeftOut = 20

// describeLostWrites describes the changes that were acknowledged after a serial and that a restore
// of that serial loses.
func (s *session) describeLostWrites(serial uint64) []string {
	var out []string
	for l := range s.audit.Lines() {
		switch {
		case l.File != statefile.Path:
		case l.Kind == history.KindAborted && len(out) > 0:
			out = out[:len(out)-1]
		case l.Serial > serial &&
			(l.Kind == history.KindWrite || l.Kind == history.KindUndo ||
				l.Kind == history.KindGroup):
			var what []string
			for _, one := range l.Transactions() {
				for _, v := range one.Verdicts {
					if v.Changed {
						what = append(what, fmt.Sprintf("%s of task %d", v.Op, v.Task))
					}
				}
			}
			out = append(
				out,
				fmt.Sprintf("the write of serial %d is not in it: %s",
					l.Serial, strings.Join(what, ", ")),
			)
		}
	}

	if more := len(out) - maxLeftOut; more > 0 {
		out = append(out[more:], fmt.Sprintf("%d writes before these are not in it either", more))
	}
	return out
}

// resolve replaces a state with conflict markers by one side, or by the merge of both.
func (s *session) resolve(how exchange.Resolution) (Result, error) {
	src, err := files.Read(s.cfg.Root, statefile.Path, files.MaxState)
	if err != nil {
		return Result{}, files.Failure("reading", statefile.Path, err)
	}

	m, err := exchange.Unmark(statefile.Path, src, how)
	if err != nil {
		return Result{}, err
	}
	doc, err := statefile.Parse(statefile.Path, m.Data)
	if err != nil {
		return Result{}, err
	}

	res, err := s.replaceState(doc, history.KindMerged)
	for _, n := range slices.Sorted(maps.Keys(m.Renumbered)) {
		res.Warnings = append(
			res.Warnings,
			fmt.Sprintf("task %d of their side is task %d now", n, m.Renumbered[n]),
		)
	}

	for _, c := range m.Conflicts {
		res.Warnings = append(res.Warnings, c.String())
	}
	if known, numbers := s.lastKnownState(s.audit.StateLine); known != nil {
		for _, n := range numbers {
			if doc.Find(n) == nil {
				res.Warnings = append(
					res.Warnings,
					fmt.Sprintf("task %d of the last known state is not in it", n),
				)
			}
		}
	}
	return res, err
}

// replaceState makes a document the state, with a serial above every known one.
func (s *session) replaceState(backup *statefile.Document, kind string) (_ Result, err error) {
	root := s.cfg.Root
	s.resolved, err = files.ResolveLinks(root, statefile.Path)
	if err != nil {
		return Result{}, err
	}

	old, info, err := files.ReadInfo(root, s.resolved, files.MaxState)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Result{}, files.Failure("reading", statefile.Path, err)
	}
	c := change{
		name:     statefile.Path,
		resolved: s.resolved,
		readInfo: info,
	}

	high := max(backup.Serial, s.audit.MaxSerial)
	s.audit.Seal = s.cfg.seal(backup.Lineage)
	res := Result{Changed: true}
	if info != nil {
		c.old, err = statefile.Parse(statefile.Path, old)
		if _, broken := errors.AsType[*statefile.SyntaxError](err); err != nil && !broken {
			return Result{}, err // written by a newer version of tercet
		}
		if err != nil {
			copyName, err := s.copyCorrupt(old)
			if err != nil {
				return Result{}, files.Failure("keeping a copy of", statefile.Path, err)
			}
			c.old = nil
			res.Warnings = append(res.Warnings, "the broken state is kept as "+copyName)
		} else {
			high = max(high, c.old.Serial)
		}
	}

	d := newDraft(s.cfg, backup, Tx{}, s.loadArchive)
	// this also covers an unreadable state
	d.nextNumber = max(d.nextNumber, s.audit.HighestNumber()+1)
	if c.old != nil {
		d.nextNumber = max(d.nextNumber, c.old.NextNumber)
	}
	data, err := d.render(high + 1)
	if err != nil {
		return Result{}, err
	}

	res.Serial = high + 1
	s.serial = high
	c.data = data
	c.line = history.Line{
		Serial: res.Serial,
		Kind:   kind,
		File:   statefile.Path,
		Time:   timestamp(s.now),
		Pre:    formats.Sum(old),
		Post:   formats.Sum(data),
	}
	if c.old != nil {
		c.line.Undo = history.ReverseWhole(old, data)
	}
	if err := s.commit(c); err != nil {
		return res, err
	}

	s.cacheWritten(d.doc(res.Serial), c.line.Post)
	return res, nil
}
