package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Beside finds a program that belongs to this one: it stands beside it, or else in PATH. The error
// is a *NotFoundError.
func Beside(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &NotFoundError{Name: name}
	}
	return path, nil
}

// Helper is a program that belongs to this one, and gets its environment. It reads nothing.
type Helper struct {
	Argv []string // the program and its first words
	Env  []string
}

// Said is how a helper ended.
type Said struct {
	Out  []byte // nothing if its lines were read
	Err  []byte // the end of it
	Code int
}

const (
	maxHelperLine = 64 << 20 // bytes
	maxHelperErr  = 8 << 10
)

// Run runs the program to its end. The error says that it did not start, or was ended by a signal.
func (h Helper) Run(ctx context.Context, args ...string) (Said, error) {
	cmd := h.command(ctx, args)
	var out bytes.Buffer
	var errs end
	cmd.Stdout = &out
	cmd.Stderr = &errs
	code, err := exitOf(cmd.Run())
	return Said{Out: out.Bytes(), Err: errs, Code: code}, err
}

// Lines calls see with each line that the program prints, until it ends or see has an error. A line
// is valid until see returns.
func (h Helper) Lines(
	ctx context.Context, see func(line []byte) error, args ...string,
) (Said, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := h.command(ctx, args)
	var errs end
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return Said{}, wrapError(ErrStart, h.Argv[0], err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxHelperLine)
	for err == nil && lines.Scan() {
		err = see(lines.Bytes())
	}
	if err = errors.Join(err, lines.Err()); err != nil {
		stop()
		ignore(cmd.Wait()) // it was ended
		return Said{Err: errs}, err
	}
	code, err := exitOf(cmd.Wait())
	return Said{Err: errs, Code: code}, err
}

func (h Helper) command(ctx context.Context, args []string) *exec.Cmd {
	words := append(h.Argv[1:len(h.Argv):len(h.Argv)], args...)
	cmd := exec.CommandContext(ctx, h.Argv[0], words...) //nolint:gosec // a program of tercet
	cmd.Env = h.Env
	return cmd
}

// exitOf is the exit code of a program that ended by itself.
func exitOf(err error) (int, error) {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if ok && exit.ExitCode() >= 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// end keeps the end of what is written to it.
type end []byte

func (e *end) Write(data []byte) (int, error) {
	*e = append(*e, data...)
	*e = (*e)[max(0, len(*e)-maxHelperErr):]
	return len(data), nil
}
