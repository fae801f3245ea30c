//go:build !unix

package proc

import "os"

// exists is told by FindProcess, which opens the process here.
func exists(*os.Process) bool { return true }
