//go:build unix

package proc

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run starts the program, gives it the terminal, and waits for its end. When ctx ends, it ends the
// program. It sets Exit, Signal and Killed of the Result. Errors are *NotFoundError and ErrStart.
func (f Foreground) Run(ctx context.Context) (Result, error) {
	path, err := lookPath(f.Env, f.Dir, f.Argv[0])
	if err != nil {
		return Result{}, err
	}

	cmd := exec.CommandContext(context.WithoutCancel(ctx), path) // terminateOnCancel ends its group
	cmd.Args = f.Argv
	cmd.Dir = f.Dir
	cmd.Env = f.Env
	cmd.Stdin = f.In
	cmd.Stdout = f.Out
	cmd.Stderr = f.Out
	cmd.SysProcAttr = f.ownGroup()

	var background sync.WaitGroup
	if f.Stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return Result{}, wrapError(ErrStart, f.Argv[0], err)
		}
		defer closeAll([]*os.File{r})
		cmd.Stdin = r
		background.Go(func() {
			_, err := w.Write(f.Stdin)
			ignore(err)       // a pager may not read to the end
			ignore(w.Close()) // as above
		})
	}
	if err := cmd.Start(); err != nil {
		f.closeInput(cmd)
		background.Wait()
		return Result{}, wrapError(ErrStart, f.Argv[0], err)
	}

	ended := make(chan struct{})
	background.Go(func() { terminateOnCancel(ctx, cmd, ended) })
	state := f.wait(cmd)

	close(ended)
	f.setForeground(unix.Getpgrp())
	f.closeInput(cmd)
	background.Wait()
	ignore(cmd.Process.Release()) // already reaped

	res := Result{Exit: state.ExitStatus(), Killed: ctx.Err() != nil}
	if state.Signaled() {
		res.Signal = unix.SignalName(state.Signal())
	}
	return res, nil
}

// closeInput closes the read end of the input, so that the writer does not block.
func (f Foreground) closeInput(cmd *exec.Cmd) {
	if r, ok := cmd.Stdin.(*os.File); ok && f.Stdin != nil {
		closeAll([]*os.File{r})
	}
}

// setForeground returns the terminal to a process group. SIGTTOU is ignored, because this process
// may be in the background then and would be stopped.
func (f Foreground) setForeground(group int) {
	signal.Ignore(unix.SIGTTOU)
	defer signal.Reset(unix.SIGTTOU)
	// without a terminal there is nothing to hand over
	ignore(unix.IoctlSetPointerInt(int(f.In.Fd()), unix.TIOCSPGRP, group))
}

// ownGroup makes the program start in a process group of its own, which has the terminal before
// the program's first instruction: from its first line on Ctrl-C is for the program.
func (f Foreground) ownGroup() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	fd := int(f.In.Fd())
	_, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err == nil { // it is the controlling terminal
		attributes.Foreground = true
		attributes.Ctty = fd
	}
	return attributes
}

// wait waits for the end of the program. Each time the program is stopped, it takes the terminal,
// calls Stopped, and lets the program go on.
func (f Foreground) wait(cmd *exec.Cmd) (state unix.WaitStatus) {
	group := cmd.Process.Pid
	for {
		_, err := unix.Wait4(group, &state, unix.WUNTRACED, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || !state.Stopped() {
			return state
		}
		f.setForeground(unix.Getpgrp())
		f.Stopped()
		f.setForeground(group)
		signalGroup(cmd, unix.SIGCONT)
	}
}

// terminateOnCancel ends the program when the context ends.
func terminateOnCancel(ctx context.Context, cmd *exec.Cmd, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	terminate(cmd)
	signalGroup(cmd, unix.SIGCONT)
	late := time.NewTimer(killTimeout)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		kill(cmd)
	}
}
