// Package git is the only wrapper around the git program.
//
// It promises that no call runs code of the repository. The environment of every call overrides all
// configuration files. It switches off hooks, fsmonitor, filters, external diff and merge programs,
// signing, editors, pagers, askpass and transports. Filters and merge drivers have names that a
// repository chooses, so calls that could run them list these names afresh, or know that
// no file of the configuration has changed since. Such calls are refused
// if the configuration names another working tree than that of Repo.Dir. Paths are never patterns,
// names never options, and NUL separates the records of every list.
//
// Push and Archive use the network, by https, ssh or a folder outside the project. They use the ssh
// and credential settings of the user's own configuration, never the repository's. gh and glab open
// requests for pushed work in the same environment.
//
// It never forces, decides nothing about branches, and prints nothing. It ignores filters: a
// repository that needs one, such as large file storage, appears with its raw content.
//
// A Repo holds no state and is safe for concurrent use as far as git itself is: two writers of one
// working tree are not.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/internal/proc"
)

const (
	maxStoredOutput int   = 64 << 20 // bytes of standard output that are kept
	outputLimit     int64 = 65 << 20 // bytes after which git is killed
	// maxWatchedOutput bounds output that is streamed and not stored, in bytes.
	maxWatchedOutput int64 = 16 << 30
	defaultTimeout         = 10 * time.Minute
)

// Repo is a folder inside a git working tree, with the right to start git there.
type Repo struct {
	Starter *proc.Starter // required
	Dir     string        // absolute; need not be the top of the working tree
	// Index is an alternative index file, absolute; empty: that of the working tree. With it, calls
	// neither see nor change what the user has staged.
	Index string
	// Online are variables, KEY=VALUE, for network calls only: tokens and the ssh agent.
	Online []string
	// Cache keeps answers of git for the next call; nil: git is always asked.
	Cache *Cache
}

// call is one execution of git.
type call struct {
	args    []string
	revs    []string // revisions among args, to be checked
	stdin   []byte
	dir     string              // empty means Repo.Dir
	okExits []int               // exit codes besides 0 that are not errors
	config  []string            // additional configuration: key, value, key, value
	watch   func(p []byte) bool // gets the output as it arrives; nil: it is returned

	prog        string        // a program that calls git, instead of git
	online      bool          // it uses the network
	system      bool          // it also reads the system configuration
	timeout     time.Duration // 0: defaultTimeout
	sideEffects bool          // it may leave something behind when it fails; not retried
}

// run executes git and returns its output and exit code. An unexpected code is an *Error.
func (r *Repo) run(ctx context.Context, c call) (out []byte, exit int, err error) {
	for range maxRaceAttempts {
		out, exit, err = r.runOnce(ctx, c)
		if !isWorktreeRace(err) || c.sideEffects {
			break
		}
	}
	return out, exit, err
}

// maxRaceAttempts bounds the attempts of a command that races with the creation of a worktree.
const maxRaceAttempts = 100

// isWorktreeRace reports whether git failed because another process was creating or removing a
// worktree: a file of the new one is still empty, or the other process took this worktree for a
// leftover and removed its folder.
func isWorktreeRace(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	emptyFile := strings.Contains(e.Stderr, "failed to read") &&
		strings.Contains(e.Stderr, "/commondir: Success")
	folderRemoved := strings.Contains(e.Stderr, "worktrees/") &&
		strings.Contains(e.Stderr, "for writing: No such file or directory")
	return emptyFile || folderRemoved
}

// runOnce is run without retries.
func (r *Repo) runOnce(ctx context.Context, c call) ([]byte, int, error) {
	if err := checkRev(c.revs...); err != nil {
		return nil, 0, err
	}
	dir := cmp.Or(c.dir, r.Dir)
	if err := (&Repo{Dir: dir}).checkRegular(); err != nil {
		return nil, 0, err
	}

	argv := append([]string{"git", "--no-pager"}, c.args...)
	if c.prog != "" {
		argv = append([]string{c.prog}, c.args...)
	}

	env := environment(c.config)
	if c.online {
		env = append(
			append(env, r.Online...),
			"GIT_ALLOW_PROTOCOL=file:https:ssh",
			"GH_PROMPT_DISABLED=1",
			"NO_PROMPT=1",
			"GH_NO_UPDATE_NOTIFIER=1",
			"NO_COLOR=1",
		)
	}
	if c.system {
		env = append(env, "GIT_CONFIG_NOSYSTEM=0")
	}
	if r.Index != "" {
		env = append(env, "GIT_INDEX_FILE="+r.Index)
	}

	cmd := proc.Command{
		Argv:      argv,
		Dir:       dir,
		Env:       env,
		Stdin:     c.stdin,
		Purpose:   proc.PurposeGit,
		Timeout:   proc.Timeout{Total: cmp.Or(c.timeout, defaultTimeout)},
		StdoutCap: maxStoredOutput,
		Limit:     outputLimit,
		Watch:     c.watch,
	}
	if c.watch != nil {
		cmd.StdoutCap = 1
		cmd.Limit = maxWatchedOutput
	}

	res, err := r.Starter.Run(ctx, cmd)
	if c.prog == "" && errors.As(err, new(*proc.NotFoundError)) {
		err = fmt.Errorf("%w: %w", ErrNotInstalled, err)
	}
	if err != nil {
		return nil, 0, err
	}

	fail := &Error{
		Argv:   argv,
		Exit:   res.Exit,
		Stderr: strings.TrimSpace(string(res.Stderr)),
		Dir:    dir,
	}
	switch {
	case res.TimedOut != proc.TimeoutNone:
		fail.Err = ErrTimeout
		return nil, 0, fail
	case res.Flooded || len(res.Stdout) >= maxStoredOutput:
		fail.Err = ErrOutputTooLarge
		return nil, 0, fail
	case res.Exit != 0 && !slices.Contains(c.okExits, res.Exit):
		if strings.Contains(fail.Stderr, "not a git repository") {
			fail.Err = ErrNoRepo
		} else if strings.Contains(fail.Stderr, "cannot use bare repository") {
			fail.Err = ErrBare
		}
		return nil, 0, fail
	}

	return res.Stdout, res.Exit, nil
}

