package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// change is one file that is to be replaced.
type change struct {
	name, real string // as it is called, and where it really lies
	data       []byte
	line       auditLine
	read       fs.FileInfo // of the file that was read; nil if there is none yet
	old        *document   // state that is replaced, for the backups; nil for other files
}

// commit announces a change in the audit log, then puts it in place. The bytes are durable under a
// temporary name before the rename, the rename is durable when commit returns. What goes wrong
// before the rename leaves the file as it was and the audit log with a line that says so.
func (s *session) commit(c change) error {
	root := s.cfg.Root
	if err := s.audit.append(c.line); err != nil {
		return err
	}

	err := atomicfile.WriteIn(root, c.real, c.data, atomicfile.Options{Before: func() error {
		err := s.backup(c)
		if e, ok := errors.AsType[*atomicfile.NotDurableError](err); ok {
			// the copy is not durable; the state is as it was
			return fmt.Errorf("sync %s: %w", e.Path, e.Err)
		}
		if err != nil {
			return err
		}
		return s.unmoved(c)
	}})
	if err == nil {
		s.m.put = &c.line
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

// abort says in the audit log that an announced change did not happen.
func (s *session) abort(line auditLine, sha string) error {
	serial := line.Serial
	if line.File == stateFile && s.doc != nil {
		serial = s.serial
	}
	if line.File == stateFile {
		// The copy of what did not become the state. Where it stays, the next write replaces it: it
		// has the same serial.
		err := atomicfile.RemoveLoose(s.cfg.Root, backupName(line.Serial))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.warn(err.Error())
		}
	}
	for _, one := range line.parts() {
		err := s.audit.append(auditLine{
			Txn:    one.Txn,
			about:  about{Session: one.Session, Run: one.Run},
			Serial: serial,
			Kind:   lineAborted,
			File:   line.File,
			Move:   line.Move,
			Time:   stamp(s.now),
			Pre:    line.Post,
			Post:   sha,
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// backup keeps the state that is about to be replaced, as .bak and under its serial, and its
// replacement. So every acknowledged state can be restored at any time.
func (s *session) backup(c change) error {
	if c.name != stateFile {
		return nil
	}
	if c.read != nil && c.old != nil {
		if err := atomicfile.BackupLoose(s.cfg.Root, c.real, stateFile+".bak"); err != nil {
			return err
		}
		if _, err := s.cfg.Root.Lstat(backupName(c.old.Serial)); errors.Is(err, fs.ErrNotExist) {
			if err := s.copyState(c.old.Serial, c.old.src); err != nil {
				return err
			}
		}
	}
	return s.copyState(c.line.Serial, c.data)
}

// copyState keeps a state under its serial. It is no link, because an editor may write into the
// file that stays in place.
func (s *session) copyState(serial uint64, src []byte) error {
	if err := atomicfile.MkdirAll(s.cfg.Root, backupDir, 0o700); err != nil {
		return err
	}
	err := atomicfile.WriteIn(s.cfg.Root, backupName(serial), src, atomicfile.Options{})
	if err != nil {
		return err
	}
	return s.prune()
}

// prune drops the oldest backups, and what killed writes left among them.
func (s *session) prune() error {
	if err := atomicfile.Sweep(s.cfg.Root, backupDir); err != nil {
		return err
	}
	list, err := backups(s.cfg)
	for ; err == nil && len(list) > keepBackups; list = list[1:] {
		err = atomicfile.RemoveLoose(s.cfg.Root, backupName(list[0]))
	}
	return err
}

// copies gives the backups that can be read, newest first.
func (c Config) copies(yield func(uint64, []byte) bool) {
	list, err := backups(c)
	if err != nil {
		return // a caller that needs one gets an error
	}
	for _, serial := range slices.Backward(list) {
		src, err := readFile(c.Root, backupName(serial), maxState)
		if err == nil && !yield(serial, src) {
			return
		}
	}
}

// backups lists the serials of the backups, ascending.
func backups(cfg Config) ([]uint64, error) {
	entries, err := fs.ReadDir(cfg.Root.FS(), backupDir)
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

// unmoved refuses to replace a file that is no longer the one that was read.
func (s *session) unmoved(c change) error {
	info, err := s.cfg.Root.Lstat(c.real)
	if c.read == nil && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !sameFile(info, c.read) {
		return &formats.Failure{
			Code: formats.CodeTransient,
			Help: "read the state again and repeat the change",
			Err:  errChanged,
		}
	}
	return nil
}

// keepCorrupt copies a state that cannot be read beside the backups, once for the same bytes.
func (s *session) keepCorrupt(src []byte) (string, error) {
	root := s.cfg.Root
	if err := atomicfile.MkdirAll(root, backupDir, 0o700); err != nil {
		return "", err
	}
	kept, err := fs.Glob(root.FS(), backupDir+"/state.json.corrupt-*")
	if err != nil {
		return "", err
	}
	for _, name := range kept {
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

// newestBackup finds the newest backup that can be read; nil if there is none.
func newestBackup(cfg Config) (*document, string) {
	for serial, src := range cfg.copies {
		if doc, err := parseDocument(backupName(serial), src); err == nil {
			return doc, doc.file
		}
	}
	return nil, ""
}

// withBackup adds the way out to the error of a state that cannot be read.
func withBackup(cfg Config, err error) error {
	e, ok := errors.AsType[*SyntaxError](err)
	if !ok {
		return err
	}
	if doc, name := newestBackup(cfg); doc != nil {
		e.Backup = name
		e.Restore = "tercet state restore " + strconv.FormatUint(doc.Serial, 10)
	}
	return err
}
