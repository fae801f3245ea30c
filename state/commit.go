package state

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// change is the replacement of one file.
type change struct {
	name, resolved string // project path, and the same with links resolved
	data           []byte
	line           auditLine
	readInfo       fs.FileInfo // of the file that was read; nil if there was none
	old            *document   // the replaced state, for the backups; nil for other files
}

// commit writes a change ahead to the audit log, then renames it into place. The bytes are durable
// under a temporary name before the rename, and the rename is durable when commit returns. A
// failure before the rename leaves the file as it was and a line in the audit log that says so.
func (s *session) commit(c change) error {
	root := s.cfg.Root
	if err := s.audit.append(c.line); err != nil {
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
		err = ioFailure("writing", c.name, err)
	}
	return errors.Join(err, s.abort(c.line, c.line.Pre))
}

// abort records in the audit log that a change written ahead did not happen.
func (s *session) abort(line auditLine, sha string) error {
	serial := line.Serial
	if line.File == stateFile && s.doc != nil {
		serial = s.serial
	}
	if line.File == stateFile {
		// Remove the backup of the state that was not written. If it stays, the next write replaces
		// it, because it has the same serial.
		err := atomicfile.RemoveLoose(s.cfg.Root, backupName(line.Serial))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.warn(err.Error())
		}
	}
	for _, one := range line.transactions() {
		err := s.audit.append(auditLine{
			Txn:     one.Txn,
			txnInfo: txnInfo{Session: one.Session, Run: one.Run},
			Serial:  serial,
			Kind:    lineAborted,
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
	if c.name != stateFile {
		return nil
	}
	if c.readInfo != nil && c.old != nil {
		if err := atomicfile.BackupLoose(s.cfg.Root, c.resolved, stateFile+".bak"); err != nil {
			return err
		}
		if _, err := s.cfg.Root.Lstat(backupName(c.old.Serial)); errors.Is(err, fs.ErrNotExist) {
			if err := s.writeBackup(c.old.Serial, c.old.src); err != nil {
				return err
			}
		}
	}
	return s.writeBackup(c.line.Serial, c.data)
}

// writeBackup saves a state under its serial. It is a copy and not a hard link, because an editor
// may write into the file in place.
func (s *session) writeBackup(serial uint64, src []byte) error {
	if err := atomicfile.MkdirAll(s.cfg.Root, backupDir, 0o700); err != nil {
		return err
	}
	err := atomicfile.WriteIn(s.cfg.Root, backupName(serial), src, atomicfile.Options{})
	if err != nil {
		return err
	}
	return s.prune()
}

// prune removes the oldest backups and the temporary files of killed writes.
func (s *session) prune() error {
	if err := atomicfile.Sweep(s.cfg.Root, backupDir); err != nil {
		return err
	}
	list, err := backups(s.cfg.Root)
	for ; err == nil && len(list) > keepBackups; list = list[1:] {
		err = atomicfile.RemoveLoose(s.cfg.Root, backupName(list[0]))
	}
	return err
}

// backupDir has the backups, relative to the project root.
const backupDir = formats.Workspace + "/backups"

// eachBackup iterates over the readable backups, newest first.
func eachBackup(root *os.Root) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) {
		list, err := backups(root)
		if err != nil {
			return // a caller that needs a backup reports that there is none
		}
		for _, serial := range slices.Backward(list) {
			src, err := readFile(root, backupName(serial), maxState)
			if err == nil && !yield(serial, src) {
				return
			}
		}
	}
}

// backups lists the serials of the backups, ascending.
func backups(root *os.Root) ([]uint64, error) {
	entries, err := fs.ReadDir(root.FS(), backupDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []uint64
	for _, e := range entries {
		word, state := strings.CutPrefix(e.Name(), "state-")
		word, json := strings.CutSuffix(word, ".json")
		if n, err := strconv.ParseUint(word, 10, 64); state && json && err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, err
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
	if !sameFile(info, c.readInfo) {
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
	if err := atomicfile.MkdirAll(root, backupDir, 0o700); err != nil {
		return "", err
	}
	copies, err := fs.Glob(root.FS(), backupDir+"/state.json.corrupt-*")
	if err != nil {
		return "", err
	}
	for _, name := range copies {
		if old, err := readFile(root, name, maxState); err == nil && string(old) == string(src) {
			return name, nil
		}
	}
	base := path.Join(backupDir, "state.json.corrupt-"+s.now.Format("20060102T150405Z"))
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

// newestBackup returns the newest readable backup, or nil.
func newestBackup(root *os.Root) *document {
	for serial, src := range eachBackup(root) {
		if doc, err := parseDocument(backupName(serial), src); err == nil {
			return doc
		}
	}
	return nil
}

// withBackup adds to the error of an unreadable state which backup restores it.
func withBackup(cfg Config, err error) error {
	e, ok := errors.AsType[*SyntaxError](err)
	if !ok {
		return err
	}
	if doc := newestBackup(cfg.Root); doc != nil {
		e.Backup = doc.file
		e.Restore = "tercet state restore " + strconv.FormatUint(doc.Serial, 10)
	}
	return err
}
