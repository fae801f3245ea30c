//go:build !unix

package term

import "os"

// resizeSignals is empty where no signal tells of the terminal.
func resizeSignals() []os.Signal {
	return nil
}

// endCrash does nothing here.
func endCrash(os.Signal, func()) bool {
	return false
}

// suspendProcess does nothing here.
func suspendProcess() {}

// onCrash does nothing here.
func onCrash(func(), func()) (done func()) {
	return func() {}
}

// onResize does nothing here.
func onResize(func()) (done func()) {
	return func() {}
}
