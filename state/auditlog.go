package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"tercet/formats"
	"tercet/internal/atomicfile"
)

// auditLog is what this process knows of audit.jsonl. It is used only while the lock of the state is held; a later use reads
// what other processes appended since.
type auditLog struct {
	root   *os.Root
	there  bool // the file exists
	info   fs.FileInfo
	size   int64 // how much of the file has been read: whole, sound lines
	last   auditLine
	sha    string // of the last line
	lastAt int64  // where the last line begins
	high   uint64 // the highest serial seen
	lines  int
	txns   map[string]span // transactions that happened
	// from is where the part begins that was read: the head of a long log is read when a transaction is looked for that the
	// rest does not hold. undone are the transactions of the head that the rest says did not happen.
	from   int64
	undone map[string]bool
	// segments is how many files the log before this one was moved into; index holds, for each, the sorted hashes of its
	// transactions, read when they are first asked for.
	segments int
	index    [][]uint64
	// lastState is the last line about state.json, stateAt the count of lines up to it.
	lastState auditLine
	stateAt   int
}

// span is where a line lies.
type span struct{ start, end int64 }

// refresh reads what is new. A torn last line, which a crash leaves before its write began, is cut off.
func (a *auditLog) refresh() error {
	info, err := a.root.Stat(auditFile)
	if errors.Is(err, fs.ErrNotExist) {
		*a = auditLog{root: a.root, txns: map[string]span{}}
		return nil
	}
	if err != nil {
		return ioFailure("reading", auditFile, err)
	}
	if a.info != nil && os.SameFile(a.info, info) && info.Size() == a.size {
		return nil
	}
	if a.info == nil || !os.SameFile(a.info, info) || info.Size() < a.size {
		*a = auditLog{root: a.root, txns: map[string]span{}}
		if err := a.begin(info); err != nil {
			return ioFailure("reading", auditFile, err)
		}
	}
	at := a.size
	if a.sha != "" {
		at = a.lastAt
	}
	data, err := a.part(at, -1)
	if err != nil {
		return ioFailure("reading", auditFile, err)
	}
	if known := int(a.size - at); known > 0 {
		// The same file, but not the same line: it was put back from outside, so that nothing read so far counts.
		if known > len(data) || data[known-1] != '\n' || digest(data[:known-1]) != a.sha {
			*a = auditLog{root: a.root, txns: map[string]span{}}
			return a.refresh()
		}
		data = data[known:]
	}
	a.there, a.info = true, info
	return a.read(data)
}

// auditTail is how much of the end of a log is read that is longer: it holds the last lines. What they leave open is asked of
// the rest, so that the first write of a process takes as long with a long log as with a short one.
const auditTail = 64 << 10

// begin finds where in a log that nothing is known of the reading may begin, and takes what its first line says. A tail
// that does not tell the last line about the state is too short.
func (a *auditLog) begin(info fs.FileInfo) error {
	if !info.Mode().IsRegular() || info.Size() <= 2*auditTail {
		return nil
	}
	at := info.Size() - auditTail
	data, err := a.part(at, -1)
	if err != nil {
		return err
	}
	cut := bytes.IndexByte(data, '\n') + 1
	if cut == 0 || !tellsState(data[cut:]) {
		return nil
	}
	head, err := a.part(0, auditTail)
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(head, []byte("\n"))
	l, ok := quickLine(first)
	if !ok {
		if l, err = decodeLine(first); err != nil {
			return nil //nolint:nilerr // it is no line, or a long one: the log is read from its start
		}
	}
	if l.Kind == lineRotated {
		a.segments = l.Segment
	}
	a.from, a.size, a.high, a.undone = at+int64(cut), at+int64(cut), l.Serial, map[string]bool{}
	return nil
}

// tellsState tells whether sound lines in data are about the state.
func tellsState(data []byte) bool {
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		l, ok := quickLine(line)
		if !ok || len(rest) == 0 {
			var err error
			l, err = decodeLine(line)
			ok = ended && err == nil
		}
		if ok && l.File == stateFile {
			return true
		}
		data = rest
	}
	return false
}

// readHead reads the transactions of the head, which was left out before.
func (a *auditLog) readHead() error {
	if a.from == 0 {
		return nil
	}
	data, err := a.part(0, a.from)
	if err != nil {
		return ioFailure("reading", auditFile, err)
	}
	h := auditLog{root: a.root, txns: map[string]span{}}
	for raw := range bytes.Lines(data) {
		line := bytes.TrimSuffix(raw, []byte("\n"))
		l, ok := quickLine(line)
		if !ok {
			l, err = decodeLine(line)
		}
		if ok || err == nil {
			h.note(l, span{h.size, h.size + int64(len(line))})
		}
		h.size += int64(len(raw))
	}
	for txn, at := range h.txns {
		if _, later := a.txns[txn]; !later && !a.undone[txn] {
			a.txns[txn] = at
		}
	}
	a.high, a.lines, a.stateAt = max(a.high, h.high), a.lines+h.lines, a.stateAt+h.lines
	a.from, a.undone = 0, nil
	return nil
}

