package team

import (
	"context"
	"sync"
	"time"

	"tercet/formats"
	"tercet/project"
)

// Job is a run that waits for a worker, or that one works on.
type Job struct {
	Run  string `json:"run"`
	Line string `json:"line"`
	// Version is that of tercet where the line was submitted, and Agreed the digest of the files
	// that its owner agreed to.
	Version string `json:"version,omitempty"`
	Agreed  string `json:"agreed,omitempty"`
}

// Queue hands out runs.
type Queue interface {
	// Submit queues a run. A run that is queued already stays where it is.
	Submit(ctx context.Context, j Job) error
	// Take waits for a run. It is queued again if its worker is silent for too long.
	Take(ctx context.Context, worker string) (Lease, error)
	// Waiting lists the runs that no worker has.
	Waiting(ctx context.Context) ([]Job, error)
}

// Lease is a run that a worker has.
type Lease struct {
	Job Job
	// Extend says that the worker is alive.
	Extend func() error
	// Done ends the job; the run has ended, or waits for something.
	Done func() error
	// Requeue queues the job again after a time.
	Requeue func(after time.Duration) error
}

// Post carries answers of users to runs.
type Post interface {
	// Give leaves an answer to a gate. The first one wins.
	Give(ctx context.Context, run, gate string, r project.Reply) error
	// Letters are the answers to a run so far, by file name.
	Letters(ctx context.Context, run string) (map[string][]byte, error)
}

// Worker takes runs of a queue, one after the other.
type Worker struct {
	Name string
	Beat time.Duration // how often it says that it is alive
	// Start works on a run. Its error says that the run did not get on here; it is queued again.
	Start func(ctx context.Context, j Job) error
	Tell  func(format string, args ...any)
}

// Work takes runs until the context ends.
func (w Worker) Work(ctx context.Context, q Queue) error {
	for ctx.Err() == nil {
		taken, err := q.Take(ctx, w.Name)
		if err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // it was told to stop
			}
			return err
		}
		if err := w.workOn(ctx, taken); err != nil {
			w.Tell("run %s: %s", taken.Job.Run, err)
		}
	}
	return nil
}

// retryAfter is how long a run waits that did not get on.
const retryAfter = 2 * time.Second

// workOn works on one run, and says meanwhile that the worker is alive.
func (w Worker) workOn(ctx context.Context, taken Lease) error {
	stop := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		ticks := time.NewTicker(w.Beat)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				_ = taken.Extend() //nolint:errcheck // the next one may arrive; the fence decides
			case <-stop:
				return
			}
		}
	})

	err := w.Start(ctx, taken.Job)
	close(stop)
	beating.Wait()

	if err != nil {
		if back := taken.Requeue(retryAfter); back != nil {
			return back
		}
		return err
	}
	return taken.Done()
}

// Memory is a Queue in memory. A run comes back only by Requeue.
type Memory struct {
	mu      sync.Mutex
	waiting []Job
	more    chan struct{}
}

// NewMemory makes an empty queue.
func NewMemory() *Memory {
	return &Memory{more: make(chan struct{}, 1)}
}

// Submit queues a run.
func (m *Memory) Submit(_ context.Context, j Job) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.waiting {
		if w.Run == j.Run {
			return nil
		}
	}
	m.waiting = append(m.waiting, j)

	select {
	case m.more <- struct{}{}:
	default:
	}
	return nil
}

// Take waits for a run.
func (m *Memory) Take(ctx context.Context, _ string) (Lease, error) {
	for {
		m.mu.Lock()
		if len(m.waiting) > 0 {
			j := m.waiting[0]
			m.waiting = m.waiting[1:]
			m.mu.Unlock()
			return Lease{
				Job:    j,
				Extend: func() error { return nil },
				Done:   func() error { return nil },
				Requeue: func(time.Duration) error {
					return m.Submit(context.WithoutCancel(ctx), j)
				},
			}, nil
		}
		m.mu.Unlock()
		select {
		case <-ctx.Done():
			return Lease{}, context.Cause(ctx)
		case <-m.more:
		}
	}
}

// Waiting lists the runs that no worker has.
func (m *Memory) Waiting(context.Context) ([]Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Job(nil), m.waiting...), nil
}

// lostError is the failure of a call by an attempt that no longer has its run.
func lostError(run string) error {
	return formats.Fail(formats.CodeNotDurable,
		"nothing is to be done: another worker goes on with it",
		"another attempt has run %s", run)
}
