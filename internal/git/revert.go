package git

import "context"

// Revert reverts a commit in the checkout at Dir, a merge against its first parent. It changes
// files and index, and commits nothing. The error is ErrConflict if that is impossible.
func (r *Repo) Revert(ctx context.Context, rev string) error {
	hash, err := r.Resolve(ctx, rev)
	if err != nil {
		return err
	}
	args := []string{
		"revert", "--no-commit", "--no-gpg-sign", "--no-rerere-autoupdate", "--strategy=ort",
	}
	if other, err := r.refHash(ctx, hash+"^2"); err != nil {
		return err
	} else if other != "" {
		args = append(args, "--mainline=1")
	}
	_, exit, err := r.runInTree(ctx, call{
		args:    append(args, hash),
		revs:    []string{hash},
		okExits: []int{1},
	})
	if err == nil && exit != 0 {
		err = ErrConflict
	}
	return err
}
