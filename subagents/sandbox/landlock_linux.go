package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Access rights to files.
const (
	readAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR

	writeAccess = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM

	// fileAccess can be granted for something that is no folder.
	fileAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	treeAccess = readAccess | writeAccess | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	deviceAccess = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// leastABI is the first version of landlock's interface that can move files between folders. An
// older one would refuse that everywhere.
const leastABI = 2

// handledAccess gives what a kernel with a version of landlock's interface can refuse.
func handledAccess(abi int) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{
		Handled_access_fs: treeAccess &^
			(unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX),
	}
	if abi >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP |
			unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if abi >= 9 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	if abi >= 10 {
		attr.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_BIND_UDP |
			unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP
	}
	return attr
}

// Ruleset makes the landlock ruleset that a program of a Box enforces on itself; see proc.Restrict.
// It takes the right to write elsewhere, to read what is secret, and, without a network, to use
// TCP. Newer kernels also take the right to send signals and to use abstract sockets outside (ABI
// 6), to connect to sockets that are files (ABI 9), and to use UDP (ABI 10).
//
// It is nil if only sockets and signals are to be refused and this kernel cannot.
func Ruleset(text []byte) (*os.File, error) {
	var r restriction
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("sandbox %s: %w", Landlock, err)
	}
	ruleset, err := r.ruleset()
	if err != nil {
		return nil, fmt.Errorf("sandbox %s: %w", Landlock, err)
	}
	return ruleset, nil
}

func (r restriction) ruleset() (*os.File, error) {
	abi, err := landlockABI()
	if err != nil {
		abi = 0 // the kernel has none, or it is switched off
	}
	attr := handledAccess(abi)
	switch {
	case r.Scope && attr.Scoped == 0:
		return nil, nil
	case r.Scope:
		attr.Handled_access_fs = 0
		attr.Handled_access_net = 0
	case abi < leastABI:
		return nil, fmt.Errorf("expected ABI %d of the kernel or a newer one, got %d",
			leastABI, abi)
	case r.Net:
		attr.Handled_access_net = 0
	}

	fd, err := createRuleset(&attr)
	if err != nil {
		return nil, os.NewSyscallError("landlock_create_ruleset", err)
	}
	out := os.NewFile(uintptr(fd), Landlock.String())
	if r.Scope {
		return out, nil
	}

	b := ruleBuilder{fd: fd, handled: attr.Handled_access_fs}
	if err := b.addAll(r); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// ruleBuilder adds rules to a ruleset.
type ruleBuilder struct {
	fd      int
	handled uint64 // access rights of the ruleset
}

func (b ruleBuilder) addAll(r restriction) error {
	if err := b.addReads(r.Secret); err != nil {
		return err
	}
	err := b.allow(
		deviceAccess, "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
		"/dev/tty", "/dev/ptmx",
	)
	if err != nil {
		return err
	}
	const terminals = readAccess | writeAccess | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	if err := b.allow(terminals, "/dev/pts"); err != nil {
		return err
	}
	for _, name := range r.Write {
		access := uint64(treeAccess)
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			access &= fileAccess
		}
		if err := b.allow(access, name); err != nil {
			return err
		}
	}
	return b.allow(unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, slices.Concat(nameServices, r.Sockets)...)
}

// addReads allows reading. landlock can only grant, so where something is secret, the folders on
// the way to it can be listed, and each other entry in them is granted. What appears there later
// cannot be read.
func (b ruleBuilder) addReads(secret []string) error {
	everywhere, err := allPathsOf(secret)
	if err != nil {
		return err
	}
	view, err := viewWithout("/", everywhere)
	if err != nil {
		return err
	}
	if err := b.allow(readAccess, view.folders...); err != nil {
		return err
	}
	if err := b.allow(readAccess&fileAccess, view.files...); err != nil {
		return err
	}
	return b.allow(unix.LANDLOCK_ACCESS_FS_READ_DIR, view.listed...)
}

// allow adds a rule for each path, as far as the kernel handles the access. What does not exist is
// left out. Access that only folders have is an error for anything else.
func (b ruleBuilder) allow(access uint64, names ...string) error {
	access &= b.handled
	if access == 0 {
		return nil
	}
	for _, name := range names {
		if err := b.allowOne(access, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (b ruleBuilder) allowOne(access uint64, name string) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{
			Op:   "open",
			Path: name,
			Err:  err,
		}
	}
	err = addPathRule(b.fd, unix.LandlockPathBeneathAttr{
		Allowed_access: access,
		Parent_fd:      int32(fd), //nolint:gosec // descriptors are small
	})
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return &fs.PathError{
			Op:   "landlock_add_rule",
			Path: name,
			Err:  err,
		}
	}
	return nil
}

// openSockets says that a program under landlock can connect to sockets that are files, where that
// is so.
func openSockets() string {
	const since = 9 // ABI
	if abi, err := landlockABI(); err != nil || abi >= since {
		return ""
	}
	return "; it can use sockets that are files: the kernel is too old to refuse that"
}
