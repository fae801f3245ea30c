// Package testkit holds what the tests of several packages share. Only tests use it. It promises
// that a machine with much else to do is never a failure, and that what a test leaves out is said.
// Its functions may be called side by side.
package testkit

import (
	"os"
	"testing"
	"time"
)

// Widen calls try with a time limit that covers the start of a program. It doubles the limit for as
// long as try says that the program had not come far enough: a slow machine needs more time, and a
// program that never starts is a failure.
func Widen(tb testing.TB, least time.Duration, try func(limit time.Duration) (started bool)) {
	tb.Helper()
	const enough = 2 * time.Minute
	for limit := least; !try(limit); limit *= 2 {
		if tb.Failed() {
			return
		}
		if limit > enough {
			tb.Fatalf("the program had not come far enough within %s", limit)
		}
	}
}

// Deep tells whether the tests that take long are wanted too, by TEST_DEEP=1 in the environment:
// kills at every place, corpora, every line of a journal, long random runs. make check sets it.
func Deep() bool {
	return os.Getenv("TEST_DEEP") != "" //nolint:forbidigo // only tests ask
}

// OnlyDeep skips a test unless those that take long are wanted; why says what takes long in it.
func OnlyDeep(tb testing.TB, why string) {
	tb.Helper()
	if !Deep() {
		tb.Skipf("%s: TEST_DEEP=1 runs it", why)
	}
}
