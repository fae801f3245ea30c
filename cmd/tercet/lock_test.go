package main

import (
	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdLocked: locked FILE takes the lock of a file, as another process that writes, until `! locked
// FILE` or the script's end.
func cmdLocked(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] locked FILE")
	}

	key := lockKey(args[0])

	if neg {
		held, ok := ts.Value(key).(*heldLock)
		if !ok || held.lock == nil {
			ts.Fatalf("%s is not locked here", args[0])
		}
		ts.Check(held.lock.Unlock())
		held.lock = nil
		return
	}

	l := flock.New(ts.MkAbs(args[0]))
	ts.Check(l.Lock())
	ts.Defer(func() { ts.Check(l.Unlock()) }) // once more does nothing

	held, ok := ts.Value(key).(*heldLock)
	if !ok {
		ts.Fatalf("locked knows %s only", lockedFile)
	}

	held.lock = l
}

// lockedFile is the file that locked knows, as scripts name it.
const lockedFile = ".tercet/state.lock"

type lockKey string

type heldLock struct{ lock *flock.Flock }