// read runs a git command that does not use the working tree.
func (r *Repo) read(ctx context.Context, args ...string) ([]byte, error) {
	out, _, err := r.run(ctx, call{args: args})
	return out, err
}

// runInTree runs a git command at the top of the working tree. The command reads or writes its
// files, and so could run a repository's filters and merge drivers.
func (r *Repo) runInTree(ctx context.Context, c call) ([]byte, int, error) {
	top, _, err := r.Locate(ctx)
	if err != nil {
		return nil, 0, err
	}
	config, err := r.configuration(ctx)
	if err != nil {
		return nil, 0, err
	}
	c.dir = top
	c.config = append(c.config, config.drivers...)
	return r.run(ctx, c)
}

// Locate returns the top folder of the working tree, and Dir relative to it. It fails if Dir is not
// inside, because core.worktree may point anywhere.
func (r *Repo) Locate(ctx context.Context) (top, rel string, err error) {
	top, err = r.Toplevel(ctx)
	if err != nil {
		return "", "", err
	}
	dir, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		return "", "", err
	}
	rel, err = filepath.Rel(top, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return "", "", fmt.Errorf("the repository of %s has its working tree elsewhere: %s",
			r.Dir, top)
	}
	return top, rel, nil
}

// Toplevel returns the top folder of the working tree. Outside a repository the error is ErrNoRepo.
func (r *Repo) Toplevel(ctx context.Context) (string, error) {
	state := r.configState()
	if top := cmp.Or(r.Cache.top(state), state.linkedTop()); top != "" {
		return top, nil
	}
	out, err := r.read(ctx, "rev-parse", "--show-toplevel")
	top := trimLine(out)
	if err == nil {
		r.Cache.setTop(state, top)
	}
	return top, err
}

// Resolve returns the hash of the commit that rev names. The error is ErrNoCommit if there is none.
func (r *Repo) Resolve(ctx context.Context, rev string) (string, error) {
	if hash := r.commitInFiles(rev); hash != "" {
		return hash, nil
	}
	out, exit, err := r.run(ctx, call{
		args: []string{
			"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}",
		},
		revs:    []string{rev},
		okExits: []int{1},
	})
	if err == nil && exit == 1 {
		err = fmt.Errorf("%w: %s", ErrNoCommit, rev)
	}
	if err == nil {
		_, common := r.unambiguousDirs()
		r.Cache.setCommit(common, trimLine(out), "")
	}
	return trimLine(out), err
}

// Head returns the hash of the checked-out commit. Before the first commit the error is
// ErrNoCommit.
func (r *Repo) Head(ctx context.Context) (string, error) {
	return r.Resolve(ctx, "HEAD")
}

// CurrentBranch returns the name of the checked-out branch, also before its first commit; empty if
// HEAD is detached.
func (r *Repo) CurrentBranch(ctx context.Context) (string, error) {
	if name, ok := r.branchInFiles(); ok {
		return name, nil
	}
	out, _, err := r.run(ctx, call{
		args:    []string{"symbolic-ref", "--quiet", "HEAD"},
		okExits: []int{1},
	})
	return strings.TrimPrefix(trimLine(out), branchPrefix), err
}

// HasIndex reports whether the working tree of Dir has an index. A worktree has none if the process
// died between the two steps of WorktreeAdd.
func (r *Repo) HasIndex() bool {
	own, _ := gitDirs(r.Dir)
	_, err := os.Stat(filepath.Join(own, "index"))
	return own != "" && err == nil
}

// WorktreeLock reports whether the worktree of Dir is locked against removal, and the reason. It
// ignores git's own lock while git creates a worktree.
func (r *Repo) WorktreeLock() (reason string, locked bool) {
	own, _ := gitDirs(r.Dir)
	name := filepath.Join(own, "locked")
	_, err := os.Lstat(name)
	reason = strings.TrimSpace(readSmall(name))
	return reason, own != "" && err == nil && reason != "initializing"
}

