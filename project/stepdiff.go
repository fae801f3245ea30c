package project

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/journal"
	"tercet/subagents/worktree"
)

// StepChanges are what one step of a run changed in the repository.
type StepChanges struct {
	Patch string
	// Until says where the patch ends, as the end of a sentence: "until step b began". Without it
	// and without Commits the changes cannot be told, and Unknown says why.
	Until   string
	Unknown string
	Commits []string // that the step itself made; the patch is theirs
	// Beside are other steps whose workers were at work in the same worktree meanwhile: the patch
	// has their changes too.
	Beside []string
}

// Why the changes of a step cannot be told.
const (
	unknownNoRecord = "tercet records the files only before it starts an agent in a worktree of " +
		"the run, which it did not in this step; nor did the step make a commit"
	unknownPruned = "git has removed the record of the files from before the step, which no " +
		"commit holds"
	unknownAfter = "the worktree of the step is gone, and nothing on record says how the step " +
		"left it"
)

// The actions of the manager of git that tell what a worktree had.
const (
	commitAction  = "commit"
	publishAction = "publish"
	closeAction   = "close"
)

const (
	maxStepCommits   = 20
	shortCommitChars = 12
)

// StepChanges gives what one step changed, with the steps in it. The state before it is that in
// which its first worker found the worktree. The state after it is the next one on record: that in
// which the next worker found the worktree, or a commit, or the worktree as it is now. So it has
// what was changed by hand in between. The patch is masked.
func (p *Project) StepChanges(ctx context.Context, run, step string) (StepChanges, error) {
	r, err := p.Find(run)
	if err != nil {
		return StepChanges{}, err
	}
	records, err := journal.Load(p.Root, r.ID)
	if err != nil {
		return StepChanges{}, err
	}

	d := stepDiff{
		run:   r.ID,
		repo:  p.Git(p.Dir),
		trees: worktree.Repository{Trees: p.Trees},
	}
	if err := d.readCalls(records, step); err != nil {
		return StepChanges{}, err
	}

	c, err := d.changes(ctx)
	c.Patch = p.Mask.Values(c.Patch)
	return c, err
}

// stepDiff is the work on the changes of one step.
type stepDiff struct {
	run   string
	repo  *git.Repo
	trees worktree.Repository

	stepCalls  []*workCall // of the step and the steps in it, in the order in which they began
	otherCalls []*workCall // that began or ended while those were at work, or later
}

// workCall is a call of a subagent as the journal has it.
type workCall struct {
	step, agent, action string
	began, ended        int // the numbers of its records; ended is 0 while it works
	commit, wip         string
	before              *worktree.TreeState // nil: none was recorded
}

// readCalls finds the calls of a step, and those that say what it left.
func (d *stepDiff) readCalls(records []journal.Record, step string) error {
	start := 0
	known := false
	for i, r := range records {
		if r.Type == formats.EntryStepScheduled && r.Step == step {
			start = i // the last time: the user may have gone back to it
		}
		known = known || r.Step == step
	}
	if !known {
		return formats.Fail(formats.CodeNotFound,
			"run 'tercet show "+d.run+"' to list its steps", "run %s has no step '%s'", d.run, step)
	}

	open := map[string]*workCall{}
	for i, r := range records {
		switch r.Type { //nolint:exhaustive // the others are no calls
		case formats.EntryDelegationStarted:
			c, err := d.startCall(r)
			if err != nil {
				return err
			}
			open[r.Key] = c
			if isWithin(r.Step, step) && i >= start {
				d.stepCalls = append(d.stepCalls, c)
			} else {
				d.otherCalls = append(d.otherCalls, c)
			}
		case formats.EntryDelegationResult:
			if c := open[r.Key]; c != nil {
				c.finish(r)
			}
		}
	}
	return nil
}

// isWithin reports whether a path is that of a step or of one in it.
func isWithin(path, step string) bool {
	rest, ok := strings.CutPrefix(path, step)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], "/[."))
}

func (d *stepDiff) startCall(r journal.Record) (*workCall, error) {
	c := &workCall{step: r.Step, began: r.Seq}
	var data struct {
		Agent string
		Input struct{ Action string }
	}
	if json.Unmarshal(r.Raw(), &data) == nil {
		c.agent = data.Agent
		c.action = data.Input.Action
	}

	if r.Key == "" {
		return c, nil
	}
	before, ok, err := d.trees.StateBefore(d.run, r.Key)
	if ok {
		c.before = &before
	}
	return c, err
}

// finish records the return of a call.
func (c *workCall) finish(r journal.Record) {
	c.ended = r.Seq
	var ret struct {
		Fields struct{ Commit, Wip string }
	}
	if c.agent == formats.AgentGitWorkflow && json.Unmarshal(r.Raw(), &ret) == nil {
		c.commit = ret.Fields.Commit
		c.wip = ret.Fields.Wip
	}
}

