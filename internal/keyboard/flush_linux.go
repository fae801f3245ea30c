package keyboard

import (
	"os"

	"golang.org/x/sys/unix"
)

// The requests that read and write how a terminal works, and the key that none is.
const (
	getMode = unix.TCGETS
	setMode = unix.TCSETS
	noKey   = 0
)

// flush drops all unread input of a terminal, also an unended line.
func flush(tty *os.File) {
	if err := unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return // a line that was begun stays, as where a terminal cannot be emptied
	}
}
