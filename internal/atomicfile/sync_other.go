//go:build !windows

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the entries of a directory durable. Some file systems have no such thing and say so with EINVAL or ENOTSUP.
func syncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
