package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/jsonx"
)

// Manager is the one writer of state.json, the archive and the audit log. It is safe for concurrent use; its writes happen
// one after the other, also between processes.
type Manager struct {
	cfg   Config
	gate  chan struct{} // holds one value while a write runs
	audit auditLog
	queue queue                    // transactions that wait for a write
	cache atomic.Pointer[document] // the state as it was last read or written
	bare  atomic.Pointer[string]   // sha256 of the body of TODO.md that was last written, if it holds nothing of others
}

// NewManager makes the writer of a workspace. Nothing is opened before the first use.
func NewManager(cfg Config) (*Manager, error) {
	if err := cfg.check(true); err != nil {
		return nil, err
	}
	return &Manager{cfg: cfg, gate: make(chan struct{}, 1), audit: auditLog{root: cfg.Root}}, nil
}

// Apply does one transaction: under the lock, all or nothing, durable when it returns. A transaction whose id the audit log
// holds is not done again but answered from there. A change to what is there already writes nothing. Transactions that wait
// at the same time share one write; each has its own verdict.
func (m *Manager) Apply(ctx context.Context, tx Tx) (Result, error) {
	if err := m.checkTx(&tx); err != nil {
		return Result{}, err
	}
	r := &request{ctx: ctx, tx: tx, done: make(chan struct{})}
	m.wait(r)
	if r.err != nil && !isNotDurable(r.err) {
		return Result{Warnings: r.res.Warnings}, r.err
	}
	return r.res, r.err
}

func isNotDurable(err error) bool {
	_, ok := errors.AsType[*NotDurableError](err)
	return ok
}

// maxTxn is the most bytes of a transaction id.
const maxTxn = 200

func (m *Manager) checkTx(tx *Tx) error {
	if tx.fresh = tx.ID == ""; tx.fresh {
		tx.ID = m.cfg.NewID()
	}
	plain := func(s string) bool {
		return len(s) <= maxTxn && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) < 0
	}
	if tx.ID == "" || !plain(tx.ID) {
		return &OpError{Op: "transaction", Msg: fmt.Sprintf("expected id of at most %d printable characters, got %q", maxTxn, tx.ID)}
	}
	if !plain(tx.Session) || !plain(tx.Run) {
		return &OpError{Op: "transaction", Msg: fmt.Sprintf("expected session and run ids, got %q and %q", tx.Session, tx.Run)}
	}
	if len(tx.Ops) == 0 {
		return &OpError{Op: "transaction", Msg: "expected at least one operation, got none"}
	}
	for _, op := range tx.Ops {
		if op == nil {
			return &OpError{Op: "transaction", Msg: "expected operations, got nil"}
		}
		if alone(op) && len(tx.Ops) > 1 {
			return &OpError{Op: op.name(), Msg: fmt.Sprintf("expected it alone in its transaction, got %d operations", len(tx.Ops)), Advice: "give it a transaction of its own"}
		}
	}
	return nil
}

// InitOptions is what a new state begins with.
type InitOptions struct {
	NextNumber int // number of the first task, 1 if zero
}

// Init writes a new state.json. An error that is fs.ErrExist says that there is one.
func (m *Manager) Init(ctx context.Context, opt InitOptions) error {
	if opt.NextNumber < 0 || opt.NextNumber > maxNumber {
		return &OpError{Op: "init", Msg: fmt.Sprintf("expected next number from 1, got %d", opt.NextNumber)}
	}
	if err := atomicfile.MkdirAll(m.cfg.Root, formats.Workspace, 0); err != nil {
		return ioFailure("making the folder", formats.Workspace, err)
	}
	err := m.exclusive(ctx, "", func() error {
		switch _, err := m.cfg.Root.Lstat(stateFile); {
		case err == nil:
			return &formats.Failure{Code: formats.CodePrecondition, Message: stateFile, Err: fs.ErrExist, Help: "the workspace has a state already"}
		case !errors.Is(err, fs.ErrNotExist):
			return ioFailure("looking at", stateFile, err)
		}
		doc, err := emptyState(stateFile, m.cfg.NewID(), max(opt.NextNumber, 1))
		if err != nil {
			return err
		}
		if err := m.audit.refresh(); err != nil {
			return err
		}
		s := &session{m: m, cfg: m.cfg, now: m.cfg.now(), real: stateFile}
		line := auditLine{Serial: doc.Serial, Kind: lineInit, File: stateFile, Time: stamp(s.now), Post: doc.sha}
		if err := s.commit(change{name: stateFile, real: stateFile, data: doc.src, line: line}); err != nil {
			return err
		}
		m.cache.Store(doc)
		return nil
	})
	if err != nil && !isNotDurable(err) {
		return err
	}
	m.renderTodo(ctx, "")
	return err
}

