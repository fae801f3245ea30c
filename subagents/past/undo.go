package past

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
	"tercet/subagents"
	"tercet/subagents/worktree"
)

// Project is what runs change, and the means to restore it.
type Project struct {
	Root    *os.Root
	State   State
	Trees   *worktree.Manager
	Session string // of this process
	// Forget removes the session of an agent CLI; nil: none is removed.
	Forget func(ctx context.Context, s formats.AgentSession) error
}

// State restores tasks.
type State interface {
	// Undo reverts what a run did to its tasks and plans, or with dry only reports it: one line
	// each, and the plans by name.
	Undo(ctx context.Context, run, session string, dry bool) (lines, plans []string, err error)
}

// Undoing is the plan to undo a run. Nothing happens before Do.
type Undoing struct {
	Run       string                  `json:"run"`
	Line      string                  `json:"command"`
	Commits   []worktree.LandedCommit `json:"commits"` // commits to revert
	Branch    string                  `json:"branch,omitempty"`
	State     []string                `json:"state"`             // changes of tasks and plans, one a line
	Documents []string                `json:"documents"`         // documents to move into the run's folder
	Left      []string                `json:"left"`              // what stays as it is, and why
	Reverts   []string                `json:"reverts,omitempty"` // the commits of Do
	plans     []string                // whose marks of phases go back
	head      string                  // where the run found its branch
	project   Project
}

// undoneFolder is the suffix of the folder of a run where its documents go.
const undoneFolder = "undone"

// effects are what a run did outside of its own folder, by its journal.
type effects struct {
	txns         []string // of what git-workflow-manager was asked to do, in order
	branch, head string   // of its worktree
	target       string   // the branch that git-workflow-manager named last: where it published
	files        []string // of the tree that workers said they changed
}

func effectsOf(records []journal.Record) (f effects) {
	for _, r := range records {
		switch r.Type { //nolint:exhaustive // the others have no effect outside of the run
		case formats.EntryDelegationStarted:
			var data struct{ Agent string }
			if json.Unmarshal(r.Raw(), &data) == nil && data.Agent == formats.AgentGitWorkflow &&
				r.Key != "" {
				f.txns = append(f.txns, r.Key)
			}
		case formats.EntryDelegationResult:
			var ret struct {
				Fields struct {
					Branch, Head string
					Worktree     string
				}
				Artifacts []formats.Artifact
				Metadata  formats.Metadata
			}
			if json.Unmarshal(r.Raw(), &ret) != nil {
				continue
			}

			git := ret.Metadata.Agent == formats.AgentGitWorkflow
			if git && ret.Fields.Worktree != "" && f.branch == "" {
				f.branch = ret.Fields.Branch
				f.head = ret.Fields.Head
			}
			if git && ret.Fields.Branch != "" {
				f.target = ret.Fields.Branch
			}

			for _, a := range ret.Artifacts {
				if !a.Type.IsDocument() && !slices.Contains(f.files, a.Path) {
					f.files = append(f.files, a.Path)
				}
			}
		}
	}

	return f
}

// Work is what a run made in the repository.
type Work struct {
	Commits []worktree.LandedCommit // on branches that are not tercet's, newest first
	Branch  string                  // tercet's own, which alone has the work; else empty
	From    string                  // the commit from which Branch began
}

// FindWork finds what a run made in the repository.
func (p Project) FindWork(ctx context.Context, records []journal.Record) (Work, error) {
	f := effectsOf(records)
	if len(f.txns) == 0 {
		return Work{}, nil
	}
	list, err := p.Trees.LandedCommits(ctx, f.txns, f.target)
	if err != nil || len(list) > 0 || f.branch == "" {
		return Work{Commits: list}, err
	}
	ahead, err := p.Trees.TipBeyond(ctx, f.branch, f.head)
	if err != nil || ahead == "" {
		return Work{}, err
	}
	return Work{Branch: f.branch, From: f.head}, nil
}

// Plan plans the undoing of a run. Its error lists everything that prevents it.
func (p Project) Plan(
	ctx context.Context,
	run journal.Run,
	records []journal.Record,
) (*Undoing, error) {
	if !journal.Finished(records) {
		return nil, formats.Fail(formats.CodePrecondition,
			"give it up first: tercet cancel "+run.ID, "run %s has not ended", run.ID)
	}

	f := effectsOf(records)
	u := &Undoing{
		Run:       run.ID,
		Line:      run.Line,
		project:   p,
		Documents: []string{},
		Left:      []string{},
	}

	u.Commits = []worktree.LandedCommit{}
	u.State = []string{}

	err := u.findCommits(ctx, f)
	lines, plans, failed := p.State.Undo(ctx, run.ID, p.Session, true)
	u.State = append(u.State, lines...)
	u.plans = plans
	err = errors.Join(err, failed, u.findDocuments())

	if len(u.Commits) == 0 && u.Branch == "" && f.branch == "" {
		for _, file := range f.files {
			u.Left = append(
				u.Left,
				file+": it was written where it stands; git has it as it was, if git tracks it",
			)
		}
	}
	return u, err
}

// txn is the trailer of the commit that takes the run back on a branch.
func (u *Undoing) txn(branch string) string {
	return undoTxn(u.Run, branch)
}

func undoTxn(run, branch string) string {
	return "undo-" + run + "-" + branch
}

