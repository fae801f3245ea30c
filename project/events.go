package project

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"sync"

	"tercet/internal/journal"
	"tercet/internal/trace"
)

// eventSink hands events to the trace file of the run and to the frontend. It is safe for
// concurrent use.
type eventSink struct {
	host Host
	mask *journal.Masker

	mu    sync.Mutex
	files map[string]*trace.File // by run
}

func newEventSink(h Host, mask *journal.Masker) *eventSink {
	return &eventSink{
		host:  h,
		mask:  mask,
		files: map[string]*trace.File{},
	}
}

// Emit implements trace.Sink.
func (s *Session) Emit(e trace.Event) {
	s.events.emit(e, s.silent)
}

// emit writes an event down, and shows it unless it is silent.
func (s *eventSink) emit(e trace.Event, silent bool) {
	if e.Time.IsZero() {
		e.Time = s.host.Clock.Now()
	}
	line := append(s.mask.Line(trace.Encode(e)), '\n')
	if e.Run != "" {
		s.traceFile(e.Run).Add(line)
	}
	s.host.Frontend.Event(e, line, silent)
}

// traceFile gives the trace file of a run. Its events are kept until it is opened.
func (s *eventSink) traceFile(run string) *trace.File {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[run]
	if f == nil {
		f = &trace.File{}
		s.files[run] = f
	}
	return f
}

// open opens the trace file in the folder of a run.
func (s *eventSink) open(root *os.Root, dir string) error {
	return s.traceFile(path.Base(dir)).Open(func() (io.WriteCloser, error) {
		return root.OpenFile(
			path.Join(dir, "trace.jsonl"),
			os.O_CREATE|os.O_APPEND|os.O_WRONLY,
			0o600,
		)
	})
}

// closeAll closes the trace files of runs that are over.
func (s *eventSink) closeAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for run, f := range s.files {
		if err := f.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", run, err))
		}
	}
	clear(s.files)
	return errors.Join(errs...)
}

// DecodeEvent parses a line of JSON that Observer.Event got.
func DecodeEvent(line []byte) (Event, error) {
	return trace.Decode(line)
}

// TraceEvents are the events of a run that were written since, as they are read; an error is the
// last.
func TraceEvents(log *journal.Log) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for {
			lines, err := log.Trace()
			if err != nil {
				yield(trace.Event{}, err)
			}
			if err != nil || len(lines) == 0 {
				return
			}
			for e := range trace.Lines(lines) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}
