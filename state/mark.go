package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"tercet/formats"
	"tercet/state/files"
	"tercet/state/history"
	"tercet/state/statefile"
)

// Mark is a snapshot of the state before work that must not change it.
type Mark struct {
	resolved string // path of state.json with links resolved
	sha      string
	src      []byte
	log      []byte // whole lines of audit.jsonl
	backups  []uint64
}

// Mark takes a snapshot of state.json, its log and the names of its backups, before other writers
// work.
func (m *Manager) Mark() (mark Mark, err error) {
	mark.resolved, err = files.ResolveLinks(m.cfg.Root, statefile.Path)
	if err != nil {
		return Mark{}, err
	}

	// No lock is held, so another writer may come in between. What it writes is recorded in the
	// log, which is read first.
	mark.log, err = history.LogText(m.cfg.Root)
	if err != nil {
		return Mark{}, err
	}

	mark.src, _, err = m.cfg.readState(mark.resolved)
	if err != nil {
		return Mark{}, err
	}
	mark.sha = formats.Sum(mark.src)

	mark.backups, err = history.Backups(m.cfg.Root)
	if err != nil {
		return Mark{}, files.Failure("reading the folder", history.BackupDir, err)
	}
	return mark, nil
}

// Guard finds changes of the state since the mark that tercet did not make. The error is then
// DENIED and names them; found is the content of state.json, empty if the file is gone. Guard
// neither accepts nor reverts them: a line in the log makes every write fail until Adopt accepts
// the file or Restore takes a backup. A change that another Manager has accepted meanwhile is not
// foreign.
func (m *Manager) Guard(ctx context.Context, mark Mark) (found []byte, err error) {
	if m.unchangedSince(mark) {
		return nil, nil
	}
	err = m.withLock(ctx, "", func() error {
		audit, err := history.ReadLog(m.cfg.Root)
		if err != nil {
			return err
		}

		if doc, err := statefile.Parse(statefile.Path, mark.src); err == nil {
			audit.Seal = m.cfg.seal(doc.Lineage)
		}

		currentSHA := ""
		resolved, err := files.ResolveLinks(m.cfg.Root, statefile.Path)
		if err == nil && resolved == mark.resolved {
			found, err = files.Read(m.cfg.Root, resolved, files.MaxState)
			if err == nil {
				currentSHA = formats.Sum(found)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return files.Failure("reading", statefile.Path, err)
			}
		}

		added := audit.Since(mark.log)
		expected := mark.sha
		last, _ := history.LastState(added)
		recorded, _ := history.LastState(mark.log)
		if last.Kind == "" && recorded.IsIntent() && recorded.Pre == mark.sha {
			last = recorded // written ahead before the mark; the write may have happened since
		}
		if last.Kind != "" {
			expected = last.Post
			if last.IsIntent() && last.Pre == currentSHA {
				expected = currentSHA // the write was killed before the rename
			}
		}

		var what string
		switch {
		case audit.StateLine.Kind == history.KindDenied:
			what = "state.json was changed" // perhaps by another worker
		case added == nil:
			what = "audit.jsonl was rewritten"
		case audit.AnyUnsealed(added):
			what = "audit.jsonl got a line"
		case currentSHA != expected:
			what = "state.json was changed"
		case m.lostBackup(mark, added):
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
					audit.MaxSerial),
				"%s",
				what,
			),
			audit.Append(history.Line{
				Serial: audit.MaxSerial,
				Kind:   history.KindDenied,
				File:   statefile.Path,
				Time:   timestamp(m.cfg.now()),
				Pre:    currentSHA,
				Post:   expected,
			}),
		)
	})
	return found, err
}

// unchangedSince reports whether nothing was written since the mark. This needs no lock.
func (m *Manager) unchangedSince(mark Mark) bool {
	now, err := m.Mark()
	return err == nil && now.resolved == mark.resolved && now.sha == mark.sha &&
		bytes.Equal(now.log, mark.log) &&
		slices.Equal(now.backups, mark.backups)
}

// lostBackup reports whether a backup of the mark is gone that no writer had a reason to remove. An
// aborted write removes the copy of its own state.
func (m *Manager) lostBackup(mark Mark, fresh []byte) bool {
	for l := range history.Lines(fresh) {
		if l.Kind == history.KindAborted {
			return false
		}
	}

	remaining, err := history.Backups(m.cfg.Root)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(mark.backups, func(serial uint64) bool {
		return !slices.Contains(remaining, serial) && (len(remaining) < keepBackups ||
			serial > remaining[0])
	})
}
