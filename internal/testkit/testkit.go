// Package testkit holds what the tests of several packages share. Only tests use it. It promises that a machine with
// much else to do is never a failure, and that what a test leaves out is said. Its functions may be called side by side.
package testkit

import (
	"testing"
	"time"
)

// Widen calls try with a time limit that covers the start of a program. It doubles the limit for as long as try says
// that the program had not come far enough: a slow machine needs more time, and a program that never starts is a failure.
func Widen(t testing.TB, least time.Duration, try func(limit time.Duration) (started bool)) {
	t.Helper()
	const enough = 2 * time.Minute
	for limit := least; !try(limit); limit *= 2 {
		if t.Failed() {
			return
		}
		if limit > enough {
			t.Fatalf("the program had not come far enough within %s", limit)
		}
	}
}
