package state

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/state/files"
	"tercet/state/statefile"
	"tercet/state/todo"
)

// todoLockTimeout bounds the wait for another process that renders TODO.md: it writes the same
// state or a newer one.
const todoLockTimeout = 2 * time.Second

// renderTodo renders TODO.md after a write. It never fails a write: its errors are warnings. synced
// is the SHA-256 of an edited file whose edits are now in the state; if it is empty, an edited file
// stays.
func (m *Manager) renderTodo(ctx context.Context, synced string) []string {
	// If another process wrote since, it renders the file itself.
	if c := m.lastWritten.Load(); synced == "" && c != nil {
		if info, err := m.cfg.Root.Stat(statefile.Path); err == nil && !files.Same(info, c.Info) {
			return nil
		}
	}

	cfg := m.cfg
	cfg.LockTimeout = min(todoLockTimeout, cfg.lockTimeout())
	cfg.Notice = nil
	h, err := locker{cfg: cfg, file: todoLock}.take(context.WithoutCancel(ctx), "")
	if err != nil {
		return []string{"TODO.md was not written: " + err.Error()}
	}

	err = m.writeTodo(synced)
	if err = errors.Join(err, release(h)); err != nil {
		return []string{"TODO.md was not written: " + err.Error()}
	}
	return nil
}

// currentDoc returns the current state, without reading the file if this manager wrote it last.
func (m *Manager) currentDoc() (*statefile.Doc, error) {
	if c := m.lastWritten.Load(); c != nil {
		if info, err := m.cfg.Root.Stat(statefile.Path); err == nil && files.Same(info, c.Info) {
			return &c.Doc, nil
		}
	}

	src, err := files.Read(m.cfg.Root, statefile.Path, files.MaxState)
	if err != nil {
		return nil, err
	}

	doc, err := statefile.Parse(statefile.Path, src)
	if err != nil {
		return nil, err
	}
	return &doc.Doc, nil
}

// errTodoEdited means that the user changed TODO.md.
var errTodoEdited = errors.New("it was edited; run tercet task sync")

func (m *Manager) writeTodo(synced string) error {
	root := m.cfg.Root
	doc, err := m.currentDoc()
	if err != nil {
		return err
	}

	resolved, err := files.ResolveLinks(root, todoFile)
	if err != nil {
		return err
	}
	if err := m.cfg.sweep(resolved); err != nil {
		return err
	}

	old, err := files.Read(root, resolved, files.MaxState)
	switch {
	case err == nil && synced != "" && synced == formats.Sum(old):
	case errors.Is(err, fs.ErrNotExist), err == nil && bytes.IndexByte(old, 0) >= 0,
		err == nil && len(old) == 0:
		old = nil
		// TODO.md is not synced to disk, so after a power cut it may be empty or zeros, which no
		// editor writes.
	case err != nil:
		return err
	default:
		serial, intact := todo.Version(old)
		if !intact {
			return errTodoEdited
		}
		if serial >= doc.Serial {
			return nil
		}
	}

	return atomicfile.WriteLoose(root, resolved, todo.Render(doc, old), 0)
}
