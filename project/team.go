package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
	"tercet/router"
	"tercet/state"
	"tercet/subagents"
	"tercet/subagents/builtin"
	"tercet/subagents/worktree"
)

// Home keeps the runs of a team, so that each can go on in another clone. An error with the code
// NOT_DURABLE means that another attempt has the run, or that the home cannot be reached.
type Home interface {
	// Append makes lines of a journal durable at the home. What they announce begins when Append
	// has returned.
	Append(ctx context.Context, l formats.SharedLines) error
	// History gives a run to an attempt. From then on nothing of an earlier attempt counts.
	History(ctx context.Context, run, taker string) (formats.RunHistory, error)
	// Do has an effect that only the home may have. A repeated request is the same request.
	Do(ctx context.Context, r formats.HomeRequest) (formats.HomeReply, error)
}

// team connects the runs of a project with the home of its team.
type team struct {
	project *Project
	home    Home

	mu   sync.Mutex
	runs map[string]*teamRun
}

// teamRun is what this process knows of a run that it has taken.
type teamRun struct {
	mu     sync.Mutex
	taker  string
	key    []byte
	trees  []formats.TreeSnapshot // as the home has them
	pushed int                    // snapshots by this attempt
	files  map[string]FileMark    // as the home has them
	// looks are what the worktrees looked like at their snapshots, and checkout what the checkout
	// looked like when it had no changes.
	looks    map[string]string
	checkout string
	homeErr  error // set once the home refused a call or did not answer; no call follows
}

// FileMark tells whether a file has changed.
type FileMark struct {
	Size  int64
	Nanos int64  // of its time
	Sum   string // of its content
}

// newTeam makes the connection to the host's home; nil without one.
func newTeam(p *Project) *team {
	if p.Host.Home == nil {
		return nil
	}
	return &team{project: p, home: p.Host.Home, runs: map[string]*teamRun{}}
}

// takenRun gives a run that this process has taken from the home.
func (t *team) takenRun(id string) (*teamRun, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.runs[id]; r != nil {
		return r, nil
	}
	return nil, formats.Fail(formats.CodeNotDurable, "a worker of the team takes it",
		"run %s was not taken from the home of the team", id)
}

// runKey gives the key that seals the journal of a run of the team; nil: it is none.
func (t *team) runKey(id string) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.runs[id]; r != nil {
		return r.key
	}
	return nil
}

// share brings lines to the home, with the documents and snapshots that they announce.
func (t *team) share(ctx context.Context, id string, lines []byte) error {
	r, err := t.takenRun(id)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.homeErr != nil {
		return r.homeErr
	}

	l := formats.SharedLines{Run: id, Taker: r.taker, Lines: lines}
	trees := r.trees
	if hasResult(lines) {
		trees, l.Bundles, err = t.snapshots(ctx, id, r)
		if err != nil {
			return err
		}
		if !slices.Equal(trees, r.trees) {
			l.Trees = &trees
		}
	}

	files, err := t.project.FileMarks(id, r.files)
	if err != nil {
		return err
	}
	l.Files, l.Gone, err = t.project.changedFiles(r.files, files)
	if err != nil {
		return err
	}

	if err := t.home.Append(ctx, l); err != nil {
		r.homeErr = err
		return err
	}
	r.trees = trees
	r.files = files
	return nil
}

// hasResult reports whether lines have the result of a delegation, which may have changed a tree.
func hasResult(lines []byte) bool {
	for line := range bytes.Lines(lines) {
		var entry struct{ Type formats.EntryType }
		if json.Unmarshal(line, &entry) == nil && entry.Type == formats.EntryDelegationResult {
			return true
		}
	}
	return false
}

// snapshots pushes the worktrees of a run that have changed. Those that the remote does not take
// are bundles for the home, by commit.
func (t *team) snapshots(
	ctx context.Context, id string, r *teamRun,
) (list []formats.TreeSnapshot, bundles map[string][]byte, err error) {
	if !t.project.Git(t.project.Dir).Exists() {
		return nil, nil, nil
	}
	trees := worktree.Repository{Trees: t.project.Trees}
	if err := t.checkCheckout(ctx, r, trees); err != nil {
		return nil, nil, err
	}

	bundles = map[string][]byte{}
	list, err = trees.TakeSnapshots(ctx, worktree.Attempt{
		Run:          id,
		Taker:        r.taker,
		Last:         r.trees,
		Fingerprints: r.looks,
		NextNumber: func() int {
			r.pushed++
			return r.pushed
		},
		Bundles: bundles,
	})
	return list, bundles, err
}

