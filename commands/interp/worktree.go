package interp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/trace"
)

// worktreeID is the id of the engine's own calls for worktrees. inMain is the project's own tree,
// inNone is no tree.
const (
	worktreeID = "worktree"
	inMain     = "main"
	inNone     = "none"
)

// subtree is the worktree of one of several children. Its branch starts from that of the run.
type subtree struct {
	child   string
	group   *childGroup
	dir     string // empty: not open
	opened  bool   // or the attempt failed
	dropped bool   // the work is in a bundle; the child starts again
	keep    bool   // for the user to inspect
}

// worktrees are the run's own worktree and those of children.
type worktrees struct {
	dir       string     // of the run's own; empty: none is open
	opened    bool       // the run opened it
	children  []*subtree // that were opened
	repoState formats.RepoState
}

// childGroup is the children of one visit of a step. All start from the same commit.
type childGroup struct{ base any }

// localDir is the folder of a worktree in the project at a root. The journal has it relative to the
// root. Older journals have the folder as it was when the worktree was opened, and the project may
// have been moved since.
func localDir(root, dir string) string {
	if filepath.IsLocal(dir) {
		return filepath.Join(root, filepath.FromSlash(dir))
	}
	parent := filepath.Join(formats.Workspace, formats.WorktreeFolder)
	marker := string(filepath.Separator) + parent + string(filepath.Separator)
	at := strings.LastIndex(dir, marker)
	if at < 0 {
		return dir
	}
	return filepath.Join(root, parent, dir[at+len(marker):])
}

// assignTree gives a child a worktree of its own in the frame, if the file says so and it is not in
// such a worktree already.
func (g *childGroup) assignTree(fr frame, child string) (frame, *subtree) {
	if fr.run.prog.EngineCalls.Join == nil || fr.run.dry.on || fr.subtree != nil {
		return fr, nil
	}
	fr.shared = false
	fr.subtree = &subtree{child: child, group: g}
	return fr, fr.subtree
}

// ensureWorktree opens the worktree of the run before the first step that works in it, and that of
// the present child.
func (c call) ensureWorktree() error {
	r := c.step.run
	open := r.prog.EngineCalls.Open
	in := c.step.info.Terms.In
	elsewhere := in == inMain || in == inNone && !c.to.Info.Builtin
	ownGit := c.to.Agent == compile.GitWorkflow && c.extraInput != nil
	actsForRun := ownGit || c.to.Agent == compile.StatusSync
	if open == nil || r.dry.on || r.finishing || elsewhere || actsForRun {
		return nil
	}

	if !r.tree.opened && r.tree.dir == "" {
		r.tree.opened = true
		inRunTree := c.step.frame.withSubtree(nil)
		err := inRunTree.engineCallWith(worktreeID, open, object{}).mustPass()
		if err != nil {
			return err
		}
	}

	child := c.step.frame.subtree
	if child == nil || child.opened {
		return nil
	}
	return child.open(c.step.frame)
}

// open opens the worktree of a child.
func (t *subtree) open(fr frame) error {
	r := fr.run
	t.opened = true
	if !slices.Contains(r.tree.children, t) {
		r.tree.children = append(r.tree.children, t)
	}

	more := object{"child": t.child}
	if t.group.base != nil && !t.dropped {
		more["base"] = t.group.base
	}

	id := worktreeID + "/" + t.child
	ret, err := fr.withSubtree(t).engineCallWith(id, r.prog.EngineCalls.Open, more).runOnce()
	if t.group.base == nil {
		t.group.base = ret.Fields["base"]
	}
	return failureOf(ret, err)
}

// The answers to a conflict.
const (
	conflictRetry   = "retry with feedback"
	conflictKeep    = "keep"
	conflictDiscard = "discard"
)

// join merges the work of a child that passed into the worktree of the run, and closes that of the
// child. It gives the outcome of a child whose work conflicts, nil if it is merged. On a conflict
// the user is asked. again does the work once more, from where the run is now; it gives a return
// only if that does not pass.
func (t *subtree) join(
	s step,
	passed bool,
	again func(frame) (*formats.Return, error),
) (*formats.Return, error) {
	if t == nil || t.dir == "" {
		return nil, nil
	}
	r := s.run
	id := worktreeID + "/" + t.child
	for {
		if !passed {
			return nil, t.close(s.frame)
		}

		more := object{"child": t.child}
		inChild := s.frame.withSubtree(t)
		got, err := inChild.engineCallWith(id+"/join", r.prog.EngineCalls.Join, more).runOnce()
		if err != nil {
			return nil, err
		}
		if got.Outcome().Passes() {
			return nil, t.close(s.frame)
		}

		t.keep = true
		if got.Outcome() != formats.OutcomeRejected {
			return &got, nil
		}

		g := r.question(
			s.scope.journalPrefix+id+"/join",
			"the work of '"+t.child+"' conflicts: "+got.Summary,
			conflictRetry,
			conflictKeep,
			conflictDiscard,
		)
		first := r.counts.autoAnswers[id] < r.limits.Retries
		g.Choices[0].Approves = first
		g.Choices[1].Approves = !first
		g.Choices[1].Leaves = true

		_, d, err := ask(s, fixedGate{gate: g})
		if err != nil {
			return nil, err
		}
		if !d.Person {
			r.counts.autoAnswers[id]++
		}

		if d.Answer == conflictKeep {
			return &got, nil
		}
		if err := t.discard(s.frame); err != nil || d.Answer == conflictDiscard {
			return &got, err
		}

		fb := &formats.Feedback{
			From:    s.info.ID,
			Issues:  nonNil(got.Issues),
			Note:    d.Note,
			Choice:  d.Answer,
			Attempt: r.counts.autoAnswers[id] + 1,
		}
		failed, err := again(s.frame.withFeedback(fb).withSubtree(t))
		if err != nil {
			return nil, err
		}
		if failed != nil {
			return failed, t.close(s.frame)
		}
	}
}

