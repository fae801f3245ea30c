package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tercet/team"
)

// queue is an team.Queue in JetStream: one message a run. A message whose worker is silent comes
// again.
type queue struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	takers jetstream.Consumer
}

var _ team.Queue = (*queue)(nil)

// errNoJob means that there is no job now.
var errNoJob = errors.New("no run is queued")

const jobs = "JOBS"

// newQueue makes an empty queue.
func newQueue(ctx context.Context, nc *nats.Conn, deadAfter time.Duration) (*queue, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}

	q := &queue{js: js}
	q.stream, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:      jobs,
		Subjects:  []string{"jobs.*"},
		Retention: jetstream.WorkQueuePolicy,
		// It is made anew from the journals of the home, and works on where the disk is full: a
		// file store does not recover from that.
		Storage: jetstream.MemoryStorage,
	})
	if err != nil {
		return nil, err
	}

	err = js.DeleteConsumer(ctx, jobs, "workers")
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, err
	}
	if err := q.stream.Purge(ctx); err != nil {
		return nil, err
	}

	q.takers, err = js.CreateOrUpdateConsumer(ctx, jobs, jetstream.ConsumerConfig{
		Durable:       "workers",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       deadAfter,
		MaxDeliver:    -1,
		MaxAckPending: 10000,
		MemoryStorage: true,
	})
	return q, err
}

// Submit queues a run.
func (q *queue) Submit(ctx context.Context, j team.Job) error {
	data, err := json.Marshal(j)
	if err == nil {
		_, err = q.js.Publish(ctx, "jobs."+j.Run, data)
	}
	return err
}

// Take waits some seconds for a run; the error is errNoJob if there is none.
func (q *queue) Take(context.Context, string) (team.Lease, error) {
	const patience = 2 * time.Second
	batch, err := q.takers.Fetch(1, jetstream.FetchMaxWait(patience))
	if err != nil {
		return team.Lease{}, err
	}

	m, ok := <-batch.Messages()
	if !ok {
		return team.Lease{}, cmp.Or(batch.Error(), errNoJob)
	}

	var j team.Job
	if err := json.Unmarshal(m.Data(), &j); err != nil {
		return team.Lease{}, errors.Join(err, m.Term())
	}
	return team.Lease{
		Job:     j,
		Extend:  m.InProgress,
		Done:    m.Ack,
		Requeue: m.NakWithDelay,
	}, nil
}

// Waiting lists the runs in the queue.
func (q *queue) Waiting(ctx context.Context) ([]team.Job, error) {
	info, err := q.stream.Info(ctx, jetstream.WithSubjectFilter("jobs.*"))
	if err != nil {
		return nil, err
	}

	var list []team.Job
	for subject := range info.State.Subjects {
		m, err := q.stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}

		var j team.Job
		if err == nil {
			err = json.Unmarshal(m.Data, &j)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, j)
	}
	return list, nil
}
