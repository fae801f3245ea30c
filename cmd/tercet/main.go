// Tercet runs slash commands that are written as markdown: `tercet /plan 196`.
//
// This package is the edge: the only one that reads arguments, variables, the clock and the terminal, and the only one that
// prints. It promises that answers go to standard output and everything else to standard error, that the exit code comes
// from the one table in formats, and that a cancelled run puts its task back. It holds no workflow: what a command does
// stands in its markdown file. One process serves one person; lines of the prompt run one after the other.
package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(start()) }

// start runs the program with the process's own arguments and streams.
func start() int {
	if code, ok := inner(os.Args); ok {
		return code
	}
	a := newApp(stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Getenv)
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup wants it
		signal.Notify(ch, syscall.SIGHUP) // the terminal is gone: what runs ends as it would by SIGTERM
	}
	go func() {
		for s := range ch {
			a.signals.arrive(s)
		}
	}()
	return a.run(os.Args[1:]) // signals are taken until the process ends
}

// stdio are the three streams of the process.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}
