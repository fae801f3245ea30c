package state

import (
	"context"

	"tercet/state/history"
	"tercet/state/statefile"
)

// Try returns the result that Apply would have, with the same code, without taking the lock and
// without writing. It does not support SyncTasks.
func (m *Manager) Try(ctx context.Context, tx Tx) (Result, error) {
	if err := m.checkTx(&tx); err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}

	s := &session{
		m:   m,
		cfg: m.cfg,
		now: m.cfg.now(),
	}
	if err := s.openReadOnly(); err != nil {
		return Result{}, err
	}

	line, err := s.audit.Transaction(tx.ID)
	if line != nil || err != nil {
		return recordedResult(line), err
	}
	if op, ok := tx.Ops[0].(planOp); ok {
		f, res, err := op.rewrite(s, tx)
		res.Serial = s.serial
		res.Changed = f != nil && string(f.data) != string(f.src)
		return res, err
	}

	d, err := s.draft(tx)
	if err == nil {
		_, err = d.render(s.serial + 1)
	}
	if err != nil {
		return Result{Warnings: d.warnings}, err
	}
	return Result{
		Serial:   s.serial,
		Numbers:  d.numbers,
		Verdicts: d.verdicts,
		Warnings: d.warnings,
		Changed:  d.hasChanges(),
	}, nil
}

// openReadOnly is open without the lock. It refuses what open refuses and repairs nothing.
func (s *session) openReadOnly() error {
	src, _, err := s.cfg.readState(statefile.Path)
	if err != nil {
		return err
	}

	s.doc, err = statefile.Parse(statefile.Path, src)
	if err != nil {
		return addBackupHint(s.cfg, err)
	}
	s.audit, err = history.ViewLog(s.cfg.Root)
	if err != nil {
		return err
	}

	state := s.audit.StateLine
	s.serial = max(s.doc.Serial, state.Serial)
	if !s.audit.Exists {
		return s.doc.CheckHeadroom()
	}

	switch {
	case state.Kind == history.KindDenied:
		return deniedState()
	case state.Post == s.doc.SHA, state.IsIntent() && state.Pre == s.doc.SHA:
		return nil
	}

	_, err = s.checkExternal(state)
	return err
}
