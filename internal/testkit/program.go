package testkit

import (
	"os"
	"syscall"
)

// WriteProgram writes a program that the test is about to run. While the file is open for writing
// no other test can start a child, which would inherit it: a program that a process has open for
// writing cannot be run (ETXTBSY).
func WriteProgram(name, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(name, []byte(text), 0o755) //nolint:forbidigo // only tests call it
}
