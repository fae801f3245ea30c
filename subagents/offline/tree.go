package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/git"
	"tercet/internal/order"
	"tercet/internal/proc"
	"tercet/subagents"
)

// listFiles lists the tracked files below the folder of repo. Without git, or outside a repository,
// it lists nothing.
func listFiles(ctx context.Context, repo *git.Repo) (files []string, inGit bool, err error) {
	files, err = repo.LsFiles(ctx)
	if errors.As(err, new(*proc.NotFoundError)) || errors.Is(err, git.ErrNoRepo) {
		return nil, false, nil
	}
	return files, err == nil, err
}

// changedFile is a path that differs from the last commit.
type changedFile struct {
	Path    string // relative to the tree worked on
	Deleted bool
}

// changes is what git sees in a worktree beside its last commit.
type changes struct {
	Files        []changedFile // by path
	Notes        []string      // what cannot be shown as a file of the tree, a sentence each
	notArtifacts []string      // paths of Files that are no regular files, or empty
}

// changedFiles lists what differs from HEAD below dir, outside the workspace folder.
func changedFiles(ctx context.Context, repo *git.Repo, dir string) (c changes, err error) {
	entries, err := repo.StatusPorcelain(ctx)
	if errors.Is(err, git.ErrNoRepo) {
		return changes{}, formats.Fail(formats.CodeConfig, "run git init and commit the files",
			"the project is no git repository")
	}
	if err != nil {
		return changes{}, err
	}

	top, err := repo.Toplevel(ctx)
	if err != nil {
		return changes{}, err
	}

	below, err := filepath.EvalSymlinks(dir)
	if err == nil {
		below, err = filepath.Rel(top, below)
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return changes{}, formats.OnFile("write", dir, err)
	}

	for _, e := range entries {
		c.addPath(root, filepath.ToSlash(below), e.Path)
		if strings.Contains(e.Code, "R") {
			c.addPath(root, filepath.ToSlash(below), e.Orig)
		}
	}

	order.Stable(c.Files, func(a, b changedFile) int {
		return cmp.Compare(a.Path, b.Path)
	})
	c.Files = slices.Compact(c.Files)
	return c, root.Close()
}

// addPath notes one path as git prints it, relative to the top of the working tree.
func (c *changes) addPath(root *os.Root, below, name string) {
	if name == "" {
		return
	}
	if below != "." {
		inside, ok := strings.CutPrefix(name, below+"/")
		if !ok {
			c.Notes = append(c.Notes, name+" changed outside the project")
			return
		}
		name = inside
	}

	if inWorkspace(name) {
		return
	}

	info, err := root.Lstat(filepath.FromSlash(name))
	c.Files = append(c.Files, changedFile{Path: name, Deleted: errors.Is(err, fs.ErrNotExist)})
	if err == nil && (!info.Mode().IsRegular() || info.Size() == 0) {
		c.notArtifacts = append(c.notArtifacts, name)
	}
}

// artifacts lists the changed files as a return may show them, with a note for each that it may
// not. An artifact is a regular file that is not empty, or a deleted one, and its name is one that
// every system can have.
func (c changes) artifacts() ([]formats.Artifact, []string) {
	out := []formats.Artifact{}
	notes := slices.Clone(c.Notes)
	for _, f := range c.Files {
		if slices.Contains(c.notArtifacts, f.Path) {
			notes = append(
				notes,
				f.Path+" changed and is no artifact: it is empty or no regular file",
			)
			continue
		}
		if problem := subagents.PathProblem(f.Path); problem != "" {
			note := fmt.Sprintf("%q changed and is no artifact: it %s", f.Path, problem)
			notes = append(notes, note)
			continue
		}
		out = append(out, formats.Artifact{
			Type:    formats.ArtifactImplementation,
			Path:    f.Path,
			Deleted: f.Deleted,
		})
	}
	return out, notes
}
