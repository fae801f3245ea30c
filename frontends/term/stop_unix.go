//go:build unix

package term

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// resized are the signals at which what the terminal shows is painted anew, and the one of a crash.
func resized() []os.Signal {
	return []os.Signal{syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGABRT}
}

// crashed ends the process as a signal wants it that no deferred call survives, behind a last act.
func crashed(s os.Signal, last func()) bool {
	if s != syscall.SIGABRT {
		return false
	}
	last()
	signal.Reset(s)
	return syscall.Kill(os.Getpid(), syscall.SIGABRT) == nil
}

// aborts does a last act when a crash ends the process, and another when it goes on after a stop,
// until done is called.
func aborts(last, again func()) (done func()) {
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGABRT, syscall.SIGCONT)
	go func() {
		for s := range came {
			if !crashed(s, last) {
				again()
			}
		}
	}()
	return func() {
		signal.Stop(came)
		close(came)
	}
}

// resizes calls changed when the terminal gets another size, until done is called.
func resizes(changed func()) (done func()) {
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

// suspended stops the process and those beside it, as a terminal does at Ctrl-Z, until they go on.
// Where nothing could let them go on, the system does not stop them.
func suspended() {
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)

	// Linux does not stop a process that waits for a child between fork and exec, and the child would
	// be stopped there: the shell would never take the terminal back.
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
