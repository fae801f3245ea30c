package state

import (
	"bytes"
	"iter"
	"os"
	"slices"
	"strconv"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// auditFile is the log, relative to the project root.
const auditFile = formats.Workspace + "/audit.jsonl"

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

// viewAudit reads the complete lines of the log without repairing it. Nothing can be appended.
func viewAudit(root *os.Root) (*auditLog, error) {
	data, err := logLines(root)
	a := &auditLog{
		root:     root,
		exists:   len(data) > 0,
		data:     data,
		segments: segmentsBefore(data),
	}
	a.stateLine, a.maxSerial = lastState(data)
	return a, err
}

// logLines reads the complete lines of audit.jsonl, or none if there is no file.
func logLines(root *os.Root) ([]byte, error) {
	data, err := readIfExists(root, auditFile, maxAudit)
	return data[:bytes.LastIndexByte(data, '\n')+1], err
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
	for l := range a.lines() { // Verify reports lines that cannot be read
		for _, n := range append(l.Numbers, l.Added...) {
			highest = max(highest, n)
		}
	}
	return highest
}

// append writes a line and makes it durable.
func (a *auditLog) append(l auditLine) error {
	l.Prev = a.lastSHA
	l.Undo = boundedUndo(l.Undo)
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

// transaction returns the line of a transaction that the log or one of its segments has, or nil if
// there is none or it was aborted.
func (a *auditLog) transaction(txn string) (*auditLine, error) {
	l := findTxn(a.data, txn)
	for n := a.segments; l == nil && n > 0; n-- {
		// the user may have moved it away
		data, err := readIfExists(a.root, segmentName(n), maxAudit)
		if err != nil {
			return nil, err
		}
		l = findTxn(data, txn)
	}
	return l, nil
}

// lines iterates over the readable lines.
func (a *auditLog) lines() iter.Seq[*auditLine] {
	return auditLines(a.data)
}

// since returns the lines that were appended after an earlier text of the log, or nil if the log no
// longer begins with that text.
func (a *auditLog) since(earlier []byte) []byte {
	all := a.data
	from := segmentsBefore(earlier)
	for n := a.segments; n > from; n-- {
		data, err := readFile(a.root, segmentName(n), maxAudit)
		if err != nil {
			return nil
		}
		all = slices.Concat(data, all)
	}
	if !bytes.HasPrefix(all, earlier) || len(earlier) > 0 && a.segments < from {
		return nil
	}
	return append([]byte{}, all[len(earlier):]...)
}

// anyUnsealed reports whether one of the lines is not sealed by the log's key.
func (a *auditLog) anyUnsealed(lines []byte) bool {
	return a.seal.anyUnsealed(lines)
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

// chainFault is the first line of one file of the log that does not follow from the line before it.
type chainFault struct {
	file string
	line int // from 1
	what string
}

// checkChain checks the chain of the whole log. last is the last line about state.json, without a
// kind if there is none.
func checkChain(root *os.Root) (faults []chainFault, last auditLine, err error) {
	parts, err := readSegments(root)
	if err != nil || len(parts) == 0 {
		return nil, auditLine{}, err
	}
	prev := ""
	for i, p := range parts {
		var fault *chainFault
		fault, prev = p.chainFault(prev, i == 0)
		if fault != nil {
			faults = append(faults, *fault)
		}
	}
	last, _ = lastState(parts[len(parts)-1].data)
	return faults, last, nil
}

// chainFault checks the chain of one file of the log, and returns the digest of the last line. The
// first line of a rotated log is accepted if its segments are gone.
func (p logSegment) chainFault(prev string, begins bool) (fault *chainFault, last string) {
	data := p.data
	for n := 1; len(data) > 0; n++ {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		l, err := decodeLine(data[:end])
		if err != nil {
			return &chainFault{p.name, n, err.Error()}, prev
		}
		if l.Prev != prev && (n > 1 || !begins || l.Kind != lineRotated) {
			return &chainFault{p.name, n, "it does not follow from the line before it"}, prev
		}
		prev = formats.Sum(data[:end])
		data = data[end+1:]
	}
	return nil, prev
}
