package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/internal/atomicfile"
)

// Exists reports whether Dir is inside a repository, without starting git.
func (r *Repo) Exists() bool {
	own, _ := gitDirs(r.Dir)
	return own != ""
}

// IsLinkedWorktree reports whether dir is in a linked worktree of main's repository, without
// starting git. It is false for a worktree whose link to its repository is broken.
func IsLinkedWorktree(dir, main string) bool {
	own, common := gitDirs(dir)
	mainOwn, mainCommon := gitDirs(main)
	return own != "" && own != mainOwn && common == mainCommon
}

// WorktreeLink returns the file that links the worktree at top to its repository, and the text that
// this file must have to belong to the repository of Dir. A worktree keeps its name there when it
// is moved.
func (r *Repo) WorktreeLink(top string) (file, text string) {
	_, common := gitDirs(r.Dir)
	file = filepath.Join(top, ".git")
	name := filepath.Base(strings.TrimSpace(readSmall(file)))
	return file, "gitdir: " + filepath.Join(common, "worktrees", name)
}

// LinkedWorktreePath returns the path under which its repository knows the linked worktree at top.
// For the copy of a worktree that is the path of the original. Empty if the repository is gone.
func LinkedWorktreePath(top string) string {
	own, _ := gitDirsAt(top)
	link := strings.TrimSpace(readSmall(filepath.Join(own, "gitdir")))
	if link == "" {
		return ""
	}
	return filepath.Dir(link)
}

