package state

import (
	"bytes"
	"os"
	"strconv"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// auditLog is audit.jsonl as one hold of the lock found it, and what was appended since.
type auditLog struct {
	root  *os.Root
	seal  *seal
	there bool   // the file exists
	data  []byte // whole, sound lines
	last  auditLine
	sha   string // of the last line
	high  uint64 // the highest serial seen
	// segments is how many files the log before this one was moved into.
	segments int
	state    auditLine // the last line about state.json
}

// readAudit reads the log. A torn last line, which a crash leaves before its write began, is cut
// off.
func readAudit(root *os.Root) (*auditLog, error) {
	a := &auditLog{root: root}
	data, err := readIf(root, auditFile, maxAudit)
	if err != nil || data == nil {
		return a, err
	}

	a.there = true
	a.data = data[:bytes.LastIndexByte(data, '\n')+1]
	before, line := lastLine(a.data)
	if a.last, err = decodeLine(line); err != nil && len(a.data) == len(data) {
		a.data = before
		_, line = lastLine(before)
		if a.last, err = decodeLine(line); err != nil {
			a.last = auditLine{} // Verify reports it
		}
	}
	if len(a.data) < len(data) {
		if err := atomicfile.Cut(root, auditFile, int64(len(a.data))); err != nil {
			return nil, ioFailure("cutting the torn last line of", auditFile, err)
		}
	}
	if len(line) > 0 {
		a.sha = formats.Sum(line)
	}
	a.segments = segmentsBefore(a.data)
	a.state, a.high = lastState(a.data)
	return a, nil
}

// lastLine cuts the last line off a log.
func lastLine(data []byte) (before, line []byte) {
	data = bytes.TrimSuffix(data, []byte("\n"))
	start := bytes.LastIndexByte(data, '\n') + 1
	return data[:start], data[start:]
}

// lastState gives the last line about state.json, of a log or of its end. high is the highest
// serial that it tells of, from that write on.
func lastState(data []byte) (state auditLine, high uint64) {
	for len(data) > 0 {
		var line []byte
		data, line = lastLine(data)
		l, err := decodeLine(line)
		if err != nil {
			continue // Verify reports it
		}
		high = max(high, l.Serial)
		if l.File != stateFile {
			continue
		}
		if state.Kind == "" {
			state = l
		}
		if l.Kind != lineAborted {
			break
		}
	}
	return state, high
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
	raw, err := a.seal.sign(l)
	if err != nil {
		return &formats.Failure{
			Code:    formats.CodeBug,
			Message: "encoding an audit line",
			Err:     err,
		}
	}
	// What of the line is on disk after an error is not known: the next reading cuts a torn line
	// off.
	if err := atomicfile.Append(a.root, auditFile, append(raw, '\n'), 0); err != nil {
		return ioFailure("writing", auditFile, err)
	}
	a.there = true
	a.data = append(append(a.data, raw...), '\n')
	a.sha = formats.Sum(raw)
	a.last = l
	a.high = max(a.high, l.Serial)
	if l.File == stateFile {
		a.state = l
	}
	return nil
}

// answer gives the result of a transaction that the log or one of its segments holds.
func (a *auditLog) answer(txn string) (Result, bool, error) {
	l := findTxn(a.data, txn)
	for n := a.segments; l == nil && n > 0; n-- {
		data, err := readIf(a.root, segmentName(n), maxAudit) // it may be moved away
		if err != nil {
			return Result{}, false, err
		}
		l = findTxn(data, txn)
	}
	if l == nil {
		return Result{}, false, nil
	}
	return Result{
		Serial:   l.Serial,
		Txn:      l.Txn,
		Numbers:  l.Numbers,
		Verdicts: l.Verdicts,
		Changed:  true,
		Replayed: true,
	}, true, nil
}

// findTxn gives the line of a transaction, nil if none of the lines holds one that happened.
func findTxn(data []byte, txn string) *auditLine {
	var found *auditLine
	// an id has no character that JSON would write in another way
	quoted := []byte(strconv.Quote(txn))
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
			case one.Kind == lineWrite, one.Kind == lineUndo:
				found = &one
			}
		}
	}
	return found
}

// chainFault walks one file of the log. It gives the number of the first line that does not fit the
// one before it, 0 if all fit, and the last line's digest. The first line of a file that begins a
// log whose segments are gone fits.
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
		prev = formats.Sum(data[:end])
		data = data[end+1:]
	}
	return 0, "", prev
}
