package git

import (
	"cmp"
	"context"
	"strings"
)

// CutRef splits ADDRESS@REF at the last @. ok is false for an address that cannot be fetched, and without a ref.
func CutRef(text string) (address, ref string, ok bool) {
	i := strings.LastIndexByte(text, '@')
	if i < 0 {
		return "", "", false
	}
	address, ref = text[:i], text[i+1:]
	remote, fits := place(address)
	return address, ref, fits && (remote.Host != "" || strings.HasPrefix(address, "file://")) && CheckBranch(ref) == nil
}

// Archive fetches one commit of another repository by https, ssh or from a folder. It gives the files as a zip, and the
// commit's hash for a branch, a tag or a hash. dir must be an empty folder. It follows no submodules and runs no
// filters or hooks.
func (r *Repo) Archive(ctx context.Context, address, ref string) (commit string, zip []byte, err error) {
	if err := cmp.Or(CheckBranch(ref), r.Init(ctx, "main")); err != nil {
		return "", nil, err
	}
	pairs, err := r.personal(ctx)
	if err != nil {
		return "", nil, err
	}
	_, _, err = r.run(ctx, call{
		args: []string{
			"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-commit-graph",
			"--upload-pack=git-upload-pack", "--", address, ref,
		},
		pairs: append(pairs, "protocol.file.allow", "always", "protocol.https.allow", "always",
			"protocol.ssh.allow", "always"),
		online: true, makes: true,
	})
	if err != nil {
		return "", nil, err
	}
	if commit, err = r.Resolve(ctx, "FETCH_HEAD"); err != nil {
		return "", nil, err
	}
	drivers, err := r.drivers(ctx)
	if err != nil {
		return "", nil, err
	}
	args := []string{"archive", "--format=zip", commit}
	zip, _, err = r.run(ctx, call{args: args, revs: []string{commit}, pairs: drivers})
	return commit, zip, err
}
