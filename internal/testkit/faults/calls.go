//go:build linux && (amd64 || arm64)

package faults

import "golang.org/x/sys/unix"

// form is how a call names its file.
type form int

const (
	byHandle form = iota // the first argument is a descriptor
	byPath               // directory and path
	byTwo                // directory and path, twice
)

// call is a system call that is watched.
type call struct {
	number uint32
	name   string
	form   form
}

// watched are the system calls that the filter hands over: those that Go makes, which all name a
// directory or a handle.
var watched = []call{
	{unix.SYS_OPENAT, "openat", byPath},
	{unix.SYS_OPENAT2, "openat", byPath},
	{unix.SYS_WRITE, "write", byHandle},
	{unix.SYS_PWRITE64, "write", byHandle},
	{unix.SYS_FSYNC, "fsync", byHandle},
	{unix.SYS_FDATASYNC, "fsync", byHandle},
	{unix.SYS_RENAMEAT, "renameat", byTwo},
	{unix.SYS_RENAMEAT2, "renameat", byTwo},
	{unix.SYS_UNLINKAT, "unlinkat", byPath},
	{unix.SYS_LINKAT, "linkat", byTwo},
	{unix.SYS_MKDIRAT, "mkdirat", byPath},
	{unix.SYS_FCHMODAT, "fchmodat", byPath},
	{unix.SYS_FTRUNCATE, "ftruncate", byHandle},
	{unix.SYS_FLOCK, "flock", byHandle},
	{unix.SYS_CLOSE, "close", byHandle},
}
