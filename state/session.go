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
)

// session is one hold of the lock: the state as it was read and repaired from what a killed write
// left.
type session struct {
	m        *Manager
	cfg      Config
	now      time.Time
	audit    *auditLog
	adopt    bool // a change from outside is taken over even if it loses tasks
	real     string
	info     fs.FileInfo
	doc      *document
	serial   uint64 // of the state; above the file's after a change from outside
	warnings []string

	archive     *document // nil if there is none, or before archived was called
	archiveInfo fs.FileInfo
	archiveReal string
	archiveRead bool
}

// session reads the audit log; the lock is held.
func (m *Manager) session() (*session, error) {
	audit, err := readAudit(m.cfg.Root)
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

// open reads state.json, finishes what a killed write left, and finds out whether another program
// changed the file.
func (s *session) open() error {
	if err := s.read(); err != nil {
		return err
	}
	if err := s.recover(); isNotDurable(err) {
		// It is not the transaction that is written; the next write looks again.
		return formats.Fail(formats.CodeIO, "",
			"%s", "finishing an interrupted write: "+err.Error())
	} else if err != nil {
		return err
	}
	return s.rotate()
}

func (s *session) read() error {
	root := s.cfg.Root
	real, err := realName(root, stateFile)
	if err != nil {
		return err
	}

	s.real = real
	if err := s.sweep(); err != nil {
		return err
	}
	src, info, err := s.cfg.readState(real)
	if err != nil {
		return err
	}

	s.info = info
	if links(info) > 1 {
		// A write that was killed before its rename has left .bak as a name of the same file.
		if bak, err := root.Stat(stateFile + ".bak"); err != nil || !sameFile(bak, info) {
			s.warn("state.json has another name by a hard link; that name keeps the old content")
		}
	}
	doc, err := parseDocument(stateFile, src)
	if err != nil {
		if e, ok := errors.AsType[*SyntaxError](err); ok {
			var copying error
			e.Copy, copying = s.keepCorrupt(src)
			err = errors.Join(err, copying)
		}
		return withBackup(s.cfg, err)
	}

	s.doc = doc
	s.serial = doc.Serial
	s.audit.seal = s.cfg.seal(doc.Lineage)
	return nil
}

// sweep removes the temporary files of killed writes. All of them are made under the lock that is
// held now.
func (s *session) sweep() error {
	err := s.cfg.sweep(
		stateFile,
		path.Base(stateFile)+".bak",
		path.Base(infoFile),
		path.Base(auditFile),
	)
	if s.real != stateFile {
		err = errors.Join(err, s.cfg.sweep(s.real))
	}
	return err
}

// noState says that there is no state.json. Where the log, a backup or an archive tells of tasks,
// that is damage. An init that was killed leaves a log and a backup of serial 0.
func (c Config) noState() error {
	list, err := backups(c)
	if err != nil {
		return ioFailure("reading the folder", backupDir, err)
	}

	_, archive := c.Root.Lstat(archiveFile)
	kept := archive == nil || len(list) > 0 && list[len(list)-1] > 0
	data, err := readIf(c.Root, auditFile, maxAudit)
	if err != nil {
		return err
	}

	for l := range auditLines(data) {
		kept = kept || l.Serial > 0
	}
	if kept {
		return formats.Fail(
			formats.CodeInvalidState,
			"put the newest backup back with: tercet state restore; or begin anew "+
				"after the highest number that was given, with: tercet init --new-state",
			"%s is missing, though tasks were kept here",
			stateFile,
		)
	}
	return &formats.Failure{
		Code:    formats.CodeNoWorkspace,
		Message: stateFile,
		Err:     fs.ErrNotExist,
		Help:    "run tercet init",
	}
}

// recover brings audit log and files together after a kill, and takes over or refuses a change from
// outside.
func (s *session) recover() error {
	log := s.audit
	if !log.there {
		if err := s.doc.tooHigh(); err != nil {
			return err
		}
		return s.finishMove(moveOut, auditLine{})
	}

	last := log.last
	if last.announces() && last.File != stateFile {
		if err := s.recoverOther(last); err != nil {
			return err
		}
	}
	state := log.state
	switch {
	case state.Kind == lineDenied && !s.adopt:
		return deniedState()
	case state.Post == s.doc.sha && state.Kind != lineDenied:
		s.serial = max(s.serial, state.Serial)
	case state.announces() && state.Pre == s.doc.sha && log.last.File == stateFile:
		if err := s.abort(state, s.doc.sha); err != nil {
			return err
		}
	default:
		if err := s.external(state); err != nil {
			return err
		}
		return s.finishMove(moveOut, auditLine{})
	}
	// A move is done when both of its files are; its second file is the last line of a move that
	// came through.
	second := map[string]string{moveOut: stateFile, moveBack: archiveFile}[last.Move]
	if now := log.last; last.Move != "" && (last.File != second || now.Kind == lineAborted) {
		return s.finishMove(last.Move, last)
	}
	return nil
}

// recoverOther looks whether the last announced write of a plan or of the archive happened, and
// removes what it left.
func (s *session) recoverOther(last auditLine) error {
	real, err := realName(s.cfg.Root, last.File)
	if err != nil {
		return err
	}
	if err := s.cfg.sweep(real); err != nil {
		return err
	}
	sha := ""
	src, err := readIf(s.cfg.Root, last.File, maxState)
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
		"%s or its log was changed while a worker ran, and not by tercet", stateFile)
}

