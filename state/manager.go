package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/jsonx"
)

// Manager is the one writer of state.json, the archive and the audit log. It is safe for concurrent
// use; its writes happen one after the other, also between processes.
type Manager struct {
	cfg  Config
	gate chan struct{} // holds one value while a write runs
	// wrote is the state as this manager last wrote it: it spares TODO.md a reading.
	wrote atomic.Pointer[document]
	// of the last file that the present write has put in place; it belongs to the holder of the
	// gate
	put *auditLine
}

// NewManager makes the writer of a workspace. It opens nothing before its first use.
func NewManager(cfg Config) (*Manager, error) {
	if err := cfg.check(true); err != nil {
		return nil, err
	}
	return &Manager{cfg: cfg, gate: make(chan struct{}, 1)}, nil
}

// Apply runs one transaction: under the lock, all or nothing, durable on return. A repeated
// transaction id is answered from the audit log. A transaction that changes nothing writes nothing.
func (m *Manager) Apply(ctx context.Context, tx Tx) (Result, error) {
	if err := m.checkTx(&tx); err != nil {
		return Result{}, err
	}
	var res Result
	var todo *todoPlan
	err := m.locked(ctx, tx.Session, false, func(s *session) (err error) {
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
	case res.Changed: // also one that a killed process made, which may not have come to the view
		res.Warnings = append(res.Warnings, m.renderTodo(ctx, "")...)
	}
	return res, err
}

// apply does a transaction on an open state. The plan is that of a sync.
func (s *session) apply(tx Tx) (Result, *todoPlan, error) {
	if !tx.fresh {
		if res, ok, err := s.audit.answer(tx.ID); ok || err != nil {
			return res, nil, err
		}
	}
	if want := tx.ExpectedSerial; want != nil && *want != s.serial {
		return Result{}, nil, formats.Fail(formats.CodePrecondition,
			"read the state again and repeat the change",
			"expected serial %d, got %d", *want, s.serial)
	}

	if op, ok := tx.Ops[0].(planOp); ok {
		res, err := s.replan(tx, op)
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
	if !d.dirty() {
		return res, d.todo, nil
	}
	if s.doc.NextNumber <= s.doc.highest() {
		s.warn(fmt.Sprintf("next_number was %d, below the highest task; set to %d",
			s.doc.NextNumber, d.next))
	}
	if s.doc.bom {
		s.warn("the byte order mark of state.json is left out")
	}
	line := s.line(tx)
	line.Numbers = res.Numbers
	line.Verdicts = res.Verdicts
	if d.undone {
		line.Kind = lineUndo
	}
	res.Changed = true
	res.Serial = line.Serial
	return res, d.todo, s.write(d, line)
}

// draft does the operations of a transaction and checks what came of them; nothing is written.
func (s *session) draft(tx Tx) (*draft, error) {
	d := newDraft(s.cfg, s.doc, tx, s.archived)
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

// maxTxn is the most bytes of a transaction id.
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
		return refused("transaction",
			0, "", "expected id of at most %d printable characters, got %q", maxTxn, tx.ID)
	}
	if !plain(tx.Session) || !plain(tx.Run) {
		return refused("transaction",
			0, "", "expected session and run ids, got %q and %q", tx.Session, tx.Run)
	}
	if len(tx.Ops) == 0 {
		return refused("transaction", 0, "", "expected at least one operation, got none")
	}

	for _, op := range tx.Ops {
		if op == nil {
			return refused("transaction", 0, "", "expected operations, got nil")
		}
		if alone(op) && len(tx.Ops) > 1 {
			return refused(op.name(), 0, "give it a transaction of its own",
				"expected it alone in its transaction, got %d operations", len(tx.Ops))
		}
	}

	return nil
}

// InitOptions is the beginning of a new state.
type InitOptions struct {
	NextNumber int // number of the first task, 1 if zero
	// with state.json missing, continue from the highest number and serial in log and backups
	Anew bool
}

// Init writes a new state.json. If there is one, the error wraps fs.ErrExist.
func (m *Manager) Init(ctx context.Context, opt InitOptions) error {
	if opt.NextNumber < 0 || opt.NextNumber > maxNumber {
		return refused("init", 0, "", "expected next number from 1, got %d", opt.NextNumber)
	}
	if err := atomicfile.MkdirAll(m.cfg.Root, formats.Workspace, 0); err != nil {
		return ioFailure("making the folder", formats.Workspace, err)
	}

	err := m.exclusive(ctx, "", func() error {
		switch _, err := m.cfg.Root.Lstat(stateFile); {
		case err == nil:
			return &formats.Failure{
				Code:    formats.CodePrecondition,
				Message: stateFile,
				Err:     fs.ErrExist,
				Help:    "the workspace has a state already",
			}
		case !errors.Is(err, fs.ErrNotExist):
			return ioFailure("looking at", stateFile, err)
		}

		s, err := m.session()
		if err != nil {
			return err
		}
		fresh := Doc{Lineage: m.cfg.NewID(), NextNumber: max(opt.NextNumber, 1)}
		if gone := m.cfg.noState(); formats.CodeOf(gone) != formats.CodeNoWorkspace {
			if !opt.Anew {
				return gone
			}
			if fresh, err = s.goOn(fresh); err != nil {
				return err
			}
		}
		doc, err := emptyState(stateFile, fresh)
		if err != nil {
			return err
		}

		line := auditLine{
			Serial: doc.Serial,
			Kind:   lineInit,
			File:   stateFile,
			Time:   stamp(s.now),
			Post:   doc.sha,
		}
		s.real = stateFile
		s.audit.seal = s.cfg.seal(doc.Lineage)
		err = s.commit(change{
			name: stateFile,
			real: stateFile,
			data: doc.src,
			line: line,
		})
		if err != nil {
			return err
		}

		s.keep(doc.Doc, doc.sha)
		return nil
	})
	if err != nil && !isNotDurable(err) {
		return err
	}

	m.renderTodo(ctx, "")
	return err
}

// goOn gives a new state numbers above all that the log, the backups and the archive hold.
func (s *session) goOn(fresh Doc) (Doc, error) {
	fresh.Serial = s.audit.high + 1
	fresh.NextNumber = max(fresh.NextNumber, s.audit.highestNumber()+1)
	archive, err := s.archived()
	if err != nil {
		return fresh, err
	}
	backup, _ := newestBackup(s.cfg)
	for _, doc := range []*document{archive, backup} {
		if doc != nil {
			fresh.Lineage = doc.Lineage
			fresh.NextNumber = max(fresh.NextNumber, doc.NextNumber, doc.highest()+1)
		}
	}
	if backup != nil {
		fresh.Serial = max(fresh.Serial, backup.Serial+1)
	}
	return fresh, nil
}

// emptyState makes a file without tasks.
func emptyState(file string, d Doc) (*document, error) {
	src, err := jsonx.Marshal(new(jsonx.Object).Set("version", Version).Set("lineage", d.Lineage).
		Set("serial", jsonNumber(d.Serial)).Set("next_number", d.NextNumber).Set("tasks", []any{}),
		"  ")
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeBug,
			Message: "encoding an empty state",
			Err:     err,
		}
	}
	return parseDocument(file, append(src, '\n'))
}

