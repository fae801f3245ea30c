package question

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what a terminal holds and nobody has read, an unended line among it.
func flush(tty *os.File) {
	_ = unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH) // a terminal that cannot: only a begun line stays
}