// part reads the log from an offset on: size bytes, to its end if size is below zero.
func (a *auditLog) part(from, size int64) (data []byte, err error) {
	f, err := a.root.Open(auditFile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size()-from > maxAudit {
		return nil, fmt.Errorf("expected a regular file of at most %d bytes", maxAudit)
	}
	left := max(info.Size()-from, 0)
	if size >= 0 {
		left = min(left, size)
	}
	data = make([]byte, left)
	n, err := f.ReadAt(data, from)
	if n < len(data) {
		return nil, err
	}
	return data, nil
}

// highestNumber is the highest number of a task that the log says was ever given. It reads every line in full.
func (a *auditLog) highestNumber() (int, error) {
	data, err := readFile(a.root, auditFile, maxAudit)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, ioFailure("reading", auditFile, err)
	}
	highest := 0
	for line := range bytes.Lines(data) {
		l, err := decodeLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			continue // Verify reports lines that cannot be read
		}
		for _, n := range append(l.Numbers, l.Added...) {
			highest = max(highest, n)
		}
	}
	return highest, nil
}

// read takes the lines in data, which begins at a.size. Only the last line and the last one about state.json are read in
// full; of the others their beginning is enough.
func (a *auditLog) read(data []byte) error {
	var state, newest []byte
	torn := false
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		l, ok := quickLine(line)
		if last := len(rest) == 0; last || !ok {
			var err error
			l, err = decodeLine(line)
			if torn = last && (!ended || err != nil); torn {
				break
			}
		}
		if l.File == stateFile {
			state = line
		}
		a.note(l, span{a.size, a.size + int64(len(line))})
		newest, a.lastAt = line, a.size
		a.size += int64(len(line)) + 1
		data = rest
	}
	if newest != nil {
		a.sha = digest(newest)
		// Behind a torn line the one before it is the last, of which only the beginning was read.
		if l, err := decodeLine(newest); torn && err == nil {
			a.last = l
		}
	}
	err := a.decodeState(state)
	if torn {
		err = errors.Join(err, a.cut())
	}
	return err
}

func (a *auditLog) decodeState(line []byte) error {
	if line == nil {
		return nil
	}
	l, err := decodeLine(line)
	if err != nil {
		return &formats.Failure{Code: formats.CodeInvalidState, Message: "the last line about " + stateFile + " in " + auditFile + " cannot be read", Err: err}
	}
	a.lastState = l
	return nil
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
	// What these lines mean does not stand at their beginning.
	whole := l.Kind == lineGroup || l.Kind == lineRotated || l.Kind == lineAborted && l.Txn == ""
	return l, !whole
}

// note takes the meaning of a line.
func (a *auditLog) note(l auditLine, at span) {
	a.last = l
	a.lines++
	a.high = max(a.high, l.Serial)
	switch l.Kind {
	case lineWrite, lineGroup:
		for _, txn := range l.txns() {
			a.txns[txn] = at
		}
	case lineAborted:
		for _, txn := range l.txns() {
			delete(a.txns, txn)
			if a.from > 0 {
				a.undone[txn] = true
			}
		}
	case lineRotated:
		a.segments = l.Segment
	}
	if l.File == stateFile {
		a.lastState, a.stateAt = l, a.lines
	}
}

// cut drops what follows the last sound line.
func (a *auditLog) cut() error {
	if err := atomicfile.Cut(a.root, auditFile, a.size); err != nil {
		return ioFailure("cutting the torn last line of", auditFile, err)
	}
	return nil
}

// append writes a line and makes it durable.
func (a *auditLog) append(l auditLine) error {
	l.Prev = a.sha
	raw, err := l.encode()
	if err != nil {
		return &formats.Failure{Code: formats.CodeBug, Message: "encoding an audit line", Err: err}
	}
	err = atomicfile.Append(a.root, auditFile, append(raw, '\n'), 0)
	var info fs.FileInfo
	if err == nil {
		info, err = a.root.Stat(auditFile)
	}
	if err != nil {
		// What of the line is on disk is not known; the next refresh looks, and the next write cuts a torn line off.
		a.info = nil
		return ioFailure("writing", auditFile, err)
	}
	a.there, a.info = true, info
	start := a.size
	a.size += int64(len(raw)) + 1
	a.sha, a.lastAt = digest(raw), start
	a.note(l, span{start, a.size - 1})
	return nil
}

// answer gives the result of a transaction that the log holds.
func (a *auditLog) answer(txn string) (Result, bool, error) {
	at, ok := a.txns[txn]
	if !ok && a.from > 0 {
		if err := a.readHead(); err != nil {
			return Result{}, false, err
		}
		at, ok = a.txns[txn]
	}
	if !ok {
		return a.answerOld(txn)
	}
	f, err := a.root.Open(auditFile)
	if err != nil {
		return Result{}, false, ioFailure("reading", auditFile, err)
	}
	raw := make([]byte, at.end-at.start)
	n, err := f.ReadAt(raw, at.start)
	if closing := f.Close(); n < len(raw) {
		return Result{}, false, ioFailure("reading", auditFile, errors.Join(err, closing))
	}
	l, err := decodeLine(raw)
	one, found := l.member(txn)
	if err != nil || !found {
		return Result{}, false, &formats.Failure{Code: formats.CodeInvalidState, Message: "the line of transaction " + txn + " in " + auditFile + " cannot be read", Err: err}
	}
	return one.result(), true, nil
}

// result is the answer that the transaction of a line gets when it is asked for again.
func (l *auditLine) result() Result {
	return Result{Serial: l.Serial, Txn: l.Txn, Numbers: l.Numbers, Verdicts: l.Verdicts, Changed: true, Replayed: true}
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

// lastStateLine gives the last line about state.json.
func lastStateLine(data []byte) auditLine {
	var out auditLine
	for line := range bytes.Lines(data) {
		if l, err := decodeLine(bytes.TrimSuffix(line, []byte("\n"))); err == nil && l.File == stateFile {
			out = l
		}
	}
	return out
}
