package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/config"
	"tercet/internal/journal"
	"tercet/internal/order"
	"tercet/project"
	"tercet/subagents/builtin"
	"tercet/subagents/worktree"
)

// Keeper is the home of a team, in the owner's workspace. It may be used by several goroutines.
type Keeper struct {
	project *project.Project
	options Options

	lock io.Closer // of the home: one Keeper at a time

	deciding decidingCache

	mu   sync.Mutex // guards what follows; it is held for moments only
	runs map[string]*teamRun
	// spawned are the workers that all runs have started, and cost is what these cost, in US
	// dollars
	spawned  int
	diskFull bool // the disk took nothing when it was written to last
	cost     float64
	// accounts have reached their usage limits
	accounts map[string]accountLimit

	// effects is held around one effect on the state and the documents; it guards marks. It is
	// taken after the lock of a run.
	effects sync.Mutex
	marks   map[string]project.FileMark // of the documents
}

// teamRun is a run of the team at its home.
type teamRun struct {
	seq   atomic.Int64 // of the last line
	done  atomic.Int64 // results of delegations and decisions in the journal
	ended atomic.Bool
	order atomic.Value // a string, that of the record

	mu      sync.Mutex // guards what follows
	record  runRecord
	journal *journal.Mirror // nil: not open
	gates   gates           // of the journal
	// lock keeps other processes of the home from the run until it ends.
	lock io.Closer
}

// runRecord is what the home knows of a run besides its journal.
type runRecord struct {
	Line  string `json:"line"`
	Yes   bool   `json:"yes,omitempty"`
	Order string `json:"order,omitempty"` // Pause or Cancel; empty: none
	Taker string `json:"taker,omitempty"`
	// Task is what the line is about, 0: none, and BeforeTasks are those on which it depends.
	Task        int   `json:"task,omitempty"`
	BeforeTasks []int `json:"before_tasks,omitempty"`
	// Version is that of tercet where the run began, and Agreed the digest of the files that can
	// start a program, as the owner of the home had agreed to them when the line was submitted.
	Version string `json:"version,omitempty"`
	Agreed  string `json:"agreed,omitempty"`
	// Needs are the labels that a worker of it has to have.
	Needs []string `json:"needs,omitempty"`
	// Reserved are the delegations that an attempt started a worker for.
	Reserved []string `json:"reserved,omitempty"`
	// Trees are the snapshots since a line, and those before it: the record is written first.
	Trees  treesAt `json:"trees"`
	Before treesAt `json:"before"`
	// Closed is the last snapshot of the run's own worktree before that was closed.
	Closed *formats.TreeSnapshot `json:"closed,omitempty"`
	// Published are the answers to publications, by transaction.
	Published map[string]project.Publication `json:"published,omitempty"`
}

// treesAt are snapshots that count from a line on.
type treesAt struct {
	Seq  int                    `json:"seq"`
	List []formats.TreeSnapshot `json:"list,omitempty"`
}

// recordName is the file of a run's record in its folder.
const recordName = journal.TeamName

// Options say what the runs of a team may do together.
type Options struct {
	Limits config.TeamLimits
	// Publish is config.PublishRequest where the home opens a request for what a run would merge;
	// empty: it merges.
	Publish string
}

// NewKeeper makes the home of a team of a project.
func NewKeeper(p *project.Project, o Options) (*Keeper, error) {
	if p.Reader == nil {
		return nil, project.NoWorkspace()
	}
	k := &Keeper{
		project:  p,
		options:  o,
		runs:     map[string]*teamRun{},
		accounts: map[string]accountLimit{},
		marks:    map[string]project.FileMark{},
	}

	var err error
	k.lock, err = p.Control.Claim(lockName)
	if err != nil {
		return nil, err
	}

	if err := errors.Join(k.load(), k.loadAccounts()); err != nil {
		return nil, errors.Join(err, k.lock.Close())
	}
	return k, nil
}

// lockName is the lock of the home.
const lockName = formats.Workspace + "/team.lock"

// load reads the records of all runs.
func (k *Keeper) load() error {
	entries, err := fs.ReadDir(atomicfile.FS(k.project.Root), journal.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return formats.OnFile("read", journal.Folder, err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}

		r, err := k.findRun(e.Name())
		if formats.CodeOf(err) == formats.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}

		k.spawned += len(r.record.Reserved)
		if k.options.Limits.Cost == 0 {
			continue
		}
		records, err := journal.Load(k.project.Root, e.Name())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // its state says that it is broken
		}
		k.cost += costOf(records)
	}
	return nil
}

