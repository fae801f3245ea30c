package state

import (
	"errors"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// The kinds of lines of the audit log.
const (
	lineInit     = "init"     // the state was made
	lineWrite    = "write"    // a transaction, written before its file is renamed into place
	lineGroup    = "group"    // several transactions of one process that shared one write
	lineAborted  = "aborted"  // the write announced by the line with the same txn and file did not happen
	lineExternal = "external" // a change from outside was taken over
	lineAdopted  = "adopted"  // the same, accepted by a person
	lineRestored = "restored" // a backup was put back
	lineMerged   = "merged"   // conflict markers were resolved
	lineRotated  = "rotated"  // the log before it was moved into a segment
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
	Group        []member     // the transactions that shared the write, of a group and of its abort
	Segment      int          // how many segments stand before this file, of a rotated line
	Undo         []jsonx.Edit // what turns the file after the write into the one before it; nil if it is not known
	Pre, Post    string       // sha256 of the file before and after
	Prev         string       // sha256 of the line before
}

// member is one transaction of a group.
type member struct {
	Txn, Session, Run string
	Force             bool
	Ops               []any
	Numbers           []int
	Verdicts          []Verdict
}

// announces tells whether the line stands before a write that may not have happened.
func (l *auditLine) announces() bool {
	return l.Kind == lineWrite || l.Kind == lineGroup || l.Kind == lineRestored || l.Kind == lineMerged
}

// txns lists the transactions of the line.
func (l *auditLine) txns() []string {
	if len(l.Group) == 0 {
		if l.Txn == "" {
			return nil
		}
		return []string{l.Txn}
	}
	out := make([]string, len(l.Group))
	for i := range l.Group {
		out[i] = l.Group[i].Txn
	}
	return out
}

// member gives one transaction of the line as a line of its own.
func (l *auditLine) member(txn string) (auditLine, bool) {
	if len(l.Group) == 0 {
		return *l, l.Txn == txn
	}
	for _, m := range l.Group {
		if m.Txn == txn {
			out := *l
			out.Group = nil
			out.Txn, out.Session, out.Run, out.Force = m.Txn, m.Session, m.Run, m.Force
			out.Ops, out.Numbers, out.Verdicts = m.Ops, m.Numbers, m.Verdicts
			return out, true
		}
	}
	return auditLine{}, false
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
		o.Set("verdicts", verdictObjects(l.Verdicts))
	}
	if len(l.Group) > 0 {
		list := make([]any, len(l.Group))
		for i := range l.Group {
			list[i] = l.Group[i].object(l.Kind == lineAborted)
		}
		o.Set("group", list)
	}
	if l.Segment > 0 {
		o.Set("segment", l.Segment)
	}
	if l.Undo != nil {
		list := make([]any, len(l.Undo))
		for i, e := range l.Undo {
			list[i] = []any{e.Start, e.End, string(e.Text)}
		}
		o.Set("undo", list)
	}
	o.Set("pre", l.Pre).Set("post", l.Post).Set("prev", l.Prev)
	return jsonx.Marshal(o, "")
}

func verdictObjects(list []Verdict) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = new(jsonx.Object).Set("op", v.Op).Set("task", v.Task).Set("from", v.From.String()).Set("to", v.To.String()).Set("changed", v.Changed)
	}
	return out
}

// object gives a member as a line holds it; of an aborted one the id is enough.
func (m *member) object(idOnly bool) *jsonx.Object {
	o := new(jsonx.Object).Set("txn", m.Txn)
	if idOnly {
		return o
	}
	o.Set("session_id", m.Session).Set("run", m.Run)
	if m.Force {
		o.Set("force", true)
	}
	o.Set("ops", m.Ops)
	if len(m.Numbers) > 0 {
		o.Set("numbers", ints(m.Numbers))
	}
	return o.Set("verdicts", verdictObjects(m.Verdicts))
}

func decodeLine(src []byte) (auditLine, error) {
	v, err := jsonx.Parse(src, jsonx.Limits{})
	if err != nil {
		return auditLine{}, err
	}
	serial, ok := v.Get("serial").Int()
	if !ok || serial < 0 || v.Get("kind") == nil {
		return auditLine{}, errors.New("expected a line with serial and kind")
	}
	segment, _ := v.Get("segment").Int() // absent is zero
	one := decodeMember(v)
	l := auditLine{
		Serial: uint64(serial), Txn: one.Txn, Kind: textOf(v, "kind"), File: textOf(v, "file"), Move: textOf(v, "move"), Time: textOf(v, "time"),
		Session: one.Session, Run: one.Run, Force: one.Force, Ops: one.Ops, Numbers: one.Numbers, Verdicts: one.Verdicts,
		Added: intsOf(v, "added"), Removed: intsOf(v, "removed"), Segment: int(segment), Pre: textOf(v, "pre"), Post: textOf(v, "post"), Prev: textOf(v, "prev"),
	}
	if a := v.Get("group"); a.Is(jsonx.Array) {
		for _, e := range a.Elems {
			l.Group = append(l.Group, decodeMember(e))
		}
	}
	if a := v.Get("undo"); a.Is(jsonx.Array) {
		l.Undo = make([]jsonx.Edit, 0, len(a.Elems))
		for _, e := range a.Elems {
			if !e.Is(jsonx.Array) || len(e.Elems) != 3 {
				return auditLine{}, errors.New("expected undo of start, end and text")
			}
			start, _ := e.Elems[0].Int() // Splice refuses what does not fit
			end, _ := e.Elems[1].Int()   // the same
			text, _ := e.Elems[2].Str()  // the same
			l.Undo = append(l.Undo, jsonx.Edit{Start: int(start), End: int(end), Text: []byte(text)})
		}
	}
	return l, nil
}

func textOf(v *jsonx.Value, key string) string {
	s, _ := v.Get(key).Str() // absent is empty
	return s
}

func intsOf(v *jsonx.Value, key string) []int {
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

func decodeMember(v *jsonx.Value) member {
	force, _ := v.Get("force").Bool() // absent is false
	m := member{Txn: textOf(v, "txn"), Session: textOf(v, "session_id"), Run: textOf(v, "run"), Force: force, Numbers: intsOf(v, "numbers")}
	if a := v.Get("ops"); a.Is(jsonx.Array) {
		for _, e := range a.Elems {
			m.Ops = append(m.Ops, e.Any())
		}
	}
	if a := v.Get("verdicts"); a.Is(jsonx.Array) {
		for _, e := range a.Elems {
			m.Verdicts = append(m.Verdicts, decodeVerdict(e))
		}
	}
	return m
}

func decodeVerdict(v *jsonx.Value) Verdict {
	op, from, to := textOf(v, "op"), textOf(v, "from"), textOf(v, "to")
	task, _ := v.Get("task").Int()    // absent is zero
	did, _ := v.Get("changed").Bool() // absent is false
	return Verdict{Op: op, Task: int(task), From: formats.TaskStatus(from), To: formats.TaskStatus(to), Changed: did}
}
