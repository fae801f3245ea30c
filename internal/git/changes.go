package git

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Changes returns the changes of a tree as a patch and as one line for each file. It compares with
// the commit of another tree, or with the tree's last commit if other is nil. It omits uncommitted
// files in the hidden folder. Without a repository or a commit it returns nothing.
func (r *Repo) Changes(
	ctx context.Context,
	other *Repo,
	hidden string,
) (patch []byte, files []string, err error) {
	head, err := r.Head(ctx)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // there is nothing to compare with
	}

	base := head
	if other != nil {
		there, err := other.Head(ctx)
		if err != nil {
			return nil, nil, err
		}
		if base, err = r.MergeBase(ctx, there, head); err != nil || base == "" {
			return nil, nil, err
		}
	}
	patch, err = r.Diff(ctx, base, "")
	if err != nil {
		return nil, nil, err
	}

	stats, err := r.DiffStat(ctx, base, head)
	if err != nil {
		return nil, nil, err
	}
	entries, err := r.StatusPorcelain(ctx)
	if err != nil {
		return nil, nil, err
	}

	for _, s := range stats {
		files = append(files, fmt.Sprintf("%s | +%d -%d", s.Path, s.Added, s.Deleted))
	}
	hidden, err = r.hiddenPrefix(ctx, hidden)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Path, hidden) {
			files = append(files, e.Path+" | not committed")
		}
	}

	return patch, files, nil
}

// maxNewFiles bounds the new files whose content is shown.
const maxNewFiles = 20

// FullPatch returns the patch of Changes plus the content of some untracked files, without the
// hidden folder. Without a repository or a commit it is empty.
func (r *Repo) FullPatch(ctx context.Context, other *Repo, hidden string) (string, error) {
	all, files, err := r.Changes(ctx, other, hidden)
	if err != nil || len(files) == 0 && len(all) == 0 {
		return "", err
	}
	return r.withNewFiles(ctx, all, hidden)
}

// PatchSince returns how the working tree differs from rev, a tree or a commit that was loaded into
// the index: the changed files, and the content of some new ones, without the hidden folder.
func (r *Repo) PatchSince(ctx context.Context, rev, hidden string) (string, error) {
	all, err := r.Diff(ctx, rev, "")
	if err != nil {
		return "", err
	}
	return r.withNewFiles(ctx, all, hidden)
}

// withNewFiles adds the content of some untracked files to a patch, and leaves the hidden folder
// out.
func (r *Repo) withNewFiles(ctx context.Context, all []byte, hidden string) (string, error) {
	hidden, err := r.hiddenPrefix(ctx, hidden)
	if err != nil {
		return "", err
	}

	const begin = "diff --git "
	var patch strings.Builder
	for part := range strings.SplitSeq("\n"+string(all), "\n"+begin) {
		name := strings.TrimPrefix(part, `"`) // git quotes a path that has a control character
		if part != "" && !strings.HasPrefix(name, "a/"+hidden) {
			patch.WriteString(begin + strings.TrimSuffix(part, "\n") + "\n")
		}
	}

	entries, err := r.StatusPorcelain(ctx)
	if err != nil {
		return "", err
	}
	remaining := maxNewFiles
	for _, e := range entries {
		if remaining == 0 {
			break
		}
		if !e.IsUntracked() || strings.HasPrefix(e.Path, hidden) {
			continue
		}
		remaining--
		filePatch, _, err := r.runInTree(ctx, call{
			args:    append(diffArgs(), "--no-index", "--", "/dev/null", e.Path),
			okExits: []int{1},
		})
		if err != nil {
			return "", err
		}
		patch.Write(filePatch)
	}
	return patch.String(), nil
}

// hiddenPrefix is what the paths of a folder in Dir begin with, relative to the top of the working
// tree. A folder of that name elsewhere in the tree is not hidden: a worker can make one.
func (r *Repo) hiddenPrefix(ctx context.Context, folder string) (string, error) {
	_, rel, err := r.Locate(ctx)
	if err != nil {
		return "", err
	}
	return path.Join(filepath.ToSlash(rel), folder) + "/", nil
}
