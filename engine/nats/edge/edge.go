// Package edge is what the programs tercet-hub and tercet-worker share at the edge of their
// process: arguments, signals, the exit code, and which tercet they start. It promises that an
// error is printed with its advice, and that the exit code is that of tercet's table.
package edge

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"tercet/engine/nats/worker"
	"tercet/formats"
)

// Main runs a program with the arguments of the process, and exits. A signal ends the context.
func Main(run func(ctx context.Context, args []string) (code int, err error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tercet:", err)
		if help := formats.HelpOf(err); help != "" {
			fmt.Fprintln(os.Stderr, "help:", help)
		}
		code = formats.ExitFor(formats.CodeOf(err))
	}
	os.Exit(code)
}

// Parse reads the flags of a program, which takes no other arguments. With --help it prints them,
// and done is true.
func Parse(f *flag.FlagSet, args []string) (done bool, err error) {
	err = f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return true, nil
	case err != nil || f.NArg() > 0:
		return false, formats.Fail(formats.CodeUsage, f.Name()+" --help",
			"wrong words for %s: %q", f.Name(), args)
	}
	return false, nil
}

// Workspace gives the absolute path of a folder with a workspace, of the current one if dir is
// empty. advice says where to start the program.
func Workspace(dir, advice string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", formats.Broken(formats.CodeIO, "the current folder", err)
	}
	info, err := os.Stat(filepath.Join(dir, formats.Workspace))
	if err != nil || !info.IsDir() {
		return "", formats.Fail(formats.CodeNoWorkspace, advice, "no workspace in %s", dir)
	}
	return dir, nil
}

// Tercet gives the program that works on the runs, and its version.
func Tercet() (program, version string, err error) {
	program = cmp.Or(os.Getenv("TERCET_PROGRAM"), "tercet")
	version, err = worker.Version(program)
	if err != nil {
		err = formats.Broken(formats.CodeToolUnavailable, "tercet", err, "put it into PATH")
	}
	return program, version, err
}
