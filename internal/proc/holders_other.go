//go:build !linux

package proc

import "errors"

// LockHolders returns nil where the system does not show lock holders.
func LockHolders(string, string) []LockHolder {
	return nil
}

// EndWorker is never needed here.
func (LockHolder) EndWorker() error {
	return errors.ErrUnsupported
}
