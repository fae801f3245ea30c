package proc

import (
	"os"
	"os/exec"
)

// Detach starts this program again, in a session of its own, so that it outlives this process: nobody ends it, and no
// terminal does. Of the command it takes Argv, Dir and Env, which is all of its environment. It has no input, and
// prints to out. ended gives its exit code.
func Detach(c Command, out *os.File) (ended <-chan int, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, failed(ErrStart, "this program", err)
	}
	cmd := &exec.Cmd{Path: self, Args: c.Argv, Dir: c.Dir, Env: c.Env, Stdout: out, Stderr: out}
	if err := detach(cmd); err != nil {
		return nil, c.notStarted(err)
	}
	done := make(chan int, 1)
	go func() {
		ignore(cmd.Wait()) // the code says how it ended
		done <- cmd.ProcessState.ExitCode()
	}()
	return done, nil
}
