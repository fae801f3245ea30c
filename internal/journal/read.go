package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"tercet/formats"
)

// Record is an entry as it stands in a journal, one line of JSON that ends with its own hash. Data is what stands
// there, a json.RawMessage, or nil.
type Record struct {
	Seq  int       `json:"seq"` // from 1
	Time time.Time `json:"time"`
	Prev string    `json:"prev_sha"` // of the line before, empty for the first
	formats.Entry
	SHA string `json:"-"` // of this line
}

// Read gives the records of a journal and verifies their numbers and hashes; what stands before the first is for the
// caller to know. A last line that a crash has torn is left
// out; anything else that is wrong is INVALID_STATE with its line: the run cannot be continued from such a record.
func Read(data []byte) ([]Record, error) {
	records, _, err := read(data)
	return records, err
}

// shaMember begins the last member of a line.
const shaMember = `,"sha":"`

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
		sha, ok := intact(line)
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
		case number > 1 && r.Prev != prev:
			msg = fmt.Sprintf("expected prev_sha %q, got %q", prev, r.Prev)
		}
		if msg != "" {
			return nil, 0, damaged(number, msg)
		}
		if r.SHA = sha; carried != nil {
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
func intact(line []byte) (sha string, ok bool) {
	const tail = len(shaMember) + 64 + len(`"}`)
	if len(line) <= tail {
		return "", false
	}
	body := line[:len(line)-tail]
	sha = digest(body)
	return sha, string(line[len(body):]) == shaMember+sha+`"}`
}
