package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Bundle is the input of BundleCommit.
type Bundle struct {
	File    string
	Ref     string // the name of the commit in the file
	Commit  string
	Remote  Remote   // objects that it is known to have are left out
	Without []string // commits; their objects are left out too
}

// BundleCommit writes a commit into a file. If its ref does not exist, it is created and deleted
// afterwards.
func (r *Repo) BundleCommit(ctx context.Context, b Bundle) (err error) {
	current, err := r.refHash(ctx, b.Ref)
	if err != nil {
		return err
	}
	if current != b.Commit { // UpdateRef fails if the ref has another commit
		if err := r.UpdateRef(ctx, b.Ref, b.Commit, ""); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.DeleteOwnRef(ctx, b.Ref, b.Commit)) }()
	}

	args := []string{
		"bundle", "create", "--quiet", b.File, b.Ref, "--not", RemoteCommits + b.Remote.Name,
	}
	_, _, err = r.run(ctx, call{
		args: append(args, b.Without...),
		revs: append([]string{b.Ref}, b.Without...),
	})
	return err
}

// DeleteOwnRef deletes a ref of tercet's own that still points to commit old.
func (r *Repo) DeleteOwnRef(ctx context.Context, ref, old string) error {
	name, own := strings.CutPrefix(ref, ownRefs)
	if err := CheckBranch(name); err != nil || !own {
		return badName("ref below "+ownRefs, ref)
	}
	if err := checkRev(old); err != nil {
		return err
	}
	_, err := r.read(ctx, "update-ref", "--no-deref", "-d", ref, old)
	return r.asStaleError(ctx, err, ref, old)
}

// Unbundle adds the objects of a bundle to the repository. It moves no ref.
// BundlePrerequisites lists the commits that have to be there.
func (r *Repo) Unbundle(ctx context.Context, file string) error {
	_, err := r.read(ctx, "bundle", "unbundle", file)
	return err
}

// BundlePrerequisites lists the commits that a repository must have before a bundle can be added.
func BundlePrerequisites(file string) (commits []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read

	lines := bufio.NewScanner(f)
	isBundle := lines.Scan() && strings.HasPrefix(lines.Text(), "# v") &&
		strings.HasSuffix(lines.Text(), " git bundle")
	if !isBundle {
		return nil, errors.Join(badOutput("bundle", "the header of a bundle", ""), lines.Err())
	}

	for lines.Scan() && lines.Text() != "" {
		prerequisite, ok := strings.CutPrefix(lines.Text(), "-")
		if !ok {
			continue // a capability or a ref
		}
		hash, _, _ := strings.Cut(prerequisite, " ")
		if !isHash(hash) {
			return nil, badOutput("bundle", "a commit", fmt.Sprintf("%.80q", prerequisite))
		}
		commits = append(commits, hash)
	}
	return commits, lines.Err()
}
