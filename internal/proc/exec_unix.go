//go:build unix

package proc

import "syscall"

// Exec replaces this process by a program that FindHelper finds. It returns only
// with an error, a *NotFoundError if there is no such program.
func Exec(name string, args, env []string) error {
	path, err := FindHelper(name)
	if err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{path}, args...), env)
}

// CloseOnExec keeps a file that this process got from its parent from the children of this process.
func CloseOnExec(fd uintptr) {
	syscall.CloseOnExec(int(fd)) //nolint:gosec // it is a small number
}