// Adopt accepts a foreign change of state.json that Apply refuses because tasks are missing.
func (m *Manager) Adopt(ctx context.Context) (Result, error) {
	var res Result
	err := m.locked(ctx, "", true, func(s *session) error {
		res = Result{Serial: s.serial, Warnings: s.warnings}
		return nil
	})
	return res, err
}

// Lockable reports whether the lock can be taken now: it takes and releases it, and writes nothing
// else.
func (m *Manager) Lockable(ctx context.Context) error {
	return m.exclusive(ctx, "", func() error { return nil })
}

// NewestBackup gives the serial of the newest readable backup.
func (m *Manager) NewestBackup() (serial uint64, ok bool) {
	doc, _ := newestBackup(m.cfg)
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
func (m *Manager) ResolveMerge(ctx context.Context, how Resolution) (Result, error) {
	return m.replace(ctx, func(s *session) (Result, error) { return s.resolve(how) })
}

// replace runs what puts another state in the place of one that may be broken.
func (m *Manager) replace(
	ctx context.Context,
	fn func(*session) (Result, error),
) (res Result, err error) {
	err = m.exclusive(ctx, "", func() error {
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

// exclusive runs fn as the only writer among the goroutines of this manager and among all
// processes.
func (m *Manager) exclusive(ctx context.Context, session string, fn func() error) (err error) {
	limit := m.cfg.lockTimeout()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	l := locker{
		cfg:  m.cfg,
		file: lockFile,
		info: infoFile,
	}
	select {
	case m.gate <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return lockTimeout(short(lockFile), limit, l.holder())
	}
	defer func() { <-m.gate }()
	if !canWrite {
		return formats.Fail(
			formats.CodeDenied,
			"",
			"writing the state is not supported on this system",
		)
	}

	m.put = nil
	h, err := l.take(ctx, session)
	if err != nil {
		return err
	}
	defer func() {
		unlocking := release(h)
		if err == nil && unlocking != nil && m.put != nil {
			// What was to be done is done, so that this is no failure of it.
			err = notDurable(m.put.File, m.put.Serial, unlocking)
			return
		}
		err = errors.Join(err, unlocking)
	}()
	return fn()
}

// locked opens the state under the lock and runs fn, again if another program wrote in between.
func (m *Manager) locked(
	ctx context.Context,
	id string,
	adopt bool,
	fn func(*session) error,
) error {
	return m.exclusive(ctx, id, func() error {
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

// maxTries bounds how often a write begins again because another program, which does not know the
// lock, wrote in between.
const maxTries = 3

// line begins the audit line of a transaction.
func (s *session) line(tx Tx) auditLine {
	l := auditLine{
		about: about{
			Session: tx.Session,
			Run:     tx.Run,
			Force:   tx.Force,
		},
		Serial: s.serial + 1,
		Txn:    tx.ID,
		Kind:   lineWrite,
		File:   stateFile,
		Time:   stamp(s.now),
		Pre:    s.doc.sha,
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
	case len(d.removed) > 0 && !d.undone:
		line.Move = moveOut
		if err := s.intoArchive(d, line); err != nil {
			return err
		}
	case len(d.restored) > 0 && !d.imported:
		line.Move = moveBack
	}

	if err := s.commitDraft(d, line); err != nil {
		if line.Move == moveOut {
			return halfMoved(archiveFile, stateFile, err)
		}
		return err
	}
	if line.Move == moveBack {
		return halfMoved(stateFile, archiveFile, s.outOfArchive(line))
	}
	return nil
}

// commitDraft puts a draft of state.json in place.
func (s *session) commitDraft(d *draft, line auditLine) error {
	data, err := d.render(line.Serial)
	if err != nil {
		return err
	}
	line.Post = formats.Sum(data)
	line.Undo = boundedUndo(d.undo)
	err = s.commit(change{
		name: stateFile,
		real: s.real,
		data: data,
		line: line,
		read: s.info,
		old:  s.doc,
	})
	if err == nil {
		s.keep(d.doc(line.Serial), line.Post)
	}
	return err
}

// halfMoved says of an error behind the first of two files that the move is begun. What is done but
// perhaps not durable is said as that.
func halfMoved(written, missing string, err error) error {
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

// keep remembers what was written, for TODO.md.
func (s *session) keep(doc Doc, sha string) {
	info, err := s.cfg.Root.Stat(s.real)
	if err != nil {
		info = nil // it is only known to save a reading
	}
	s.m.wrote.Store(&document{
		Doc:  doc,
		file: stateFile,
		sha:  sha,
		info: info,
	})
}

// doc gives the draft in types.
func (d *draft) doc(serial uint64) Doc {
	out := Doc{
		Version:    d.base.Version,
		Lineage:    d.base.Lineage,
		Serial:     serial,
		NextNumber: d.next,
	}
	out.Tasks = newList[formats.Task](len(d.base.Tasks) + len(d.created) + len(d.restored))
	for t := range d.tasks {
		out.Tasks = append(out.Tasks, *t)
	}
	return out
}

// render encodes a draft, and reads again what it changed.
func (d *draft) render(serial uint64) ([]byte, error) {
	data, err := d.encode(serial)
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeBug,
			Message: "encoding the state",
			Err:     err,
		}
	}
	if len(data) > maxState {
		return nil, refused(
			"transaction",
			0, "archive tasks that are done, and keep long texts in documents",
			"expected a state of at most %d bytes, got %d", maxState, len(data),
		)
	}
	check := d.strays
	if len(d.created)+len(d.removed)+len(d.restored)+len(d.renamed)+len(d.members) > 0 ||
		d.layout != "" || d.base.bom {
		check = d.differs
	}
	if why := check(data, serial); why != "" {
		return nil, formats.Fail(formats.CodeBug, "",
			"%s", "the encoded state is not what was meant: "+why)
	}
	return data, nil
}

// differs reads a text that was encoded, and says what of it is not as the draft has it.
func (d *draft) differs(data []byte, serial uint64) string {
	doc, err := parseDocument(d.base.file, data)
	if err != nil {
		return err.Error()
	}
	if doc.Serial != serial || doc.Lineage != d.base.Lineage || doc.NextNumber != d.next {
		return "serial, lineage or next number"
	}
	if doc.NextNumber <= doc.highest() {
		return "the next number is not above every task"
	}
	count := 0
	for t := range d.tasks {
		count++
		if got := doc.find(t.Number); got == nil || !sameTask(got, t) {
			return "task " + number(t.Number)
		}
	}
	if count != len(doc.Tasks) {
		return "the number of tasks"
	}
	return ""
}

// strays is differs for a text in which members of tasks changed and nothing else. It reads these
// tasks and the numbers at the top. The rest are bytes of the base, copied, and a valid value in
// place of another leaves the text around it valid.
func (d *draft) strays(data []byte, serial uint64) string {
	by := make([]int, len(d.edits)+1) // how far the text after so many edits has moved
	for i, e := range d.edits {
		by[i+1] = by[i] + len(e.Text) - (e.End - e.Start)
	}

	shift := func(at int) int {
		i, _ := slices.BinarySearchFunc(d.edits, at, func(e jsonx.Edit, at int) int {
			return e.Start - at
		})
		return at + by[i]
	}
	read := func(v *jsonx.Value) (*jsonx.Value, *decoder, error) {
		src := data[shift(v.Start):shift(v.End)]
		now, err := jsonx.Parse(src, jsonx.Limits{})
		return now, &decoder{file: d.base.file, src: src}, err
	}
	for i, t := range d.changed {
		var got formats.Task
		v, dec, err := read(d.base.values[i])
		if err == nil {
			dec.task(&got, v, i)
		}
		if err != nil || len(dec.found) > 0 || !sameTask(&got, t) {
			return "task " + number(t.Number)
		}
	}

	for key, want := range map[string]int64{"serial": int64(serial), "next_number": int64(d.next)} {
		if v, dec, err := read(d.base.tree.Get(key)); err != nil || dec.natural(v, key) != want {
			return key
		}
	}

	return ""
}

// backupName is the file of the backup of a serial.
func backupName(serial uint64) string {
	return path.Join(backupDir, "state-"+fmt.Sprint(serial)+".json")
}

// jsonNumber gives a serial as Marshal takes it.
func jsonNumber(n uint64) int64 {
	return int64(n)
} // serials stay below 1<<53

// rewrite rewrites one heading of a plan.
func (op SetPhase) rewrite(s *session, tx Tx) (*rewritten, Result, error) {
	d := newDraft(s.cfg, s.doc, tx, s.archived)
	d.op = op.name()
	t, err := d.take(op.Task)
	if err != nil {
		return nil, Result{}, err
	}
	if !slices.Contains(phaseStatuses(), op.Status) {
		return nil, Result{}, d.refused(op.Task, fmt.Sprint("the statuses are ", phaseStatuses()),
			"expected phase status, got %q", op.Status)
	}
	if op.Plan == "" {
		a := t.Newest(formats.ArtifactPlan)
		if a == nil {
			return nil, Result{}, noArtifact(op.Task, "", "plan", "", "")
		}
		op.Plan = a.Path
	}
	if why := pathFault(op.Plan); why != "" {
		return nil, Result{}, d.refused(op.Task, "",
			"expected plan inside the project root, got %q: %s", op.Plan, why)
	}

	f, err := s.planFile(op.Task, op.Plan)
	if err != nil {
		return nil, Result{}, err
	}
	f.data, err = formats.SetPhase(f.src, op.Phase, op.Status)
	return f, Result{Verdicts: []Verdict{{
		Op:   d.op,
		Task: op.Task,
		From: t.Status,
		To:   t.Status,
	}}}, err
}

func phaseStatuses() []formats.PhaseStatus {
	return []formats.PhaseStatus{
		formats.PhaseNotStarted, formats.PhaseInProgress, formats.PhaseCompleted,
		formats.PhasePartial, formats.PhaseBlocked,
	}
}
