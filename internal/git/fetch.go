package git

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// CutRef splits ADDRESS@REF at the last @. ok is false if the address cannot be fetched or there is
// no valid ref.
func CutRef(text string) (address, ref string, ok bool) {
	i := strings.LastIndexByte(text, '@')
	if i < 0 {
		return "", "", false
	}
	address = text[:i]
	ref = text[i+1:]
	remote, ok := parseAddress(address)
	isFetchable := ok && (remote.Host != "" || strings.HasPrefix(address, "file://"))
	return address, ref, isFetchable && CheckBranch(ref) == nil
}

// Archive fetches one commit of another repository by https, ssh or from a folder. It returns the
// files as a zip, and the commit's hash for a branch, a tag or a hash. dir must be an empty folder.
// It follows no submodules and runs no filters or hooks. A commit with more files or bytes than the
// bounds is a *TooLargeError: a larger file is not fetched if the server can leave it out, and
// nothing is written.
func (r *Repo) Archive(
	ctx context.Context,
	address, ref string,
	limits Bounds,
) (commit string, zip []byte, err error) {
	if err := cmp.Or(CheckBranch(ref), r.Init(ctx, "main")); err != nil {
		return "", nil, err
	}
	pairs, err := r.userConfig(ctx)
	if err != nil {
		return "", nil, err
	}

	_, _, err = r.run(ctx, call{
		args: []string{
			"fetch",
			"--quiet",
			"--depth=1",
			"--no-tags",
			"--no-recurse-submodules",
			"--no-write-commit-graph",
			fmt.Sprintf("--filter=blob:limit=%d", limits.Bytes+1),
			"--upload-pack=" + uploadPack(address),
			"--",
			address,
			ref,
		},
		config: append(
			pairs, "fetch.unpackLimit", "1", "protocol.file.allow", "always",
			"protocol.https.allow", "always", "protocol.ssh.allow", "always",
		),
		online:      true,
		sideEffects: true,
	})
	if err != nil {
		return "", nil, err
	}

	commit, err = r.Resolve(ctx, "FETCH_HEAD")
	if err != nil {
		return "", nil, err
	}
	if err := r.checkBounds(ctx, commit, limits); err != nil {
		return "", nil, err
	}

	config, err := r.configuration(ctx)
	if err != nil {
		return "", nil, err
	}
	args := []string{"archive", "--format=zip", commit}
	zip, _, err = r.run(ctx, call{
		args:   args,
		revs:   []string{commit},
		config: config.drivers,
	})
	return commit, zip, err
}

// Bounds limit the size of a commit.
type Bounds struct {
	Files int
	Bytes int64
}

// uploadPack is the command that sends the objects. Only a repository on this machine can be told
// to leave out large files.
func uploadPack(address string) string {
	if strings.HasPrefix(address, "file://") {
		return "git -c uploadpack.allowFilter=true upload-pack"
	}
	return "git-upload-pack"
}

// checkBounds refuses a commit whose files exceed the bounds, by their sizes and without unpacking
// them.
func (r *Repo) checkBounds(ctx context.Context, commit string, limits Bounds) error {
	out, _, err := r.run(ctx, call{
		args: []string{
			"rev-list", "--objects", "--no-object-names", "--missing=print", commit, "--",
		},
		revs: []string{commit},
	})
	if err != nil {
		return err
	}

	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "?") { // it was not fetched
			return &TooLargeError{Limit: limits}
		}
	}

	out, _, err = r.run(ctx, call{
		args: []string{"ls-tree", "-z", "-r", "-l", "--full-tree", commit},
		revs: []string{commit},
	})
	if err != nil {
		return err
	}

	files := 0
	size := int64(0)
	for _, rec := range records(out) {
		about, _, _ := strings.Cut(rec, "\t") // "100644 blob HASH SIZE"
		words := strings.Fields(about)
		if len(words) != 4 {
			return badOutput("ls-tree", "mode, type, hash, size and a path", rec)
		}
		n, _ := strconv.ParseInt(words[3], 10, 64) //nolint:errcheck // a submodule has none
		files++
		size += min(n, limits.Bytes+1)
		if files > limits.Files || size > limits.Bytes {
			return &TooLargeError{Limit: limits}
		}
	}

	return nil
}