// checkCheckout refuses work in the checkout itself, which does not travel.
func (t *team) checkCheckout(
	ctx context.Context, r *teamRun, trees worktree.Repository,
) error {
	look, known := t.project.Git(t.project.Dir).StatFingerprint(formats.Workspace)
	if known && look == r.checkout {
		return nil // it looks as when it had no changes
	}

	r.checkout = ""
	changed, err := trees.CheckoutChanges(ctx)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		return formats.Fail(formats.CodePrecondition,
			"give the command a worktree: worktree: {per: run}",
			"work in the checkout does not travel to another machine: %s",
			strings.Join(changed[:min(len(changed), 3)], ", "))
	}
	if known {
		r.checkout = look
	}
	return nil
}

// do asks the home for an effect, and takes over the files that it changed.
func (t *team) do(ctx context.Context, q formats.HomeRequest) (formats.HomeReply, error) {
	r, err := t.takenRun(q.Run)
	if err != nil {
		return formats.HomeReply{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return t.doLocked(ctx, r, q)
}

func (t *team) doLocked(
	ctx context.Context, r *teamRun, q formats.HomeRequest,
) (formats.HomeReply, error) {
	if r.homeErr != nil {
		return formats.HomeReply{}, r.homeErr
	}

	q.Taker = r.taker
	reply, err := t.home.Do(ctx, q)
	if formats.CodeOf(err) == formats.CodeNotDurable {
		r.homeErr = err
	}
	if err != nil {
		return reply, err
	}
	return reply, t.installFiles(q.Run, r, reply.Files, reply.Gone)
}

// installFiles writes files of the home's workspace here.
func (t *team) installFiles(id string, r *teamRun, files map[string][]byte, gone []string) error {
	for name, data := range files {
		if !t.project.Shares(id, name) {
			return &formats.ValueError{What: "a file of the home", Got: name}
		}
		if err := atomicfile.MkdirAll(t.project.Root, path.Dir(name), 0o755); err != nil {
			return formats.OnFile("make", path.Dir(name), err)
		}
		old, err := atomicfile.ReadFile(t.project.Root, name)
		if err == nil && bytes.Equal(old, data) {
			continue
		}
		err = atomicfile.WriteIn(t.project.Root, name, data, atomicfile.Options{Mode: 0o644})
		if err != nil {
			return formats.OnFile("write", name, err)
		}
	}

	for _, name := range gone {
		if !t.project.Shares(id, name) {
			return &formats.ValueError{What: "a file of the home", Got: name}
		}
		if err := t.project.Root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return formats.OnFile("remove", name, err)
		}
	}

	if len(files)+len(gone) == 0 {
		return nil
	}
	marks, err := t.project.FileMarks(id, r.files)
	if err != nil {
		return err
	}

	// a file that changed here and not at the home is still to be shared
	for _, name := range append(slices.Clone(gone), namesOf(files)...) {
		if mark, there := marks[name]; there {
			r.files[name] = mark
		} else {
			delete(r.files, name)
		}
	}
	return nil
}

func namesOf(files map[string][]byte) (names []string) {
	for name := range files {
		names = append(names, name)
	}
	return names
}

// Apply has the owner of the state apply a transaction.
func (t *team) Apply(ctx context.Context, tx state.Tx) (state.Result, error) {
	data, err := state.EncodeTx(tx)
	if err != nil {
		return state.Result{}, err
	}

	reply, err := t.do(ctx, formats.HomeRequest{Run: tx.Run, Do: formats.HomeApply, Tx: data})
	if err != nil {
		return state.Result{}, err
	}

	var res state.Result
	if err := json.Unmarshal(reply.Result, &res); err != nil {
		return res, formats.Broken(formats.CodeNotDurable, "the answer of the home", err)
	}
	return res, nil
}

// ApplyFor applies a transaction that a run of the team sent.
func (p *Project) ApplyFor(ctx context.Context, run string, data []byte) (state.Result, error) {
	tx, err := state.DecodeTx(data)
	if err != nil {
		return state.Result{}, err
	}
	if tx.Run != run {
		return state.Result{}, formats.Fail(formats.CodeDenied, "",
			"run %s sent a transaction of run %s", run, tx.Run)
	}
	return p.Manager.Apply(ctx, tx)
}

// unreadMessages gives the messages to a run that no worker has got.
func (t *team) unreadMessages(run string) (list []formats.Message, err error) {
	q := formats.HomeRequest{Run: run, Do: formats.HomeMessages}
	reply, err := t.do(t.project.Host.AbortContext(), q)
	if err == nil {
		err = json.Unmarshal(reply.Result, &list)
	}
	return list, err
}

// prepareWorker reserves a worker of the team's budget, then prepares its tree.
func (t *team) prepareWorker(ctx context.Context, r formats.Request) ([]string, error) {
	_, err := t.do(ctx, formats.HomeRequest{Run: r.Run, Do: formats.HomeReserve, Txn: r.Txn})
	if err != nil {
		return nil, err
	}
	return t.project.Trees.PrepareWorker(ctx, r)
}

// teamAccounts shares usage limits through the home.
type teamAccounts struct{ *team }

// Wait asks the home whether an account may be used now.
func (a teamAccounts) Wait(ctx context.Context, run, account string) error {
	_, err := a.do(ctx, formats.HomeRequest{Run: run, Do: formats.HomeAccount, Account: account})
	return err
}

// Reached tells the home that an account may not be used for a while.
func (a teamAccounts) Reached(
	ctx context.Context, run, account string, limit *formats.LaterError,
) error {
	q := formats.HomeRequest{
		Run:     run,
		Do:      formats.HomeAccount,
		Account: account,
		Limit:   &formats.AccountLimit{Why: limit.Why},
	}
	if !limit.Until.IsZero() {
		q.Limit.For = limit.Until.Sub(a.project.Host.Clock.Now())
	}
	_, err := a.do(ctx, q)
	return err
}

// teamGit is git-workflow-manager in a clone of the team: the home publishes, except requests,
// which the worker opens if it is logged in where the remote is.
type teamGit struct {
	builtin.GitWorkflow

	team *team
}

// Run does one action here, or publishes at the home.
func (g teamGit) Run(ctx context.Context, r formats.Request) (formats.Return, error) {
	child, _ := r.Input["child"].(string) //nolint:errcheck // empty without it
	if r.Input["action"] != "publish" || child != "" {
		return g.GitWorkflow.Run(ctx, r)
	}
	if r.Input["as"] != worktree.AsRequest {
		return g.team.publish(ctx, r)
	}
	// an attempt that has lost its run pushes nothing
	if _, err := g.team.unreadMessages(r.Run); err != nil {
		return formats.Return{}, err
	}

	ret, err := g.GitWorkflow.Run(ctx, r)
	notHere := err == nil && len(ret.Errors) > 0 &&
		ret.Errors[0].Code == formats.CodeToolUnavailable
	if notHere || formats.CodeOf(err) == formats.CodeToolUnavailable {
		return g.team.publish(ctx, r) // the owner of the home may be logged in
	}
	return ret, err
}

// publish has the home publish the worktree of a run as it is now, and takes over what it became.
func (t *team) publish(ctx context.Context, call formats.Request) (formats.Return, error) {
	r, err := t.takenRun(call.Run)
	if err != nil {
		return formats.Return{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()

	trees, bundles, err := t.snapshots(ctx, call.Run, r)
	if err != nil {
		return formats.Return{}, err
	}
	reply, err := t.doLocked(ctx, r, formats.HomeRequest{
		Run:     call.Run,
		Do:      formats.HomePublish,
		Call:    &call,
		Trees:   trees,
		Bundles: bundles,
	})
	if err != nil {
		return formats.Return{}, err
	}

	var done Publication
	if err := json.Unmarshal(reply.Result, &done); err != nil {
		return formats.Return{},
			formats.Broken(formats.CodeNotDurable, "the answer of the home", err)
	}

	own := worktree.Repository{Trees: t.project.Trees}
	if err := own.Unbundle(ctx, call.Run, reply.Bundles); err != nil {
		return formats.Return{}, err
	}
	if err := own.RestoreSnapshots(ctx, call.Run, done.Trees); err != nil {
		return formats.Return{}, err
	}
	return done.Return, nil
}

// Publication is what the home published, and the worktrees as that left them.
type Publication struct {
	Return formats.Return         `json:"return"`
	Trees  []formats.TreeSnapshot `json:"trees"`
}

// Shares reports whether a file belongs to what the home and its workers share: the state, the
// documents, and the record of the documents of a run.
func (p *Project) Shares(run, name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return false
	}
	return name == formats.Workspace+"/state.json" ||
		slices.Contains(p.sharedRecords(run), name) ||
		slices.ContainsFunc(p.sharedFolders(run), func(dir string) bool {
			return strings.HasPrefix(name, dir+"/")
		})
}

// sharedFolders have the documents, also those of a run that were set aside because it failed.
func (p *Project) sharedFolders(run string) []string {
	specs := p.Config.Specs
	if specs == "" {
		specs = formats.Specs
	}
	return []string{
		specs,
		formats.Workspace + "/reviews",
		formats.Workspace + "/archive",
		path.Join(journal.Folder, run, "discarded"),
	}
}

// sharedRecords say which documents a run placed.
func (p *Project) sharedRecords(run string) []string {
	dir := path.Join(journal.Folder, run)
	return []string{dir + "/documents.json", dir + "/discarded.json"}
}

// FileMarks are the marks of what is shared, except the state. Content is read only where a mark
// differs from the known one.
func (p *Project) FileMarks(run string, known map[string]FileMark) (map[string]FileMark, error) {
	tree := atomicfile.FS(p.Root)
	marks := map[string]FileMark{}
	add := func(name string, info fs.FileInfo) error {
		mark := FileMark{Size: info.Size(), Nanos: info.ModTime().UnixNano()}
		old, there := known[name]
		if there && old.Size == mark.Size && old.Nanos == mark.Nanos {
			marks[name] = old
			return nil
		}
		data, err := atomicfile.ReadFile(p.Root, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return formats.OnFile("read", name, err)
		}
		mark.Sum = formats.Sum(data)
		marks[name] = mark
		return nil
	}

	for _, dir := range p.sharedFolders(run) {
		err := fs.WalkDir(tree, dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return formats.OnFile("read", name, err)
			case !d.Type().IsRegular() || strings.Contains(path.Base(name), ".tmp-"):
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil //nolint:nilerr // it was removed meanwhile
			}
			return add(name, info)
		})
		if err != nil {
			return nil, err
		}
	}

	for _, name := range p.sharedRecords(run) {
		info, err := p.Root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := add(name, info); err != nil {
			return nil, err
		}
	}

	return marks, nil
}

