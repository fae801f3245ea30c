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
	Time      time.Time
	Run       string
	Kind      Kind
	Name      string   // of the command, the subagent, the step's id
	Step      string   // step_path
	FromDepth int      // depth of the caller
	ToDepth   int      // depth of the called
	Path      []string // delegation path with the called at its end
	Duration  time.Duration
	Outcome   string
	Message   string         // one line for a person, may be empty
	Attrs     map[string]any // further facts, marshalable as JSON; may be nil
}

// record is the shape of a line of trace.jsonl.
type record struct {
	Time      string         `json:"time,omitempty"`
	Run       string         `json:"run,omitempty"`
	Kind      Kind           `json:"kind"`
	Name      string         `json:"name,omitempty"`
	Step      string         `json:"step_path,omitempty"`
	FromDepth int            `json:"from_depth"`
	ToDepth   int            `json:"to_depth"`
	Path      []string       `json:"delegation_path,omitempty"`
	Seconds   float64        `json:"duration_seconds,omitempty"`
	Outcome   string         `json:"outcome,omitempty"`
	Message   string         `json:"message,omitempty"`
	Attrs     map[string]any `json:"attrs,omitempty"`
}

// Encode gives an event as one line of trace.jsonl without its line break: times in UTC, attributes sorted by name.
// Attributes without a JSON form are replaced by one that names the reason.
func Encode(e Event) []byte {
	r := record{
		Run: e.Run, Kind: e.Kind, Name: e.Name, Step: e.Step, FromDepth: e.FromDepth, ToDepth: e.ToDepth, Path: e.Path,
		Seconds: e.Duration.Seconds(), Outcome: e.Outcome, Message: e.Message, Attrs: e.Attrs,
	}
	if !e.Time.IsZero() {
		r.Time = e.Time.UTC().Format(time.RFC3339Nano)
	}
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
