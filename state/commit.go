package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/state/files"
	"tercet/state/history"
	"tercet/state/statefile"
)

// change is the replacement of one file.
type change struct {
	name, resolved string // project path, and the same with links resolved
	data           []byte
	line           history.Line
	readInfo       fs.FileInfo         // of the file that was read; nil if there was none
	old            *statefile.Document // the replaced state, for the backups; nil for other files
}

// commit writes a change ahead to the audit log, then renames it into place. The bytes are durable
// under a temporary name before the rename, and the rename is durable when commit returns. A
// failure before the rename leaves the file as it was and a line in the audit log that says so.
func (s *session) commit(c change) error {
	root := s.cfg.Root
	if err := s.audit.Append(c.line); err != nil {
		return err
	}

	err := atomicfile.WriteIn(root, c.resolved, c.data, atomicfile.Options{Before: func() error {
		err := s.backup(c)
		if e, ok := errors.AsType[*atomicfile.NotDurableError](err); ok {
			// the backup is not durable; the state is unchanged
			return fmt.Errorf("sync %s: %w", e.Path, e.Err)
		}
		if err != nil {
			return err
		}
		return s.checkUnchanged(c)
	}})
	if err == nil {
		s.m.committed = &c.line
		return nil
	}

	if _, done := errors.AsType[*atomicfile.NotDurableError](err); done {
		return notDurable(c.name, c.line.Serial, err)
	}
	if !errors.Is(err, errChanged) {
		err = files.Failure("writing", c.name, err)
	}
	return errors.Join(err, s.abort(c.line, c.line.Pre))
}

// abort records in the audit log that a change written ahead did not happen.
func (s *session) abort(line history.Line, sha string) error {
	serial := line.Serial
	if line.File == statefile.Path && s.doc != nil {
		serial = s.serial
	}
	if line.File == statefile.Path {
		// Remove the backup of the state that was not written. If it stays, the next write replaces
		// it, because it has the same serial.
		err := atomicfile.RemoveLoose(s.cfg.Root, history.BackupName(line.Serial))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.warn(err.Error())
		}
	}

	for _, one := range line.Transactions() {
		err := s.audit.Append(history.Line{
			Txn:     one.Txn,
			TxnInfo: history.TxnInfo{Session: one.Session, Run: one.Run},
			Serial:  serial,
			Kind:    history.KindAborted,
			File:    line.File,
			Move:    line.Move,
			Time:    timestamp(s.now),
			Pre:     line.Post,
			Post:    sha,
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// backup saves the state that is about to be replaced, as .bak and under its serial, and the new
// state under its own. So every acknowledged state can be restored.
func (s *session) backup(c change) error {
	if c.name != statefile.Path {
		return nil
	}
	if c.readInfo != nil && c.old != nil {
		err := atomicfile.BackupLoose(s.cfg.Root, c.resolved, statefile.Path+".bak")
		if err != nil {
			return err
		}
		_, err = s.cfg.Root.Lstat(history.BackupName(c.old.Serial))
		if errors.Is(err, fs.ErrNotExist) {
			if err := s.writeBackup(c.old.Serial, c.old.Src); err != nil {
				return err
			}
		}
	}
	return s.writeBackup(c.line.Serial, c.data)
}

// writeBackup saves a state under its serial. It is a copy and not a hard link, because an editor
// may write into the file in place.
func (s *session) writeBackup(serial uint64, src []byte) error {
	if err := atomicfile.MkdirAll(s.cfg.Root, history.BackupDir, 0o700); err != nil {
		return err
	}
	err := atomicfile.WriteIn(s.cfg.Root, history.BackupName(serial), src, atomicfile.Options{})
	if err != nil {
		return err
	}
	return s.prune()
}

// prune removes the oldest backups and the temporary files of killed writes.
func (s *session) prune() error {
	if err := atomicfile.Sweep(s.cfg.Root, history.BackupDir); err != nil {
		return err
	}
	list, err := history.Backups(s.cfg.Root)
	for ; err == nil && len(list) > keepBackups; list = list[1:] {
		err = atomicfile.RemoveLoose(s.cfg.Root, history.BackupName(list[0]))
	}
	return err
}

// checkUnchanged refuses to replace a file that is not the one that was read.
func (s *session) checkUnchanged(c change) error {
	info, err := s.cfg.Root.Lstat(c.resolved)
	if c.readInfo == nil && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	if !files.Same(info, c.readInfo) {
		return &formats.Failure{
			Code: formats.CodeTransient,
			Help: "read the state again and repeat the change",
			Err:  errChanged,
		}
	}
	return nil
}

// copyCorrupt copies an unreadable state next to the backups, once for the same bytes.
func (s *session) copyCorrupt(src []byte) (string, error) {
	root := s.cfg.Root
	if err := atomicfile.MkdirAll(root, history.BackupDir, 0o700); err != nil {
		return "", err
	}

	copies, err := fs.Glob(root.FS(), history.BackupDir+"/state.json.corrupt-*")
	if err != nil {
		return "", err
	}
	for _, name := range copies {
		if old, err := files.Read(root, name, files.MaxState); err == nil &&
			string(old) == string(src) {
			return name, nil
		}
	}

	base := path.Join(history.BackupDir, "state.json.corrupt-"+s.now.Format("20060102T150405Z"))
	for name, n := base, 2; ; name, n = fmt.Sprintf("%s-%d", base, n), n+1 {
		_, err := root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return name, atomicfile.WriteIn(root, name, src, atomicfile.Options{Mode: 0o600})
		case err != nil:
			return "", err
		}
	}
}

// addBackupHint adds to the error of an unreadable state which backup restores it.
func addBackupHint(cfg Config, err error) error {
	e, ok := errors.AsType[*statefile.SyntaxError](err)
	if !ok {
		return err
	}
	if doc := history.NewestBackup(cfg.Root); doc != nil {
		e.Backup = doc.File
		e.Restore = "tercet state restore " + strconv.FormatUint(doc.Serial, 10)
	}
	return err
}
