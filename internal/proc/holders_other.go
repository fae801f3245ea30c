//go:build !linux

package proc

import "errors"

// LockHolders is empty where the system does not tell.
func LockHolders(string, string) []LockHolder {
	return nil
}

// EndWorker is for a process of LockHolders only, so for none.
func (LockHolder) EndWorker() error {
	return errors.ErrUnsupported
}
