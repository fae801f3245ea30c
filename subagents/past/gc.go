package past

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
	"tercet/subagents/worktree"
)

// Limits says which runs to keep: those younger than Age, while all runs together stay below Size.
type Limits struct {
	Age  time.Duration
	Size int64
	Now  time.Time
}

// bundleAge is how long a run with a bundle stays, whatever the size.
const bundleAge = 30 * 24 * time.Hour

// OldRun is a run to remove, or one that would be removed if nothing held it.
type OldRun struct {
	Run  string    `json:"run"`
	Line string    `json:"command"`
	Last time.Time `json:"last"`
	Size int64     `json:"bytes"`
	Why  string    `json:"why"` // why it goes, or why it stays
}

// Cleaning is a plan to remove old runs.
type Cleaning struct {
	Size  int64             `json:"bytes"` // of all runs
	Runs  []OldRun          `json:"runs"`
	Held  []OldRun          `json:"held"` // beyond the limits, but kept
	Left  worktree.Leftover `json:"left"`
	Swept []string          `json:"swept"` // removals that were interrupted before
	// Snapshots are runs of a team that were removed before, whose snapshots the remote still has.
	Snapshots []string `json:"snapshots"`
	project   Project
}

// gonePrefix begins the names of folders whose removal has begun.
const gonePrefix = "gone-"

// FindOld finds the runs to remove, and other leftovers of finished runs. It ignores git if Trees
// is nil.
func (p Project) FindOld(ctx context.Context, keep Limits) (*Cleaning, error) {
	c := &Cleaning{
		Runs:    []OldRun{},
		Held:    []OldRun{},
		Swept:   []string{},
		project: p,
	}
	list, err := journal.Runs(p.Root, false)
	if err == nil {
		c.Snapshots, err = p.readSnapshotRuns()
	}
	if err != nil {
		return nil, err
	}

	over := map[string]bool{}
	sizes := make([]int64, len(list))
	for i, r := range list {
		sizes[i], err = p.runSize(r.ID)
		if err != nil {
			return nil, err
		}
		c.Size += sizes[i]
		_, unlocked := p.Root.Lstat(journal.LockPath(r.ID))
		over[r.ID] = hasEnded(r) && errors.Is(unlocked, fs.ErrNotExist)
	}

	rest := c.Size
	for i, r := range slices.Backward(list) { // the oldest first
		old := OldRun{
			Run:  r.ID,
			Line: r.Line,
			Last: r.Last,
			Size: sizes[i],
		}
		switch {
		case keep.Now.Sub(r.Last) > keep.Age:
			old.Why = "older than " + durationText(keep.Age)
		case rest > keep.Size:
			old.Why = fmt.Sprintf("all runs hold more than %d MiB", keep.Size>>20)
		default:
			continue
		}
		if reason := p.holdReason(r, keep.Now); reason != "" {
			old.Why = reason
			c.Held = append(c.Held, old)
			continue
		}

		rest -= old.Size
		c.Runs = append(c.Runs, old)
	}

	entries, err := fs.Glob(atomicfile.FS(p.Root), journal.Folder+"/"+gonePrefix+"*")
	c.Swept = append(c.Swept, entries...)
	if err == nil && p.Trees != nil {
		c.Left, err = p.Trees.FindLeftover(ctx, func(run string) bool {
			return over[run]
		})
	}
	return c, err
}

func durationText(d time.Duration) string {
	if day := 24 * time.Hour; d%day == 0 {
		return formats.Count(int(d/day), "day")
	}
	return d.String()
}

// runSize is that of the folder of a run, in bytes.
func (p Project) runSize(run string) (all int64, err error) {
	err = fs.WalkDir(
		p.Root.FS(),
		path.Join(journal.Folder, run),
		func(_ string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it goes while it is looked at
			}
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			info, err := e.Info()
			if err == nil {
				all += info.Size()
			}
			return nil
		},
	)
	return all, err
}

// hasEnded reports whether a run is over by its journal. A process that was killed may have left
// its lock.
func hasEnded(r journal.Run) bool {
	return r.Status != journal.Open && r.Status != formats.OutcomeSuspended.String()
}

