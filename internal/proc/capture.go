package proc

import (
	"os"
	"sync"
	"sync/atomic"
)

// meter counts the bytes of both streams and signals the supervising goroutine.
type meter struct {
	remaining   atomic.Int64
	once        sync.Once
	activity    chan struct{} // capacity 1: there was output
	overflow    chan struct{} // closed when the limit is exceeded
	stopRequest chan struct{} // capacity 1: Command.Watch returned false
}

func newMeter(limit int64) *meter {
	m := &meter{
		activity:    make(chan struct{}, 1),
		overflow:    make(chan struct{}),
		stopRequest: make(chan struct{}, 1),
	}
	m.remaining.Store(limit)
	return m
}

// reserve counts n bytes and returns how many of them are within the limit.
func (m *meter) reserve(n int) int {
	select {
	case m.activity <- struct{}{}:
	default:
	}
	remaining := m.remaining.Add(-int64(n))
	if remaining >= 0 {
		return n
	}
	m.once.Do(func() { close(m.overflow) })
	return n + int(max(remaining, -int64(n)))
}

func (m *meter) isFlooded() bool {
	return m.remaining.Load() < 0
}

// sink stores one stream. Its fields belong to the goroutine in drain until that has ended.
type sink struct {
	pipe      *os.File // read end, owned
	file      *os.File // spill, owned, may be nil
	name      string   // of the spill
	limit     int      // bytes to keep in memory
	buf       []byte
	watch     func([]byte) bool // Command.Watch; nil for standard error and after it returned false
	truncated bool              // buf has less than was printed
	err       error             // first error of the spill
}

// chunkPool has the buffers of drain: a run starts many children, and most print little.
var chunkPool = sync.Pool{New: func() any { return new([8 << 10]byte) }}

// drain reads the pipe until its end or until it is closed. It goes on reading when nothing more is
// stored, because a child that blocks in a write could not be asked to stop.
func (k *sink) drain(m *meter) {
	chunk := chunkPool.Get().(*[8 << 10]byte) //nolint:errcheck // from New
	defer chunkPool.Put(chunk)
	for {
		n, err := k.pipe.Read(chunk[:])
		if n > 0 {
			within := m.reserve(n)
			k.store(chunk[:within])
			k.truncated = k.truncated || within < n
			if k.watch != nil && !k.watch(chunk[:within]) {
				k.watch = nil
				m.stopRequest <- struct{}{}
			}
		}
		if err != nil {
			return // end of the stream, or the pipe was closed to end this goroutine
		}
	}
}

func (k *sink) store(b []byte) {
	room := min(len(b), k.limit-len(k.buf))
	k.buf = append(k.buf, b[:room]...)
	k.truncated = k.truncated || room < len(b)
	if k.file == nil || k.err != nil {
		return
	}
	if _, err := k.file.Write(b); err != nil {
		k.err = outputError(k.name, err)
	}
}

// close closes the spill and returns the first error it had. It is called after drain has ended.
func (k *sink) close() error {
	if k.file == nil {
		return nil
	}
	if err := k.file.Close(); err != nil && k.err == nil {
		k.err = outputError(k.name, err)
	}
	return k.err
}
