package project

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/slots"
)

// The pools of what all projects of a user have at work, as they are named in messages and in the
// user's state folder.
const (
	runPool   = "runs"
	agentPool = "agents"
)

// pool is one of the pools; ok is false if the user has not bounded it.
func (p *Project) pool(name string, limit int) (pool slots.Pool, ok bool, err error) {
	if limit == 0 {
		return pool, false, nil
	}
	home := p.Host.StateHome()
	if home == "" {
		return pool, false, formats.Fail(formats.CodeConfig, "set HOME or XDG_STATE_HOME",
			"there is no folder for the queue that limits.%s needs", name)
	}
	return slots.Pool{
		Dir:   filepath.Join(home, "at-work", name),
		Limit: limit,
		Sleep: p.Host.Clock.Sleep,
	}, true, nil
}

// queuesRuns reports whether the runs of this session take a slot.
func (s *Session) queuesRuns() bool {
	return s.Project.Config.RunsAtOnce > 0 && !s.givingUp && s.Options.Workers == nil
}

// enterRun waits until a run may be at work, and gives what ends that.
func (s *Session) enterRun(
	ctx context.Context, run string, ledger *journal.Ledger,
) (leave func(), err error) {
	pool, ok, err := s.Project.pool(runPool, s.Project.Config.RunsAtOnce)
	if err != nil || !ok {
		return func() {}, err
	}

	turn := s.turns[run]
	if turn != nil {
		select {
		case <-turn.before:
		case <-ctx.Done():
			return func() {}, nil
		}
		defer turn.admitNext()
	}

	recorded := false
	var recordErr error
	slot, err := pool.Enter(ctx, run, func(place int) {
		if turn != nil {
			turn.admitNext()
		}
		s.Project.note("run %s is queued, place %d: %s at work, as limits.runs says",
			run, place, formats.Count(pool.Limit, "run"))
		if !recorded {
			recorded = true
			_, recordErr = ledger.Append(ctx, formats.Entry{Type: formats.EntryQueued}, false)
		}
	})

	switch {
	case slot == nil && ctx.Err() != nil:
		return func() {}, recordErr // the run sees why its context has ended
	case slot == nil:
		return func() {}, formats.Broken(formats.CodeIO, "the queue of runs", err)
	}
	return s.leaveFunc(slot), recordErr
}

// queueTurn is the place of a run among those of a line with several tasks. They enter the queue in
// the order of the line, because each waits for those before it when it publishes.
type queueTurn struct {
	before    <-chan struct{} // closed once the run before it is in the queue, or has ended
	admitNext func()          // lets the next one into the queue
}

// queueInOrder lets runs into the queue one after another.
func (s *Session) queueInOrder(runs []string) {
	s.turns = map[string]*queueTurn{}
	before := make(chan struct{})
	close(before)

	for _, run := range runs {
		mine := make(chan struct{})
		s.turns[run] = &queueTurn{
			before:    before,
			admitNext: sync.OnceFunc(func() { close(mine) }),
		}
		before = mine
	}
}

// enterAgent waits until a worker may be at work, and gives what ends that.
func (s *Session) enterAgent(ctx context.Context, r formats.Request) (leave func(), err error) {
	pool, ok, err := s.Project.pool(agentPool, s.Project.Config.AgentsAtOnce)
	if err != nil || !ok || s.Options.Workers != nil {
		return func() {}, err
	}

	slot, err := pool.Enter(ctx, r.Run, func(place int) {
		s.Project.note("%s waits for an agent, place %d: %s at work, as limits.agents says",
			r.Agent, place, formats.Count(pool.Limit, "agent"))
	})
	switch {
	case slot == nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case slot == nil:
		return nil, formats.Broken(formats.CodeIO, "the queue of agents", err)
	}
	return s.leaveFunc(slot), nil
}

// leaveFunc makes the function that gives a slot back.
func (s *Session) leaveFunc(slot *slots.Slot) func() {
	return func() {
		if err := slot.Leave(); err != nil {
			s.Project.note("warning: a place in a queue was not given back: %s", err)
		}
	}
}

// queues says for each run that waits for its turn which place it has. A queue that cannot be read
// has nobody in it.
func (p *Project) queues() map[string]string {
	out := map[string]string{}
	for _, one := range []struct {
		name  string
		limit int
		text  string
	}{
		{agentPool, p.Config.AgentsAtOnce, "waits for an agent, place %d"},
		{runPool, p.Config.RunsAtOnce, "queued, place %d"},
	} {
		pool, ok, err := p.pool(one.name, one.limit)
		if err != nil || !ok {
			continue
		}
		tickets, err := pool.Tickets()
		if err != nil {
			continue
		}
		for _, t := range tickets {
			if t.Before >= one.limit && out[t.Holder] == "" {
				out[t.Holder] = fmt.Sprintf(one.text, t.Before-one.limit+1)
			}
		}
	}
	return out
}
