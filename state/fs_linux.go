package state

import (
	"os"
	"syscall"
)

// fileSystem names the file systems that are known to differ in locking, as words to append.
func fileSystem(dir string) string {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return ""
	}
	switch uint32(st.Type) { // the magic numbers have 32 bits
	case 0x6969:
		return " (NFS)"
	case 0x517B, 0xFF534D42, 0xFE534D42:
		return " (SMB)"
	case 0x65735546:
		return " (FUSE)"
	case 0x01021997:
		return " (9P)"
	}
	return ""
}

// pidNamespace names the namespace in which this process's id counts.
func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}
