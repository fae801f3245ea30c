//go:build linux && (amd64 || arm64)

package faults

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// describe reads what a call is about from the thread that waits in it, and tells whether it is
// counted.
func (l *Listener) describe(n *notification, plan Plan) (Call, bool) {
	c := l.calls[uint32(n.number)]
	out := Call{Name: c.name}
	proc := "/proc/" + strconv.FormatUint(uint64(n.pid), 10)
	at := func(dir, ptr uint64) string {
		return resolvePath(proc, int32(dir), readText(int(n.pid), uintptr(ptr)))
	}

	switch c.form {
	case byHandle:
		out.Path = handlePath(proc, int32(n.args[0]))
	case byPath:
		out.Path = at(n.args[0], n.args[1])
	case byTwo:
		out.Path = at(n.args[0], n.args[1])
		out.To = at(n.args[2], n.args[3])
	}

	counted := isBelow(plan.Under, out.Path) || isBelow(plan.Under, out.To)
	if said := out.Name == "write" && n.args[0] == 1; counted || said {
		addDetails(n, proc, &out)
		if plan.Bytes && out.Name == "write" {
			out.Data = readMemory(int(n.pid), uintptr(n.args[1]), out.Size)
		}
	}
	return out, counted
}

func addDetails(n *notification, proc string, out *Call) {
	switch n.number {
	case unix.SYS_OPENAT:
		out.Flags = int(n.args[2])
		out.Mode = uint32(n.args[3])
	case unix.SYS_OPENAT2:
		if how := readMemory(int(n.pid), uintptr(n.args[2]), 16); len(how) == 16 {
			out.Flags = int(binary.NativeEndian.Uint64(how))
			out.Mode = uint32(binary.NativeEndian.Uint64(how[8:]))
		}
	case unix.SYS_UNLINKAT:
		out.Flags = int(n.args[2])
	case unix.SYS_MKDIRAT, unix.SYS_FCHMODAT:
		out.Mode = uint32(n.args[2])
	case unix.SYS_FLOCK:
		out.Flags = int(n.args[1])
	case unix.SYS_FTRUNCATE:
		out.Pos = int64(n.args[1])
	case unix.SYS_PWRITE64:
		out.Size = int(n.args[2])
		out.Pos = int64(n.args[3])
	case unix.SYS_WRITE:
		out.Size = int(n.args[2])
		out.Pos = writeOffset(proc, int32(n.args[0]))
	}
}

// handlePath gives the path of a descriptor.
func handlePath(proc string, fd int32) string {
	link, err := os.Readlink(proc + "/fd/" + strconv.Itoa(int(fd)))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(link, " (deleted)")
}

// resolvePath makes a path absolute, as far as names go.
func resolvePath(proc string, dir int32, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	if dir != unix.AT_FDCWD {
		return filepath.Join(handlePath(proc, dir), path)
	}
	base, err := os.Readlink(proc + "/cwd")
	if err != nil {
		return path
	}
	return filepath.Join(base, path)
}

// writeOffset gives the place where a write will begin: the position, or the end for a file that is
// appended to.
func writeOffset(proc string, fd int32) int64 {
	name := strconv.Itoa(int(fd))
	data, err := os.ReadFile(proc + "/fdinfo/" + name)
	if err != nil {
		return 0
	}

	var pos, flags int64
	for line := range bytes.Lines(data) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "pos":
			pos, err = strconv.ParseInt(value, 10, 64)
		case "flags":
			flags, err = strconv.ParseInt(value, 8, 64)
		}
		if err != nil {
			return 0
		}
	}

	if flags&unix.O_APPEND != 0 {
		if info, err := os.Stat(proc + "/fd/" + name); err == nil {
			return info.Size()
		}
	}
	return pos
}

// readText reads a path out of the memory of a process, empty if that cannot be done.
func readText(pid int, at uintptr) string {
	const page = 4096
	var out []byte
	for len(out) <= unix.PathMax {
		// A read that crosses into a page that is not there fails as a whole.
		part := readMemory(pid, at, page-int(at%page))
		if head, _, ends := bytes.Cut(part, []byte{0}); ends {
			return string(append(out, head...))
		}
		if len(part) == 0 {
			break
		}
		out = append(out, part...)
		at += uintptr(len(part))
	}
	return ""
}

// readMemory reads bytes of a process, nil if that cannot be done.
func readMemory(pid int, at uintptr, n int) []byte {
	if n <= 0 {
		return nil
	}

	buf := make([]byte, n)
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(n)
	got, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: at, Len: n}}, 0)
	if err != nil || got != n {
		return nil
	}
	return buf
}
