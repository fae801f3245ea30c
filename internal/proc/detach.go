package proc

import (
	"os"
	"os/exec"
)

// Detach starts tercet in a new session, which outlives this process and its terminal. It uses only
// Argv, Dir and Env of the command; Env is the complete environment. The process has no input and
// prints to out. ended receives its exit code.
func Detach(c Command, out *os.File) (ended <-chan int, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, wrapError(ErrStart, "this program", err)
	}
	cmd := &exec.Cmd{
		Path:   self,
		Args:   c.Argv,
		Dir:    c.Dir,
		Env:    c.Env,
		Stdout: out,
		Stderr: out,
	}
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
