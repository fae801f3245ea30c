//go:build !linux

package query

import "time"

// canBoundProcess reports whether a child can be held to a bound of its memory here.
const canBoundProcess = false

// boundProcess does nothing on this system.
func boundProcess(int64, time.Duration) error {
	return nil
}
