//go:build !linux

package query

import "time"

// boundable tells whether a child can be held to a bound of its memory here.
const boundable = false

// boundProcess is for systems where a child can be bounded.
func boundProcess(int64, time.Duration) error {
	return nil
}
