package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of landlock, see landlock(7). x/sys/unix has their numbers and structures. There
// is a library for more, go-landlock, but it restricts all threads of a process, for which it
// brings libpsx: with it, a toolchain that has a C compiler links each program and each test with
// that.

// landlockABI returns the version of the kernel's interface. It is an error if the kernel has no
// landlock or if it is switched off.
func landlockABI() (int, error) {
	abi, _, errno := unix.Syscall(
		unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION,
	)
	if errno != 0 {
		return 0, errno
	}
	return int(abi), nil
}

// createRuleset returns the descriptor of a new ruleset, closed on exec. A kernel accepts fields
// that it does not know as long as they are zero.
func createRuleset(attr *unix.LandlockRulesetAttr) (int, error) {
	fd, _, errno := unix.Syscall(
		unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0,
	)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// addPathRule grants access to a file, or to everything below a folder.
func addPathRule(ruleset int, attr unix.LandlockPathBeneathAttr) error {
	_, _, errno := unix.Syscall6(
		unix.SYS_LANDLOCK_ADD_RULE,
		uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)),
		0, 0, 0,
	)
	if errno != 0 {
		return errno
	}
	return nil
}
