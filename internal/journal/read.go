package journal

import (
	"bytes"
	"fmt"
	"time"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// Record is an entry as it stands in a journal. Data is plain: maps, slices, strings, json.Number, bool and nil.
type Record struct {
	formats.Entry
	Seq  int // from 1
	Time time.Time
	Prev string // sha of the line before, empty for the first
	SHA  string // of this line
}

// Read gives the records of a journal and verifies their numbers and hashes. A last line that a crash has torn is left
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
		r, msg := decode(line)
		switch {
		case msg != "":
		case r.Seq != number:
			msg = fmt.Sprintf("expected seq %d, got %d", number, r.Seq)
		case r.Prev != prev:
			msg = fmt.Sprintf("expected prev_sha %q, got %q", prev, r.Prev)
		}
		if msg != "" {
			return nil, 0, damaged(number, msg)
		}
		r.SHA = sha
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

// decode reads a line that is intact. A non-empty message tells what is wrong all the same.
func decode(line []byte) (Record, string) {
	v, err := jsonx.Parse(line, jsonx.Limits{})
	if err != nil {
		return Record{}, err.Error()
	}
	var r Record
	var ok bool
	text := func(key string, into *string, must bool) {
		if m := v.Get(key); m != nil || must {
			if *into, ok = m.Str(); !ok {
				err = fmt.Errorf("expected text as %s", key)
			}
		}
	}
	number := func(key string, into *int, must bool) {
		if m := v.Get(key); m != nil || must {
			n, isInt := m.Int()
			if *into = int(n); !isInt {
				err = fmt.Errorf("expected integer as %s", key)
			}
		}
	}
	var at, kind string
	number("seq", &r.Seq, true)
	text("time", &at, true)
	text("prev_sha", &r.Prev, true)
	text("type", &kind, true)
	text("step_path", &r.Step, false)
	number("visit", &r.Visit, false)
	number("attempt", &r.Attempt, false)
	text("key", &r.Key, false)
	if err != nil {
		return Record{}, err.Error()
	}
	if r.Time, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return Record{}, fmt.Sprintf("expected RFC 3339 as time, got %q", at)
	}
	r.Type = formats.EntryType(kind)
	r.Data = v.Get("data").Any()
	return r, ""
}
