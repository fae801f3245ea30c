package state

import (
	"bytes"
	"os"
	"strconv"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// auditLog is audit.jsonl as it was read under the lock, plus the lines appended since.
type auditLog struct {
	root      *os.Root
	seal      *seal
	exists    bool   // the file exists
	data      []byte // complete, valid lines
	last      auditLine
	lastSHA   string // of the last line
	maxSerial uint64 // the highest serial seen
	// segments is the number of rotated files before this one.
	segments  int
	stateLine auditLine // the last line about state.json
}

// readAudit reads the log. It cuts off a torn last line, which a crash leaves before its write
// began.
func readAudit(root *os.Root) (*auditLog, error) {
	a := &auditLog{root: root}
	data, err := readIfExists(root, auditFile, maxAudit)
	if err != nil || data == nil {
		return a, err
	}

	a.exists = true
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
		a.lastSHA = formats.Sum(line)
	}
	a.segments = segmentsBefore(a.data)
	a.stateLine, a.maxSerial = lastState(a.data)
	return a, nil
}

// lastLine splits the last line off a log.
func lastLine(data []byte) (before, line []byte) {
	data = bytes.TrimSuffix(data, []byte("\n"))
	start := bytes.LastIndexByte(data, '\n') + 1
	return data[:start], data[start:]
}

// lastState returns the last line about state.json, and the highest serial from that write on.
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

// highestNumber is the highest task number that the log knows of.
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
	l.Prev = a.lastSHA
	raw, err := a.seal.sign(l)
	if err != nil {
		return &formats.Failure{
			Code:    formats.CodeBug,
			Message: "encoding an audit line",
			Err:     err,
		}
	}
	// After an error it is unknown how much of the line is on disk. The next read cuts off a torn
	// line.
	if err := atomicfile.Append(a.root, auditFile, append(raw, '\n'), 0); err != nil {
		return ioFailure("writing", auditFile, err)
	}
	a.exists = true
	a.data = append(append(a.data, raw...), '\n')
	a.lastSHA = formats.Sum(raw)
	a.last = l
	a.maxSerial = max(a.maxSerial, l.Serial)
	if l.File == stateFile {
		a.stateLine = l
	}
	return nil
}

// recordedResult returns the result of a transaction that the log or one of its segments holds.
func (a *auditLog) recordedResult(txn string) (Result, bool, error) {
	l := findTxn(a.data, txn)
	for n := a.segments; l == nil && n > 0; n-- {
		// the user may have moved it away
		data, err := readIfExists(a.root, segmentName(n), maxAudit)
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

// findTxn returns the line of a transaction, or nil if there is none or it was aborted.
func findTxn(data []byte, txn string) *auditLine {
	var found *auditLine
	// an id has no character that JSON escapes
	quoted := []byte(strconv.Quote(txn))
	for raw := range bytes.Lines(data) {
		if !bytes.Contains(raw, quoted) {
			continue
		}
		l, err := decodeLine(bytes.TrimSuffix(raw, []byte("\n")))
		if err != nil {
			continue // Verify reports it
		}
		for _, one := range l.transactions() {
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

// chainFault checks the chain of one file of the log. It returns the number of the first line that
// does not follow from the one before it, or 0, and the digest of the last line. The first line of
// a rotated log is accepted if its segments are gone.
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
