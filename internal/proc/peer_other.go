//go:build !linux

package proc

import "net"

// Peer says who is at the other end of a unix socket. On this system only the rights of the
// socket's folder keep others away.
func Peer(*net.UnixConn, string) (sameUser, supervised bool, err error) {
	return true, false, nil
}
