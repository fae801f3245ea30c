package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/atomicfile"
	"tercet/internal/huge"
	"tercet/internal/jsonx"
	"tercet/state/exchange"
	"tercet/state/files"
	"tercet/state/history"
	"tercet/state/statefile"
)

// Manager is the only writer of state.json, the archive and the audit log. It is safe for
// concurrent use; its writes are serialized, also between processes.
type Manager struct {
	cfg      Config
	writeSem chan struct{} // holds one value during a write
	// lastWritten is the state that this manager wrote last. It saves reading the file for TODO.md.
	lastWritten atomic.Pointer[statefile.Document]
	// committed is the audit line of the last file that the current write has renamed into place.
	// Whoever holds writeSem owns it.
	committed *history.Line
}

// NewManager makes the writer of a workspace. It opens nothing before its first use.
func NewManager(cfg Config) (*Manager, error) {
	if err := cfg.check(true); err != nil {
		return nil, err
	}
	return &Manager{cfg: cfg, writeSem: make(chan struct{}, 1)}, nil
}

// Apply runs one transaction: under the lock, all or nothing, durable on return. A repeated
// transaction id is answered from the audit log. A transaction that changes nothing writes nothing.
func (m *Manager) Apply(ctx context.Context, tx Tx) (Result, error) {
	if err := m.checkTx(&tx); err != nil {
		return Result{}, err
	}

	var res Result
	var todo *todoPlan
	err := m.withSession(ctx, tx.Session, false, func(s *session) (err error) {
		res, todo, err = s.apply(tx)
		res.Warnings = append(s.warnings, res.Warnings...)
		return err
	})
	if err != nil && !isNotDurable(err) {
		return Result{Warnings: res.Warnings}, err
	}

	switch {
	case todo != nil:
		res.Warnings = append(res.Warnings, m.renderTodo(ctx, todo.sha)...)
	case res.Changed: // also a replayed one, whose process may have been killed before it rendered
		res.Warnings = append(res.Warnings, m.renderTodo(ctx, "")...)
	}
	return res, err
}

// apply applies a transaction to an open state. The plan is that of a sync.
func (s *session) apply(tx Tx) (Result, *todoPlan, error) {
	if !tx.fresh {
		line, err := s.audit.Transaction(tx.ID)
		if line != nil || err != nil {
			return recordedResult(line), nil, err
		}
	}
	if want := tx.ExpectedSerial; want != nil && *want != s.serial {
		return Result{}, nil, formats.Fail(formats.CodePrecondition,
			"read the state again and repeat the change",
			"expected serial %d, got %d", *want, s.serial)
	}

	if op, ok := tx.Ops[0].(planOp); ok {
		res, err := s.rewritePlan(tx, op)
		return res, nil, err
	}

	d, err := s.draft(tx)
	if err != nil {
		return Result{Warnings: d.warnings}, nil, err
	}

	res := Result{
		Serial:   s.serial,
		Txn:      tx.ID,
		Numbers:  d.numbers,
		Verdicts: d.verdicts,
		Warnings: d.warnings,
	}
	if !d.hasChanges() {
		return res, d.todo, nil
	}

	if s.doc.NextNumber <= s.doc.Highest() {
		s.warn(fmt.Sprintf("next_number was %d, below the highest task; set to %d",
			s.doc.NextNumber, d.nextNumber))
	}
	if s.doc.BOM {
		s.warn("the byte order mark of state.json is left out")
	}

	line := s.newLogLine(tx)
	line.Numbers = res.Numbers
	line.Verdicts = res.Verdicts
	if d.discardRemoved {
		line.Kind = history.KindUndo
	}
	res.Changed = true
	res.Serial = line.Serial
	return res, d.todo, s.write(d, line)
}

// recordedResult is the result of a transaction that the log has; nil is an empty one.
func recordedResult(l *history.Line) Result {
	if l == nil {
		return Result{}
	}
	return Result{
		Serial:   l.Serial,
		Txn:      l.Txn,
		Numbers:  l.Numbers,
		Verdicts: l.Verdicts,
		Changed:  true,
		Replayed: true,
	}
}