// close closes the worktree of a child. Work that was not merged stays on its branch.
func (t *subtree) close(fr frame) error {
	if t.dir == "" {
		return nil
	}
	more := object{"child": t.child}
	id := worktreeID + "/" + t.child + "/close"
	return fr.withSubtree(t).engineCallWith(id, fr.run.prog.EngineCalls.Close, more).mustPass()
}

// discard removes the worktree of a child and its branch. The work is in a bundle.
func (t *subtree) discard(fr frame) error {
	r := fr.run
	more := object{"child": t.child, "discard": true}
	id := worktreeID + "/" + t.child + "/discard"
	ret, err := fr.withSubtree(t).engineCallWith(id, r.prog.EngineCalls.Close, more).runOnce()
	if ret.Fields["bundle"] != nil {
		r.report.warn("what '%s' had done is in %v", t.child, ret.Fields["bundle"])
	}

	t.opened = false
	t.keep = false
	t.dropped = true
	return failureOf(ret, err)
}

// checkMovedRefs notes branches that gained commits while a worker ran, because the run publishes
// on top of them. It asks about other refs that moved; the return of the worker is in the journal
// by then, and nothing follows before the answer.
func (c call) checkMovedRefs(ret formats.Return) error {
	r := c.step.run
	var gained, moved []formats.Moved
	for _, one := range ret.Metadata.Moved {
		if one.Forward {
			gained = append(gained, one)
		} else {
			moved = append(moved, one)
		}
	}

	movedText := func(refs []formats.Moved) string {
		return fmt.Sprintf("while %s worked, and not by tercet, %s",
			c.to.Agent, formats.MovedText(refs))
	}
	if len(gained) > 0 {
		note := movedText(gained)
		r.report.warn("%s", note)
		c.step.frame.emit(trace.Event{
			Kind:    trace.Warning,
			Name:    c.to.Agent,
			Step:    c.step.path,
			Message: note,
		})
	}
	if len(moved) == 0 {
		return nil
	}

	const mine = "mine"
	const back = "back"
	const stop = "stop"
	what := movedText(moved)
	g := r.question(
		fmt.Sprintf("%s.%d", c.step.journalPath(), c.attempt),
		what+": was it you?",
		mine,
		back,
		stop,
	)
	g.Choices[2].Leaves = true
	g.NeedsPerson = true
	_, d, err := ask(c.step, fixedGate{gate: g})
	switch {
	case err != nil || d.Answer == mine:
		return err
	case d.Answer == back:
		to := &compile.Call{
			Agent: compile.GitWorkflow,
			Info:  &formats.AgentInfo{Name: compile.GitWorkflow, Builtin: true},
		}
		more := object{"action": "put_back", "refs": normalize(moved)}
		inRunTree := c.step.frame.withSubtree(nil)
		return inRunTree.engineCallWith("refs/"+c.step.path, to, more).mustPass()
	}

	return formats.Fail(formats.CodeDenied, "look at them with 'git reflog'", "%s", what)
}

// close closes the worktrees that the run opened; the git-workflow-manager keeps unfinished
// work. If the journal cannot be written they stay open, because the run goes on in them.
func (w *worktrees) close(fr frame) {
	r := fr.run
	if r.prog.EngineCalls.Close == nil || !w.opened {
		return
	}
	const otherwise = "the worktree was not closed"
	for _, t := range w.children {
		if t.dir == "" || t.keep {
			continue
		}
		if err := t.close(fr); err != nil {
			r.report.warn("%s: %s", otherwise, err)
		}
	}
	if w.dir != "" {
		fr.engineCall(worktreeID+"/close", r.prog.EngineCalls.Close).mayFail(otherwise)
	}
}

// joinAll merges the work of the elements of a loop, in their order.
func joinAll(s step, f *syntax.Foreach, items []any, passes []pass) error {
	for i := range passes {
		p := &passes[i]
		if p.in == nil || p.tree == nil {
			continue
		}
		again := func(fr frame) (*formats.Return, error) {
			one, err := s.withFrame(fr).pass(i, object{f.As.Text: items[i]})
			one.tree = p.tree
			if err != nil {
				return nil, err
			}
			*p = one
			if p.end != nil {
				return &p.end.ret, nil
			}
			return nil, nil
		}

		passed := func() bool {
			return p.end == nil || p.end.jump != "" || p.end.ret.Outcome().Passes()
		}
		bad, err := p.tree.join(s, passed(), again)
		if err != nil {
			return err
		}
		if bad != nil && passed() {
			p.end = &ending{ret: *bad}
		}
	}

	return nil
}

// joinChildren merges the work of the children of a parallel step, in their order.
func joinChildren(s step, in *scope, children []child) error {
	for i := range children {
		c := &children[i]
		if c.tree == nil {
			continue
		}
		again := func(fr frame) (*formats.Return, error) {
			res, _, err := c.step.withFrame(fr).executeOnce()
			c.result = res
			if err != nil || res.outcome.Passes() {
				return nil, err
			}
			return &res.ret, nil
		}
		bad, err := c.tree.join(s, c.result.outcome.Passes(), again)
		if err != nil {
			return err
		}
		if bad != nil && c.result.outcome.Passes() {
			c.result = resultOf(*bad, 1)
			in.setResult(c.step.info.ID, c.result.value)
		}
	}
	return nil
}
