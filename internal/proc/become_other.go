//go:build !unix

package proc

// Become fails: there is nothing of the kind here.
func Become(name string, _, _ []string) error {
	return &NotFoundError{Name: name}
}

// CloseOnExec does nothing: children get no files here.
func CloseOnExec(uintptr) {}
