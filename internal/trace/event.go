package trace

import (
	"bytes"
	"encoding/json"
	"time"
)

// Kind names what an event is about.
type Kind string

// The kinds of events.
const (
	Route    Kind = "route"    // a line was routed, or not
	Delegate Kind = "delegate" // a subagent was called
	Step     Kind = "step"     // a step of a command began or ended
	Gate     Kind = "gate"     // a question was asked or answered
	State    Kind = "state"    // the state file was written
)

// String is the word as it stands in trace.jsonl.
func (k Kind) String() string { return string(k) }

// Event is one thing that happened in a run. Only Kind must be set; a zero Time is filled in by whoever has a clock.
type Event struct {
	Time      time.Time      `json:"time,omitzero"`
	Run       string         `json:"run,omitempty"`
	Kind      Kind           `json:"kind"`
	Name      string         `json:"name,omitempty"`            // of the command, the subagent, the step's id
	Step      string         `json:"step_path,omitempty"`       // as in the journal
	FromDepth int            `json:"from_depth"`                // depth of the caller
	ToDepth   int            `json:"to_depth"`                  // depth of the called
	Path      []string       `json:"delegation_path,omitempty"` // with the called at its end
	Duration  time.Duration  `json:"-"`
	Outcome   string         `json:"-"`
	Message   string         `json:"-"` // one line for a person, may be empty
	Attrs     map[string]any `json:"-"` // further facts, marshalable as JSON; may be nil
}

// record is a line of trace.jsonl: the event, from its duration on in the order of the file.
type record struct {
	Event
	Seconds float64        `json:"duration_seconds,omitempty"`
	Outcome string         `json:"outcome,omitempty"`
	Message string         `json:"message,omitempty"`
	Attrs   map[string]any `json:"attrs,omitempty"`
}

// Encode gives an event as one line of trace.jsonl without its line break: times in UTC, attributes sorted by name.
// Attributes without a JSON form are replaced by one that names the reason.
func Encode(e Event) []byte {
	e.Time = e.Time.UTC()
	r := record{e, e.Duration.Seconds(), e.Outcome, e.Message, e.Attrs}
	line, err := encode(r)
	if err != nil {
		r.Attrs = map[string]any{"unencodable": err.Error()}
		line, _ = encode(r) //nolint:errcheck // reason: all that is left are texts and numbers
	}
	return line
}

func encode(r record) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

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
