package git

import (
	"context"
	"fmt"
	"strings"
)

// Changes is what the work in a tree changed, as a patch and as a line for each file: since it left the commit that
// another tree stands on, or since its last commit where there is no other. Files in no commit that lie in the hidden
// folder are not listed. Where there is no repository, or none with a commit, nothing is known.
func (r *Repo) Changes(ctx context.Context, other *Repo, hidden string) (patch []byte, files []string, err error) {
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
	if patch, err = r.Diff(ctx, base, ""); err != nil {
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
	for _, e := range entries {
		if !strings.HasPrefix(e.Path, hidden+"/") {
			files = append(files, e.Path+" | not committed")
		}
	}
	return patch, files, nil
}
