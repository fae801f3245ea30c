package proc

import (
	"os"
	"sync"
	"sync/atomic"
)

// meter counts the bytes of both streams and tells the supervising goroutine about them.
type meter struct {
	left  atomic.Int64
	once  sync.Once
	beat  chan struct{} // holds at most one: something was printed
	flood chan struct{} // closed when the limit is passed
	halt  chan struct{} // holds at most one: Command.Watch said no
}

func newMeter(limit int64) *meter {
	m := &meter{
		beat:  make(chan struct{}, 1),
		flood: make(chan struct{}),
		halt:  make(chan struct{}, 1),
	}
	m.left.Store(limit)
	return m
}

// take books n bytes and returns how many of them are within the limit.
func (m *meter) take(n int) int {
	select {
	case m.beat <- struct{}{}:
	default:
	}
	left := m.left.Add(-int64(n))
	if left >= 0 {
		return n
	}
	m.once.Do(func() { close(m.flood) })
	return n + int(max(left, -int64(n)))
}

func (m *meter) flooded() bool {
	return m.left.Load() < 0
}

// sink keeps one stream. Its fields belong to the goroutine in drain until that has ended.
type sink struct {
	pipe *os.File // read end, owned
	file *os.File // spill, owned, may be nil
	name string   // of the spill
	max  int      // bytes to keep in memory
	buf  []byte
	look func([]byte) bool // Command.Watch, nil for the other stream and once it has said no
	lost bool              // memory holds less than was printed
	err  error             // first error of the spill
}

// chunks are what drain reads into: a run starts many children, and most of them print little.
var chunks = sync.Pool{New: func() any { return new([8 << 10]byte) }}

// drain reads the pipe to its end or until it is closed under it. It goes on reading when nothing
// can be kept any more, because a child that blocks in a write could not be asked to stop.
func (k *sink) drain(m *meter) {
	chunk := chunks.Get().(*[8 << 10]byte) //nolint:errcheck // of New
	defer chunks.Put(chunk)
	for {
		n, err := k.pipe.Read(chunk[:])
		if n > 0 {
			kept := m.take(n)
			k.keep(chunk[:kept])
			k.lost = k.lost || kept < n
			if k.look != nil && !k.look(chunk[:kept]) {
				k.look = nil
				m.halt <- struct{}{}
			}
		}
		if err != nil {
			return // end of the stream, or the pipe was closed to end this goroutine
		}
	}
}

func (k *sink) keep(b []byte) {
	room := min(len(b), k.max-len(k.buf))
	k.buf = append(k.buf, b[:room]...)
	k.lost = k.lost || room < len(b)
	if k.file == nil || k.err != nil {
		return
	}
	if _, err := k.file.Write(b); err != nil {
		k.err = lost(k.name, err)
	}
}

// close closes the spill and returns the first error it had. It is called after drain has ended.
func (k *sink) close() error {
	if k.file == nil {
		return nil
	}
	if err := k.file.Close(); err != nil && k.err == nil {
		k.err = lost(k.name, err)
	}
	return k.err
}