// changes compares the states before and after.
func (d *stepDiff) changes(ctx context.Context) (StepChanges, error) {
	worked := slices.DeleteFunc(slices.Clone(d.stepCalls), func(c *workCall) bool {
		return c.before == nil
	})
	if len(worked) == 0 {
		return d.commits(ctx)
	}

	first := slices.MinFunc(worked, func(a, b *workCall) int {
		return a.before.At.Compare(b.before.At)
	})
	last := worked[len(worked)-1]
	c := StepChanges{Beside: d.concurrentSteps(worked)}
	if !d.hasTree(ctx, first.before.Tree) {
		c.Unknown = unknownPruned
		return c, nil
	}

	tree, until, err := d.treeAfter(ctx, last, lastRecord(worked))
	switch {
	case err != nil:
		return c, err
	case tree != "":
		patch, err := d.repo.Diff(ctx, first.before.Tree, tree)
		c.Patch = string(patch)
		c.Until = until
		return c, err
	case until != "": // a commit says it, and is gone
		c.Unknown = unknownAfter
		return c, nil
	}

	dir, err := d.trees.WorktreeOnBranch(ctx, d.run, last.before.Branch)
	if err != nil {
		return c, err
	}
	if dir == "" {
		c.Unknown = unknownAfter
		return c, nil
	}

	c.Patch, err = d.trees.PatchSince(ctx, d.run, dir, first.before.Tree)
	c.Until = "until now"
	return c, err
}

// commits are what a step without a worker in a worktree changed: its commits.
func (d *stepDiff) commits(ctx context.Context) (StepChanges, error) {
	c := StepChanges{Unknown: unknownNoRecord}
	for _, one := range d.stepCalls {
		if one.commit == "" || len(c.Commits) == maxStepCommits {
			continue
		}
		patch, err := d.repo.Diff(ctx, one.commit+"^", one.commit)
		if err != nil {
			return c, nil //nolint:nilerr // the commit is gone, or the first of all
		}
		c.Commits = append(c.Commits, one.commit)
		c.Patch += string(patch)
		c.Unknown = ""
	}
	return c, nil
}

// lastRecord is the number of the record with which the last of some calls ended; 0: one is at
// work.
func lastRecord(calls []*workCall) (end int) {
	for _, c := range calls {
		if c.ended == 0 {
			return 0
		}
		end = max(end, c.ended)
	}
	return end
}

// treeAfter finds how the worktree of a call was after the record with a number, as the next call
// there found or left it. A tree without a commit may be gone: then only until is given. Both are
// empty if nothing came after.
func (d *stepDiff) treeAfter(
	ctx context.Context, last *workCall, end int,
) (tree, until string, err error) {
	if end == 0 {
		return "", "", nil
	}

	later := slices.Concat(d.stepCalls, d.otherCalls)
	slices.SortFunc(later, func(a, b *workCall) int { return a.began - b.began })
	for _, c := range later {
		if c.began < end {
			continue
		}
		if c.before != nil && c.before.Branch == last.before.Branch {
			until = "until step " + c.step + " began to work"
			if d.hasTree(ctx, c.before.Tree) {
				return c.before.Tree, until, nil
			}
			return "", until, nil
		}

		commit := ""
		switch {
		case !d.sharesTree(c, last):
		case c.action == commitAction, c.action == publishAction:
			commit = c.commit
			until = "until commit " + shortHash(commit)
		case c.action == closeAction && c.wip != "":
			commit = "refs/heads/" + c.wip
			until = "until what was not committed went to branch " + c.wip
		}

		if commit == "" {
			continue
		}
		tree, err := d.treeOn(ctx, commit, last.before.Head)
		if tree != "" || err != nil {
			return tree, until, err
		}
		until = ""
	}
	return "", "", nil
}

// sharesTree reports whether a commit may be of the worktree of a worker. Those of several children
// begin at the same commit; then it has to be a step of the same child.
func (d *stepDiff) sharesTree(commit, worker *workCall) bool {
	all := slices.Concat(d.stepCalls, d.otherCalls)
	several := slices.ContainsFunc(all, func(c *workCall) bool {
		return c.before != nil && c.before.Head == worker.before.Head &&
			c.before.Branch != worker.before.Branch
	})
	if !several {
		return true
	}
	at := strings.LastIndex(worker.step, "]")
	return at < 0 || strings.HasPrefix(commit.step, worker.step[:at+1])
}

// treeOn gives the tree of a commit whose parent is that one, or of the second parent of a merge
// that has it; empty: it is another worktree's, or gone.
func (d *stepDiff) treeOn(ctx context.Context, commit, parent string) (string, error) {
	for _, tip := range []string{commit, commit + "^2"} {
		for _, before := range []string{tip, tip + "^"} {
			hash, err := d.repo.Resolve(ctx, before)
			switch {
			case errors.Is(err, git.ErrNoCommit):
			case err != nil:
				return "", err
			case hash == parent:
				return d.repo.Tree(ctx, tip)
			}
		}
	}
	return "", nil
}

// hasTree reports whether the repository still has a tree.
func (d *stepDiff) hasTree(ctx context.Context, tree string) bool {
	_, err := d.repo.DiffPaths(ctx, tree, tree)
	return err == nil
}

// concurrentSteps names the other steps whose workers were at work in the same worktree meanwhile.
func (d *stepDiff) concurrentSteps(worked []*workCall) (steps []string) {
	for _, c := range d.otherCalls {
		if c.before == nil || slices.Contains(steps, c.step) {
			continue
		}
		overlaps := slices.ContainsFunc(worked, func(own *workCall) bool {
			ends := own.ended == 0 || c.began < own.ended
			return c.before.Branch == own.before.Branch && ends &&
				(c.ended == 0 || c.ended > own.began)
		})
		if overlaps {
			steps = append(steps, c.step)
		}
	}
	return steps
}

func shortHash(commit string) string {
	return commit[:min(len(commit), shortCommitChars)]
}
