package keyboard

import (
	"os"

	"golang.org/x/sys/unix"
)

// The requests that read and write how a terminal works, and the key that none is.
const getMode, setMode, noKey = unix.TCGETS, unix.TCSETS, 0

// flush drops what a terminal holds and nobody has read, an unended line among it.
func flush(tty *os.File) {
	if err := unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return // a line that was begun stays, as where a terminal cannot be emptied
	}
}