// draft applies the operations of a transaction and checks the result; nothing is written.
func (s *session) draft(tx Tx) (*draft, error) {
	d := newDraft(s.cfg, s.doc, tx, s.loadArchive)
	for _, op := range tx.Ops {
		d.op = op.name()
		if err := op.apply(d); err != nil {
			return d, err
		}
	}
	return d, d.check()
}

func isNotDurable(err error) bool {
	return err != nil && formats.CodeOf(err) == formats.CodeNotDurable
}

// maxTxn bounds a transaction id, in bytes.
const maxTxn = 200

func (m *Manager) checkTx(tx *Tx) error {
	tx.fresh = tx.ID == ""
	if tx.fresh {
		tx.ID = m.cfg.NewID()
	}

	plain := func(s string) bool {
		return len(s) <= maxTxn && strings.IndexFunc(s,
			func(r rune) bool {
				return r <= ' ' || r > '~' || r == '"' || r == '\\'
			}) < 0
	}
	if tx.ID == "" || !plain(tx.ID) {
		return invalidOp("transaction",
			0, "", "expected id of at most %d printable characters, got %q", maxTxn, tx.ID)
	}
	if !plain(tx.Session) || !plain(tx.Run) {
		return invalidOp("transaction",
			0, "", "expected session and run ids, got %q and %q", tx.Session, tx.Run)
	}

	if len(tx.Ops) == 0 {
		return invalidOp("transaction", 0, "", "expected at least one operation, got none")
	}

	for _, op := range tx.Ops {
		if op == nil {
			return invalidOp("transaction", 0, "", "expected operations, got nil")
		}
		if mustBeAlone(op) && len(tx.Ops) > 1 {
			return invalidOp(op.name(), 0, "give it a transaction of its own",
				"expected it alone in its transaction, got %d operations", len(tx.Ops))
		}
	}

	return nil
}

// InitOptions configures a new state.
type InitOptions struct {
	NextNumber int // number of the first task, 1 if zero
	// Anew continues from the highest number and serial in log and backups if state.json is
	// missing.
	Anew bool
}

// Init writes a new state.json. If there is one, the error wraps fs.ErrExist.
func (m *Manager) Init(ctx context.Context, opt InitOptions) error {
	if opt.NextNumber < 0 || opt.NextNumber > statefile.MaxNumber {
		return invalidOp("init", 0, "", "expected next number from 1, got %d", opt.NextNumber)
	}
	if err := atomicfile.MkdirAll(m.cfg.Root, formats.Workspace, 0); err != nil {
		return files.Failure("making the folder", formats.Workspace, err)
	}

	err := m.withLock(ctx, "", func() error {
		switch _, err := m.cfg.Root.Lstat(statefile.Path); {
		case err == nil:
			return &formats.Failure{
				Code:    formats.CodePrecondition,
				Message: statefile.Path,
				Err:     fs.ErrExist,
				Help:    "the workspace has a state already",
			}
		case !errors.Is(err, fs.ErrNotExist):
			return files.Failure("looking at", statefile.Path, err)
		}

		s, err := m.session()
		if err != nil {
			return err
		}
		fresh := statefile.Doc{Lineage: m.cfg.NewID(), NextNumber: max(opt.NextNumber, 1)}
		if gone := m.cfg.missingStateError(); formats.CodeOf(gone) != formats.CodeNoWorkspace {
			if !opt.Anew {
				return gone
			}
			fresh, err = s.continueNumbers(fresh)
			if err != nil {
				return err
			}
		}
		doc, err := emptyState(statefile.Path, fresh)
		if err != nil {
			return err
		}

		line := history.Line{
			Serial: doc.Serial,
			Kind:   history.KindInit,
			File:   statefile.Path,
			Time:   timestamp(s.now),
			Post:   doc.SHA,
		}
		s.resolved = statefile.Path
		s.audit.Seal = s.cfg.seal(doc.Lineage)
		err = s.commit(change{
			name:     statefile.Path,
			resolved: statefile.Path,
			data:     doc.Src,
			line:     line,
		})
		if err != nil {
			return err
		}

		s.cacheWritten(doc.Doc, doc.SHA)
		return nil
	})
	if err != nil && !isNotDurable(err) {
		return err
	}

	m.renderTodo(ctx, "")
	return err
}

