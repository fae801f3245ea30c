package history

import (
	"bytes"
	"iter"
	"os"
	"slices"
	"strconv"

	"tercet/formats"
	"tercet/internal/atomicfile"
	"tercet/state/files"
	"tercet/state/statefile"
)

// AuditFile is the log, relative to the project root.
const AuditFile = formats.Workspace + "/audit.jsonl"

// Log is audit.jsonl as it was read under the lock, plus the lines appended since.
type Log struct {
	root      *os.Root
	Seal      *Seal
	Exists    bool   // the file exists
	data      []byte // complete, valid lines
	Last      Line
	lastSHA   string // of the last line
	MaxSerial uint64 // the highest serial seen
	// segments is the number of rotated files before this one.
	segments  int
	StateLine Line // the last line about state.json
}

// ReadLog reads the log. It cuts off a torn last line, which a crash leaves before its write
// began.
func ReadLog(root *os.Root) (*Log, error) {
	a := &Log{root: root}
	data, err := files.ReadIfExists(root, AuditFile, files.MaxAudit)
	if err != nil || data == nil {
		return a, err
	}

	a.Exists = true
	a.data = data[:bytes.LastIndexByte(data, '\n')+1]

	before, line := lastLine(a.data)
	a.Last, err = decodeLine(line)
	if err != nil && len(a.data) == len(data) {
		a.data = before
		_, line = lastLine(before)
		a.Last, err = decodeLine(line)
		if err != nil {
			a.Last = Line{} // Verify reports it
		}
	}
	if len(a.data) < len(data) {
		if err := atomicfile.Cut(root, AuditFile, int64(len(a.data))); err != nil {
			return nil, files.Failure("cutting the torn last line of", AuditFile, err)
		}
	}

	if len(line) > 0 {
		a.lastSHA = formats.Sum(line)
	}
	a.segments = segmentsBefore(a.data)
	a.StateLine, a.MaxSerial = LastState(a.data)
	return a, nil
}

// ViewLog reads the complete lines of the log without repairing it. Nothing can be appended.
func ViewLog(root *os.Root) (*Log, error) {
	data, err := LogText(root)
	a := &Log{
		root:     root,
		Exists:   len(data) > 0,
		data:     data,
		segments: segmentsBefore(data),
	}
	a.StateLine, a.MaxSerial = LastState(data)
	return a, err
}

// LogText reads the complete lines of audit.jsonl, or none if there is no file.
func LogText(root *os.Root) ([]byte, error) {
	data, err := files.ReadIfExists(root, AuditFile, files.MaxAudit)
	return data[:bytes.LastIndexByte(data, '\n')+1], err
}

// lastLine splits the last line off a log.
func lastLine(data []byte) (before, line []byte) {
	data = bytes.TrimSuffix(data, []byte("\n"))
	start := bytes.LastIndexByte(data, '\n') + 1
	return data[:start], data[start:]
}

// LastState returns the last line about state.json, and the highest serial from that write on.
func LastState(data []byte) (state Line, high uint64) {
	for len(data) > 0 {
		var line []byte
		data, line = lastLine(data)
		l, err := decodeLine(line)
		if err != nil {
			continue // Verify reports it
		}
		high = max(high, l.Serial)
		if l.File != statefile.Path {
			continue
		}
		if state.Kind == "" {
			state = l
		}
		if l.Kind != KindAborted {
			break
		}
	}
	return state, high
}

// HighestNumber is the highest task number that the log knows of.
func (a *Log) HighestNumber() int {
	highest := 0
	for l := range a.Lines() { // Verify reports lines that cannot be read
		for _, n := range append(l.Numbers, l.Added...) {
			highest = max(highest, n)
		}
	}
	return highest
}

// Append writes a line and makes it durable.
func (a *Log) Append(l Line) error {
	l.Prev = a.lastSHA
	l.Undo = dropLargeUndo(l.Undo)
	raw, err := a.Seal.sign(l)
	if err != nil {
		return &formats.Failure{
			Code:    formats.CodeBug,
			Message: "encoding an audit line",
			Err:     err,
		}
	}

	// After an error it is unknown how much of the line is on disk. The next read cuts off a torn
	// line.
	if err := atomicfile.Append(a.root, AuditFile, append(raw, '\n'), 0); err != nil {
		return files.Failure("writing", AuditFile, err)
	}

	a.Exists = true
	a.data = append(append(a.data, raw...), '\n')
	a.lastSHA = formats.Sum(raw)
	a.Last = l
	a.MaxSerial = max(a.MaxSerial, l.Serial)
	if l.File == statefile.Path {
		a.StateLine = l
	}
	return nil
}

// Transaction returns the line of a transaction that the log or one of its segments has, or nil if
// there is none or it was aborted.
func (a *Log) Transaction(txn string) (*Line, error) {
	l := findTxn(a.data, txn)
	for n := a.segments; l == nil && n > 0; n-- {
		// the user may have moved it away
		data, err := files.ReadIfExists(a.root, segmentName(n), files.MaxAudit)
		if err != nil {
			return nil, err
		}
		l = findTxn(data, txn)
	}
	return l, nil
}

// Lines iterates over the readable lines.
func (a *Log) Lines() iter.Seq[*Line] {
	return Lines(a.data)
}

// Since returns the lines that were appended after an earlier text of the log, or nil if the log no
// longer begins with that text.
func (a *Log) Since(earlier []byte) []byte {
	all := a.data
	from := segmentsBefore(earlier)
	for n := a.segments; n > from; n-- {
		data, err := files.Read(a.root, segmentName(n), files.MaxAudit)
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

// AnyUnsealed reports whether one of the lines is not sealed by the log's key.
func (a *Log) AnyUnsealed(lines []byte) bool {
	return a.Seal.anyUnsealed(lines)
}

// findTxn returns the line of a transaction, or nil if there is none or it was aborted.
func findTxn(data []byte, txn string) *Line {
	var found *Line
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
		for _, one := range l.Transactions() {
			switch {
			case one.Txn != txn:
			case one.Kind == KindAborted:
				found = nil
			case one.Kind == KindWrite, one.Kind == KindUndo:
				found = &one
			}
		}
	}
	return found
}

// ChainFault is the first line of one file of the log that does not follow from the line before it.
type ChainFault struct {
	File string
	Line int // from 1
	What string
}

// CheckChain checks the chain of the whole log. last is the last line about state.json, without a
// kind if there is none.
func CheckChain(root *os.Root) (faults []ChainFault, last Line, err error) {
	parts, err := readSegments(root)
	if err != nil || len(parts) == 0 {
		return nil, Line{}, err
	}

	prev := ""
	for i, p := range parts {
		var fault *ChainFault
		fault, prev = p.chainFault(prev, i == 0)
		if fault != nil {
			faults = append(faults, *fault)
		}
	}

	last, _ = LastState(parts[len(parts)-1].data)
	return faults, last, nil
}

// chainFault checks the chain of one file of the log, and returns the digest of the last line. The
// first line of a rotated log is accepted if its segments are gone.
func (p logSegment) chainFault(prev string, begins bool) (fault *ChainFault, last string) {
	data := p.data
	for n := 1; len(data) > 0; n++ {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		l, err := decodeLine(data[:end])
		if err != nil {
			return &ChainFault{p.name, n, err.Error()}, prev
		}
		if l.Prev != prev && (n > 1 || !begins || l.Kind != KindRotated) {
			return &ChainFault{p.name, n, "it does not follow from the line before it"}, prev
		}
		prev = formats.Sum(data[:end])
		data = data[end+1:]
	}
	return nil, prev
}
