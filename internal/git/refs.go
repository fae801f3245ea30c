package git

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Refs maps full ref names to their targets: a hash, or "ref: " and another name. HEAD is that of
// the main checkout; OwnHead is that of a worktree.
type Refs map[string]string

// OwnHead is the key in Refs for the HEAD of a worktree that is not the main checkout.
const OwnHead = "HEAD of this worktree"

// RefChange is a changed ref. An empty value means that it did not, or does not, exist.
type RefChange struct{ Ref, Old, New string }

// Changes lists what differs in other refs of the same repository, sorted.
func (r Refs) Changes(now Refs) (list []RefChange) {
	all := maps.Clone(r)
	maps.Copy(all, now)
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		if r[ref] != now[ref] {
			list = append(list, RefChange{
				Ref: ref,
				Old: r[ref],
				New: now[ref],
			})
		}
	}
	return list
}

// Refs reads the refs from git's files without starting git; a ref's own file overrides packed
// refs. Outside a repository there are none. For reftables it only shows that something changed.
func (r *Repo) Refs() (Refs, error) {
	own, common := gitDirs(r.Dir)
	if own == "" {
		return nil, nil
	}

	refs := Refs{"HEAD": readSmall(filepath.Join(common, "HEAD"))}
	if own != common {
		refs[OwnHead] = readSmall(filepath.Join(own, "HEAD"))
	}
	for line := range strings.Lines(readSmall(filepath.Join(common, "packed-refs"))) {
		hash, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && strings.HasPrefix(name, "refs/") {
			refs[name] = hash
		}
	}

	if table := readSmall(filepath.Join(common, "reftable", "tables.list")); table != "" {
		refs["reftable"] = table
	}
	err := fs.WalkDir(os.DirFS(common), "refs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(name, ".lock") {
			// empty if it was removed meanwhile
			if text := readSmall(filepath.Join(common, name)); text != "" {
				refs[name] = text
			}
		}
		return nil // the folder may have been removed meanwhile
	})
	for name, text := range refs {
		refs[name] = strings.TrimSpace(text)
	}

	return refs, err
}

// Trailers returns the trailer's value of each commit that a branch gained, empty for commits
// without it. With an empty from it reads only the commit to.
func (r *Repo) Trailers(ctx context.Context, from, to, key string) ([]string, error) {
	if err := checkRev(to); err != nil {
		return nil, err
	}
	args := []string{
		"log", "-z",
		"--first-parent",
		"--format=%(trailers:key=" + key + ",valueonly,separator=%x20)",
	}
	if from == "" {
		args = append(args, "-1", to)
	} else if err := checkRev(from); err != nil {
		return nil, err
	} else {
		args = append(args, from+".."+to)
	}

	out, err := r.read(ctx, args...)
	var list []string
	for part := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		list = append(list, strings.TrimSpace(part))
	}
	return list, err
}
