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
	"tercet/internal/jsonx"
)

// The kinds of lines of the audit log.
const (
	lineInit     = "init"     // the state was made
	lineWrite    = "write"    // a transaction, written before its file is renamed into place
	lineAborted  = "aborted"  // the write announced by the line with the same txn and file did not happen
	lineExternal = "external" // a change from outside was taken over
	lineAdopted  = "adopted"  // the same, accepted by a person
	lineRestored = "restored" // a backup was put back
)

// The directions of a move between state.json and the archive.
const (
	moveOut  = "archive"
	moveBack = "unarchive"
)

// auditLine is one line of audit.jsonl.
type auditLine struct {
	Serial       uint64
	Txn          string
	Kind         string
	File         string // relative to the project root
	Move         string // direction of a move of two files, empty for other writes
	Time         string
	Session, Run string
	Force        bool
	Ops          []any
	Numbers      []int // tasks made
	Added        []int // numbers that came into the file
	Removed      []int // numbers that left the file
	Verdicts     []Verdict
	Pre, Post    string // sha256 of the file before and after
	Prev         string // sha256 of the line before
}

func (l *auditLine) encode() ([]byte, error) {
	o := new(jsonx.Object).Set("serial", jsonNumber(l.Serial)).Set("txn", l.Txn).Set("kind", l.Kind).Set("file", l.File)
	if l.Move != "" {
		o.Set("move", l.Move)
	}
	o.Set("time", l.Time).Set("session_id", l.Session).Set("run", l.Run)
	if l.Force {
		o.Set("force", true)
	}
	if len(l.Ops) > 0 {
		o.Set("ops", l.Ops)
	}
	for _, list := range []struct {
		key  string
		list []int
	}{{"numbers", l.Numbers}, {"added", l.Added}, {"removed", l.Removed}} {
		if len(list.list) > 0 {
			o.Set(list.key, ints(list.list))
		}
	}
	if len(l.Verdicts) > 0 {
		list := make([]any, len(l.Verdicts))
		for i, v := range l.Verdicts {
			list[i] = new(jsonx.Object).Set("op", v.Op).Set("task", v.Task).Set("from", v.From.String()).Set("to", v.To.String()).Set("changed", v.Changed)
		}
		o.Set("verdicts", list)
	}
	o.Set("pre", l.Pre).Set("post", l.Post).Set("prev", l.Prev)
	return jsonx.Marshal(o, "")
}

func decodeLine(src []byte) (auditLine, error) {
	v, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		return auditLine{}, err
	}
	word := func(key string) string {
		s, _ := v.Get(key).Str() // absent is empty
		return s
	}
	list := func(key string) []int {
		a := v.Get(key)
		if !a.Is(jsonx.Array) {
			return nil
		}
		out := make([]int, 0, len(a.Elems))
		for _, e := range a.Elems {
			n, _ := e.Int() // the engine writes integers only
			out = append(out, int(n))
		}
		return out
	}
	serial, ok := v.Get("serial").Int()
	if !ok || serial < 0 || v.Get("kind") == nil {
		return auditLine{}, errors.New("expected a line with serial and kind")
	}
	force, _ := v.Get("force").Bool() // absent is false
	l := auditLine{
		Serial: uint64(serial), Txn: word("txn"), Kind: word("kind"), File: word("file"), Move: word("move"), Time: word("time"),
		Session: word("session_id"), Run: word("run"), Force: force, Numbers: list("numbers"), Added: list("added"),
		Removed: list("removed"), Pre: word("pre"), Post: word("post"), Prev: word("prev"),
	}
	if a := v.Get("verdicts"); a.Is(jsonx.Array) {
		for _, e := range a.Elems {
			l.Verdicts = append(l.Verdicts, decodeVerdict(e))
		}
	}
	return l, nil
}

