package control

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tercet/formats"
)

// Notice is what a program of the person's is told: that a question waits, or that a run has ended or waits.
type Notice struct {
	Schema   string    `json:"schema"` // tercet.notice/1
	Event    string    `json:"event"`  // gate or run
	Time     time.Time `json:"time"`
	Dir      string    `json:"dir"`
	Run      string    `json:"run,omitempty"`
	Command  string    `json:"command,omitempty"`
	Question string    `json:"question,omitempty"` // of a gate, with the labels of its choices
	Choices  []string  `json:"choices,omitempty"`
	Status   string    `json:"status,omitempty"` // of a run, the outcome
	Summary  string    `json:"summary,omitempty"`
	Next     string    `json:"next,omitempty"` // what to type
}

// Bell tells such notices to a program, each in a process of its own. It fails no run, and holds none up but at the
// end of the process, until what was started has ended. A nil Bell is silent.
type Bell struct {
	Dir   string // of the project
	Now   func() time.Time
	Start func(ctx context.Context, line []byte, run string) error // starts the program for a bounded time
	Warn  func(error)                                              // is told at most once

	mu      sync.Mutex
	lines   map[string]string // of the runs of this process
	asked   map[string]bool   // runs of which a question was told
	failed  error             // the first one
	ringing sync.WaitGroup
}

// Began notes the line of a run.
func (b *Bell) Began(run, line string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lines == nil {
		b.lines, b.asked = map[string]string{}, map[string]bool{}
	}
	b.lines[run] = line
}

// Gate tells that a question waits for a person.
func (b *Bell) Gate(ctx context.Context, g formats.Gate) {
	if b == nil {
		return
	}
	n := Notice{Event: "gate", Run: g.Run, Question: g.Question}
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

// Ended tells what a run of this process came to. One that waits at a question was told by that.
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
			Event: "run", Run: one.Run, Status: one.Return.Outcome().String(), Summary: one.Return.Summary,
			Next: one.Return.NextSteps,
		}
		if r := one.Return.Resume; r != nil {
			n.Next = r.Line
		}
		b.ring(ctx, n)
	}
}

func (b *Bell) ring(ctx context.Context, n Notice) {
	b.mu.Lock()
	n.Schema, n.Time, n.Dir, n.Command = "tercet.notice/1", b.Now().UTC(), b.Dir, b.lines[n.Run]
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

// Close waits for what was started.
func (b *Bell) Close() error {
	b.ringing.Wait()
	if b.failed != nil {
		b.Warn(b.failed)
	}
	return nil
}