// continueNumbers sets the numbers of a new state above all that the log, the backups and the
// archive have.
func (s *session) continueNumbers(fresh statefile.Doc) (statefile.Doc, error) {
	fresh.Serial = s.audit.MaxSerial + 1
	fresh.NextNumber = max(fresh.NextNumber, s.audit.HighestNumber()+1)

	archive, err := s.loadArchive()
	if err != nil {
		return fresh, err
	}

	backup := history.NewestBackup(s.cfg.Root)
	for _, doc := range []*statefile.Document{archive, backup} {
		if doc != nil {
			fresh.Lineage = doc.Lineage
			fresh.NextNumber = max(fresh.NextNumber, doc.NextNumber, doc.Highest()+1)
		}
	}

	if backup != nil {
		fresh.Serial = max(fresh.Serial, backup.Serial+1)
	}
	return fresh, nil
}

// emptyState makes a state without tasks.
func emptyState(file string, d statefile.Doc) (*statefile.Document, error) {
	src, err := jsonx.Marshal(
		new(jsonx.Object).Set("version", statefile.Version).Set("lineage", d.Lineage).
			Set("serial", jsonNumber(d.Serial)).Set("next_number", d.NextNumber).
			Set("tasks", []any{}),
		"  ",
	)
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeBug,
			Message: "encoding an empty state",
			Err:     err,
		}
	}
	return statefile.Parse(file, append(src, '\n'))
}

// Adopt accepts a foreign change of state.json that Apply refuses because tasks are missing.
func (m *Manager) Adopt(ctx context.Context) (Result, error) {
	var res Result
	err := m.withSession(ctx, "", true, func(s *session) error {
		res = Result{Serial: s.serial, Warnings: s.warnings}
		return nil
	})
	return res, err
}

// Lockable reports whether the lock can be taken now: it takes and releases it, and writes nothing
// else.
func (m *Manager) Lockable(ctx context.Context) error {
	return m.withLock(ctx, "", func() error { return nil })
}

// NewestBackup returns the serial of the newest readable backup.
func (m *Manager) NewestBackup() (serial uint64, ok bool) {
	doc := history.NewestBackup(m.cfg.Root)
	if doc == nil {
		return 0, false
	}
	return doc.Serial, true
}

// Restore makes a backup the current state, with a serial above every known one. A valid current
// state becomes a backup; an invalid one is copied beside the backups.
func (m *Manager) Restore(ctx context.Context, serial uint64) (Result, error) {
	return m.replace(ctx, func(s *session) (Result, error) { return s.restore(serial) })
}

// ResolveMerge takes one side, or both, of a state with markers of an unfinished merge. It keeps a
// copy of the file beside the backups.
func (m *Manager) ResolveMerge(ctx context.Context, how exchange.Resolution) (Result, error) {
	return m.replace(ctx, func(s *session) (Result, error) { return s.resolve(how) })
}

// replace runs fn, which replaces a state that may be invalid, under the lock.
func (m *Manager) replace(
	ctx context.Context,
	fn func(*session) (Result, error),
) (res Result, err error) {
	err = m.withLock(ctx, "", func() error {
		s, err := m.session()
		if err != nil {
			return err
		}
		res, err = fn(s)
		return err
	})
	if err == nil || isNotDurable(err) {
		res.Warnings = append(res.Warnings, m.renderTodo(ctx, "")...)
	}
	return res, err
}

// withLock runs fn as the only writer among the goroutines of this manager and among all
// processes.
func (m *Manager) withLock(ctx context.Context, session string, fn func() error) (err error) {
	limit := m.cfg.lockTimeout()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	l := locker{
		cfg:  m.cfg,
		file: lockFile,
		info: infoFile,
	}

	select {
	case m.writeSem <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return lockTimeout(shortName(lockFile), limit, l.holder())
	}

	defer func() { <-m.writeSem }()

	if !canWrite {
		return formats.Fail(
			formats.CodeDenied,
			"",
			"writing the state is not supported on this system",
		)
	}

	m.committed = nil
	h, err := l.take(ctx, session)
	if err != nil {
		return err
	}
	defer func() {
		unlocking := release(h)
		if err == nil && unlocking != nil && m.committed != nil {
			// The write itself succeeded.
			err = notDurable(m.committed.File, m.committed.Serial, unlocking)
			return
		}
		err = errors.Join(err, unlocking)
	}()

	return fn()
}

