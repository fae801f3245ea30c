package state

import (
	"context"
	"errors"
	"io/fs"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// Mark is state.json as it stood before work that may not change it.
type Mark struct {
	real string // where the file lies, past a link
	sha  string
	src  []byte
	mode fs.FileMode
}

// Mark reads the state before work that is done by others than the writers of the state.
func (m *Manager) Mark(context.Context) (Mark, error) {
	real, err := realName(m.cfg.Root, stateFile)
	if err != nil {
		return Mark{}, err
	}
	src, info, err := m.cfg.readState(real)
	if err != nil {
		return Mark{}, err
	}
	return Mark{real: real, sha: digest(src), src: src, mode: info.Mode().Perm()}, nil
}

// Guard takes back a change that no writer made since the mark: the file gets the content again that the audit log
// names. What stood there is given as foreign, empty if the file was removed. changed is false if the file is as it
// was, or as writers left it. A change that another writer has taken over meanwhile is no longer foreign.
func (m *Manager) Guard(ctx context.Context, mark Mark) (foreign []byte, changed bool, err error) {
	if sameState(m.cfg, mark) {
		return nil, false, nil
	}
	err = m.exclusive(ctx, "", func() error {
		audit, err := readAudit(m.cfg.Root)
		if err != nil {
			return err
		}
		real, err := realName(m.cfg.Root, stateFile)
		moved := err != nil || real != mark.real
		if !moved {
			foreign, err = readFile(m.cfg.Root, real, maxState)
		}
		if err != nil && !moved && !errors.Is(err, fs.ErrNotExist) {
			return ioFailure("reading", stateFile, err)
		}
		now, last := "", audit.state
		if err == nil && !moved {
			now = digest(foreign)
		}
		if now == mark.sha || audit.there && (now == last.Post || last.announces() && now == last.Pre) {
			return nil
		}
		changed = true
		src := m.lastWritten(mark, audit)
		if src == nil {
			return formats.Fail(formats.CodeInvalidState, helpExternal,
				"%s was changed from outside, and no copy of what stood there is left", stateFile)
		}
		if err := atomicfile.WriteIn(m.cfg.Root, mark.real, src, atomicfile.Options{Mode: mark.mode}); err != nil {
			return ioFailure("writing", stateFile, err)
		}
		return nil
	})
	return foreign, changed, err
}

// sameState tells that nothing was written since the mark. The lock is not needed for that.
func sameState(cfg Config, mark Mark) bool {
	real, err := realName(cfg.Root, stateFile)
	if err != nil || real != mark.real {
		return false
	}
	src, err := readFile(cfg.Root, real, maxState)
	return err == nil && digest(src) == mark.sha
}

// lastWritten is the content that the last writer left, nil if no copy of it is there.
func (m *Manager) lastWritten(mark Mark, audit *auditLog) []byte {
	if !audit.there || mark.sha == audit.state.Post {
		return mark.src
	}
	if c := m.wrote.Load(); c != nil && c.sha == audit.state.Post {
		return c.src
	}
	for _, src := range m.cfg.copies {
		if digest(src) == audit.state.Post {
			return src
		}
	}
	return nil
}