// IsUndone reports whether documents or published commits of a run were taken back. The log of the
// state knows whether its tasks were.
func (p Project) IsUndone(
	ctx context.Context, run string, records []journal.Record,
) (bool, error) {
	_, err := p.Root.Lstat(path.Join(journal.Folder, run, undoneFolder))
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err == nil, err
	}
	f := effectsOf(records)
	if len(f.txns) == 0 || f.target == "" {
		return false, nil
	}
	return p.Trees.IsReverted(ctx, undoTxn(run, f.target))
}

// findCommits finds what the run brought into other branches and is not reverted yet. Files that
// changed since then are an error, because a revert would conflict.
func (u *Undoing) findCommits(ctx context.Context, f effects) error {
	if len(f.txns) == 0 {
		return nil
	}
	list, err := u.project.Trees.LandedCommits(ctx, f.txns, f.target)
	if err != nil {
		return err
	}

	if len(list) == 0 && f.branch != "" { // else its work is in them
		ahead, err := u.project.Trees.TipBeyond(ctx, f.branch, f.head)
		if err != nil {
			return err
		}
		u.head = f.head
		if ahead != "" {
			u.Branch = f.branch
		}
	}

	var all error
	for _, b := range list {
		done, err := u.project.Trees.IsReverted(ctx, u.txn(b.To))
		if err != nil {
			return err
		}
		if done {
			continue
		}

		edited, err := u.project.Trees.EditedFiles(ctx, b)
		if err != nil {
			return err
		}

		u.Commits = append(u.Commits, b)
		if len(edited) > 0 {
			all = errors.Join(
				all,
				formats.Fail(formats.CodePrecondition,
					"commit or stash what is not committed; revert by hand what was changed "+
						"since: git revert "+b.Commit,
					"changed since the run brought %.12s into %s, or not committed: %s", b.Commit,
					b.To, strings.Join(edited, ", ")),
			)
		}
	}

	return all
}

// findDocuments finds the documents of the run that stand where it placed them. One that was
// changed since is not moved.
func (u *Undoing) findDocuments() error {
	list, err := subagents.Documents(u.project.Root, u.Run)
	if err != nil {
		return err
	}
	var all error
	for _, doc := range list {
		data, err := atomicfile.ReadFile(u.project.Root, doc.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			all = errors.Join(all, formats.OnFile("read", doc.Path, err))
		case doc.Sum != "" && formats.Sum(data) != doc.Sum && !slices.Contains(u.plans, doc.Path):
			all = errors.Join(
				all,
				formats.Fail(formats.CodePrecondition,
					"keep what you wrote in a file of another name",
					"%s was changed since the run wrote it", doc.Path),
			)
		default:
			u.Documents = append(u.Documents, doc.Path)
		}
	}
	return all
}

// IsEmpty reports whether there is nothing to undo.
func (u *Undoing) IsEmpty() bool {
	return len(u.Commits)+len(u.State)+len(u.Documents) == 0 && u.Branch == ""
}

// Lines says what Do will do.
func (u *Undoing) Lines() []string {
	var out []string
	for _, b := range u.Commits {
		out = append(
			out,
			fmt.Sprintf("revert %.12s on %s: %s", b.Commit, b.To, strings.Join(b.Files, ", ")),
		)
	}

	if u.Branch != "" {
		out = append(
			out,
			"set back branch "+u.Branch+", and keep its work as a branch under tercet/wip",
		)
	}

	out = append(out, u.State...)
	for _, name := range u.Documents {
		out = append(out, "move "+name+" to "+u.undonePath(name))
	}
	for _, text := range u.Left {
		out = append(out, "leave "+text)
	}
	return out
}

// undonePath is the place of a document in the folder of the run.
func (u *Undoing) undonePath(name string) string {
	return path.Join(
		journal.Folder,
		u.Run,
		undoneFolder,
		strings.TrimPrefix(name, formats.Workspace+"/"),
	)
}

// Do undoes the run: first its commits on branches, then its tasks and plans, then its documents.
// After an interruption, a new Plan covers the rest.
func (u *Undoing) Do(ctx context.Context) (commits []string, err error) {
	for rest := u.Commits; len(rest) > 0; {
		to := rest[0].To
		isOnBranch := func(b worktree.LandedCommit) bool { return b.To == to }
		isElsewhere := func(b worktree.LandedCommit) bool { return b.To != to }
		same := slices.DeleteFunc(slices.Clone(rest), isElsewhere)
		rest = slices.DeleteFunc(slices.Clone(rest), isOnBranch)

		hash, err := u.project.Trees.Revert(ctx, same, worktree.Message{
			Subject: fmt.Sprintf("Undo %s of run %s", u.Line, u.Run),
			Session: u.project.Session,
			Txn:     u.txn(to),
		})
		if err != nil {
			return commits, err
		}
		if hash != "" {
			commits = append(commits, hash)
		}
	}

	if u.Branch != "" {
		if _, err := u.project.Trees.ResetBranch(ctx, u.Branch, u.Run, u.head); err != nil {
			return commits, err
		}
	}
	if len(u.State) > 0 {
		if _, _, err := u.project.State.Undo(ctx, u.Run, u.project.Session, false); err != nil {
			return commits, err
		}
	}
	for _, name := range u.Documents {
		to := u.undonePath(name)
		if err := atomicfile.MkdirAll(u.project.Root, path.Dir(to), 0o700); err != nil {
			return commits, formats.OnFile("make", path.Dir(to), err)
		}
		if err := atomicfile.Move(u.project.Root, name, to); err != nil {
			return commits, formats.OnFile("move", name, err)
		}
	}

	return commits, nil
}