// emptyState makes a file without tasks.
func emptyState(file, lineage string, next int) (*document, error) {
	src, err := jsonx.Marshal(new(jsonx.Object).Set("version", Version).Set("lineage", lineage).Set("serial", 0).
		Set("next_number", next).Set("tasks", []any{}), "  ")
	if err != nil {
		return nil, &formats.Failure{Code: formats.CodeBug, Message: "encoding an empty state", Err: err}
	}
	return parseDocument(file, append(src, '\n'), nil)
}

// Adopt takes state.json as it is after a change from outside that Apply refuses because tasks are lost.
func (m *Manager) Adopt(ctx context.Context) (Result, error) {
	var res Result
	err := m.lockedWith(ctx, "", true, func(s *session) error {
		res = Result{Serial: s.serial, Warnings: s.warnings}
		return nil
	})
	return res, err
}

// Lockable tells whether the lock can be taken here and now: it takes it and gives it back. Nothing else is written.
func (m *Manager) Lockable(ctx context.Context) error {
	return m.exclusive(ctx, "", func() error { return nil })
}

// NewestBackup gives the serial of the newest backup that can be read.
func (m *Manager) NewestBackup() (serial uint64, ok bool) {
	doc, _ := newestBackup(m.cfg)
	if doc == nil {
		return 0, false
	}
	return doc.Serial, true
}

// Restore puts the backup of a serial back as the state, with a serial above every one seen. The state that was there is
// kept as a backup if it is valid, and as a copy beside the backups if it is not.
func (m *Manager) Restore(ctx context.Context, serial uint64) (Result, error) {
	var res Result
	err := m.exclusive(ctx, "", func() error {
		s := &session{m: m, cfg: m.cfg, now: m.cfg.now()}
		var err error
		res, err = s.restore(serial)
		return err
	})
	if err == nil || isNotDurable(err) {
		res.Warnings = append(res.Warnings, m.renderTodo(ctx, "")...)
	}
	return res, err
}

// ResolveMerge takes one side, or both, of a state that holds the markers of an unfinished merge. The file with the markers
// is kept as a copy beside the backups.
func (m *Manager) ResolveMerge(ctx context.Context, how Resolution) (Result, error) {
	var res Result
	err := m.exclusive(ctx, "", func() error {
		s := &session{m: m, cfg: m.cfg, now: m.cfg.now()}
		if err := m.audit.refresh(); err != nil {
			return err
		}
		var err error
		res, err = s.resolve(how)
		return err
	})
	if err == nil || isNotDurable(err) {
		res.Warnings = append(res.Warnings, m.renderTodo(ctx, "")...)
	}
	return res, err
}

// exclusive runs fn as the only writer among the goroutines of this manager and among all processes.
func (m *Manager) exclusive(ctx context.Context, session string, fn func() error) (err error) {
	limit := m.cfg.lockTimeout()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	l := locker{cfg: m.cfg, file: lockFile, info: infoFile}
	select {
	case m.gate <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return &LockError{Path: short(lockFile), Waited: limit, Holder: l.holder()}
	}
	defer func() { <-m.gate }()
	return m.underLock(ctx, session, fn)
}

// underLock runs fn as the only writer among all processes; the gate of this one is held.
func (m *Manager) underLock(ctx context.Context, session string, fn func() error) (err error) {
	if !canWrite {
		return &formats.Failure{Code: formats.CodeDenied, Message: "writing the state is not supported on this system"}
	}
	l := locker{cfg: m.cfg, file: lockFile, info: infoFile}
	h, err := l.take(ctx, session)
	if err != nil {
		return err
	}
	defer func() {
		unlocking := h.release()
		if c := m.cache.Load(); err == nil && unlocking != nil && c != nil {
			// What was to be done is done, so that this is no failure of it.
			err = &NotDurableError{File: stateFile, Serial: c.Serial, Err: unlocking}
			return
		}
		err = errors.Join(err, unlocking)
	}()
	return fn()
}

