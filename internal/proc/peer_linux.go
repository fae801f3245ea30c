package proc

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Peer says who is at the other end of a unix socket: whether it is a process of this user, and
// whether a supervisor is among its ancestors, which is this program with word as its argument. One
// that has ended counts as supervised: it may have left the socket to a child.
func Peer(c *net.UnixConn, word string) (sameUser, supervised bool, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false, false, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return false, false, err
	}
	if credErr != nil {
		return false, false, credErr
	}
	sameUser = int(cred.Uid) == os.Getuid()
	if cred.Pid <= 0 { // of another PID namespace, where its ancestors cannot be seen
		return sameUser, true, nil
	}

	before, beforeErr := readStat(int(cred.Pid))
	_, found := supervisorOf(int(cred.Pid), word)
	now, nowErr := readStat(int(cred.Pid))
	gone := beforeErr != nil || nowErr != nil || before.start != now.start
	return sameUser, found || gone, nil
}
