// Tercet runs slash commands that are written as markdown: `tercet /plan 196`.
//
// This package is the edge: the only one that reads arguments, variables, the clock and the terminal, and the only one
// that prints. It promises that answers go to standard output and everything else to standard error, that the exit code
// comes from the one table in formats, and that a cancelled run puts its task back. It holds no workflow: what a
// command does stands in its markdown file. One process serves one person; lines of the prompt run one after the other.
package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"tercet/internal/proc"
	"tercet/subagents/sandbox"
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

// childWord makes this program the supervisor of a child, sandboxWord makes it put itself within bounds and become
// another. Only the program says them.
const (
	childWord   = "__child"
	sandboxWord = "__sandbox"
)

// inner does what this program asks of itself. No flag is parsed and nothing is read for it.
func inner(args []string) (code int, ok bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case childWord:
		return proc.Supervise(args[2:], os.Environ(), sandbox.Starts(sandboxWord, os.Environ())), true
	case sandboxWord:
		fmt.Fprintln(os.Stderr, "tercet:", sandbox.Enter(args[2:], os.Environ()))
		return 126, true
	}
	return 0, false
}

// supervisor is what stands before the words of a child; empty if this program cannot be found, and then it has none.
func supervisor() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, childWord}
}

// stdio are the three streams of the process.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}
