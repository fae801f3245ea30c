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
	Remote  Remote   // what it is known to have is left out
	Without []string // commits; what they hold is left out too
}

// BundleCommit writes a commit into a file. Its ref is made for that time unless it is there.
func (r *Repo) BundleCommit(ctx context.Context, b Bundle) (err error) {
	at, err := r.refHash(ctx, b.Ref)
	if err != nil {
		return err
	}
	if at != b.Commit { // another one is refused
		if err := r.UpdateRef(ctx, b.Ref, b.Commit, ""); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.DeleteOwnRef(ctx, b.Ref, b.Commit)) }()
	}
	args := []string{
		"bundle", "create", "--quiet", b.File, b.Ref, "--not", AtRemote + b.Remote.Name,
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
	return r.stale(ctx, err, ref, old)
}

// Unbundle adds the objects of a bundle to the repository. It moves no ref. BundleNeeds says which
// commits have to be there.
func (r *Repo) Unbundle(ctx context.Context, file string) error {
	_, err := r.read(ctx, "bundle", "unbundle", file)
	return err
}

// BundleNeeds lists the commits that a repository must have before a bundle can be added.
func BundleNeeds(file string) (commits []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(f)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "# v") ||
		!strings.HasSuffix(lines.Text(), " git bundle") {
		return nil, errors.Join(badOutput("bundle", "the header of a bundle", ""), lines.Err())
	}
	for lines.Scan() && lines.Text() != "" {
		need, ok := strings.CutPrefix(lines.Text(), "-")
		if !ok {
			continue // a capability or a ref
		}
		hash, _, _ := strings.Cut(need, " ")
		if !isHash(hash) {
			return nil, badOutput("bundle", "a commit", fmt.Sprintf("%.80q", need))
		}
		commits = append(commits, hash)
	}
	return commits, lines.Err()
}
