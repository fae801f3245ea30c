package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lines passes the messages of a stream on, one a line, and answers those that the SDK cannot read.
// The SDK ends a session at the first of them: one line that a client's wrapper prints there would
// take the server away.
type lines struct {
	in   *bufio.Reader
	out  *answers      // takes the refusals, together with the answers of the SDK
	wait time.Duration // how long the end of the input waits for answers
	rest []byte        // of the line that is being passed on
}

// Read passes on what is left of a line, or the next one that is a message. The end of the input it
// passes on when what was asked before is answered: the SDK ends the session then.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.next()
		if err != nil {
			l.out.waitForAll(l.wait)
			return 0, err
		}
		if refusal := l.checkLine(line); refusal != nil {
			if err := l.sendRefusal(*refusal); err != nil {
				return 0, err
			}
			continue
		}
		l.out.expect(line)
		l.rest = append(line, '\n')
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// next reads a line without its end and without blanks around it. Of one that is too long it keeps
// more than a message may have.
func (l *lines) next() ([]byte, error) {
	for {
		var line []byte
		more := true
		for more {
			part, err := l.in.ReadSlice('\n')
			more = errors.Is(err, bufio.ErrBufferFull)
			if err != nil && !more && (len(line)+len(part) == 0 || !errors.Is(err, io.EOF)) {
				return nil, err
			}
			if len(line) <= maxMessage {
				line = append(line, part...)
			}
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// refusal is why a line is no message.
type refusal struct {
	id   string // of the request as JSON; null if it has none that can be used
	code int
	why  string
}

// sendRefusal sends a refusal.
func (l *lines) sendRefusal(r refusal) error {
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"id":      json.RawMessage(r.id),
		"error":   map[string]any{"code": r.code, "message": r.why},
	})
	if err != nil {
		return err
	}
	_, err = l.out.Write(append(data, '\n'))
	return err
}

// noID is the id of a refusal whose line has none that can be used.
const noID = "null"

// checkLine tells why a line is no message, nil if it is one. A batch is one in the older revisions
// of the protocol.
func (l *lines) checkLine(line []byte) *refusal {
	switch {
	case len(line) > maxMessage:
		return invalid(noID, fmt.Sprintf("expected a message of at most %d bytes", maxMessage))
	case !json.Valid(line):
		return &refusal{noID, jsonrpc.CodeParseError, "expected one JSON message a line"}
	case line[0] != '[':
		return checkMessage(line)
	}

	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) != nil || len(batch) == 0 {
		return invalid(noID, "expected a message, got an empty batch")
	}
	if version := l.out.revision(); version >= withoutBatches {
		return invalid(noID, "expected one message a line: revision "+version+
			" of the protocol has no batches")
	}
	for _, one := range batch {
		if r := checkMessage(one); r != nil {
			return r
		}
	}
	return nil
}

// invalid refuses what is JSON and no message.
func invalid(id, why string) *refusal {
	return &refusal{id, jsonrpc.CodeInvalidRequest, why}
}

// checkMessage is checkLine for one JSON value.
func checkMessage(data []byte) *refusal {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return invalid(noID, "expected a message, which is an object")
	}
	id := noID
	if given, ok := members["id"]; ok {
		if !usableID(given) {
			return invalid(noID, "expected a text or a whole number of at most 2^53 as id")
		}
		id = string(given)
	}
	if _, err := jsonrpc.DecodeMessage(data); err != nil {
		return invalid(id, err.Error())
	}

	for _, name := range []string{"method", "result", "error"} {
		if _, ok := members[name]; ok {
			return nil
		}
	}
	return invalid(id, "expected a message with a method")
}

// usableID tells whether the answer to a request can name its id. The SDK keeps numbers in 64 bits
// after it has read them as floating point, which is exact up to 2^53.
func usableID(data json.RawMessage) bool {
	const exact = 1 << 53
	var id any
	if json.Unmarshal(data, &id) != nil {
		return false
	}
	switch v := id.(type) {
	case string:
		return true
	case float64:
		return v == math.Trunc(v) && math.Abs(v) <= exact
	}
	return false
}

// withoutBatches is the first revision of the protocol in which a line is one message.
const withoutBatches = "2025-06-18"

// answerTimeout is how long the end of the input waits for answers. A script that sends its
// requests and closes the pipe gets them; a client that is gone does not keep the server.
const answerTimeout = 10 * time.Second

// answers lets the SDK and lines write whole messages in turn, and knows which requests still have
// no answer.
type answers struct {
	mu          sync.Mutex
	out         io.Writer
	open        map[string]bool // by id
	version     string          // of the protocol, once both sides have agreed on it
	allAnswered chan struct{}   // closed when nothing is open; nil: nobody waits for that

	end   sync.Once
	ended chan struct{} // closed when the input has ended
}

func newAnswers(out io.Writer) *answers {
	return &answers{out: out, open: map[string]bool{}, ended: make(chan struct{})}
}

// message is what answers reads of a message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result struct {
		Version string `json:"protocolVersion"`
	} `json:"result"`
}

// messagesOf reads a line, which is a message or a batch.
func messagesOf(line []byte) (list []message) {
	if json.Unmarshal(line, &list) == nil {
		return list
	}
	var one message
	_ = json.Unmarshal(line, &one) //nolint:errcheck // a member of another kind is left out
	return []message{one}
}

// key is an id as a key: 1 and 1.0 are the same.
func (m message) key() string {
	var id any
	if json.Unmarshal(m.ID, &id) != nil {
		return ""
	}
	return fmt.Sprintf("%T %v", id, id)
}

// expect notes the requests of a line, which are to be answered.
func (a *answers) expect(line []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range messagesOf(line) {
		if m.Method != "" && len(m.ID) > 0 {
			a.open[m.key()] = true
		}
	}
}

// revision is the agreed version of the protocol, empty before.
func (a *answers) revision() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.version
}

// waitForAll notes that the input has ended, and waits until all requests are answered, at most for
// a while.
func (a *answers) waitForAll(most time.Duration) {
	a.end.Do(func() { close(a.ended) }) // before the lock, which a writer may hold
	a.mu.Lock()
	if len(a.open) == 0 {
		a.mu.Unlock()
		return
	}
	settled := make(chan struct{})
	a.allAnswered = settled
	a.mu.Unlock()

	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-settled:
	case <-late.C:
	}
}

// inputEnds tells whether the input has ended, or ends within a second: a client that goes away
// closes both streams, one after the other.
func (a *answers) inputEnds() bool {
	soon := time.NewTimer(time.Second)
	defer soon.Stop()
	select {
	case <-a.ended:
		return true
	case <-soon.C:
		return false
	}
}

// Write writes a message, or a batch of them.
func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.out.Write(p)
	if err != nil && a.inputEnds() { // who closes the input need not read the last answers
		n = len(p)
		err = nil
	}

	for _, m := range messagesOf(p) {
		if m.Method != "" {
			continue
		}
		delete(a.open, m.key())
		if a.version == "" {
			a.version = m.Result.Version
		}
	}

	if len(a.open) == 0 && a.allAnswered != nil {
		close(a.allAnswered)
		a.allAnswered = nil
	}
	return n, err
}
