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

// Refs are the refs of a repository by full name, with what each points to: a hash, or "ref: " and another name. HEAD
// is that of the first checkout; OwnHead is that of a worktree.
type Refs map[string]string

// OwnHead stands in Refs for the HEAD of the worktree that was looked at, where it is not the first checkout.
const OwnHead = "HEAD of this worktree"

// RefChange is a ref that is not what it was. An empty value: it was not there, or is not any more.
type RefChange struct{ Ref, Old, New string }

// Changes names what differs in other refs of the same repository, sorted.
func (r Refs) Changes(now Refs) (list []RefChange) {
	all := maps.Clone(r)
	maps.Copy(all, now)
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		if r[ref] != now[ref] {
			list = append(list, RefChange{Ref: ref, Old: r[ref], New: now[ref]})
		}
	}
	return list
}

// Refs reads the refs from the files that git keeps them in, without git: packed ones, and over them those that have a
// file. Outside of a repository there are none. Of refs in a reftable only that they changed is seen.
func (r *Repo) Refs() (Refs, error) {
	own, common := home(r.Dir)
	if own == "" {
		return nil, nil
	}
	refs := Refs{"HEAD": small(filepath.Join(common, "HEAD"))}
	if own != common {
		refs[OwnHead] = small(filepath.Join(own, "HEAD"))
	}
	for line := range strings.Lines(small(filepath.Join(common, "packed-refs"))) {
		if hash, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "refs/") {
			refs[name] = hash
		}
	}
	if table := small(filepath.Join(common, "reftable", "tables.list")); table != "" {
		refs["reftable"] = table
	}
	err := fs.WalkDir(os.DirFS(common), "refs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(name, ".lock") {
			if text := small(filepath.Join(common, name)); text != "" { // else it was removed meanwhile
				refs[name] = text
			}
		}
		return nil // a folder that was removed meanwhile holds no refs
	})
	for name, text := range refs {
		refs[name] = strings.TrimSpace(text)
	}
	return refs, err
}

// Trailers gives what the trailer says of each commit that a branch went forward by, empty for one without; with from
// empty of the one at to.
func (r *Repo) Trailers(ctx context.Context, from, to, key string) ([]string, error) {
	args := []string{"log", "-z", "--first-parent", "--format=%(trailers:key=" + key + ",valueonly,separator=%x20)"}
	if err := checkRev(to); err != nil {
		return nil, err
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
