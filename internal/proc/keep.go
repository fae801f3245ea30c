package proc

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"time"
)

// Started is a child that runs, as it is recorded for the case that its owner is killed.
type Started struct {
	Proc           // of the child, or of its supervisor, which leads the session
	Owner Proc     // the process that started it
	Temp  string   // its private temporary folder, may be empty
	Name  string   // of the program, for messages
	After []string `json:",omitempty"` // as in Command
}

// killWait is how long a supervisor has to kill everything before it is killed itself.
const killWait = 2 * time.Second

// keeper is the link of a run to the supervisor of its child. It belongs to the goroutine of run.
type keeper struct {
	life *os.File // write end: its end ends everything
	said *os.File // read end: why the program did not start
}

// under puts the supervisor before the program.
func (k *child) under(supervisor []string, path string) {
	words := append([]string{}, supervisor[1:]...)
	words = append(append(append(words, afterWords(k.command.After)...), path), k.command.Argv...)
	k.cmd.Path, k.cmd.Args = supervisor[0], append([]string{supervisor[0]}, words...)
	k.keeper = &keeper{}
}

// link makes the pipes to the supervisor.
func (p *keeper) link(cmd *exec.Cmd) (theirs []*os.File, err error) {
	lifeR, lifeW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	saidR, saidW, err := os.Pipe()
	if err != nil {
		closeAll([]*os.File{lifeR, lifeW})
		return nil, err
	}
	p.life, p.said = lifeW, saidR
	cmd.ExtraFiles = []*os.File{lifeR, saidW}
	return cmd.ExtraFiles, nil
}

// let lets the program start and returns when it runs. Until then the supervisor alone runs, which ends with its owner,
// so that what must be written about the child is written before the program does anything.
func (p *keeper) let(theirs []*os.File) error {
	closeAll(theirs) // the end of said shows once nobody else has it
	if _, err := p.life.Write([]byte{'g'}); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(p.said, 4096))
	if err = errors.Join(err, p.said.Close()); err != nil {
		return err
	}
	if len(text) > 0 {
		return errors.New(string(text))
	}
	return nil
}

// close ends the supervisor and everything below it.
func (p *keeper) close() {
	if p.life != nil {
		ignore(p.life.Close()) // nothing is written any more
		p.life = nil
	}
}

// kill ends the child and everything it started: through its supervisor if it has one.
func (k *child) kill() {
	if k.keeper != nil {
		k.keeper.close()
		wait := killWait
		if len(k.command.After) > 0 {
			wait += afterTime
		}
		if k.waitFor(k.exited, wait) {
			return
		}
	}
	kill(k.cmd)
}

// record tells the owner's record of a child that runs.
func (k *child) record(s *Starter) error {
	if s.Record == nil || k.keeper == nil {
		return nil // what has no supervisor, such as git, starts nothing that stays
	}
	facts, err := Facts(k.cmd.Process.Pid)
	if err != nil {
		return err
	}
	owner, err := Facts(os.Getpid())
	if err != nil {
		return err
	}
	k.forget, err = s.Record(Started{
		Proc: facts, Owner: owner, Temp: k.temp, Name: k.command.Argv[0], After: k.command.After,
	})
	return err
}

// Enter may put other words in the place of those that a supervisor was asked to start; own asks for a process group of
// its own.
type Enter func(path string, argv []string) (newPath string, newArgv []string, own bool)