// withSession opens the state under the lock and runs fn, again if another program wrote in
// between.
func (m *Manager) withSession(
	ctx context.Context,
	id string,
	adopt bool,
	fn func(*session) error,
) error {
	return m.withLock(ctx, id, func() error {
		var warnings []string
		for try := 1; ; try++ {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			s, err := m.session()
			if err != nil {
				return err
			}

			s.adopt = adopt
			s.warnings = warnings
			if err := s.open(); err != nil {
				return err
			}

			err = fn(s)
			if !errors.Is(err, errChanged) || try == maxTries {
				return err
			}
			warnings = s.warnings
		}
	})
}

// maxTries bounds the attempts of a write that another program, which ignores the lock, interferes
// with.
const maxTries = 3

// newLogLine begins the audit line of a transaction.
func (s *session) newLogLine(tx Tx) history.Line {
	l := history.Line{
		TxnInfo: history.TxnInfo{
			Session: tx.Session,
			Run:     tx.Run,
			Force:   tx.Force,
		},
		Serial: s.serial + 1,
		Txn:    tx.ID,
		Kind:   history.KindWrite,
		File:   statefile.Path,
		Time:   timestamp(s.now),
		Pre:    s.doc.SHA,
	}
	for _, op := range tx.Ops {
		r := op.record()
		maps.DeleteFunc(r, func(_ string, v any) bool {
			return reflect.ValueOf(v).IsZero()
		})
		r["op"] = op.name()
		l.Ops = append(l.Ops, r)
	}
	return l
}

// write commits a draft: state.json alone, or state.json and the archive.
func (s *session) write(d *draft, line history.Line) error {
	for i := range d.restored {
		line.Added = append(line.Added, d.restored[i].Task.Number)
	}
	for _, t := range d.created {
		line.Added = append(line.Added, t.Number)
	}

	for _, n := range slices.Sorted(maps.Keys(d.renamed)) {
		line.Added = append(line.Added, n)
		line.Removed = append(line.Removed, s.doc.Tasks[d.renamed[n]].Number)
	}
	for _, i := range d.removedIndexes() {
		line.Removed = append(line.Removed, s.doc.Tasks[i].Number)
	}

	switch {
	case len(d.removed) > 0 && !d.discardRemoved:
		line.Move = history.MoveOut
		if err := s.addToArchive(d, line); err != nil {
			return err
		}
	case len(d.restored) > 0 && !d.imported:
		line.Move = history.MoveBack
	}

	if err := s.commitDraft(d, line); err != nil {
		if line.Move == history.MoveOut {
			return wrapMoveError(statefile.ArchivePath, statefile.Path, err)
		}
		return err
	}
	if line.Move == history.MoveBack {
		return wrapMoveError(statefile.Path, statefile.ArchivePath, s.removeFromArchive(line))
	}
	return nil
}

// commitDraft commits a draft of state.json.
func (s *session) commitDraft(d *draft, line history.Line) error {
	data, err := d.render(line.Serial)
	if err != nil {
		return err
	}

	line.Post = formats.Sum(data)
	line.Undo = d.undo
	err = s.commit(change{
		name:     statefile.Path,
		resolved: s.resolved,
		data:     data,
		line:     line,
		readInfo: s.info,
		old:      s.doc,
	})

	if err == nil {
		s.cacheWritten(d.doc(line.Serial), line.Post)
	}
	return err
}

// wrapMoveError adds to an error after the first of two files that the move has begun. A write that
// may not be durable is reported as such.
func wrapMoveError(written, missing string, err error) error {
	if err == nil || isNotDurable(err) {
		return err
	}
	return &formats.Failure{
		Code: formats.CodeIO,
		Help: "do not repeat it: the next write finishes the move",
		Err:  err,
		Message: fmt.Sprintf("%s is written, %s is not yet, the next write finishes that",
			written, missing),
	}
}