// lost refuses a state that another program wrote and that lost tasks. It gives the tasks of the
// last known state.
func (s *session) lost(state auditLine) ([]int, error) {
	if err := s.doc.tooHigh(); err != nil {
		return nil, withBackup(s.cfg, err)
	}
	known, numbers := s.lastKnown(state)
	if known == nil || s.adopt {
		return numbers, nil
	}
	if known.Lineage != s.doc.Lineage {
		return nil, formats.Fail(formats.CodeInvalidState, helpExternal,
			"%s was replaced from outside: expected lineage %s, got %s",
			stateFile, known.Lineage, s.doc.Lineage)
	}

	archive, err := s.archived()
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, n := range numbers {
		if s.doc.find(n) == nil && archive.find(n) == nil {
			missing = append(missing, number(n))
		}
	}

	if len(missing) > 0 {
		return nil, formats.Fail(formats.CodeInvalidState, helpExternal,
			"%s was changed from outside and lost tasks %s", stateFile, strings.Join(missing, ", "))
	}
	return numbers, nil
}

// external takes over a state that another program wrote, unless tasks are lost.
func (s *session) external(state auditLine) error {
	numbers, err := s.lost(state)
	if err != nil {
		return err
	}

	kind := lineExternal
	if s.adopt {
		kind = lineAdopted
	}
	s.serial = max(s.doc.Serial, s.audit.high) + 1
	line := auditLine{
		Serial: s.serial,
		Kind:   kind,
		File:   stateFile,
		Time:   stamp(s.now),
		Pre:    state.Post,
		Post:   s.doc.sha,
	}
	for _, n := range numbers {
		if s.doc.find(n) == nil {
			line.Removed = append(line.Removed, n)
		}
	}

	if err := s.copyState(s.serial, s.doc.src); err != nil {
		return ioFailure("keeping a backup of", stateFile, err)
	}
	if err := s.audit.append(line); err != nil {
		return err
	}

	s.warn(fmt.Sprintf("state.json was changed from outside; taken over as serial %d", s.serial))
	return nil
}

