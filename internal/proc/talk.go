package proc

import (
	"context"
	"io"
)

// Talk is the tercet side of a conversation with a child. It writes to stdin and reads the child's
// output from stdout, which ends when the child closes it. There is no buffer: a child that prints
// while Talk does not read waits, within its time limits. When ctx ends, or a stream does, Talk
// must return. Then both streams are closed.
type Talk func(ctx context.Context, stdin io.WriteCloser, stdout io.Reader) error

// talk is the conversation of one run. Its goroutine has ended when settle returns.
type talk struct {
	do     func() error
	hangup context.CancelFunc // ends the context of do
	in     io.WriteCloser     // to the child
	out    *io.PipeReader     // from the goroutine in drain
	feed   *io.PipeWriter
	over   chan struct{} // closed when do has returned
	err    error         // of do, to be read once over is closed
}

func newTalk(ctx context.Context, do Talk) *talk {
	t := &talk{over: make(chan struct{})}
	ctx, t.hangup = context.WithCancel(context.WithoutCancel(ctx))
	t.out, t.feed = io.Pipe()
	t.do = func() error { return do(ctx, t.in, t.out) }
	return t
}

// hear is given what the child prints, after watch, which may be nil.
func (t *talk) hear(watch func([]byte) bool) func([]byte) bool {
	deaf := false
	return func(p []byte) bool {
		if !deaf {
			_, err := t.feed.Write(p)
			deaf = err != nil // the conversation is over; what is still printed is drained
		}
		return watch == nil || watch(p)
	}
}

// run is the goroutine of the conversation.
func (t *talk) run() {
	defer close(t.over)
	t.err = t.do()
	t.close()
}

// close ends both streams, which ends every wait for one of them.
func (t *talk) close() {
	ignore(t.in.Close())  // one of the two who close it comes second
	ignore(t.out.Close()) // a pipe in memory, which cannot fail
}

// over is closed when the conversation of the child has ended; it never is without one.
func (k *child) over() <-chan struct{} {
	if k.talk == nil {
		return nil
	}
	return k.talk.over
}

// leave lets a child whose conversation was ended go by itself, and reports whether it did.
func (k *child) leave() bool {
	if k.talk == nil {
		return false
	}
	k.talk.hangup()
	return k.exits(k.grace.Interrupt)
}

// endTalk ends the conversation with a child that is gone, which may still take in the last that
// was printed.
func (k *child) endTalk() {
	if k.talk == nil {
		return
	}
	k.waitFor(k.talk.over, k.grace.Drain)
	k.talk.hangup()
	k.talk.close()
}
