//go:build !unix

package proc

// Exec fails: this system cannot replace a process.
func Exec(name string, _, _ []string) error {
	return &NotFoundError{Name: name}
}

// CloseOnExec does nothing: children get no files here.
func CloseOnExec(uintptr) {}
