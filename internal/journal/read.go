package journal

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"time"

	"tercet/formats"
)

// Record is an entry as it stands in a journal, one line of JSON that ends with its own hash, and with the mac of that
// by the person's key. Data is what stands there, a json.RawMessage, or nil.
type Record struct {
	Seq  int       `json:"seq"` // from 1
	Time time.Time `json:"time"`
	Prev string    `json:"prev_sha"` // of the line before, empty for the first
	formats.Entry
	SHA string `json:"-"` // of this line
	MAC string `json:"-"` // of SHA; empty where nobody made one
}

// raw is the data as it stands in the journal, nil without any.
func (r Record) raw() json.RawMessage {
	raw, _ := r.Data.(json.RawMessage) //nolint:errcheck // an entry without data has none
	return raw
}

// Read gives the records of a journal and verifies their numbers and hashes; who wrote them, Vouched tells. A last line
// that a crash has torn is left out; anything else that is wrong is INVALID_STATE with its line: the run cannot be
// continued from such a record.
func Read(data []byte) ([]Record, error) {
	records, _, err := read(data)
	return records, err
}

// Vouched refuses with DENIED records of which one was not written with the key. Without a key nothing is known.
func Vouched(records []Record, key []byte) error {
	for i, r := range records {
		if key != nil && !hmac.Equal([]byte(r.MAC), []byte(macOf(key, r.SHA))) {
			return formats.Fail(formats.CodeDenied, "begin the run afresh", "%s:%d:1: the line was not written by you here",
				Name, i+1)
		}
	}
	return nil
}

// What begins the last members of a line.
const (
	shaMember = `,"sha":"`
	macMember = `","mac":"`
)

// read also gives the number of bytes that whole lines take.
func read(data []byte) (records []Record, whole int, err error) {
	if len(data) > MaxBytes {
		return nil, 0, damaged(1, fmt.Sprintf("expected at most %d bytes, got %d", MaxBytes, len(data)))
	}
	prev := ""
	for whole < len(data) {
		n := bytes.IndexByte(data[whole:], '\n')
		if n < 0 {
			break
		}
		line := data[whole : whole+n]
		after := whole + n + 1
		number := len(records) + 1
		sha, mac, ok := intact(line)
		if !ok {
			if after == len(data) {
				break
			}
			return nil, 0, damaged(number, "line does not match its hash")
		}
		var r Record
		var carried json.RawMessage
		msg := ""
		switch err := json.Unmarshal(line, &struct {
			*Record
			Data *json.RawMessage `json:"data"`
		}{&r, &carried}); {
		case err != nil:
			msg = err.Error()
		case r.Type == "" || r.Time.IsZero():
			msg = "expected a type and a time, got none"
		case r.Seq != number:
			msg = fmt.Sprintf("expected seq %d, got %d", number, r.Seq)
		case r.Prev != prev:
			msg = fmt.Sprintf("expected prev_sha %q, got %q", prev, r.Prev)
		}
		if msg != "" {
			return nil, 0, damaged(number, msg)
		}
		if r.SHA, r.MAC = sha, mac; carried != nil {
			r.Data = carried
		}
		records = append(records, r)
		prev = sha
		whole = after
	}
	return records, whole, nil
}

func damaged(line int, what string) error {
	return formats.Fail(formats.CodeInvalidState, "", "%s:%d:1: %s", Name, line, what)
}

// intact tells whether a line ends with the hash of what stands before that.
func intact(line []byte) (sha, mac string, ok bool) {
	const hash = 64
	if at := len(line) - len(macMember) - hash - len(`"}`); at > 0 && bytes.HasPrefix(line[at:], []byte(macMember)) {
		mac = string(line[at+len(macMember) : len(line)-len(`"}`)])
		line = append(line[:at:at], `"}`...)
	}
	at := len(line) - len(shaMember) - hash - len(`"}`)
	if at <= 0 {
		return "", "", false
	}
	sha = digest(line[:at])
	return sha, mac, string(line[at:]) == shaMember+sha+`"}`
}