// changedFiles reads what differs between two sets of marks.
func (p *Project) changedFiles(
	was, is map[string]FileMark,
) (files map[string][]byte, gone []string, err error) {
	files = map[string][]byte{}
	for name, mark := range is {
		if was[name].Sum == mark.Sum {
			continue
		}
		data, err := atomicfile.ReadFile(p.Root, name)
		if err != nil {
			return nil, nil, formats.OnFile("read", name, err)
		}
		files[name] = data
	}

	for name := range was {
		if _, there := is[name]; !there {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return files, gone, nil
}

// ChangedFiles is what of the shared files differs from earlier marks, and the marks of now.
func (p *Project) ChangedFiles(
	run string, was map[string]FileMark,
) (files map[string][]byte, gone []string, now map[string]FileMark, err error) {
	now, err = p.FileMarks(run, was)
	if err != nil {
		return nil, nil, nil, err
	}
	files, gone, err = p.changedFiles(was, now)
	return files, gone, now, err
}

// TakeRun takes a run from the home of the team and works on it until it ends or waits. The run has
// its worktrees, documents and journal here as the home has them; what an earlier attempt left here
// is overwritten. The taker is the name of this attempt, which no other has.
func (p *Project) TakeRun(
	ctx context.Context, run, taker string, o Options,
) (formats.Return, error) {
	if p.team == nil || p.Reader == nil {
		return formats.Return{}, formats.Fail(formats.CodeBug, "",
			"expected a workspace and the home of a team")
	}
	if err := p.Host.MayCommand(); err != nil {
		return formats.Return{}, err
	}

	h, err := p.team.take(ctx, run, taker)
	if err != nil {
		return formats.Return{}, err
	}

	o.Yes = o.Yes || h.Yes
	s, err := p.Session(o)
	if err != nil {
		return formats.Return{}, err
	}
	s.oneRun = true

	records, err := journal.Read(h.Lines)
	if err != nil {
		return formats.Return{}, err
	}

	switch end, ended := journal.End(records); {
	case ended:
		return end.Return(run), nil
	case h.Cancel:
		return s.cancelTaken(ctx, run)
	case len(records) > 0:
		return s.Resume(ctx, run, "")
	}
	s.runID = run
	return s.Start(ctx, router.Line{Raw: h.Line})
}

// cancelTaken gives up a run of the team that was taken. One that has not begun has nothing to give
// back.
func (s *Session) cancelTaken(ctx context.Context, run string) (formats.Return, error) {
	r, err := s.Project.Control.Take(ctx, run)
	if err == nil {
		err = s.GiveUp(ctx, r)
	}
	if err != nil {
		return formats.Return{}, err
	}

	records, err := journal.Load(s.Project.Root, run)
	if err != nil {
		return formats.Return{}, err
	}
	end, _ := journal.End(records)
	return end.Return(run), nil
}

// take makes this clone what the home has of a run.
func (t *team) take(ctx context.Context, run, taker string) (formats.RunHistory, error) {
	h, err := t.home.History(ctx, run, taker)
	if err != nil {
		return h, err
	}
	t.project.homeTime.set(h.Now)

	trees := worktree.Repository{Trees: t.project.Trees}
	if len(h.Lines) == 0 {
		if err := trees.FollowBase(ctx, h.Base); err != nil {
			return h, err
		}
	}

	r := &teamRun{
		taker: taker,
		key:   h.Key,
		trees: h.Trees,
		files: map[string]FileMark{},
		looks: map[string]string{},
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	// what is here and not at the home does not count
	marks, err := t.project.FileMarks(run, nil)
	if err != nil {
		return h, err
	}
	var stale []string
	for name := range marks {
		if _, there := h.Files[name]; !there {
			stale = append(stale, name)
		}
	}

	if err := t.installFiles(run, r, h.Files, stale); err != nil {
		return h, err
	}
	if err := t.restore(ctx, h); err != nil {
		return h, err
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs[run] = r
	return h, nil
}

// restore puts back the journal, the answers and the worktrees of a run.
func (t *team) restore(ctx context.Context, h formats.RunHistory) error {
	if len(h.Lines) == 0 {
		return nil
	}
	dir := path.Join(journal.Folder, h.Run)
	if err := atomicfile.MkdirAll(t.project.Root, dir+"/answers", 0o700); err != nil {
		return formats.OnFile("make", dir, err)
	}
	private := atomicfile.Options{Mode: 0o600}
	for name, data := range h.Letters {
		if path.Base(name) != name || name == ".." {
			return &formats.ValueError{What: "the name of an answer", Got: name}
		}
		err := atomicfile.WriteIn(t.project.Root, dir+"/answers/"+name, data, private)
		if err != nil {
			return formats.OnFile("write", dir+"/answers/"+name, err)
		}
	}

	name := path.Join(dir, journal.Name)
	if err := atomicfile.WriteIn(t.project.Root, name, h.Lines, private); err != nil {
		return formats.OnFile("write", name, err)
	}

	trees := worktree.Repository{Trees: t.project.Trees}
	if err := trees.Unbundle(ctx, h.Run, h.Bundles); err != nil {
		return err
	}
	return trees.RestoreSnapshots(ctx, h.Run, h.Trees)
}

var _ subagents.Agent = teamGit{}
