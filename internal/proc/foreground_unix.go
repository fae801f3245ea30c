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
	path, err := look(f.Env, f.Dir, f.Argv[0])
	if err != nil {
		return Result{}, err
	}

	cmd := exec.CommandContext(context.WithoutCancel(ctx), path) // its group is ended below
	cmd.Args = f.Argv
	cmd.Dir = f.Dir
	cmd.Env = f.Env
	cmd.Stdin = f.In
	cmd.Stdout = f.Out
	cmd.Stderr = f.Out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var beside sync.WaitGroup
	if f.Stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return Result{}, failed(ErrStart, f.Argv[0], err)
		}
		defer closeAll([]*os.File{r})
		cmd.Stdin = r
		beside.Go(func() {
			_, err := w.Write(f.Stdin)
			ignore(err)       // a pager need not read to the end
			ignore(w.Close()) // as above
		})
	}
	if err := cmd.Start(); err != nil {
		f.hangup(cmd)
		beside.Wait()
		return Result{}, failed(ErrStart, f.Argv[0], err)
	}

	ended := make(chan struct{})
	beside.Go(func() { end(ctx, cmd, ended) })
	state := f.attend(cmd)
	close(ended)
	f.give(unix.Getpgrp())
	f.hangup(cmd)
	beside.Wait()
	ignore(cmd.Process.Release()) // it is reaped
	res := Result{Exit: state.ExitStatus(), Killed: ctx.Err() != nil}
	if state.Signaled() {
		res.Signal = unix.SignalName(state.Signal())
	}
	return res, nil
}

// hangup closes our end of what the program reads, so that nothing writes into it any more.
func (f Foreground) hangup(cmd *exec.Cmd) {
	if r, ok := cmd.Stdin.(*os.File); ok && f.Stdin != nil {
		closeAll([]*os.File{r})
	}
}

// give makes a process group the one that has the terminal. This process may be in the background
// then, where the system would stop it for that.
func (f Foreground) give(group int) {
	signal.Ignore(unix.SIGTTOU)
	defer signal.Reset(unix.SIGTTOU)
	// no terminal of ours: it has it already
	ignore(unix.IoctlSetPointerInt(int(f.In.Fd()), unix.TIOCSPGRP, group))
}

// attend gives the program the terminal until it has ended. It has none for a moment when it
// starts, and is stopped if it asks for it then.
func (f Foreground) attend(cmd *exec.Cmd) (state unix.WaitStatus) {
	group := cmd.Process.Pid
	for {
		f.give(group)
		signalGroup(cmd, unix.SIGCONT)
		for {
			_, err := unix.Wait4(group, &state, unix.WUNTRACED, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil || !state.Stopped() {
				return state
			}
			break
		}
		f.give(unix.Getpgrp())
		f.Stopped()
	}
}

// end ends the program when the context does.
func end(ctx context.Context, cmd *exec.Cmd, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	terminate(cmd)
	signalGroup(cmd, unix.SIGCONT)
	late := time.NewTimer(killWait)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		kill(cmd)
	}
}
