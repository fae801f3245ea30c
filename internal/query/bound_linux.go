package query

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// canBoundProcess reports whether a child can be held to a bound of its memory here.
const canBoundProcess = true

// boundProcess limits the memory of this process to an amount above its present address space, and
// its processor time, as a last resort if its parent is gone.
func boundProcess(memory int64, timeout time.Duration) error {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	word, _, _ := bytes.Cut(text, []byte(" "))
	pages, err := strconv.ParseUint(string(word), 10, 64)
	if err != nil {
		return err
	}

	space := pages*uint64(os.Getpagesize()) + uint64(memory)
	err = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: space, Max: space})
	if err != nil {
		return err
	}

	cpu := uint64(timeout.Seconds())*uint64(runtime.NumCPU()) + 2
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: cpu, Max: cpu + 1})
}
