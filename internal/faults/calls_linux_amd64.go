package faults

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// older lists the calls without a directory, which programs in other languages still use.
func older() []call {
	return []call{
		{unix.SYS_OPEN, "openat", plain},
		{unix.SYS_RENAME, "renameat", plainTwo},
		{unix.SYS_UNLINK, "unlinkat", plain},
		{unix.SYS_LINK, "linkat", plainTwo},
		{unix.SYS_MKDIR, "mkdirat", plain},
	}
}
