//go:build !unix

package term

import "os"

// resized is empty where no signal tells of the terminal.
func resized() []os.Signal {
	return nil
}

// crashed does nothing here.
func crashed(os.Signal, func()) bool {
	return false
}

// suspended does nothing here.
func suspended() {}

// aborts does nothing here.
func aborts(func(), func()) (done func()) {
	return func() {}
}

// resizes does nothing here.
func resizes(func()) (done func()) {
	return func() {}
}