func decodeVerdict(v *jsonx.Value) Verdict {
	op, _ := v.Get("op").Str()        // absent is empty
	from, _ := v.Get("from").Str()    // absent is empty
	to, _ := v.Get("to").Str()        // absent is empty
	task, _ := v.Get("task").Int()    // absent is zero
	did, _ := v.Get("changed").Bool() // absent is false
	return Verdict{Op: op, Task: int(task), From: formats.TaskStatus(from), To: formats.TaskStatus(to), Changed: did}
}

// auditLog is what this process knows of audit.jsonl. It is used only while the lock of the state is held; a later use reads
// what other processes appended since.
type auditLog struct {
	root  *os.Root
	there bool // the file exists
	info  fs.FileInfo
	size  int64 // how much of the file has been read: whole, sound lines
	last  auditLine
	sha   string // of the last line
	high  uint64 // the highest serial seen
	lines int
	txns  map[string]span // transactions that happened
	bad   int             // lines that could not be read
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
	}
	data, err := a.tail()
	if err != nil {
		return ioFailure("reading", auditFile, err)
	}
	a.there, a.info = true, info
	return a.read(data)
}

func (a *auditLog) tail() (data []byte, err error) {
	f, err := a.root.Open(auditFile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size()-a.size > maxAudit {
		return nil, fmt.Errorf("expected a regular file of at most %d bytes", maxAudit)
	}
	data = make([]byte, info.Size()-a.size)
	n, err := f.ReadAt(data, a.size)
	if n < len(data) {
		return nil, err
	}
	return data, nil
}

// read takes the lines in data, which begins at a.size. Only the last line and the last one about state.json are read in
// full; of the others their beginning is enough.
func (a *auditLog) read(data []byte) error {
	var state []byte
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return errors.Join(a.decodeState(state), a.cut())
		}
		line := data[:end]
		l, ok := quickLine(line)
		if last := end+1 == len(data); last || !ok {
			var err error
			l, err = decodeLine(line)
			if err != nil && last {
				return errors.Join(a.decodeState(state), a.cut())
			}
			if err != nil {
				a.bad++
			}
		}
		if l.File == stateFile {
			state = line
		}
		a.note(l, span{a.size, a.size + int64(end)})
		a.sha = digest(line)
		a.size += int64(end) + 1
		data = data[end+1:]
	}
	return a.decodeState(state)
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
	return l, true
}

// note takes the meaning of a line.
func (a *auditLog) note(l auditLine, at span) {
	a.last = l
	a.lines++
	a.high = max(a.high, l.Serial)
	switch l.Kind {
	case lineWrite:
		if l.Txn != "" {
			a.txns[l.Txn] = at
		}
	case lineAborted:
		delete(a.txns, l.Txn)
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
	a.sha = digest(raw)
	a.note(l, span{start, a.size - 1})
	return nil
}

// answer gives the result of a transaction that the log holds.
func (a *auditLog) answer(txn string) (Result, bool, error) {
	at, ok := a.txns[txn]
	if !ok {
		return Result{}, false, nil
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
	if err != nil || l.Txn != txn {
		return Result{}, false, &formats.Failure{Code: formats.CodeInvalidState, Message: "the line of transaction " + txn + " in " + auditFile + " cannot be read", Err: err}
	}
	return Result{Serial: l.Serial, Txn: txn, Numbers: l.Numbers, Verdicts: l.Verdicts, Changed: true, Replayed: true}, true, nil
}

// chainFault walks the log and gives the number of the first line that does not fit the one before it, 0 if all fit.
func chainFault(data []byte) (line int, what string) {
	prev := ""
	for n := 1; len(data) > 0; n++ {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return 0, ""
		}
		l, err := decodeLine(data[:end])
		if err != nil {
			return n, err.Error()
		}
		if l.Prev != prev {
			return n, "it does not follow from the line before it"
		}
		prev = digest(data[:end])
		data = data[end+1:]
	}
	return 0, ""
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
