package trace

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"time"
)

// Kind is the subject of an event.
type Kind string

// The kinds of events.
const (
	Route    Kind = "route"    // a line was routed, or not
	Delegate Kind = "delegate" // a subagent was called
	Step     Kind = "step"     // a step of a command began or ended
	Gate     Kind = "gate"     // a question was asked or answered
	State    Kind = "state"    // the state file was written
	Run      Kind = "run"      // a run began (without an outcome) or ended
	// a loop began an element or a round; its index ends the step path
	Pass     Kind = "pass"
	Round    Kind = "round"         // a step repeats after its result was refused
	Mismatch Kind = "next_mismatch" // a worker named another next agent than the file
	Agent    Kind = "agent"         // a worker started, or reported actions and use
	Warning  Kind = "warning"       // what the user may want to change before the run goes on
)

// The messages of questions that the user must see at once.
const (
	CannotAsk = "nobody can be asked" // a gate waits for its timeout
	// prefix: an answer was refused because its subject has changed
	AskedAnew = "asked again, changed: "
	InTime    = "answered by timeout" // a gate's timeout ended without an answer
)

// String is the kind in trace.jsonl.
func (k Kind) String() string {
	return string(k)
}

// Event is one event of a run. Only Kind is required; the edge fills in a zero Time.
type Event struct {
	Time time.Time `json:"time,omitzero"`
	Run  string    `json:"run,omitempty"`
	Kind Kind      `json:"kind"`
	// of the command, the subagent, or the step's id
	Name      string         `json:"name,omitempty"`
	Step      string         `json:"step_path,omitempty"`       // as in the journal
	FromDepth int            `json:"from_depth"`                // depth of the caller
	ToDepth   int            `json:"to_depth"`                  // depth of the callee
	Path      []string       `json:"delegation_path,omitempty"` // with the callee at its end
	Duration  time.Duration  `json:"-"`
	Outcome   string         `json:"-"`
	Message   string         `json:"-"` // one line for users, may be empty
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

// Encode gives an event as one line of trace.jsonl without its line feed: times in UTC, attributes
// sorted by name. An attribute without a JSON form becomes a text with the reason.
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

// Decode parses a line of trace.jsonl. Attributes then have JSON types.
func Decode(line []byte) (Event, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return Event{}, err
	}
	e := r.Event
	e.Duration = time.Duration(min(max(0, r.Seconds), math.MaxInt32) * float64(time.Second))
	e.Outcome = r.Outcome
	e.Message = r.Message
	e.Attrs = r.Attrs
	return e, nil
}

// Lines parses the events of some lines, and skips lines that are no events.
func Lines(lines []byte) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for line := range bytes.Lines(lines) {
			if e, err := Decode(line); err == nil && !yield(e) {
				return
			}
		}
	}
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

// Func makes a function a Sink.
type Func func(Event)

// Emit calls the function.
func (f Func) Emit(e Event) {
	f(e)
}

// Discard is a Sink that drops events. Its zero value is ready.
type Discard struct{}

// Emit does nothing.
func (Discard) Emit(Event) {}
