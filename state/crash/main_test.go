//go:build linux && (amd64 || arm64)

// Package crash_test holds the state against crashes, full disks and power cuts: every operation is
// stopped at every system call, every state in which a disk may be left is opened again, and many
// processes are killed while they write. Writers with a planted defect prove that each of these
// finds something.
package crash_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// full makes the tests of this package exhaustive; without it they take samples.
var full = flag.Bool("full", false, "every point, every state, long soaks")

// TestMain runs a child of the tests where the arguments say so: "child KIND FOLDER ARGS...".
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "child" {
		code, err := child(os.Args[2], os.Args[3], os.Args[4:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
