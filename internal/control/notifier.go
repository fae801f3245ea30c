package control

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tercet/formats"
)

// Notice is sent to the user's notify command: a question waits, or a run has ended or waits.
type Notice struct {
	Schema   string    `json:"schema"` // tercet.notice/1
	Event    string    `json:"event"`  // gate or run
	Time     time.Time `json:"time"`
	Dir      string    `json:"dir"`
	Run      string    `json:"run,omitempty"`
	Command  string    `json:"command,omitempty"`
	Question string    `json:"question,omitempty"` // question of the gate, with the choices
	Choices  []string  `json:"choices,omitempty"`
	Status   string    `json:"status,omitempty"` // state of the run
	Summary  string    `json:"summary,omitempty"`
	Next     string    `json:"next,omitempty"` // the command to type next
}

// Notifier sends notices to the user's notify command, one process each. It never fails a run.
// Close waits for running commands. A nil Notifier does nothing.
type Notifier struct {
	Dir string // of the project
	Now func() time.Time
	// Start runs the command for a bounded time.
	Start func(ctx context.Context, line []byte, run string) error
	Warn  func(error) // called at most once

	mu       sync.Mutex
	lines    map[string]string // by run of this process
	asked    map[string]bool   // runs whose question was sent
	firstErr error             // the first error
	sending  sync.WaitGroup
}

// RunStarted records the command line of a run.
func (b *Notifier) RunStarted(run, line string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lines == nil {
		b.lines = map[string]string{}
		b.asked = map[string]bool{}
	}
	b.lines[run] = line
}

// Gate sends the notice of an open question.
func (b *Notifier) Gate(ctx context.Context, g formats.Gate) {
	if b == nil {
		return
	}
	n := Notice{
		Event:    "gate",
		Run:      g.Run,
		Question: g.Question,
	}
	if g.ID != "" {
		n.Next = "tercet approve " + g.Run
	}
	for _, c := range g.Choices {
		n.Choices = append(n.Choices, c.Label)
	}

	b.mu.Lock()
	if b.asked != nil {
		b.asked[g.Run] = true
	}
	b.mu.Unlock()
	b.send(ctx, n)
}

// RunEnded sends the result of a run of this process, unless the run waits at a question that was
// already sent.
func (b *Notifier) RunEnded(ctx context.Context, ret formats.Return) {
	if b == nil {
		return
	}
	for _, one := range append(ret.Tasks, formats.TaskReturn{Run: ret.Metadata.Run, Return: ret}) {
		b.mu.Lock()
		_, started := b.lines[one.Run]
		reported := b.asked[one.Run] && one.Return.Status == formats.StatusSuspended
		b.mu.Unlock()
		if !started || reported {
			continue
		}

		n := Notice{
			Event:   "run",
			Run:     one.Run,
			Status:  one.Return.RunState(),
			Summary: one.Return.Summary,
			Next:    one.Return.NextSteps,
		}
		if r := one.Return.Resume; r != nil {
			n.Next = r.Line
		}
		b.send(ctx, n)
	}
}

func (b *Notifier) send(ctx context.Context, n Notice) {
	b.mu.Lock()
	n.Schema = "tercet.notice/1"
	n.Time = b.Now().UTC()
	n.Dir = b.Dir
	n.Command = b.lines[n.Run]
	b.mu.Unlock()

	line, err := json.Marshal(n)

	b.sending.Go(func() {
		if err == nil {
			err = b.Start(context.WithoutCancel(ctx), append(line, '\n'), n.Run)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.firstErr == nil {
			b.firstErr = err
		}
	})
}

// Close waits for running notify commands.
func (b *Notifier) Close() error {
	b.sending.Wait()
	if b.firstErr != nil {
		b.Warn(b.firstErr)
	}
	return nil
}
