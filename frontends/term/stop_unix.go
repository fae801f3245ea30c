//go:build unix

package term

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// resizeSignals lists the signals at which the terminal is painted anew, and that of a crash.
func resizeSignals() []os.Signal {
	return []os.Signal{syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGABRT}
}

// endCrash calls last and ends the process, if the signal is that of a crash: deferred calls do not
// run.
func endCrash(s os.Signal, last func()) bool {
	if s != syscall.SIGABRT {
		return false
	}
	last()
	signal.Reset(s)
	return syscall.Kill(os.Getpid(), syscall.SIGABRT) == nil
}

// onCrash calls last when a crash ends the process, and again when the process goes on after a
// stop, until done is called.
func onCrash(last, again func()) (done func()) {
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGABRT, syscall.SIGCONT)
	go func() {
		for s := range came {
			if !endCrash(s, last) {
				again()
			}
		}
	}()
	return func() {
		signal.Stop(came)
		close(came)
	}
}

// onResize calls changed when the terminal gets another size, until done is called.
func onResize(changed func()) (done func()) {
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGWINCH)
	go func() {
		for range came {
			changed()
		}
	}()
	return func() {
		signal.Stop(came)
		close(came)
	}
}

// suspendProcess stops the process and those beside it, as a terminal does at Ctrl-Z, until they go
// on. Where nothing could let them go on, the system does not stop them.
func suspendProcess() {
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)

	// Linux does not stop a process that waits for a child between fork and exec, and the child
	// would be stopped there: the shell would never take the terminal back.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()

	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}

	select {
	case <-on:
	case <-time.After(300 * time.Millisecond):
	}
}