// lastKnown gives the numbers of the tasks after the last known write. They come from a copy of
// that state, or from the backup before it and what the line says. Without either nothing is known.
func (s *session) lastKnown(state auditLine) (*document, []int) {
	for serial, src := range s.cfg.copies {
		sha := formats.Sum(src)
		if sha != state.Post && sha != state.Pre {
			continue
		}
		doc, err := parseDocument(backupName(serial), src)
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
	if doc, _ := newestBackup(s.cfg); doc != nil {
		return doc, nil
	}
	return nil, nil
}

// noBackup says which backups there are.
func noBackup(cfg Config, serial uint64) error {
	list, err := backups(cfg)
	if err != nil {
		return ioFailure("reading the folder", backupDir, err)
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
	name := backupName(serial)
	src, err := readFile(s.cfg.Root, name, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		// The log may lead back further than the backups.
		c, failed := travel(s.cfg)
		if failed != nil {
			return Result{}, failed
		}
		if src, err = c.at(serial); err != nil {
			return Result{}, noBackup(s.cfg, serial)
		}
	}
	if err != nil {
		return Result{}, ioFailure("reading", name, err)
	}
	backup, err := parseDocument(name, src)
	if err != nil {
		return Result{}, err
	}
	left := s.leftOut(backup.Serial)
	res, err := s.put(backup, lineRestored)
	res.Warnings = append(res.Warnings, left...)
	return res, err
}

// maxLeftOut bounds how many changes a restore names.
const maxLeftOut = 20

// leftOut names the changes that were acknowledged after a serial, which a restore of that serial
// takes back.
func (s *session) leftOut(serial uint64) []string {
	var out []string
	for l := range auditLines(s.audit.data) {
		switch {
		case l.File != stateFile:
		case l.Kind == lineAborted && len(out) > 0:
			out = out[:len(out)-1]
		case l.Serial > serial &&
			(l.Kind == lineWrite || l.Kind == lineUndo || l.Kind == lineGroup):
			var what []string
			for _, one := range l.parts() {
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

// resolve takes one side, or both, of a state with conflict markers.
func (s *session) resolve(how Resolution) (Result, error) {
	src, err := readFile(s.cfg.Root, stateFile, maxState)
	if err != nil {
		return Result{}, ioFailure("reading", stateFile, err)
	}

	m, err := Unmark(stateFile, src, how)
	if err != nil {
		return Result{}, err
	}
	doc, err := parseDocument(stateFile, m.Data)
	if err != nil {
		return Result{}, err
	}

	res, err := s.put(doc, lineMerged)
	for _, n := range slices.Sorted(maps.Keys(m.Renumbered)) {
		res.Warnings = append(
			res.Warnings,
			fmt.Sprintf("task %d of their side is task %d now", n, m.Renumbered[n]),
		)
	}

	for _, c := range m.Conflicts {
		res.Warnings = append(res.Warnings, c.String())
	}
	if known, numbers := s.lastKnown(s.audit.state); known != nil {
		for _, n := range numbers {
			if doc.find(n) == nil {
				res.Warnings = append(
					res.Warnings,
					fmt.Sprintf("task %d of the last known state is not in it", n),
				)
			}
		}
	}
	return res, err
}

// put makes a document the state, with a serial above every one seen.
func (s *session) put(backup *document, kind string) (_ Result, err error) {
	root := s.cfg.Root
	if s.real, err = realName(root, stateFile); err != nil {
		return Result{}, err
	}

	old, info, err := readWith(root, s.real, maxState)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Result{}, ioFailure("reading", stateFile, err)
	}
	c := change{
		name: stateFile,
		real: s.real,
		read: info,
	}
	high := max(backup.Serial, s.audit.high)
	s.audit.seal = s.cfg.seal(backup.Lineage)
	res := Result{Changed: true}
	if info != nil {
		c.old, err = parseDocument(stateFile, old)
		if _, broken := errors.AsType[*SyntaxError](err); err != nil && !broken {
			return Result{}, err // a newer version wrote it
		}
		if err != nil {
			kept, err := s.keepCorrupt(old)
			if err != nil {
				return Result{}, ioFailure("keeping a copy of", stateFile, err)
			}
			c.old = nil
			res.Warnings = append(res.Warnings, "the broken state is kept as "+kept)
		} else {
			high = max(high, c.old.Serial)
		}
	}
	d := newDraft(s.cfg, backup, Tx{}, s.archived)
	// also where the state that was there cannot be read
	d.next = max(d.next, s.audit.highestNumber()+1)
	if c.old != nil {
		d.next = max(d.next, c.old.NextNumber)
	}
	data, err := d.render(high + 1)
	if err != nil {
		return Result{}, err
	}

	res.Serial = high + 1
	s.serial = high
	c.data = data
	c.line = auditLine{
		Serial: res.Serial,
		Kind:   kind,
		File:   stateFile,
		Time:   stamp(s.now),
		Pre:    formats.Sum(old),
		Post:   formats.Sum(data),
	}
	if c.old != nil {
		c.line.Undo = boundedUndo(undoWhole(old, data))
	}
	if err := s.commit(c); err != nil {
		return res, err
	}

	s.keep(d.doc(res.Serial), c.line.Post)
	return res, nil
}