// LsFiles returns the tracked files under Dir, or only those under paths. All are relative to Dir.
func (r *Repo) LsFiles(ctx context.Context, paths ...string) ([]string, error) {
	out, err := r.read(
		ctx,
		append([]string{"ls-files", "-z", "--cached", "--deduplicate", "--"}, paths...)...,
	)
	if err != nil {
		return nil, err
	}
	return records(out), nil
}

// VisibleFiles returns the files under Dir that are tracked or not ignored, relative to Dir.
func (r *Repo) VisibleFiles(ctx context.Context) ([]string, error) {
	out, err := r.read(
		ctx, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate",
	)
	if err != nil {
		return nil, err
	}
	return records(out), nil
}

// Commit is one entry of the history.
type Commit struct {
	Hash, Short string
	Date        time.Time // of the author
	Subject     string
	Files       []string // changed files, relative to Dir; empty for a merge
}

// Log returns the newest n commits of HEAD, newest first; with paths (relative to Dir) only commits
// that changed those. Without a commit it returns none.
func (r *Repo) Log(ctx context.Context, n int, paths ...string) ([]Commit, error) {
	if _, err := r.Head(ctx); err != nil {
		if errors.Is(err, ErrNoCommit) {
			return nil, nil
		}
		return nil, err
	}

	args := []string{
		"log",
		"-z",
		"-n",
		strconv.Itoa(n),
		"--no-show-signature",
		"--no-renames",
		"--name-only",
		"--relative",
		"--format=" + commitMark + "%H%x00%h%x00%aI%x00%s",
		"HEAD",
		"--",
	}

	out, err := r.read(ctx, append(args, paths...)...)
	if err != nil {
		return nil, err
	}
	return parseLog(out)
}

// Entry is one changed path of a working tree.
type Entry struct {
	Code string // two letters, index and working tree: "M ", "??", "R "
	Path string // relative to the top of the working tree
	Orig string // the old path of a renamed or copied one; else empty
}

// IsUntracked reports whether git does not track the path.
func (e Entry) IsUntracked() bool {
	return e.Code == "??"
}

// StatusPorcelain lists what differs from HEAD in index and working tree. It lists untracked files
// one by one, and omits ignored files and the inside of submodules.
func (r *Repo) StatusPorcelain(ctx context.Context) ([]Entry, error) {
	out, _, err := r.runInTree(ctx, call{args: []string{
		"status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all",
		"--find-renames",
	}})
	if err != nil {
		return nil, err
	}
	return parseStatus(out)
}

// Stat is the changes of one path.
type Stat struct {
	Path           string // relative to the top of the working tree
	Added, Deleted int    // lines; 0 for a binary file
}

// DiffStat returns the changes from one commit to another; a rename is a deletion and an addition.
func (r *Repo) DiffStat(ctx context.Context, from, to string) ([]Stat, error) {
	revs := []string{from, to}
	out, _, err := r.runInTree(ctx, call{
		args: append(diffArgs(), "--numstat", "-z", from, to, "--"),
		revs: revs,
	})
	if err != nil {
		return nil, err
	}
	return parseNumstat(out)
}

// Diff returns the changes from one commit to another as a patch, limited to paths if there are
// any. An empty to means the working tree, without untracked files.
func (r *Repo) Diff(ctx context.Context, from, to string, paths ...string) ([]byte, error) {
	revs := []string{from}
	if to != "" {
		revs = append(revs, to)
	}
	args := slices.Concat(diffArgs(), []string{"--binary"}, revs, []string{"--"}, paths)
	out, _, err := r.runInTree(ctx, call{args: args, revs: revs})
	return out, err
}

func diffArgs() []string {
	return []string{
		"diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color",
		"--ignore-submodules=all",
	}
}

// MergeBase returns the best common ancestor of two commits; empty if they have none.
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	if a == b && isHash(a) {
		return a, nil
	}
	out, _, err := r.run(ctx, call{
		args:    []string{"merge-base", "--end-of-options", a, b},
		revs:    []string{a, b},
		okExits: []int{1},
	})
	return trimLine(out), err
}

// IsAncestor reports whether the commit old is new or one of its ancestors.
func (r *Repo) IsAncestor(ctx context.Context, old, young string) (bool, error) {
	if old == young && isHash(old) {
		return true, nil
	}
	_, exit, err := r.run(ctx, call{
		args:    []string{"merge-base", "--is-ancestor", "--end-of-options", old, young},
		revs:    []string{old, young},
		okExits: []int{1},
	})
	return err == nil && exit == 0, err
}

// Init creates a repository in the existing folder Dir, with the given first branch and without
// sample hooks.
func (r *Repo) Init(ctx context.Context, branch string) error {
	if err := CheckBranch(branch); err != nil {
		return err
	}
	_, err := r.read(ctx, "init", "--quiet", "--template=", "--initial-branch="+branch)
	return err
}

// trimLine removes the one line end that git adds; a path may end with further ones.
func trimLine(out []byte) string {
	return string(bytes.TrimSuffix(out, []byte("\n")))
}
