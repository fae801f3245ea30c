//go:build unix && !linux && !darwin

package proc

import (
	"errors"
	"os"
	"syscall"
)

func exists(p *os.Process) bool {
	err := p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}
