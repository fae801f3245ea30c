package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"tercet/formats"
)

// Mark is the state before work that must not change it.
type Mark struct {
	real    string // where state.json lies, past a link
	sha     string
	src     []byte
	log     []byte // whole lines of audit.jsonl
	backups []uint64
}

// Mark reads state.json, its log and the names of its backups, before work by other writers.
func (m *Manager) Mark() (mark Mark, err error) {
	if mark.real, err = realName(m.cfg.Root, stateFile); err != nil {
		return Mark{}, err
	}
	// No lock is held: a writer may come between. What it writes then is told by the log, which is
	// read first.
	if mark.log, err = m.cfg.logLines(); err != nil {
		return Mark{}, err
	}
	if mark.src, _, err = m.cfg.readState(mark.real); err != nil {
		return Mark{}, err
	}
	mark.sha = formats.Sum(mark.src)
	if mark.backups, err = backups(m.cfg); err != nil {
		return Mark{}, ioFailure("reading the folder", backupDir, err)
	}
	return mark, nil
}

// logLines reads the whole lines of audit.jsonl, none if there is no file.
func (c Config) logLines() ([]byte, error) {
	data, err := readIf(c.Root, auditFile, maxAudit)
	return data[:bytes.LastIndexByte(data, '\n')+1], err
}

// Guard finds foreign changes of the state since the mark. The error is then DENIED and names them;
// found is the content of state.json, empty if the file is gone. Guard neither accepts nor reverts
// them: a line in the log makes every write fail until Adopt accepts the file or Restore takes a
// backup. A change that another Manager has accepted meanwhile is not foreign.
func (m *Manager) Guard(ctx context.Context, mark Mark) (found []byte, err error) {
	if m.untouched(mark) {
		return nil, nil
	}
	err = m.exclusive(ctx, "", func() error {
		audit, err := readAudit(m.cfg.Root)
		if err != nil {
			return err
		}

		if doc, err := parseDocument(stateFile, mark.src); err == nil {
			audit.seal = m.cfg.seal(doc.Lineage)
		}
		now := ""
		real, err := realName(m.cfg.Root, stateFile)
		if err == nil && real == mark.real {
			if found, err = readFile(m.cfg.Root, real, maxState); err == nil {
				now = formats.Sum(found)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return ioFailure("reading", stateFile, err)
			}
		}
		fresh := audit.since(mark)
		expected := mark.sha
		last, _ := lastState(fresh)
		before, _ := lastState(mark.log)
		if last.Kind == "" && before.announces() && before.Pre == mark.sha {
			last = before // it was announced then, and happened or did not since
		}
		if last.Kind != "" {
			expected = last.Post
			if last.announces() && last.Pre == now {
				expected = now // a write that was killed before it happened
			}
		}
		var what string
		switch {
		case audit.state.Kind == lineDenied:
			what = "state.json was changed" // perhaps by what another worker did
		case fresh == nil:
			what = "audit.jsonl was rewritten"
		case audit.seal.broken(fresh):
			what = "audit.jsonl got a line"
		case now != expected:
			what = "state.json was changed"
		case m.lostBackup(mark, fresh):
			what = "a backup was removed"
		default:
			return nil
		}

		return errors.Join(
			formats.Fail(
				formats.CodeDenied,
				fmt.Sprintf("'tercet state diff %d' shows it; if it was you, "+
					"'tercet state adopt' takes it, else 'tercet state restore' goes back; until "+
					"then every write is refused",
					audit.high),
				"%s",
				what,
			),
			audit.append(auditLine{
				Serial: audit.high,
				Kind:   lineDenied,
				File:   stateFile,
				Time:   stamp(m.cfg.now()),
				Pre:    now,
				Post:   expected,
			}),
		)
	})
	return found, err
}

// untouched tells that nothing was written since the mark. The lock is not needed for that.
func (m *Manager) untouched(mark Mark) bool {
	now, err := m.Mark()
	return err == nil && now.real == mark.real && now.sha == mark.sha &&
		bytes.Equal(now.log, mark.log) &&
		slices.Equal(now.backups, mark.backups)
}

// since gives the lines that came behind those of the mark, nil if these do not stand where they
// stood.
func (a *auditLog) since(mark Mark) []byte {
	all := a.data
	from := segmentsBefore(mark.log)
	for n := a.segments; n > from; n-- {
		data, err := readFile(a.root, segmentName(n), maxAudit)
		if err != nil {
			return nil
		}
		all = slices.Concat(data, all)
	}
	if !bytes.HasPrefix(all, mark.log) || len(mark.log) > 0 && a.segments < from {
		return nil
	}
	return append([]byte{}, all[len(mark.log):]...)
}

// lostBackup tells whether a backup of the mark is gone that no writer had a reason to remove. A
// write that did not happen takes the copy of its state away again.
func (m *Manager) lostBackup(mark Mark, fresh []byte) bool {
	for l := range auditLines(fresh) {
		if l.Kind == lineAborted {
			return false
		}
	}
	now, err := backups(m.cfg)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(mark.backups, func(serial uint64) bool {
		return !slices.Contains(now, serial) && (len(now) < keepBackups || serial > now[0])
	})
}
