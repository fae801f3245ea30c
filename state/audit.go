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
	lineGroup    = "group"    // several transactions that shared one write, in logs of earlier versions
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
	about
	Serial  uint64
	Kind    string
	File    string // relative to the project root
	Move    string // direction of a move of two files, empty for other writes
	Time    string
	Added   []int        // numbers that came into the file
	Removed []int        // numbers that left the file
	Group   []about      // the transactions of a group
	Segment int          // how many segments stand before this file, of a rotated line
	Undo    []jsonx.Edit // what turns the file after the write into the one before it; nil if it is not known
	// Pre and Post are the sha256 of the file before and after, Prev is that of the line before.
	Pre, Post, Prev string
}

// about is what a line says of its transaction.
type about struct {
	Txn, Session, Run string
	Force             bool
	Ops               []any
	Numbers           []int // tasks made
	Verdicts          []Verdict
}

// announces tells whether the line stands before a write that may not have happened.
func (l *auditLine) announces() bool {
	return l.Kind == lineWrite || l.Kind == lineGroup || l.Kind == lineRestored || l.Kind == lineMerged
}

// parts gives the line as one line for each of its transactions.
func (l *auditLine) parts() []auditLine {
	if len(l.Group) == 0 {
		return []auditLine{*l}
	}
	out := make([]auditLine, len(l.Group))
	for i, one := range l.Group {
		out[i] = *l
		out[i].about, out[i].Group = one, nil
		if l.Kind == lineGroup {
			out[i].Kind = lineWrite
		}
	}
	return out
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
		out[i] = new(jsonx.Object).Set("op", v.Op).Set("task", v.Task).
			Set("from", v.From.String()).Set("to", v.To.String()).Set("changed", v.Changed)
	}
	return out
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
	l := auditLine{
		about: decodeAbout(v), Serial: uint64(serial), Kind: textOf(v, "kind"), File: textOf(v, "file"),
		Move: textOf(v, "move"), Time: textOf(v, "time"), Added: intsOf(v, "added"), Removed: intsOf(v, "removed"),
		Segment: int(segment), Pre: textOf(v, "pre"), Post: textOf(v, "post"), Prev: textOf(v, "prev"),
	}
	if a := v.Get("group"); a.Is(jsonx.Array) {
		for _, e := range a.Elems {
			l.Group = append(l.Group, decodeAbout(e))
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

func decodeAbout(v *jsonx.Value) about {
	force, _ := v.Get("force").Bool() // absent is false
	m := about{
		Txn: textOf(v, "txn"), Session: textOf(v, "session_id"), Run: textOf(v, "run"), Force: force,
		Numbers: intsOf(v, "numbers"),
	}
	if a := v.Get("ops"); a.Is(jsonx.Array) {
		for _, e := range a.Elems {
			m.Ops = append(m.Ops, e.Any())
		}
	}
	if a := v.Get("verdicts"); a.Is(jsonx.Array) {
		for _, e := range a.Elems {
			task, _ := e.Get("task").Int()    // absent is zero
			did, _ := e.Get("changed").Bool() // absent is false
			m.Verdicts = append(m.Verdicts, Verdict{
				Op: textOf(e, "op"), Task: int(task), From: formats.TaskStatus(textOf(e, "from")),
				To: formats.TaskStatus(textOf(e, "to")), Changed: did,
			})
		}
	}
	return m
}