// holdReason says why a run stays whatever its age.
func (p Project) holdReason(r journal.Run, now time.Time) string {
	dir := path.Join(journal.Folder, r.ID)
	if !hasEnded(r) {
		return "it can be resumed: tercet resume " + r.ID
	}

	if list, err := fs.ReadDir(atomicfile.FS(p.Root), dir+"/aside"); err == nil && len(list) > 0 {
		return "it holds what the scan for secrets stopped: " + dir + "/aside"
	}

	bundles, err := fs.Glob(atomicfile.FS(p.Root), dir+"/*.bundle")
	for _, name := range bundles {
		if info, failed := p.Root.Stat(name); failed != nil || now.Sub(info.ModTime()) < bundleAge {
			return "its bundle is younger than " + durationText(bundleAge)
		}
	}
	if err != nil {
		return err.Error()
	}

	for _, name := range []string{"/state.json", "/archive/state.json"} {
		src, err := atomicfile.ReadFile(p.Root, formats.Workspace+name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || bytes.Contains(src, []byte(dir+"/")) {
			return "a task names a document of it"
		}
	}
	return ""
}

// IsEmpty reports whether there is nothing to remove.
func (c *Cleaning) IsEmpty() bool {
	return len(c.Runs)+len(c.Left.Trees)+len(c.Left.Branches)+len(c.Swept)+len(c.Snapshots) == 0
}

// Lines says what Do removes, and what stays beyond the limits.
func (c *Cleaning) Lines() []string {
	var out []string
	for _, r := range c.Runs {
		out = append(
			out,
			fmt.Sprintf("run %s (%s), %d KiB: %s", r.Run, r.Line, (r.Size+1023)>>10, r.Why),
		)
	}
	for _, dir := range c.Left.Trees {
		out = append(
			out,
			"worktree "+dir+": its run is over; what is not committed there is kept as a branch",
		)
	}
	for _, b := range c.Left.Branches {
		out = append(out, "branch "+b.Branch+": other branches have all of it")
	}
	for _, run := range c.Snapshots {
		out = append(out, "snapshots of run "+run+" at the remote: the run was removed before")
	}
	for _, r := range c.Held {
		out = append(out, fmt.Sprintf("stays: run %s (%s): %s", r.Run, r.Line, r.Why))
	}
	return out
}

// Do removes what Old found. lock takes the lock of a run; a locked run stays. DropSnapshots is to
// follow.
func (c *Cleaning) Do(ctx context.Context, lock func(run string) (io.Closer, error)) error {
	var all error
	for _, r := range c.Runs {
		all = errors.Join(all, c.removeRun(ctx, r.Run, lock))
	}

	for _, name := range c.Swept {
		all = errors.Join(all, c.project.Root.RemoveAll(name))
	}
	if len(c.Left.Trees)+len(c.Left.Branches) > 0 {
		all = errors.Join(all, c.project.Trees.RemoveLeftover(ctx, c.Left))
	}
	return all
}

// removeRun removes a run, unless another process is at work on it or has removed it.
func (c *Cleaning) removeRun(
	ctx context.Context, run string, lock func(run string) (io.Closer, error),
) error {
	folder := path.Join(journal.Folder, run)
	held, err := lock(run)
	if err != nil {
		_, gone := c.project.Root.Lstat(folder)
		if formats.CodeOf(err) == formats.CodeLocked || errors.Is(gone, fs.ErrNotExist) {
			return nil
		}
		return err
	}

	err = c.forgetOutside(ctx, run)
	removed := path.Join(journal.Folder, gonePrefix+run)
	if err == nil {
		// Its name goes first: what is half removed is no run any more, and is swept the next time.
		err = c.project.Root.Rename(folder, removed)
	}
	err = errors.Join(err, held.Close())
	if err != nil {
		return err
	}
	return c.project.Root.RemoveAll(removed)
}

// forgetOutside removes what a run has outside of its folder: its snapshots, and its sessions with
// agent CLIs.
func (c *Cleaning) forgetOutside(ctx context.Context, run string) error {
	if c.project.Trees != nil {
		trees := worktree.Repository{Trees: c.project.Trees}
		err := errors.Join(trees.DropSnapshots(ctx, run), c.addSnapshotRun(run))
		if err != nil {
			return err
		}
	}
	return c.forgetSessions(ctx, run)
}

// forgetSessions removes the sessions that the run's workers left with their agent CLIs. If one
// stays, so does the run, which names it.
func (c *Cleaning) forgetSessions(ctx context.Context, run string) error {
	if c.project.Forget == nil {
		return nil
	}
	src, err := atomicfile.ReadFile(c.project.Root, path.Join(journal.Folder, run, journal.Name))
	if err != nil {
		return nil //nolint:nilerr // a run without a journal names none
	}
	records, _ := journal.Read(src) //nolint:errcheck // of a damaged one what can be read
	done := map[formats.AgentSession]bool{}
	for _, r := range records {
		var start formats.SessionStart
		if r.Type != formats.EntryAgentSession || json.Unmarshal(r.Raw(), &start) != nil ||
			start.ID == "" || done[start.AgentSession] {
			continue
		}
		done[start.AgentSession] = true
		if err := c.project.Forget(ctx, start.AgentSession); err != nil {
			return fmt.Errorf("run %s stays, for its session of %s: %w", run, start.Runner, err)
		}
	}
	return nil
}

// ClaimDaily reports whether an automatic cleaning is due: the last one was more than a day ago,
// and a run is older than a day. It records the time.
func (p Project) ClaimDaily(now time.Time) bool {
	const stamp = journal.Folder + "/gc.stamp"
	const day = 24 * time.Hour
	if info, err := p.Root.Stat(stamp); err == nil && now.Sub(info.ModTime()) < day {
		return false
	}
	entries, err := fs.ReadDir(atomicfile.FS(p.Root), journal.Folder)
	old := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		info, err := e.Info()
		return err == nil && e.IsDir() && now.Sub(info.ModTime()) > day &&
			!strings.HasPrefix(e.Name(), gonePrefix)
	})
	return err == nil && old &&
		errors.Join(p.Root.WriteFile(stamp, nil, 0o600), p.Root.Chtimes(stamp, now, now)) == nil
}
