package proc

import (
	"context"
	"io"
)

// Talk is tercet's side of a conversation with a child. It writes to stdin and reads the child's
// output from stdout, which ends when the child closes it. There is no buffer: a child that prints
// while Talk does not read blocks, within its time limits. When ctx ends, or a stream does, Talk
// must return. Then both streams are closed.
type Talk func(ctx context.Context, stdin io.WriteCloser, stdout io.Reader) error

// talk is the conversation of one run. Its goroutine has ended when finish returns.
type talk struct {
	converse func() error
	cancel   context.CancelFunc // ends the context of converse
	in       io.WriteCloser     // to the child
	out      *io.PipeReader     // written by drain
	w        *io.PipeWriter
	done     chan struct{} // closed when converse has returned
	err      error         // of converse; valid once done is closed
}

func newTalk(ctx context.Context, do Talk) *talk {
	t := &talk{done: make(chan struct{})}
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.out, t.w = io.Pipe()
	t.converse = func() error { return do(ctx, t.in, t.out) }
	return t
}

// tee returns a Watch function that passes the output to the conversation, then to watch, which may
// be nil.
func (t *talk) tee(watch func([]byte) bool) func([]byte) bool {
	closed := false
	return func(p []byte) bool {
		if !closed {
			_, err := t.w.Write(p)
			closed = err != nil // the conversation is over; further output is discarded
		}
		return watch == nil || watch(p)
	}
}

// run is the goroutine of the conversation.
func (t *talk) run() {
	defer close(t.done)
	t.err = t.converse()
	t.close()
}

// close closes both streams, which unblocks every read and write.
func (t *talk) close() {
	ignore(t.in.Close())  // finish may have closed it first
	ignore(t.out.Close()) // an in-memory pipe
}

// talkDone is closed when the conversation has ended; it is nil without one.
func (k *child) talkDone() <-chan struct{} {
	if k.talk == nil {
		return nil
	}
	return k.talk.done
}

// cancelTalk ends the conversation, gives the child time to exit, and reports whether it did.
func (k *child) cancelTalk() bool {
	if k.talk == nil {
		return false
	}
	k.talk.cancel()
	return k.exitsWithin(k.grace.Interrupt)
}

// finishTalk ends the conversation with a child that is gone; it may first read the last output.
func (k *child) finishTalk() {
	if k.talk == nil {
		return
	}
	k.waitClosed(k.talk.done, k.grace.Drain)
	k.talk.cancel()
	k.talk.close()
}
