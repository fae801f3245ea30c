package proc

import (
	"bytes"
	"os"
	"os/exec"
)

// Detached is a process of this program that outlives the one that started it.
type Detached struct {
	// Ended receives its exit code.
	Ended <-chan int

	cmd    *exec.Cmd
	reaped chan struct{} // closed once the process was waited for
}

// Detach starts Argv, which is this program, in a new session, which outlives this process and its
// terminal. It uses only Argv, Dir, Stdin and Env of the command; Env is the complete environment.
// The process prints to out.
func Detach(c Command, out *os.File) (*Detached, error) {
	cmd := &exec.Cmd{
		Path:   c.Argv[0],
		Args:   c.Argv,
		Dir:    c.Dir,
		Env:    c.Env,
		Stdin:  bytes.NewReader(c.Stdin),
		Stdout: out,
		Stderr: out,
	}
	if err := detach(cmd); err != nil {
		return nil, c.startError(err)
	}
	ended := make(chan int, 1)
	gone := make(chan struct{})
	go func() {
		ignore(cmd.Wait()) // the code says how it ended
		close(gone)
		ended <- cmd.ProcessState.ExitCode()
	}()
	return &Detached{Ended: ended, cmd: cmd, reaped: gone}, nil
}

// Interrupt asks the process to end. Its number may belong to another process once it has.
func (d *Detached) Interrupt() {
	select {
	case <-d.reaped:
	default:
		terminate(d.cmd)
	}
}
