//go:build unix && !linux

package keyboard

import "golang.org/x/sys/unix"

// The requests that read and write how a terminal works, and the key that none is.
const getMode, setMode, noKey = unix.TIOCGETA, unix.TIOCSETA, 0xff