// cacheWritten remembers the written state for TODO.md.
func (s *session) cacheWritten(doc statefile.Doc, sha string) {
	info, err := s.cfg.Root.Stat(s.resolved)
	if err != nil {
		info = nil // without it the file is read again
	}
	s.m.lastWritten.Store(&statefile.Document{
		Doc:  doc,
		File: statefile.Path,
		SHA:  sha,
		Info: info,
	})
}

// doc returns the typed state of the draft.
func (d *draft) doc(serial uint64) statefile.Doc {
	out := statefile.Doc{
		Version:    d.base.Version,
		Lineage:    d.base.Lineage,
		Serial:     serial,
		NextNumber: d.nextNumber,
	}

	out.Tasks = huge.List[formats.Task](len(d.base.Tasks) + len(d.created) + len(d.restored))
	for t := range d.tasks {
		out.Tasks = append(out.Tasks, *t)
	}
	return out
}

// render encodes a draft and checks the result by reading what changed.
func (d *draft) render(serial uint64) ([]byte, error) {
	c := statefile.Changes{
		Serial:     serial,
		NextNumber: d.nextNumber,
		Changed:    d.changed,
		Replaced:   d.replaced,
		Created:    d.created,
		Removed:    d.removed,
		Restored:   d.restored,
		Renamed:    d.renamed,
		Members:    d.members,
		Layout:     d.layout,
	}

	data, edits, err := d.base.Encode(&c)
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeBug,
			Message: "encoding the state",
			Err:     err,
		}
	}

	if len(data) > files.MaxState {
		return nil, invalidOp(
			"transaction",
			0, "archive tasks that are done, and keep long texts in documents",
			"expected a state of at most %d bytes, got %d", files.MaxState, len(data),
		)
	}

	if why := d.base.Mismatch(data, edits, &c, d.tasks); why != "" {
		return nil, formats.Fail(formats.CodeBug, "",
			"%s", "the encoded state is not what was meant: "+why)
	}

	d.undo = history.ReverseEdits(d.base.Src, edits)
	if d.layout != "" {
		d.undo = history.ReverseWhole(d.base.Src, data)
	}
	return data, nil
}

// jsonNumber converts a serial for Marshal; serials are below 1<<53.
func jsonNumber(n uint64) int64 {
	return int64(n)
}

// rewrite changes the status in one heading of a plan.
func (op SetPhase) rewrite(s *session, tx Tx) (*planRewrite, Result, error) {
	d := newDraft(s.cfg, s.doc, tx, s.loadArchive)
	d.op = op.name()
	t, err := d.editTask(op.Task)
	if err != nil {
		return nil, Result{}, err
	}
	if !slices.Contains(phaseStatuses(), op.Status) {
		return nil, Result{}, d.invalidOp(op.Task, fmt.Sprint("the statuses are ", phaseStatuses()),
			"expected phase status, got %q", op.Status)
	}
	if op.Plan == "" {
		a := t.Newest(formats.ArtifactPlan)
		if a == nil {
			return nil, Result{}, noArtifact(op.Task, "", "plan", "", "")
		}
		op.Plan = a.Path
	}
	if why := files.PathFault(op.Plan); why != "" {
		return nil, Result{}, d.invalidOp(op.Task, "",
			"expected plan inside the project root, got %q: %s", op.Plan, why)
	}

	f, err := s.planFile(op.Task, op.Plan)
	if err != nil {
		return nil, Result{}, err
	}
	f.data, err = s.cfg.Profiles.SetPhase(f.src, op.Phase, op.Status)
	return f, Result{Verdicts: []history.Verdict{{
		Op:   d.op,
		Task: op.Task,
		From: t.Status,
		To:   t.Status,
	}}}, err
}

func phaseStatuses() []documents.PhaseStatus {
	return []documents.PhaseStatus{
		documents.PhaseNotStarted, documents.PhaseInProgress, documents.PhaseCompleted,
		documents.PhasePartial, documents.PhaseBlocked,
	}
}
