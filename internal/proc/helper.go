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

// FindHelper finds a program that belongs to this one: in the folder of this program, or else in
// PATH. The error is a *NotFoundError.
func FindHelper(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		file := filepath.Join(filepath.Dir(self), name)
		info, err := os.Stat(file)
		if err == nil && info.Mode().IsRegular() {
			return file, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &NotFoundError{Name: name}
	}
	return path, nil
}

// Helper is a program that belongs to this one, and gets its environment. It gets no input.
type Helper struct {
	Argv []string // the program and its first words
	Env  []string
}

// HelperResult is how a helper ended.
type HelperResult struct {
	Out  []byte // standard output; empty after EachLine
	Err  []byte // the last maxHelperErr bytes of standard error
	Code int
}

const (
	maxHelperLine = 64 << 20 // bytes
	maxHelperErr  = 8 << 10
)

// Run runs the program to its end. The error says that it did not start, or was ended by a signal.
func (h Helper) Run(ctx context.Context, args ...string) (HelperResult, error) {
	cmd := h.command(ctx, args)
	var out bytes.Buffer
	var errs tailBuffer
	cmd.Stdout = &out
	cmd.Stderr = &errs
	code, err := exitOf(cmd.Run())
	return HelperResult{Out: out.Bytes(), Err: errs, Code: code}, err
}

// EachLine calls handle with each line that the program prints, until the program ends or handle
// returns an error. A line is valid until handle returns.
func (h Helper) EachLine(
	ctx context.Context, handle func(line []byte) error, args ...string,
) (HelperResult, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := h.command(ctx, args)
	var errs tailBuffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return HelperResult{}, wrapError(ErrStart, h.Argv[0], err)
	}

	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxHelperLine)
	for err == nil && lines.Scan() {
		err = handle(lines.Bytes())
	}
	err = errors.Join(err, lines.Err())
	if err != nil {
		stop()
		ignore(cmd.Wait()) // it was ended
		return HelperResult{Err: errs}, err
	}

	code, err := exitOf(cmd.Wait())
	return HelperResult{Err: errs, Code: code}, err
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

// tailBuffer keeps the last maxHelperErr bytes that are written to it.
type tailBuffer []byte

func (e *tailBuffer) Write(data []byte) (int, error) {
	*e = append(*e, data...)
	*e = (*e)[max(0, len(*e)-maxHelperErr):]
	return len(data), nil
}
