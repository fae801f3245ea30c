package worktree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tercet/formats"
	"tercet/internal/git"
)

// checkFilters refuses files that git keeps in another form than they have in a worktree, such as
// those of Git LFS: tercet runs no filter, so the repository would get what does not belong there.
// A pointer of Git LFS is what the repository has, and may travel.
func checkFilters(ctx context.Context, tree *git.Repo, files []string) error {
	if !hasAttributes(tree.Dir, files) {
		return nil // the usual case, without starting git
	}
	filters, err := tree.FiltersOf(ctx, files)
	if err != nil {
		return err
	}
	for _, name := range files {
		if filters[name] == "" || isLFSPointer(filepath.Join(tree.Dir, filepath.FromSlash(name))) {
			continue
		}
		return formats.Fail(formats.CodePrecondition,
			"run the line on one machine, without --on team, or ignore the file in .gitignore",
			"%s belongs to the filter %q of .gitattributes, which tercet does not run: "+
				"it does not travel to another machine", name, filters[name])
	}
	return nil
}

// hasAttributes reports whether a .gitattributes may be about one of the files.
func hasAttributes(top string, files []string) bool {
	seen := map[string]bool{}
	for _, name := range files {
		for dir := path.Dir(name); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(dir), ".gitattributes"))
			if err == nil {
				return true
			}
		}
	}
	return false
}

// isLFSPointer reports whether a file is a pointer of Git LFS, or is not there.
func isLFSPointer(name string) bool {
	info, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was only read
	begin := []byte("version https://git-lfs.github.com/spec/")
	text := make([]byte, len(begin))
	_, err = io.ReadFull(file, text)
	return err == nil && bytes.Equal(text, begin)
}

// lostSnapshotError explains that the remote lacks a snapshot; other errors stay.
func lostSnapshotError(err error, run string, s formats.TreeSnapshot) error {
	failed, ok := errors.AsType[*git.Error](err)
	if !ok || !strings.Contains(failed.Stderr, "not our ref") &&
		!strings.Contains(failed.Stderr, "unadvertised object") {
		return err
	}
	return &formats.Failure{
		Code: formats.CodePrecondition,
		Message: "the remote does not have the snapshot " + s.Commit + " of run " + run +
			": its ref " + s.Ref + " was removed",
		Help: "start the worker that had the run, whose clone has the snapshot, " +
			"or push it from there: git push REMOTE " + s.Commit + ":" + s.Ref,
	}
}
