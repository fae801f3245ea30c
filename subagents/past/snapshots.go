package past

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/journal"
	"tercet/subagents/worktree"
)

// snapshotsFile lists the runs that were removed here, and whose snapshots may still be at the
// remote of the team. Only these are removed there: another home may use the same remote.
const snapshotsFile = journal.Folder + "/snapshots.json"

// leftSnapshots reads the list.
func (p Project) leftSnapshots() ([]string, error) {
	runs := []string{}
	data, err := atomicfile.ReadFile(p.Root, snapshotsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return runs, nil
	}
	if err != nil {
		return nil, formats.OnFile("read", snapshotsFile, err)
	}
	if err := json.Unmarshal(data, &runs); err != nil {
		return nil, formats.Broken(formats.CodeInvalidState, snapshotsFile, err,
			"remove the file: the remote then keeps the snapshots of the runs that it lists")
	}
	return runs, nil
}

func (p Project) writeLeftSnapshots(runs []string) error {
	if len(runs) == 0 {
		return p.Root.Remove(snapshotsFile)
	}
	data, err := json.Marshal(runs)
	if err == nil {
		err = atomicfile.WriteIn(p.Root, snapshotsFile, data, atomicfile.Options{Mode: 0o600})
	}
	if err != nil {
		return formats.OnFile("write", snapshotsFile, err)
	}
	return nil
}

// noteSnapshots adds a run of the team to the list before it is removed.
func (c *Cleaning) noteSnapshots(run string) error {
	_, err := c.p.Root.Lstat(path.Join(journal.Folder, run, journal.TeamName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it had no snapshots, or another machine is its home
	}
	if err != nil {
		return err
	}
	runs, err := c.p.leftSnapshots()
	if err != nil || slices.Contains(runs, run) {
		return err
	}
	return c.p.writeLeftSnapshots(append(runs, run))
}

// DropSnapshots removes the snapshots of removed runs from the remote of the team. After an error,
// such as that of a remote that is away, the next Cleaning does it again.
func (c *Cleaning) DropSnapshots(ctx context.Context) error {
	if c.p.Trees == nil {
		return nil
	}
	runs, err := c.p.leftSnapshots()
	if err != nil {
		return err
	}
	// a process that was killed may have noted a run that it did not remove
	gone := slices.DeleteFunc(slices.Clone(runs), func(run string) bool {
		_, err := c.p.Root.Lstat(path.Join(journal.Folder, run))
		return !errors.Is(err, fs.ErrNotExist)
	})
	if len(gone) == 0 {
		return nil
	}
	if err := (worktree.Repository{Trees: c.p.Trees}).DropRemoteSnapshots(ctx, gone); err != nil {
		return err
	}
	return c.p.writeLeftSnapshots(slices.DeleteFunc(runs, func(run string) bool {
		return slices.Contains(gone, run)
	}))
}
