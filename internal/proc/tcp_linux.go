package proc

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// TCPPeer says who is at the other end of a TCP connection, by its address and the own one. word is
// that of supervisors, as in IsSupervised. Several processes may have the socket open: one with a
// supervisor is enough. A process of this machine that has closed its end already is hidden.
func TCPPeer(own, peer netip.AddrPort, word string) TCPCaller {
	inode, readable := socketInode(peer, own)
	switch {
	case !readable, inode == "" && !isLocal(peer.Addr()):
		return CallerUnknown
	case inode == "":
		return CallerHidden
	}
	caller := CallerHidden
	for _, pid := range socketHolders(inode) {
		if _, supervised := supervisorOf(pid, word); supervised {
			return CallerSupervised
		}
		caller = CallerFree
	}
	return caller
}

// isLocal reports whether an address is one of this machine.
func isLocal(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	list, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(list, func(own net.Addr) bool {
		network, ok := own.(*net.IPNet)
		return ok && network.IP.Equal(a.AsSlice())
	})
}

// socketInode finds the socket of a connection in the tables of the kernel; empty: no process has
// it. It is not readable where there are no tables.
func socketInode(from, to netip.AddrPort) (inode string, readable bool) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		readable = true
		for line := range strings.Lines(string(table)) {
			// Fields: number, address, address of the peer, state, queues, timer, retransmits,
			// user, timeout, inode.
			const minFields = 10
			f := strings.Fields(line)
			if len(f) < minFields {
				continue
			}
			local, localOK := tableAddress(f[1])
			remote, remoteOK := tableAddress(f[2])
			if localOK && remoteOK && local == from && remote == to && f[9] != "0" {
				return f[9], true
			}
		}
	}
	return "", readable
}

// tableAddress reads an address such as 0100007F:1F90: words of four bytes in the order of the
// machine, then the port.
func tableAddress(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(host)
	number, portErr := strconv.ParseUint(port, 16, 16)
	const word = 4
	if !ok || err != nil || portErr != nil || len(bytes)%word != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(bytes); i += word {
		binary.NativeEndian.PutUint32(bytes[i:], binary.BigEndian.Uint32(bytes[i:]))
	}
	addr, ok := netip.AddrFromSlice(bytes)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok
}

// socketHolders lists the processes that have a socket open, as far as they show it.
func socketHolders(inode string) (out []int) {
	name := "socket:[" + inode + "]"
	for _, pid := range allPIDs() {
		dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
		files, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(files, func(e os.DirEntry) bool {
			link, err := os.Readlink(dir + e.Name())
			return err == nil && link == name
		}) {
			out = append(out, pid)
		}
	}
	return out
}