func (m *Manager) lockedWith(ctx context.Context, id string, adopt bool, fn func(*session) error) error {
	return m.exclusive(ctx, id, func() error {
		return m.retrying(adopt, func(s *session) error {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			return fn(s)
		})
	})
}

// retrying opens the state and runs fn, again if another program wrote in between; the lock is held.
func (m *Manager) retrying(adopt bool, fn func(*session) error) error {
	var warnings []string
	for try := 1; ; try++ {
		s := &session{m: m, cfg: m.cfg, now: m.cfg.now(), adopt: adopt, warnings: warnings}
		if err := s.open(); err != nil {
			return err
		}
		err := fn(s)
		if e, ok := errors.AsType[*ConflictError](err); !ok || e.Expected != e.Got || try == maxTries {
			return err
		}
		warnings = s.warnings
	}
}

// maxTries bounds how often a write begins again because another program, which does not know the lock, wrote in between.
const maxTries = 3

// line begins the audit line of a transaction.
func (s *session) line(tx Tx) auditLine {
	return auditLine{
		Serial: s.serial + 1, Txn: tx.ID, Kind: lineWrite, File: stateFile, Time: stamp(s.now), Session: tx.Session, Run: tx.Run,
		Force: tx.Force, Pre: s.doc.sha, Ops: records(tx.Ops),
	}
}

func records(ops []Op) []any {
	out := make([]any, len(ops))
	for i, op := range ops {
		out[i] = op.record()
	}
	return out
}

// write commits a draft: state.json alone, or with the archive beside it.
func (s *session) write(d *draft, line auditLine) error {
	for i := range d.restored {
		line.Added = append(line.Added, d.restored[i].task.Number)
	}
	for _, t := range d.created {
		line.Added = append(line.Added, t.Number)
	}
	for _, n := range slices.Sorted(maps.Keys(d.renamed)) {
		line.Added = append(line.Added, n)
		line.Removed = append(line.Removed, s.doc.Tasks[d.renamed[n]].Number)
	}
	for _, i := range d.leaving() {
		line.Removed = append(line.Removed, s.doc.Tasks[i].Number)
	}
	switch {
	case len(d.removed) > 0:
		line.Move = moveOut
		if err := s.intoArchive(d, line); err != nil {
			return err
		}
	case len(d.restored) > 0 && !d.imported:
		line.Move = moveBack
	}
	doc, data, err := d.render(line.Serial)
	if err != nil {
		return err
	}
	line.Post, line.Undo = doc.sha, boundedUndo(d.undo)
	if err := s.commit(change{name: stateFile, real: s.real, data: data, line: line, read: s.info, old: s.doc}); err != nil {
		if line.Move == moveOut {
			return halfMoved(archiveFile, stateFile, err)
		}
		return err
	}
	if doc.info, err = s.cfg.Root.Stat(s.real); err != nil {
		doc.info = nil // it is only known to save a reading
	}
	s.m.cache.Store(doc)
	s.doc, s.serial = doc, line.Serial
	if line.Move == moveBack {
		return halfMoved(stateFile, archiveFile, s.outOfArchive(line))
	}
	return nil
}

// halfMoved says of an error behind the first of two files that the move is begun. What is done but perhaps not durable is
// said as that.
func halfMoved(written, missing string, err error) error {
	if err == nil || isNotDurable(err) {
		return err
	}
	return &MoveError{Written: written, Missing: missing, Err: err}
}

// render encodes a draft, reads the result again and compares it with what was meant.
func (d *draft) render(serial uint64) (*document, []byte, error) {
	data, err := d.encode(serial)
	if err != nil {
		return nil, nil, &formats.Failure{Code: formats.CodeBug, Message: "encoding the state", Err: err}
	}
	if len(data) > maxState {
		return nil, nil, &OpError{
			Op: "transaction", Msg: fmt.Sprintf("expected a state of at most %d bytes, got %d", maxState, len(data)),
			Advice: "archive tasks that are done, and keep long texts in documents",
		}
	}
	doc, carried := d.carry(data)
	if !carried {
		if doc, err = parseDocument(d.base.file, data, d.base); err != nil {
			return nil, nil, &formats.Failure{Code: formats.CodeBug, Message: "the encoded state is not valid: " + err.Error()}
		}
	}
	if why := d.differs(doc, serial, carried); why != "" {
		return nil, nil, &formats.Failure{Code: formats.CodeBug, Message: "the encoded state is not what was meant: " + why}
	}
	return doc, data, nil
}

