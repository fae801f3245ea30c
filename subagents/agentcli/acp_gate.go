package agentcli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/acp-go-sdk"

	"tercet/internal/proc"
)

// acpGate stands between what an agent prints and the SDK, and between the SDK and what the agent reads. The SDK starts
// a goroutine for every request, gives up where a thousand notifications wait, and prints what it cannot read. So only
// what is a message of the protocol passes, one request after another has been answered, and a notification when those
// before it are noted. An agent that does not read what it asked for waits, within its time.
type acpGate struct {
	lines *bufio.Reader
	out   io.Writer

	rest  []byte        // of the line that passes, belongs to the reader
	ready chan struct{} // closed when the SDK may read

	mu       sync.Mutex
	room     sync.Cond // signalled when something was answered or noted, and at the end
	requests int       // of the agent, not yet answered
	notes    int       // updates, not yet noted
	heard    bool      // a message has come
	strange  string    // the first line that is no message
	closed   bool
}

// The most that waits, and the longest line: the SDK takes 10 MiB.
const (
	maxRequests = 16
	maxNotes    = 256
	maxMessage  = 8 << 20
)

func newGate(stdin io.Writer, stdout io.Reader) *acpGate {
	g := &acpGate{lines: bufio.NewReaderSize(stdout, 64<<10), out: stdin, ready: make(chan struct{})}
	g.room.L = &g.mu
	return g
}

// open lets the SDK read, once it knows where to write what it has to say of itself: not on a terminal.
func (g *acpGate) open() { close(g.ready) }

// Read gives the SDK what passes. It is called from one goroutine.
func (g *acpGate) Read(p []byte) (int, error) {
	<-g.ready
	for len(g.rest) == 0 {
		line, err := g.line()
		if err != nil {
			return 0, err
		}
		if !g.pass(line) {
			continue
		}
		g.rest = line
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// line reads the next line that is not too long.
func (g *acpGate) line() ([]byte, error) {
	var line []byte
	skip := false
	for {
		part, err := g.lines.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			line, skip = nil, true
		}
		if !skip {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && len(line) == 0:
			return nil, err
		case skip:
			line, skip = nil, false
		default:
			return line, nil // the end of the stream comes with the next call
		}
	}
}

// envelope is what tells the kind of a message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// pass waits for room and tells whether the SDK is given the line.
func (g *acpGate) pass(line []byte) bool {
	if len(bytes.TrimSpace(line)) == 0 {
		return false
	}
	var m envelope
	if err := json.Unmarshal(line, &m); err != nil ||
		m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.strange == "" {
			g.strange = firstLine(string(line))
		}
		return false
	}
	note := m.ID == nil && m.Method == acp.ClientMethodSessionUpdate
	if note && !telling(m.Params) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = true
	switch {
	case note:
		for g.notes >= maxNotes && !g.closed {
			g.room.Wait()
		}
		g.notes++
	case m.ID != nil && m.Method != "":
		for g.requests >= maxRequests && !g.closed {
			g.room.Wait()
		}
		g.requests++
	default:
		return m.Method == "" // an answer; other notifications are not for us
	}
	return true
}

// telling reports whether an update says something that is noted, and whether the SDK will read it.
func telling(params json.RawMessage) bool {
	var kind struct {
		Update struct {
			Kind string `json:"sessionUpdate"`
		} `json:"update"`
	}
	if json.Unmarshal(params, &kind) != nil {
		return false
	}
	switch kind.Update.Kind {
	case "agent_message_chunk", "tool_call", "tool_call_update", "usage_update":
		var n acp.SessionNotification
		return json.Unmarshal(params, &n) == nil && n.Validate() == nil
	}
	return false
}

// noted makes room for the next update.
func (g *acpGate) noted() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notes--
	g.room.Signal()
}

// Write gives the agent one message of the SDK.
func (g *acpGate) Write(p []byte) (int, error) {
	n, err := g.out.Write(p)
	var m envelope
	if json.Unmarshal(p, &m) == nil && m.Method == "" {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.requests--
		g.room.Signal()
	}
	return n, err
}

// close lets through whoever waits.
func (g *acpGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.room.Broadcast()
}

// kindProtocol is the kind of a fault of a program that does not speak the protocol as we do: it is no runner.
const kindProtocol = "protocol"

// judge notes a program that ended without a message of the protocol. One that ended with a failure has more to say of
// it.
func (g *acpGate) judge(r *Reading, res proc.Result) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	strange := g.strange
	if text := strings.TrimSpace(string(res.Stdout)); strange == "" && text != "" {
		strange = firstLine(text) // it was gone before anybody listened
	}
	switch {
	case g.heard || strange == "" && res.Exit != 0:
	case strange != "":
		r.fault(Fault{
			Kind:    kindProtocol,
			Message: "expected an agent that speaks the Agent Client Protocol, got " + strconv.Quote(strange),
		})
	default:
		r.fault(Fault{Kind: kindProtocol, Message: "expected an agent that speaks the Agent Client Protocol, got nothing"})
	}
}
