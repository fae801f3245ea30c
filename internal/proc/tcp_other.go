//go:build !linux

package proc

import "net/netip"

// TCPPeer says who is at the other end of a TCP connection, which this system does not tell.
func TCPPeer(_, _ netip.AddrPort, _ string) TCPCaller {
	return CallerUnknown
}
