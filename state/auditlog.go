package state

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/internal/jsonx"
)

// auditLog is audit.jsonl as one hold of the lock found it, and what was appended since.
type auditLog struct {
	root  *os.Root
	there bool   // the file exists
	data  []byte // whole, sound lines
	last  auditLine
	sha   string // of the last line
	high  uint64 // the highest serial seen
	// segments is how many files the log before this one was moved into.
	segments int
	// state is the last line about state.json; current tells that no other line follows it.
	state   auditLine
	current bool
}

// readAudit reads the log. A torn last line, which a crash leaves before its write began, is cut off. Only the last
// line and the last one about state.json are decoded in full; of the others the beginning is enough.
func readAudit(root *os.Root) (*auditLog, error) {
	a := &auditLog{root: root}
	data, err := readFile(root, auditFile, maxAudit)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, ioFailure("reading", auditFile, err)
	}
	a.there = true
	var state, newest []byte
	for rest := data; len(rest) > 0; {
		line, behind, ended := bytes.Cut(rest, []byte("\n"))
		l, ok := quickLine(line)
		if !ok || len(behind) == 0 {
			whole, err := decodeLine(line)
			if len(behind) == 0 && (!ended || err != nil) {
				if err := atomicfile.Cut(root, auditFile, int64(len(a.data))); err != nil {
					return nil, ioFailure("cutting the torn last line of", auditFile, err)
				}
				break
			}
			if err == nil {
				l = whole
			}
		}
		if l.File == stateFile {
			state = line
		}
		a.note(l)
		newest, rest, a.data = line, behind, data[:len(data)-len(behind)]
	}
	if newest == nil {
		return a, nil
	}
	a.sha = digest(newest)
	if l, err := decodeLine(newest); err == nil {
		a.last = l
	}
	if state != nil {
		if a.state, err = decodeLine(state); err != nil {
			return nil, &formats.Failure{
				Code: formats.CodeInvalidState, Err: err,
				Message: "the last line about " + stateFile + " in " + auditFile + " cannot be read",
			}
		}
	}
	return a, nil
}

// note takes the meaning of a line.
func (a *auditLog) note(l auditLine) {
	a.last, a.high, a.current = l, max(a.high, l.Serial), l.File == stateFile
	if a.current {
		a.state = l
	}
	if l.Kind == lineRotated {
		a.segments = l.Segment
	}
}

// quickLine reads the beginning of a line as encode writes it, without parsing the rest.
func quickLine(line []byte) (auditLine, bool) {
	var l auditLine
	rest, ok := bytes.CutPrefix(line, []byte(`{"serial":`))
	digits := bytes.IndexByte(rest, ',')
	if !ok || digits < 0 {
		return l, false
	}
	serial, err := strconv.ParseUint(string(rest[:digits]), 10, 63)
	if err != nil {
		return l, false
	}
	l.Serial = serial
	rest = rest[digits:]
	for _, field := range []struct {
		key  string
		into *string
	}{{`,"txn":"`, &l.Txn}, {`,"kind":"`, &l.Kind}, {`,"file":"`, &l.File}} {
		if rest, ok = bytes.CutPrefix(rest, []byte(field.key)); !ok {
			return l, false
		}
		end := bytes.IndexAny(rest, `"\\`)
		if end < 0 || rest[end] != '"' {
			return l, false
		}
		*field.into = string(rest[:end])
		rest = rest[end+1:]
	}
	return l, l.Kind != lineRotated // what that one means does not stand at its beginning
}

// highestNumber is the highest number of a task that the log says was ever given.
func (a *auditLog) highestNumber() int {
	highest := 0
	for l := range auditLines(a.data) { // Verify reports lines that cannot be read
		for _, n := range append(l.Numbers, l.Added...) {
			highest = max(highest, n)
		}
	}
	return highest
}

// append writes a line and makes it durable.
func (a *auditLog) append(l auditLine) error {
	l.Prev = a.sha
	raw, err := jsonx.Marshal(l, "")
	if err != nil {
		return &formats.Failure{Code: formats.CodeBug, Message: "encoding an audit line", Err: err}
	}
	// What of the line is on disk after an error is not known: the next reading cuts a torn line off.
	if err := atomicfile.Append(a.root, auditFile, append(raw, '\n'), 0); err != nil {
		return ioFailure("writing", auditFile, err)
	}
	a.there, a.data, a.sha = true, append(append(a.data, raw...), '\n'), digest(raw)
	a.note(l)
	return nil
}

// answer gives the result of a transaction that the log or one of its segments holds.
func (a *auditLog) answer(txn string) (Result, bool, error) {
	l := findTxn(a.data, txn)
	for n := a.segments; l == nil && n > 0; n-- {
		index, err := segmentIndex(a.root, n)
		if err != nil {
			return Result{}, false, err
		}
		if !index.holds(txn) {
			continue
		}
		data, err := readFile(a.root, segmentName(n), maxAudit)
		if err != nil {
			return Result{}, false, ioFailure("reading", segmentName(n), err)
		}
		l = findTxn(data, txn)
	}
	if l == nil {
		return Result{}, false, nil
	}
	return Result{
		Serial: l.Serial, Txn: l.Txn, Numbers: l.Numbers, Verdicts: l.Verdicts, Changed: true, Replayed: true,
	}, true, nil
}

// findTxn gives the line of a transaction, nil if none of the lines holds one that happened.
func findTxn(data []byte, txn string) *auditLine {
	var found *auditLine
	quoted := []byte(strconv.Quote(txn)) // an id has no character that JSON would write in another way
	for raw := range bytes.Lines(data) {
		if !bytes.Contains(raw, quoted) {
			continue
		}
		l, err := decodeLine(bytes.TrimSuffix(raw, []byte("\n")))
		if err != nil {
			continue // Verify reports it
		}
		for _, one := range l.parts() {
			switch {
			case one.Txn != txn:
			case one.Kind == lineAborted:
				found = nil
			case one.Kind == lineWrite:
				found = &one
			}
		}
	}
	return found
}

// lastState gives the last line about state.json, of a log or of its end.
func lastState(data []byte) auditLine {
	for len(data) > 0 {
		data = bytes.TrimSuffix(data, []byte("\n"))
		start := bytes.LastIndexByte(data, '\n') + 1
		if l, err := decodeLine(data[start:]); err == nil && l.File == stateFile {
			return l
		}
		data = data[:start]
	}
	return auditLine{}
}

// chainFault walks one file of the log and gives the number of the first line that does not fit the one before it, 0 if
// all fit, and the digest of the last line. The first line of a file that begins a log whose segments are gone fits.
func chainFault(data []byte, prev string, begins bool) (line int, what, last string) {
	for n := 1; len(data) > 0; n++ {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		l, err := decodeLine(data[:end])
		if err != nil {
			return n, err.Error(), prev
		}
		if l.Prev != prev && (n > 1 || !begins || l.Kind != lineRotated) {
			return n, "it does not follow from the line before it", prev
		}
		prev = digest(data[:end])
		data = data[end+1:]
	}
	return 0, "", prev
}
