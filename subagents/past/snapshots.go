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

// readSnapshotRuns reads the list.
func (p Project) readSnapshotRuns() ([]string, error) {
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

func (p Project) writeSnapshotRuns(runs []string) error {
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

// addSnapshotRun adds a run of the team to the list before it is removed.
func (c *Cleaning) addSnapshotRun(run string) error {
	_, err := c.project.Root.Lstat(path.Join(journal.Folder, run, journal.TeamName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it had no snapshots, or another machine is its home
	}
	if err != nil {
		return err
	}
	runs, err := c.project.readSnapshotRuns()
	if err != nil || slices.Contains(runs, run) {
		return err
	}
	return c.project.writeSnapshotRuns(append(runs, run))
}

// DropSnapshots removes the snapshots of removed runs from the remote of the team. After an error,
// such as that of a remote that is away, the next Cleaning does it again.
func (c *Cleaning) DropSnapshots(ctx context.Context) error {
	if c.project.Trees == nil {
		return nil
	}
	runs, err := c.project.readSnapshotRuns()
	if err != nil {
		return err
	}
	// a process that was killed may have noted a run that it did not remove
	gone := slices.DeleteFunc(slices.Clone(runs), func(run string) bool {
		_, err := c.project.Root.Lstat(path.Join(journal.Folder, run))
		return !errors.Is(err, fs.ErrNotExist)
	})
	if len(gone) == 0 {
		return nil
	}
	repository := worktree.Repository{Trees: c.project.Trees}
	if err := repository.DropRemoteSnapshots(ctx, gone); err != nil {
		return err
	}
	return c.project.writeSnapshotRuns(slices.DeleteFunc(runs, func(run string) bool {
		return slices.Contains(gone, run)
	}))
}
