package proc

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// statusDescriptor is the descriptor on which bubblewrap reports, after the three streams.
const statusDescriptor = 3

// reserveStatus occupies the low descriptors, so that nothing which a fork needs has the number on
// which the child is to report.
func reserveStatus() error {
	for {
		fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if fd > statusDescriptor {
			return unix.Close(fd)
		}
	}
}

// statusPipe is the read end of the pipe on which bubblewrap reports.
type statusPipe int

// noStatus is that of a program which does not report.
const noStatus statusPipe = -1

// startedProgram reports whether bubblewrap started the program: it tells its exit code only then.
// It is asked once all processes that could write are gone.
func (p statusPipe) startedProgram() bool {
	report := make([]byte, 4096) // two lines, of about 100 bytes
	n, err := unix.Read(int(p), report)
	return err != nil || bytes.Contains(report[:n], []byte(`"exit-code"`))
}

func (p statusPipe) close() {
	if p != noStatus {
		ignore(unix.Close(int(p))) // it was only read
	}
}
