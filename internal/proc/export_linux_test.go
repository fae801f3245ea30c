package proc //nolint:testpackage // it exports to the tests

// WaitPolled waits for the end of a child by the poller, and reports whether it could.
func WaitPolled(pid int) bool {
	return waitPolled(pid)
}
