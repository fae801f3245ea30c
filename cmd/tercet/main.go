// Tercet runs slash commands that are written as markdown: `tercet /plan 196`.
//
// This package is the edge: the only one that reads arguments, variables, the clock and the
// terminal, and the only one that prints. It promises that answers go to standard output and
// everything else to standard error. The exit code comes from the one table in formats. A cancelled
// run puts its task back. It holds no workflow: what a command does stands in its markdown file.
// One process serves one user; lines of the prompt run one after the other.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/project"
)

func main() {
	os.Exit(start())
}

// start runs the program with the process's own arguments and streams.
func start() int {
	if code, ok := runInternal(os.Args); ok {
		return code
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}

	out := &checkedStdout{File: os.Stdout}
	a := newApp(stdio{
		in:  os.Stdin,
		out: out,
		err: os.Stderr,
	}, os.Getenv)
	code := a.run(a.signals.listen(), os.Args[1:])

	if err := out.writeErr.Load(); code == 0 && err != nil {
		code = a.reportError(broken(formats.CodeIO, "standard output", *err))
	}
	return code
}

// gcPercent lets the heap grow further than Go's own 100 before garbage is collected. Most lines
// end below the 16 MB that this allows at first, and the first collection takes a fifth of their
// time.
const gcPercent = 400

// checkedStdout is the standard output, and keeps the last error of a write: a full disk is no
// success.
type checkedStdout struct {
	*os.File

	writeErr atomic.Pointer[error]
}

func (o *checkedStdout) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	if err != nil {
		o.writeErr.Store(&err)
	}
	return n, err
}

// What only tercet itself passes: childWord makes this process the supervisor of a child,
// detachedWord that of a run in the background.
const (
	childWord    = "__child"
	detachedWord = "__run"
)

// runInternal does what this program asks of itself. No flag is parsed and nothing is read for it.
func runInternal(args []string) (code int, ok bool) {
	if len(args) < 2 {
		return 0, false
	}
	switch args[1] {
	case childWord:
		return project.Supervise(os.Stdin, os.Stdout), true
	case detachedWord:
		return runDetached(), true
	case teamWord:
		return runForTeam(args[2:]), true
	}
	return 0, false
}

// runDetached works on the run that another process asks for.
func runDetached() int {
	a := newApp(stdio{
		in:  strings.NewReader(""),
		out: io.Discard,
		err: os.Stderr,
	}, os.Getenv)

	// the one who asked may be gone before it is answered
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx := a.signals.listen()

	ret, err := project.RunDetached(ctx, a.host(), project.Process{
		In:      os.Stdin,
		Out:     os.Stdout,
		PrintTo: proc.RedirectOutput,
	})
	if err != nil {
		return formats.ExitFor(formats.CodeOf(err))
	}
	return a.exitCode(ret)
}

// selfCommand gives the words that start this program with an internal word, such as childWord; nil
// if the program cannot be found.
func selfCommand(word string) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, word}
}

// stdio are the three streams of the process.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// signals turns the process's signals into the end of what is running.
type signals struct {
	end      func(code int) // ends the process
	incoming chan os.Signal // of this process, since listen

	mu     sync.Mutex
	cancel context.CancelCauseFunc
	abort  context.CancelFunc
	count  int    // signals since there is something to end
	leave  func() // what Ctrl-C does while a question is open, nil: it ends what runs
	term   bool   // SIGTERM or SIGHUP ended it
	hard   context.Context
}

// listen takes the signals of this process until it ends, and gives the context that they cancel.
// The context is there before the first signal can come, so that none is lost while the program
// starts.
func (s *signals) listen() context.Context {
	ctx := s.Context(context.Background())
	s.incoming = make(chan os.Signal, 4)
	signal.Notify(s.incoming, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT) // SIGQUIT: Ctrl-\
	if !signal.Ignored(syscall.SIGHUP) {                                      // as nohup wants it
		// the terminal is gone: what runs ends as it would by SIGTERM
		signal.Notify(s.incoming, syscall.SIGHUP)
	}
	go func() {
		for sig := range s.incoming {
			s.Handle(sig)
		}
	}()
	return ctx
}

// endTimeout is how long this process may take to end after a second signal.
const endTimeout = 5 * time.Second

// Context gives the context of what runs next. A signal cancels it, and a second one cuts its end
// short. What still does not end waits for something that no context reaches: it ends with the
// process.
func (s *signals) Context(parent context.Context) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	hard, abort := context.WithCancel(parent)
	s.cancel = cancel
	s.abort = abort
	s.hard = hard
	s.count = 0
	return ctx
}

// AbortContext gives the context of what must not be cut short by the first signal.
func (s *signals) AbortContext() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hard == nil {
		return context.Background() // nothing can be ended yet
	}
	return s.hard
}

// Handle does what a signal does.
func (s *signals) Handle(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leave != nil && sig == os.Interrupt {
		s.leave()
		s.leave = nil
		return
	}

	s.count++
	word := "interrupted"
	code := 130
	if sig != os.Interrupt {
		s.term = s.term || s.count == 1
		word = "terminated"
		code = 143
	}
	switch s.count {
	case 1:
		s.cancel(formats.Interrupted(word))
	case 2:
		s.abort()
		hard := s.hard
		time.AfterFunc(endTimeout, func() {
			if s.AbortContext() == hard { // still the same line of the prompt
				s.end(code)
			}
		})
	}
}

// OnInterrupt lets the next Ctrl-C do something else, until done is called.
func (s *signals) OnInterrupt(leave func()) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave = leave
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave = nil
	}
}

func (s *signals) Terminated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term
}

// ResetTerminated forgets a signal that has been answered, so that the next line starts afresh.
func (s *signals) ResetTerminated() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term = false
}
