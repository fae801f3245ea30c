package main

import (
	"context"
	"os"
	"sync"
	"syscall"
	"time"

	"tercet/formats"
)

// signals turns the process's signals into the end of what is running.
type signals struct {
	end func(code int) // ends the process

	mu     sync.Mutex
	cancel context.CancelCauseFunc
	abort  context.CancelFunc
	came   int  // signals since there is something to end
	term   bool // SIGTERM or SIGHUP ended it
	hard   context.Context
}

// lastWait is how long a program that was told twice to end may take for it.
const lastWait = 5 * time.Second

// context gives the context of what runs next. A signal cancels it, a second one cuts its end short; what then still
// does not end, because it waits for something that no context reaches, is ended with the process.
func (s *signals) context(parent context.Context) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	hard, abort := context.WithCancel(parent)
	s.cancel, s.abort, s.hard, s.came = cancel, abort, hard, 0
	return ctx
}

// hardContext is that of what must not be cut short by the first signal.
func (s *signals) hardContext() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hard
}

func (s *signals) arrive(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel == nil {
		return
	}
	s.came++
	word, code := "interrupted", 130
	if sig == syscall.SIGTERM || sig == syscall.SIGHUP {
		s.term = s.term || s.came == 1
		word, code = "terminated", 143
	}
	switch s.came {
	case 1:
		s.cancel(formats.Fail(formats.CodeCancelled, "what was finished is kept; run the command again to go on", "%s", word))
	case 2:
		s.abort()
		hard := s.hard
		time.AfterFunc(lastWait, func() {
			if s.hardContext() == hard { // still the same line of the prompt
				s.end(code)
			}
		})
	}
}

func (s *signals) terminated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term
}

// calm forgets a signal that has been answered, so that the next line starts afresh.
func (s *signals) calm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term = false
}
