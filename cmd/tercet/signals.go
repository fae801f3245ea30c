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
	mu     sync.Mutex
	cancel context.CancelCauseFunc
	abort  context.CancelFunc
	last   time.Time
	term   bool // SIGTERM or SIGHUP ended it
	hard   context.Context
}

// context gives the context of what runs next; a signal cancels it, a second one within two seconds cuts its end short.
func (s *signals) context(parent context.Context) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	hard, abort := context.WithCancel(parent)
	s.cancel, s.abort, s.hard, s.last = cancel, abort, hard, time.Time{}
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
	if !s.last.IsZero() && time.Since(s.last) < 2*time.Second {
		s.abort()
		return
	}
	s.last = time.Now()
	word := "interrupted"
	if sig == syscall.SIGTERM || sig == syscall.SIGHUP {
		s.term, word = true, "terminated"
	}
	s.cancel(formats.Fail(formats.CodeCancelled, "what was finished is kept; run the command again to go on", "%s", word))
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
