package question

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what a terminal holds and nobody has read, an unended line among it.
func flush(tty *os.File) {
	if err := unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return // a line that was begun stays, as where a terminal cannot be emptied
	}
}