// differs says what of a document that was encoded is not as the draft has it. Of one that was carried over, only what was changed is
// looked at: the rest is the base's.
func (d *draft) differs(doc *document, serial uint64, carried bool) string {
	if doc.Serial != serial || doc.Lineage != d.base.Lineage || doc.NextNumber != d.next {
		return "serial, lineage or next number"
	}
	if doc.NextNumber <= doc.highest() {
		return "the next number is not above every task"
	}
	if carried {
		return d.strays(doc)
	}
	count := 0
	for t := range d.tasks {
		count++
		got := doc.find(t.Number)
		if got == nil || got != t && !sameTask(got, t) {
			return "task " + number(t.Number)
		}
	}
	if count != len(doc.Tasks) {
		return "the number of tasks"
	}
	return ""
}

// strays is differs for the tasks that were changed or made.
func (d *draft) strays(doc *document) string {
	for i, t := range d.changed {
		if !sameTask(&doc.Tasks[i], t) {
			return "task " + number(t.Number)
		}
	}
	made := doc.Tasks[len(d.base.Tasks):]
	if len(made) != len(d.created) {
		return "the number of tasks"
	}
	for i, t := range d.created {
		if !sameTask(&made[i], t) {
			return "task " + number(t.Number)
		}
	}
	return ""
}

// backupName is the file of the backup of a serial.
func backupName(serial uint64) string {
	return path.Join(backupDir, "state-"+fmt.Sprint(serial)+".json")
}

// jsonNumber gives a serial as Marshal takes it.
func jsonNumber(n uint64) int64 { return int64(n) } // serials stay below 1<<53

// setPhase rewrites one heading of a plan.
func (s *session) setPhase(tx Tx, op SetPhase) (Result, error) {
	d := newDraft(s.cfg, s.doc, tx, s.archived)
	t, err := d.take(op.Task)
	if err != nil {
		return Result{}, err
	}
	if !slices.Contains(phaseStatuses(), op.Status) {
		return Result{}, &OpError{Op: op.name(), Task: op.Task, Msg: fmt.Sprintf("expected phase status, got %q", op.Status), Advice: fmt.Sprint("the statuses are ", phaseStatuses())}
	}
	if op.Plan == "" {
		a := t.Newest(formats.ArtifactPlan)
		if a == nil {
			return Result{}, &MissingArtifactError{Task: op.Task, Type: formats.ArtifactPlan}
		}
		op.Plan = a.Path
	}
	if why := pathFault(op.Plan); why != "" {
		return Result{}, &OpError{Op: op.name(), Task: op.Task, Msg: fmt.Sprintf("expected plan inside the project root, got %q: %s", op.Plan, why)}
	}
	real, err := realName(s.cfg.Root, op.Plan)
	if err != nil {
		return Result{}, err
	}
	src, info, err := readWith(s.cfg.Root, real, maxPlan)
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, &MissingArtifactError{Task: op.Task, Type: formats.ArtifactPlan, Path: op.Plan, Why: "does not exist"}
	}
	if err != nil {
		return Result{}, ioFailure("reading", op.Plan, err)
	}
	out, err := formats.SetPhase(src, op.Phase, op.Status)
	if err != nil {
		return Result{}, err
	}
	res := Result{Serial: s.serial, Txn: tx.ID, Verdicts: []Verdict{{Op: op.name(), Task: op.Task, From: t.Status, To: t.Status}}}
	if string(out) == string(src) {
		return res, nil
	}
	if err := atomicfile.Sweep(s.cfg.Root, path.Dir(real), path.Base(real)); err != nil {
		return Result{}, ioFailure("cleaning", path.Dir(real), err)
	}
	res.Changed, res.Verdicts[0].Changed = true, true
	line := s.line(tx)
	line.Serial, line.File, line.Verdicts = s.serial, op.Plan, res.Verdicts
	line.Pre, line.Post = digest(src), digest(out)
	return res, s.commit(change{name: op.Plan, real: real, data: out, line: line, read: info})
}

func phaseStatuses() []formats.PhaseStatus {
	return []formats.PhaseStatus{formats.PhaseNotStarted, formats.PhaseInProgress, formats.PhaseCompleted, formats.PhasePartial, formats.PhaseBlocked}
}
