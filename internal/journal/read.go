package journal

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"tercet/formats"
)

// Record is an entry in a journal, one line of JSON. It ends with the line's hash and a MAC of that
// hash with the user's key. Data is a json.RawMessage or nil.
type Record struct {
	Seq  int       `json:"seq"` // from 1
	Time time.Time `json:"time"`
	Prev string    `json:"prev_sha"` // hash of the previous line, empty for the first
	formats.Entry
	SHA string `json:"-"` // hash of this line
	MAC string `json:"-"` // of SHA; empty if written without a key
}

// Raw returns the data as JSON, or nil.
func (r Record) Raw() json.RawMessage {
	raw, _ := r.Data.(json.RawMessage) //nolint:errcheck // nil without data
	return raw
}

// Read parses the records of a journal and verifies numbers and hashes; VerifyKey verifies the
// author. It drops a torn last line. Any other damage is INVALID_STATE with its line: such a run
// cannot be resumed.
func Read(data []byte) (records []Record, err error) {
	_, err = scan(bytes.NewReader(data), func(r Record) {
		records = append(records, r)
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// VerifyKey returns DENIED if a record was not written with the key. Without a key it checks
// nothing.
func VerifyKey(records []Record, key []byte) error {
	for i, r := range records {
		if key != nil && !hmac.Equal([]byte(r.MAC), []byte(macOf(key, r.SHA))) {
			return foreignLineError(i + 1)
		}
	}
	return nil
}

// foreignLineError is the error about a line without the MAC of this user.
func foreignLineError(line int) error {
	return formats.Fail(formats.CodeDenied,
		"begin the run afresh; move its folder away if a task waits for it",
		"%s:%d:1: the line was not written by you here", Name, line)
}

// The last members of a line.
const (
	shaMember = `,"sha":"`
	macMember = `","mac":"`
)

// scan calls each for every record of a journal, holding one at a time in memory. size is the
// number of bytes in complete lines.
func scan(from io.Reader, each func(Record)) (size int, err error) {
	in := bufio.NewReaderSize(from, 64<<10)
	var last Record
	interned := map[string]string{} // interned strings that repeat in many lines
	var line []byte
	for number := 1; ; number++ {
		line, err = nextLine(in, line[:0])
		if err != nil {
			return 0, failure(formats.CodeIO, "read", err)
		}
		switch {
		case size+len(line) > MaxBytes:
			return 0, damagedError(1, fmt.Sprintf("expected at most %d bytes, got more", MaxBytes))
		case len(line) == 0 || line[len(line)-1] != '\n':
			return size, nil // the end, or a torn line
		}

		sha, mac, ok := checkLine(line[:len(line)-1])
		if !ok {
			if _, err := in.Peek(1); err != nil {
				return size, nil //nolint:nilerr // it is the last line, so it is torn
			}
			return 0, damagedError(number, "line does not match its hash")
		}

		r, msg := decode(line, number, last.SHA)
		if msg != "" {
			return 0, damagedError(number, msg)
		}
		r.SHA = sha
		r.MAC = mac
		r.Prev = last.SHA
		for _, text := range []*string{(*string)(&r.Type), &r.Step, &r.Key} {
			if _, ok := interned[*text]; !ok {
				interned[*text] = *text
			}
			*text = interned[*text]
		}

		each(r)
		last = r
		size += len(line)
	}
}

// nextLine reads a line with its line feed into a buffer; at the end of the journal, the rest.
func nextLine(in *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) <= MaxBytes:
		case err == nil, errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
			return line, nil
		default:
			return nil, err
		}
	}
}

// decode decodes a line whose hash is valid; wrong says what is wrong with it.
func decode(line []byte, number int, prev string) (r Record, wrong string) {
	var data json.RawMessage
	err := json.Unmarshal(line, &struct {
		*Record
		Data *json.RawMessage `json:"data"`
	}{&r, &data})

	switch {
	case err != nil:
		return r, err.Error()
	case r.Type == "" || r.Time.IsZero():
		return r, "expected a type and a time, got none"
	case r.Seq != number:
		return r, fmt.Sprintf("expected seq %d, got %d", number, r.Seq)
	case r.Prev != prev:
		return r, fmt.Sprintf("expected prev_sha %q, got %q", prev, r.Prev)
	}

	if data != nil {
		r.Data = data
	}
	return r, ""
}

func damagedError(line int, what string) error {
	return formats.Fail(formats.CodeInvalidState, "", "%s:%d:1: %s", Name, line, what)
}

// checkLine reports whether a line ends with the hash of what precedes it.
func checkLine(line []byte) (sha, mac string, ok bool) {
	const hash = 64
	if at := len(line) - len(macMember) - hash - len(`"}`); at > 0 &&
		bytes.HasPrefix(line[at:], []byte(macMember)) {
		mac = string(line[at+len(macMember) : len(line)-len(`"}`)])
		line = append(line[:at:at], `"}`...)
	}

	at := len(line) - len(shaMember) - hash - len(`"}`)
	if at <= 0 {
		return "", "", false
	}
	sha = formats.Sum(line[:at])
	return sha, mac, string(line[at:]) == shaMember+sha+`"}`
}