// CheckUsable refuses a .git, in Dir or above, that leads to no repository, or to one in which a
// pipe or a device replaces a file. Without any .git it refuses nothing. It does not start git.
func (r *Repo) CheckUsable() error {
	if err := r.checkRegular(); err != nil {
		return err
	}
	if own, _ := gitDirs(r.Dir); own != "" {
		return nil
	}
	for dir := r.Dir; ; dir = filepath.Dir(dir) {
		name := filepath.Join(dir, ".git")
		if _, err := os.Lstat(name); err == nil {
			to, _ := gitDirsAt(dir)
			return &BrokenLinkError{Path: name, To: to}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// operations are the files in a repository's folder that show an unfinished operation.
var operations = []struct{ file, what string }{
	{"MERGE_HEAD", "a merge is in progress"},
	{"rebase-merge", "a rebase is in progress"},
	{"rebase-apply", "a rebase is in progress"},
	{"CHERRY_PICK_HEAD", "a cherry-pick is in progress"},
	{"REVERT_HEAD", "a revert is in progress"},
	{"sequencer", "a cherry-pick is in progress"},
	{"BISECT_LOG", "a bisection is in progress"},
	{"index.lock", "another git command is at work"},
}

// OperationInProgress names an unfinished operation in the working tree of Dir, such as a merge, or
// is empty.
func (r *Repo) OperationInProgress() string {
	own, _ := gitDirs(r.Dir)
	if own == "" {
		return ""
	}
	for _, o := range operations {
		if _, err := os.Lstat(filepath.Join(own, o.file)); err == nil {
			return o.what
		}
	}
	return ""
}

// IgnoredFiles returns those of the files that git ignores and does not track. Paths are relative
// to the top.
func (r *Repo) IgnoredFiles(ctx context.Context, paths ...string) ([]string, error) {
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"}
	out, _, err := r.runInTree(ctx, call{args: append(args, paths...)})
	return records(out), err
}

// Files returns mode and hash by path for a commit or a tree, limited to paths if there are any. An
// empty rev means the index, without conflicted entries.
func (r *Repo) Files(ctx context.Context, rev string, paths ...string) (map[string]string, error) {
	c := call{args: []string{"ls-tree", "-z", "-r", "--full-tree", rev}, revs: []string{rev}}
	if rev == "" {
		top, _, err := r.Locate(ctx)
		if err != nil {
			return nil, err
		}
		c = call{args: []string{"ls-files", "-z", "--stage", "--full-name"}, dir: top}
	}
	c.args = append(append(c.args, "--"), paths...)
	out, _, err := r.run(ctx, c)
	if err != nil {
		return nil, err
	}

	files := map[string]string{}
	for _, rec := range records(out) {
		columns, name, ok := strings.Cut(rec, "\t")
		f := strings.Fields(columns) // "100644 blob HASH" of a tree, "100644 HASH 0" of the index
		if !ok || len(f) != 3 {
			return nil, badOutput("ls-files", "mode, hash and a path", rec)
		}
		switch {
		case rev != "":
			files[name] = f[0] + " " + f[2]
		case f[2] == "0":
			files[name] = f[0] + " " + f[1]
		}
	}

	return files, nil
}

// SubmoduleMode is the mode of a submodule's entry.
const SubmoduleMode = "160000"

// Submodules lists the folders of submodules, by the index.
func (r *Repo) Submodules(ctx context.Context) ([]string, error) {
	if list, ok := r.submodulesInIndex(); ok {
		return list, nil
	}
	files, err := r.Files(ctx, "")
	if err != nil {
		return nil, err
	}
	var list []string
	for name, entry := range files {
		if strings.HasPrefix(entry, SubmoduleMode) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list, nil
}

// FiltersOf returns the names of the filters of files, by path relative to Dir. git stores a file
// with a filter in another form than in the working tree. Files without one are left out. No filter
// is run.
func (r *Repo) FiltersOf(ctx context.Context, files []string) (map[string]string, error) {
	out, _, err := r.run(ctx, call{
		args:  []string{"check-attr", "-z", "--stdin", "filter"},
		stdin: []byte(strings.Join(files, "\x00") + "\x00"),
	})
	if err != nil {
		return nil, err
	}

	filters := map[string]string{}
	list := records(out)
	const members = 3 // path, attribute and value
	for ; len(list) >= members; list = list[members:] {
		switch value := list[2]; value {
		case "unspecified", "unset", "set", "":
		default:
			filters[list[0]] = value
		}
	}
	if len(list) > 0 {
		return nil, badOutput("check-attr", "path, attribute and value", strings.Join(list, " "))
	}
	return filters, nil
}

// ReadTree loads a commit or a tree into the index, and leaves the working tree alone.
func (r *Repo) ReadTree(ctx context.Context, rev string) error {
	_, _, err := r.runInTree(ctx, call{args: []string{"read-tree", rev}, revs: []string{rev}})
	return err
}

// CopyIndex copies the index of the working tree to a file, for a Repo with that Index. Unlike
// after ReadTree git then reads only the files that have changed. What is staged is staged in the
// copy.
func (r *Repo) CopyIndex(to string) error {
	own, _ := gitDirs(r.Dir)
	name := filepath.Join(own, "index")
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	data, err := atomicfile.ReadPath(name)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteScratch(to, data); err != nil {
		return err
	}
	// With the old time git reads only files again that changed when the original was written.
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// Restore sets index and working tree to a commit or a tree. It removes files that the index has
// and the tree lacks; untracked files stay.
func (r *Repo) Restore(ctx context.Context, rev string) error {
	_, _, err := r.runInTree(ctx, call{
		args: []string{"read-tree", "--reset", "-u", rev},
		revs: []string{rev},
	})
	return err
}

// WriteTree writes the index as a tree and returns its hash.
func (r *Repo) WriteTree(ctx context.Context) (string, error) {
	out, err := r.read(ctx, "write-tree")
	return trimLine(out), err
}

// Tree returns the hash of a commit's tree.
func (r *Repo) Tree(ctx context.Context, rev string) (string, error) {
	if tree := r.treeInFiles(rev); tree != "" {
		return tree, nil
	}
	_, common := r.unambiguousDirs()
	if tree, _ := r.Cache.commitTree(common, rev); tree != "" {
		return tree, nil
	}
	out, _, err := r.run(ctx, call{
		args: []string{"rev-parse", "--verify", rev + "^{tree}"},
		revs: []string{rev},
	})
	if _, known := r.Cache.commitTree(common, rev); known && err == nil {
		r.Cache.setCommit(common, rev, trimLine(out))
	}
	return trimLine(out), err
}

// DiffPaths lists the paths at which two trees differ, sorted.
func (r *Repo) DiffPaths(ctx context.Context, from, to string) ([]string, error) {
	out, _, err := r.run(ctx, call{
		args: []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to, "--"},
		revs: []string{from, to},
	})
	return records(out), err
}

// CommitTree makes a commit of a tree, on no branch, and returns its hash.
func (r *Repo) CommitTree(
	ctx context.Context, tree string, parents []string, text string, trailers ...Trailer,
) (string, error) {
	msg, err := commitMessage(text, trailers)
	if err != nil {
		return "", err
	}
	config, err := r.configuration(ctx)
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", "--no-gpg-sign", "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, _, err := r.run(ctx, call{
		args:   append(args, tree),
		revs:   append([]string{tree}, parents...),
		stdin:  []byte(msg),
		config: config.identity,
	})
	return trimLine(out), err
}

// Reset sets the index entries at the paths to HEAD, and leaves the working tree alone.
func (r *Repo) Reset(ctx context.Context, paths ...string) error {
	_, _, err := r.runInTree(ctx, call{
		args: []string{
			"reset", "--quiet", "--mixed", "--pathspec-from-file=-", "--pathspec-file-nul",
		},
		stdin: []byte(strings.Join(paths, "\x00")),
	})
	return err
}

// Bundle writes the commits that one revision has and another lacks into a file, from which git can
// restore them.
func (r *Repo) Bundle(ctx context.Context, file, ref, without string) error {
	_, _, err := r.run(ctx, call{
		args: []string{"bundle", "create", "--quiet", file, ref, "^" + without},
		revs: []string{ref, without},
	})
	return err
}

// Patches writes the commits from one to another as a patch series into a folder, and returns the
// file names.
func (r *Repo) Patches(ctx context.Context, folder, from, to string) ([]string, error) {
	out, _, err := r.runInTree(ctx, call{
		args: []string{
			"format-patch",
			"--quiet",
			"--no-signature",
			"--no-ext-diff",
			"--no-textconv",
			"--no-renames",
			"--no-attach",
			"--no-thread",
			"--no-cover-letter",
			"--no-base",
			"--no-notes",
			"--zero-commit",
			"--output-directory",
			folder,
			from + ".." + to,
		},
		revs: []string{from, to},
	})
	if err != nil || len(out) > 0 {
		return nil, err
	}

	entries, err := os.ReadDir(folder)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}

	return names, err
}
