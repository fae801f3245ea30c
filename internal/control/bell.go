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

// Bell sends notices to the notify command, one process each. It never fails a run. Close waits for
// running processes. A nil Bell does nothing.
type Bell struct {
	Dir string // of the project
	Now func() time.Time
	// runs the command for a bounded time
	Start func(ctx context.Context, line []byte, run string) error
	Warn  func(error) // called at most once

	mu      sync.Mutex
	lines   map[string]string // of the runs of this process
	asked   map[string]bool   // runs of which a question was told
	failed  error             // the first one
	ringing sync.WaitGroup
}

// Began records the line of a run.
func (b *Bell) Began(run, line string) {
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
func (b *Bell) Gate(ctx context.Context, g formats.Gate) {
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
	b.ring(ctx, n)
}

// Ended sends the result of a run of this process, unless the run waits at a question, which has
// its own notice.
func (b *Bell) Ended(ctx context.Context, ret formats.Return) {
	if b == nil {
		return
	}
	for _, one := range append(ret.Tasks, formats.TaskReturn{Run: ret.Metadata.Run, Return: ret}) {
		b.mu.Lock()
		_, mine := b.lines[one.Run]
		told := b.asked[one.Run] && one.Return.Status == formats.StatusSuspended
		b.mu.Unlock()
		if !mine || told {
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
		b.ring(ctx, n)
	}
}

func (b *Bell) ring(ctx context.Context, n Notice) {
	b.mu.Lock()
	n.Schema = "tercet.notice/1"
	n.Time = b.Now().UTC()
	n.Dir = b.Dir
	n.Command = b.lines[n.Run]
	b.mu.Unlock()
	line, err := json.Marshal(n)
	b.ringing.Go(func() {
		if err == nil {
			err = b.Start(context.WithoutCancel(ctx), append(line, '\n'), n.Run)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.failed == nil {
			b.failed = err
		}
	})
}

// Close waits for running notify commands.
func (b *Bell) Close() error {
	b.ringing.Wait()
	if b.failed != nil {
		b.Warn(b.failed)
	}
	return nil
}