// BeginOptions say how a line is to run.
type BeginOptions struct {
	Yes   bool     // every gate is approved
	Needs []string // labels that its worker has to have, with those of the command
}

// BeginEach makes runs of a line, one for each task that it names. None is made of a line that is
// wrong. Where the disk fails in the middle, the runs that were made are given with the error.
func (k *Keeper) BeginEach(
	ctx context.Context, line string, o BeginOptions,
) (jobs []Job, err error) {
	if err := checkLine(line); err != nil {
		return nil, err
	}
	if slices.Contains(o.Needs, "") {
		return nil, formats.Fail(formats.CodeUsage, "such as --needs=gpu,linux",
			"expected labels behind --needs=, got an empty one")
	}

	// command files may have changed since the home was opened
	files, err := k.decidingFiles(ctx, true)
	if err != nil {
		return nil, err
	}
	if files.Pending != "" {
		return nil, notAgreed(files)
	}

	now, err := project.Open(ctx, k.project.Dir, true, k.project.Host)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, now.Close(ctx)) }()
	s, err := now.Session(project.Options{})
	if err != nil {
		return nil, err
	}

	list, err := s.TaskLines(ctx, line)
	if err != nil {
		return nil, err
	}

	for _, one := range list {
		j, err := k.beginRun(runRecord{
			Line:        one.Line,
			Yes:         o.Yes,
			Task:        one.Task,
			BeforeTasks: one.Before,
			Needs:       mergeLabels(one.Needs, o.Needs),
			Agreed:      files.Digest,
		})
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// mergeLabels has each of the labels once.
func mergeLabels(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// WaitsFor is a run that is to end before another one begins, because its task depends on that
// one's; empty: none.
func (k *Keeper) WaitsFor(run string) (string, error) {
	r, err := k.findRun(run)
	if err != nil || len(r.record.BeforeTasks) == 0 || k.Lines(run) > 0 {
		return "", err
	}

	for _, j := range k.All() {
		waits, err := k.isBefore(j.Run, run, r.record.BeforeTasks)
		if formats.CodeOf(err) == formats.CodeNotFound {
			continue // it was cancelled meanwhile
		}
		if err != nil {
			return "", err
		}
		if waits {
			return j.Run, nil
		}
	}
	return "", nil
}

// isBefore reports whether an unfinished run, other than the one that asks, is about one of the
// tasks.
func (k *Keeper) isBefore(run, asking string, tasks []int) (bool, error) {
	r, err := k.findRun(run)
	if err != nil || run == asking || !slices.Contains(tasks, r.record.Task) {
		return false, err
	}
	over, err := k.Finished(run)
	return !over, err
}

func checkLine(line string) error {
	if !strings.HasPrefix(line, "/") || strings.ContainsAny(line, "\r\n") {
		return formats.Fail(formats.CodeUsage, "such as: tercet --on team /plan 1",
			"expected one line with a slash command, got %q", formats.Clip(line, 80))
	}
	return nil
}

// Begin makes a run of a line about one task, for a worker to take.
func (k *Keeper) Begin(line string, yes bool) (Job, error) {
	if err := checkLine(line); err != nil {
		return Job{}, err
	}
	return k.beginRun(runRecord{Line: line, Yes: yes})
}

func (k *Keeper) beginRun(record runRecord) (Job, error) {
	id := k.project.NewRunID()
	record.Version = k.project.Host.Version
	r := &teamRun{record: record}
	if err := k.save(id, r); err != nil {
		return Job{}, err
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	k.runs[id] = r
	return jobOf(id, r), nil
}

// jobOf is a run for the queue.
func jobOf(id string, r *teamRun) Job {
	return Job{
		Run:     id,
		Line:    r.record.Line,
		Version: r.record.Version,
		Agreed:  r.record.Agreed,
	}
}

// Unfinished lists the runs that have not ended. Those whose journal cannot be used are left out:
// Finished says why.
func (k *Keeper) Unfinished() []Job {
	var jobs []Job
	for _, j := range k.All() {
		if over, err := k.Finished(j.Run); err == nil && !over {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// Finished reports whether a run has ended.
func (k *Keeper) Finished(run string) (bool, error) {
	r, err := k.findRun(run)
	if err != nil || r.ended.Load() || r.seq.Load() > 0 {
		return err == nil && r.ended.Load(), err
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	err = k.openJournal(run, r)
	return r.ended.Load(), err
}

// The orders to a run.
const (
	Pause  = "pause"
	Cancel = "cancel"
	Resume = "resume" // takes a pause back
)

// Order pauses, resumes or cancels a run. Whoever has it is to be stopped, and a run that is not
// paused is to be queued again.
func (k *Keeper) Order(run, do string) error {
	r, err := k.findRun(run)
	if err != nil {
		return err
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	err = k.openJournal(run, r)
	switch {
	case err != nil:
		return err
	case r.journal.Finished():
		return formats.Fail(formats.CodePrecondition, "", "run %s has ended", run)
	case do != Pause && do != Cancel && do != Resume:
		return formats.Fail(formats.CodeUsage, "", "expected pause, resume or cancel, got %q", do)
	case r.record.Order == Cancel:
		return formats.Fail(formats.CodePrecondition, "", "run %s is being cancelled", run)
	}

	if do == Cancel && r.journal.Seq() == 0 {
		return k.drop(run, r)
	}

	r.record.Order = do
	if do == Resume {
		r.record.Order = ""
	}
	return k.save(run, r)
}

// drop forgets a run that has not begun.
func (k *Keeper) drop(run string, r *teamRun) error {
	k.mu.Lock()
	delete(k.runs, run)
	k.mu.Unlock()
	r.ended.Store(true)
	err := errors.Join(r.journal.Close(), r.lock.Close())
	dir := path.Join(journal.Folder, run)
	return errors.Join(err, k.project.Root.RemoveAll(dir))
}

// OrderOf is the order to a run; empty: none.
func (k *Keeper) OrderOf(run string) string {
	r, err := k.findRun(run)
	if err != nil {
		return ""
	}
	order, _ := r.order.Load().(string) //nolint:errcheck // empty before the first one
	return order
}

// Lines is how many lines the journal of a run has; 0 for one that has not begun.
func (k *Keeper) Lines(run string) int {
	r, err := k.findRun(run)
	if err != nil {
		return 0
	}
	return int(r.seq.Load())
}

// Done counts what a run has behind it: results of delegations and decisions. An attempt that adds
// none has not got on, however many lines it wrote.
func (k *Keeper) Done(run string) int {
	r, err := k.findRun(run)
	if err != nil {
		return 0
	}
	return int(r.done.Load())
}

// Find finds a run by a prefix of its id.
func (k *Keeper) Find(word string) (Job, error) {
	var found []Job
	for _, j := range k.All() {
		if word != "" && strings.HasPrefix(j.Run, word) {
			found = append(found, j)
		}
	}
	switch len(found) {
	case 0:
		return Job{}, noRun(word)
	case 1:
		return found[0], nil
	}
	return Job{}, formats.Fail(formats.CodeUsage, "type more of it",
		"expected one run, got %d that begin with %q", len(found), word)
}

// All lists the runs of the team by the time of their beginning.
func (k *Keeper) All() []Job {
	k.mu.Lock()
	defer k.mu.Unlock()
	var jobs []Job
	for id, r := range k.runs {
		jobs = append(jobs, jobOf(id, r))
	}
	order.Stable(jobs, func(a, b Job) int { return strings.Compare(a.Run, b.Run) })
	return jobs
}

func noRun(word string) error {
	return formats.Fail(formats.CodeNotFound, "tercet --on team status lists them",
		"the team has no run %q", formats.Clip(word, 40))
}

// findRun finds a run of the team.
func (k *Keeper) findRun(id string) (*teamRun, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.runs[id]; r != nil {
		return r, nil
	}
	if !fs.ValidPath(id) || strings.Contains(id, "/") {
		return nil, noRun(id)
	}

	name := path.Join(journal.Folder, id, recordName)
	data, err := atomicfile.ReadFile(k.project.Root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noRun(id)
	}
	if err != nil {
		return nil, formats.OnFile("read", name, err)
	}

	r := &teamRun{}
	if err := json.Unmarshal(data, &r.record); err != nil {
		return nil, formats.Broken(formats.CodeInvalidState, name, err)
	}

	r.order.Store(r.record.Order)
	k.runs[id] = r
	return r, nil
}

// save makes the record of a run durable. The caller holds the lock of the run, as in what follows.
func (k *Keeper) save(id string, r *teamRun) error {
	dir := path.Join(journal.Folder, id)
	if err := atomicfile.MkdirAll(k.project.Root, dir, 0o700); err != nil {
		return formats.OnFile("make", dir, err)
	}

	data, err := json.Marshal(r.record)
	if err == nil {
		err = atomicfile.WriteIn(k.project.Root, path.Join(dir, recordName), data,
			atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return formats.OnFile("write", path.Join(dir, recordName), err)
	}

	r.order.Store(r.record.Order)
	return nil
}

// openJournal opens the journal of a run.
func (k *Keeper) openJournal(id string, r *teamRun) error {
	if r.journal != nil {
		return nil
	}

	dir, err := k.project.Root.OpenRoot(path.Join(journal.Folder, id))
	if err != nil {
		return formats.OnFile("open", path.Join(journal.Folder, id), err)
	}
	r.journal, err = journal.OpenMirror(dir, k.project.Control.Key(id))
	if err = errors.Join(err, dir.Close()); err != nil {
		r.journal = nil
		return err
	}

	records, err := journal.Load(k.project.Root, id)
	if err != nil && r.journal.Seq() > 0 {
		return errors.Join(err, k.closeJournal(r))
	}
	err = nil
	r.gates = gates{}
	for _, entry := range records {
		r.gates.observe(entry)
	}

	r.done.Store(countResults(records))
	r.seq.Store(int64(r.journal.Seq()))

	if r.lock == nil && !r.journal.Finished() {
		r.lock, err = k.project.Control.Lock(id)
	}
	if err == nil {
		err = k.installStaged(id, r)
	}
	if err != nil {
		return errors.Join(err, k.closeJournal(r))
	}
	r.ended.Store(r.journal.Finished())
	return nil
}

// releaseLock lets go of a run that has ended. The lock file marks those that have not.
func (k *Keeper) releaseLock(id string, r *teamRun) error {
	if r.lock == nil || !r.journal.Finished() {
		return nil
	}
	name := journal.LockPath(id)
	err := errors.Join(
		k.project.Root.Remove(name), k.project.Root.Remove(name+".info"), r.lock.Close(),
	)
	r.lock = nil
	return err
}

// lockTaken finds a run, locks it and checks that an attempt has it.
func (k *Keeper) lockTaken(run, taker string) (r *teamRun, unlock func(), err error) {
	r, err = k.findRun(run)
	if err != nil {
		return nil, nil, err
	}

	r.mu.Lock()
	if taker == "" || r.record.Taker != taker {
		err = lostError(run)
	} else {
		err = k.openJournal(run, r)
	}
	if err != nil {
		r.mu.Unlock()
		return nil, nil, err
	}
	return r, r.mu.Unlock, nil
}

// Append makes lines of an attempt durable, with the documents and snapshots that they announce.
func (k *Keeper) Append(ctx context.Context, l formats.SharedLines) (err error) {
	defer func() { k.noteDisk(err) }()
	r, unlock, err := k.lockTaken(l.Run, l.Taker)
	if err != nil {
		return err
	}
	defer unlock()

	records, again, err := r.journal.Check(l.Lines)
	if err != nil || again {
		return err
	}
	gates, err := k.checkAnswers(l.Run, r, records)
	if err != nil {
		return err
	}

	documents, err := k.stageDocuments(l, r.journal.Seq()+len(records))
	if err != nil {
		return errors.Join(err, k.closeJournal(r))
	}

	if l.Trees != nil {
		if err := k.keepTrees(ctx, l.Run, *l.Trees, l.Bundles); err != nil {
			return err
		}
		r.record.Before = k.currentTrees(r)
		r.record.Trees = treesAt{Seq: r.journal.Seq() + len(records), List: *l.Trees}
		own := func(s formats.TreeSnapshot) bool { return s.Name == l.Run }
		last := slices.IndexFunc(r.record.Before.List, own)
		if last >= 0 && !slices.ContainsFunc(*l.Trees, own) {
			r.record.Closed = &r.record.Before.List[last]
		}
		if err := k.save(l.Run, r); err != nil {
			return errors.Join(err, k.closeJournal(r))
		}
	}

	if err := r.journal.Append(l.Lines, records); err != nil {
		return errors.Join(err, k.closeJournal(r)) // what is on the disk is read then
	}

	r.gates = gates
	r.seq.Store(int64(r.journal.Seq()))
	r.done.Add(countResults(records))
	k.mu.Lock()
	k.cost += costOf(records)
	k.mu.Unlock()

	if documents {
		if err := k.installStaged(l.Run, r); err != nil {
			return errors.Join(err, k.closeJournal(r)) // it is tried again with the next call
		}
	}
	// who waits for the end then finds the documents in their places
	r.ended.Store(r.journal.Finished())
	return k.releaseLock(l.Run, r)
}

// closeJournal lets the next call open the journal of a run anew.
func (k *Keeper) closeJournal(r *teamRun) error {
	err := r.journal.Close()
	r.journal = nil
	return err
}

// keepTrees keeps the snapshots of a run that the remote did not take.
func (k *Keeper) keepTrees(
	ctx context.Context, run string, list []formats.TreeSnapshot, bundles map[string][]byte,
) error {
	trees := worktree.Repository{Trees: k.project.Trees}
	if err := trees.Unbundle(ctx, run, bundles); err != nil {
		return err
	}
	return trees.KeepSnapshots(ctx, run, list)
}

// countResults counts what an attempt does not do again: results of delegations and decisions.
func countResults(records []journal.Record) (n int64) {
	for _, entry := range records {
		switch entry.Type { //nolint:exhaustive // the others are written again
		case formats.EntryDelegationResult, formats.EntryGateDecided, formats.EntryGateVoted:
			n++
		}
	}
	return n
}

// costOf is what the workers cost whose results are among the records, in US dollars.
func costOf(records []journal.Record) (usd float64) {
	for _, entry := range records {
		if entry.Type != formats.EntryDelegationResult {
			continue
		}
		var ret struct {
			Metadata struct {
				Cost float64 `json:"cost_usd"`
			} `json:"metadata"`
		}
		if json.Unmarshal(entry.Raw(), &ret) == nil {
			usd += ret.Metadata.Cost
		}
	}
	return usd
}

// currentTrees are the snapshots that belong to the journal as it is.
func (k *Keeper) currentTrees(r *teamRun) treesAt {
	if r.record.Trees.Seq <= r.journal.Seq() {
		return r.record.Trees
	}
	return r.record.Before
}

// History gives a run to an attempt.
func (k *Keeper) History(
	ctx context.Context, run, taker string,
) (h formats.RunHistory, err error) {
	defer func() { k.noteDisk(err) }()
	h = formats.RunHistory{Run: run, Taker: taker}
	r, err := k.findRun(run)
	if err != nil {
		return h, err
	}
	if taker == "" {
		return h, formats.Fail(formats.CodeUsage, "", "expected the name of an attempt, got none")
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if err := k.openJournal(run, r); err != nil {
		return h, err
	}

	k.effects.Lock()
	defer k.effects.Unlock()
	r.record.Taker = taker
	if err := k.save(run, r); err != nil {
		return h, err
	}

	h.Line = r.record.Line
	h.Yes = r.record.Yes
	h.Cancel = r.record.Order == Cancel
	h.Trees = k.currentTrees(r).List
	trees := worktree.Repository{Trees: k.project.Trees}
	h.Bundles, err = trees.Bundles(ctx, run, h.Trees)
	if err != nil {
		return h, err
	}

	h.Key = k.project.Control.Key(run)
	h.Now = k.project.Host.Clock.Now()
	name := path.Join(journal.Folder, run, journal.Name)
	h.Lines, err = atomicfile.ReadFile(k.project.Root, name)
	if err != nil {
		return h, formats.OnFile("read", name, err)
	}

	h.Letters, err = k.Letters(ctx, run)
	if err != nil {
		return h, err
	}
	h.Files, _, _, err = k.project.ChangedFiles(run, nil)
	if err != nil {
		return h, err
	}
	if err := k.addState(h.Files); err != nil {
		return h, err
	}
	if len(h.Lines) == 0 {
		h.Base, err = worktree.Repository{Trees: k.project.Trees}.PushBase(ctx)
	}
	return h, err
}

// addState adds the state as it is.
func (k *Keeper) addState(files map[string][]byte) error {
	const name = formats.Workspace + "/state.json"
	data, err := atomicfile.ReadFile(k.project.Root, name)
	if err != nil {
		return formats.OnFile("read", name, err)
	}
	files[name] = data
	return nil
}

// Letters are the answers to the gates of a run, by file name.
func (k *Keeper) Letters(_ context.Context, run string) (map[string][]byte, error) {
	dir := path.Join(journal.Folder, run, "answers")
	entries, err := fs.ReadDir(atomicfile.FS(k.project.Root), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, formats.OnFile("read", dir, err)
	}

	letters := map[string][]byte{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		data, err := atomicfile.ReadFile(k.project.Root, path.Join(dir, e.Name()))
		if err != nil {
			return nil, formats.OnFile("read", path.Join(dir, e.Name()), err)
		}
		letters[e.Name()] = data
	}
	return letters, nil
}

// Give leaves the answer of a user to a gate of a run.
func (k *Keeper) Give(ctx context.Context, run, gate string, r project.Reply) error {
	_, err := k.project.Answer(ctx, run, gate, r)
	return err
}

// Do has an effect for an attempt.
func (k *Keeper) Do(
	ctx context.Context, q formats.HomeRequest,
) (reply formats.HomeReply, err error) {
	defer func() { k.noteDisk(err) }()
	r, unlock, err := k.lockTaken(q.Run, q.Taker)
	if err != nil {
		return formats.HomeReply{}, err
	}
	defer unlock()

	switch q.Do {
	case formats.HomeReserve:
		return formats.HomeReply{}, k.reserve(q, r)
	case formats.HomeAccount:
		return formats.HomeReply{}, k.handleAccount(q)
	case formats.HomeMessages:
		return k.messages(q.Run)
	}

	k.effects.Lock()
	defer k.effects.Unlock()
	switch q.Do {
	case formats.HomeApply:
		return k.applyTx(ctx, q)
	case formats.HomePublish:
		return k.publish(ctx, q, r)
	}
	return formats.HomeReply{}, formats.Fail(formats.CodeUsage,
		"let both machines have the same version of tercet",
		"expected apply, reserve, account, publish or messages, got %q", q.Do)
}

// messages are those to a run that no worker has got. The journal here has what a worker got, so
// none is given to two.
func (k *Keeper) messages(run string) (reply formats.HomeReply, err error) {
	list, err := k.project.Control.Unread(run)
	if err != nil {
		return reply, err
	}
	reply.Result, err = json.Marshal(list)
	if err != nil {
		return reply, formats.Broken(formats.CodeBug, "the messages", err)
	}
	return reply, nil
}

// reserve takes a worker from the team's budget. A killed attempt started its worker too, so each
// attempt pays for its own.
func (k *Keeper) reserve(q formats.HomeRequest, r *teamRun) error {
	id := q.Taker + "/" + q.Txn
	if slices.Contains(r.record.Reserved, id) {
		return nil
	}
	if err := k.countSpawn(); err != nil {
		return err
	}
	r.record.Reserved = append(r.record.Reserved, id)
	return k.save(q.Run, r)
}

// countSpawn counts one worker, unless a limit of the team is reached.
func (k *Keeper) countSpawn() error {
	const more = "; the owner of the home raises it"
	most := k.options.Limits
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case most.Spawns > 0 && k.spawned >= most.Spawns:
		return &formats.LaterError{Why: fmt.Sprintf(
			"the team may start %d workers, and has started as many"+more, most.Spawns)}
	case most.Cost > 0 && k.cost >= most.Cost:
		return &formats.LaterError{Why: fmt.Sprintf(
			"the workers of the team may cost $%.2f, and have cost $%.2f"+more, most.Cost, k.cost)}
	}
	k.spawned++
	return nil
}

// applyTx applies a transaction of a run, and tells what changed.
func (k *Keeper) applyTx(
	ctx context.Context, q formats.HomeRequest,
) (formats.HomeReply, error) {
	_, _, before, err := k.project.ChangedFiles(q.Run, k.marks)
	if err != nil {
		return formats.HomeReply{}, err
	}
	res, err := k.project.ApplyFor(ctx, q.Run, q.Tx)
	if err != nil {
		return formats.HomeReply{}, err
	}
	return k.newReply(q.Run, before, res)
}

// newReply has a result, the state, and the documents that changed meanwhile.
func (k *Keeper) newReply(
	run string, before map[string]project.FileMark, result any,
) (reply formats.HomeReply, err error) {
	reply.Result, err = json.Marshal(result)
	if err != nil {
		return reply, formats.Broken(formats.CodeBug, "the answer", err)
	}
	reply.Files, reply.Gone, k.marks, err = k.project.ChangedFiles(run, before)
	if err != nil {
		return reply, err
	}
	return reply, k.addState(reply.Files)
}

// publish publishes the worktree of a run here, one at a time and in the order of the requests.
func (k *Keeper) publish(
	ctx context.Context, q formats.HomeRequest, r *teamRun,
) (formats.HomeReply, error) {
	if q.Call == nil || q.Call.Run != q.Run || q.Call.Input["action"] != "publish" {
		return formats.HomeReply{}, formats.Fail(formats.CodeUsage, "",
			"expected a publication of run %s", q.Run)
	}

	_, _, before, err := k.project.ChangedFiles(q.Run, k.marks)
	if err != nil {
		return formats.HomeReply{}, err
	}
	if done, again := r.record.Published[q.Call.Txn]; again {
		return k.replyPublished(ctx, q.Run, before, done)
	}

	if err := k.keepTrees(ctx, q.Run, q.Trees, q.Bundles); err != nil {
		return formats.HomeReply{}, err
	}
	trees := worktree.Repository{Trees: k.project.Trees}
	if err := trees.RestoreSnapshots(ctx, q.Run, q.Trees); err != nil {
		return formats.HomeReply{}, err
	}

	place, err := trees.ProjectDir(ctx, q.Run)
	if err != nil {
		return formats.HomeReply{}, err
	}

	call := *q.Call
	call.Dir = place
	if k.options.Publish == config.PublishRequest && call.Input["as"] != worktree.AsPatch {
		call.Input = maps.Clone(call.Input)
		call.Input["as"] = worktree.AsRequest
	}

	work := builtin.GitWorkflow{Trees: k.project.Trees, Open: k.project.Docs.Open}
	var done project.Publication
	done.Return, err = work.Run(ctx, call)
	if err != nil {
		return formats.HomeReply{}, err
	}

	// A ref is created once. After a crash the same publication may make other commits, but only in
	// another attempt, which has a name of its own.
	number := 1000 * len(r.record.Published)
	done.Trees, err = trees.TakeSnapshots(ctx, worktree.Attempt{
		Run:          q.Run,
		Taker:        "home-" + q.Taker,
		Last:         q.Trees,
		Fingerprints: map[string]string{},
		NextNumber: func() int {
			number++
			return number
		},
		Bundles: map[string][]byte{}, // the reply has whole ones
	})
	if err == nil {
		err = trees.KeepSnapshots(ctx, q.Run, done.Trees)
	}
	if err != nil {
		return formats.HomeReply{}, err
	}

	if r.record.Published == nil {
		r.record.Published = map[string]project.Publication{}
	}
	r.record.Published[q.Call.Txn] = done
	if err := k.save(q.Run, r); err != nil {
		return formats.HomeReply{}, err
	}

	if _, err := k.project.Trees.Close(ctx, place); err != nil {
		return formats.HomeReply{}, err
	}
	return k.replyPublished(ctx, q.Run, before, done)
}

// replyPublished is the reply to a publication, with the snapshots that the remote did not take.
func (k *Keeper) replyPublished(
	ctx context.Context, run string, before map[string]project.FileMark, done project.Publication,
) (formats.HomeReply, error) {
	reply, err := k.newReply(run, before, done)
	if err != nil {
		return reply, err
	}
	trees := worktree.Repository{Trees: k.project.Trees}
	reply.Bundles, err = trees.Bundles(ctx, run, done.Trees)
	return reply, err
}

// Close closes the journals.
func (k *Keeper) Close() error {
	k.mu.Lock()
	all := slices.Collect(maps.Values(k.runs))
	k.mu.Unlock()

	var errs []error
	for _, r := range all {
		r.mu.Lock()
		if r.journal != nil {
			errs = append(errs, r.journal.Close())
			r.journal = nil
		}
		if r.lock != nil {
			errs = append(errs, r.lock.Close())
			r.lock = nil
		}
		r.mu.Unlock()
	}

	if k.lock != nil {
		errs = append(errs, k.lock.Close())
		k.lock = nil
	}
	return errors.Join(errs...)
}

var (
	_ project.Home = (*Keeper)(nil)
	_ Post         = (*Keeper)(nil)
)
