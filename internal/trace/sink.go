package trace

import (
	"slices"
	"time"
)

// Sink receives events. Emit must not block and must be safe for concurrent use.
type Sink interface{ Emit(e Event) }

// Func is a function as a Sink.
type Func func(Event)

// Emit calls the function.
func (f Func) Emit(e Event) { f(e) }

// Discard is the Sink of those who want no events. Its zero value is ready.
type Discard struct{}

// Emit does nothing.
func (Discard) Emit(Event) {}

// Multi gives each event to every sink, in their order. Nil sinks are left out.
func Multi(sinks ...Sink) Sink {
	sinks = slices.DeleteFunc(slices.Clone(sinks), func(s Sink) bool { return s == nil })
	return Func(func(e Event) {
		for _, s := range sinks {
			s.Emit(e)
		}
	})
}

// Stamp gives events without a time the time at which they arrive and hands them to the sink, so that a layer without a
// clock can emit.
func Stamp(now func() time.Time, to Sink) Sink {
	return Func(func(e Event) {
		if e.Time.IsZero() {
			e.Time = now()
		}
		to.Emit(e)
	})
}
