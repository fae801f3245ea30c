package sandbox //nolint:testpackage // it exports to the tests

// RefusesSocketFiles reports whether a box keeps a program from sockets that are files.
func RefusesSocketFiles(b Box) bool {
	return b.Means == Bubblewrap || openSockets() == ""
}

// RefusesAbstract reports whether the kernel can keep a program from abstract sockets.
func RefusesAbstract() bool {
	const since = 6 // ABI of landlock
	abi, err := landlockABI()
	return err == nil && abi >= since
}
