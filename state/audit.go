package state

import (
	"encoding/json"
	"errors"

	"tercet/internal/jsonx"
)

// The kinds of lines of the audit log.
const (
	lineInit  = "init"  // the state was made
	lineWrite = "write" // a transaction, written before its file is renamed into place
	// several transactions that shared one write, in logs of earlier versions
	lineGroup = "group"
	lineUndo  = "undo" // the same, of a transaction that takes a run back
	// the write announced by the line with the same txn and file did not happen
	lineAborted  = "aborted"
	lineExternal = "external" // a change from outside was taken over
	lineAdopted  = "adopted"  // the same, accepted by the user
	lineRestored = "restored" // a backup was put back
	lineMerged   = "merged"   // conflict markers were resolved
	// a change while a worker ran; no write until it is adopted, or a backup is restored
	lineDenied  = "denied"
	lineRotated = "rotated" // the log before it was moved into a segment
)

// The directions of a move between state.json and the archive.
const (
	moveOut  = "archive"
	moveBack = "unarchive"
)

// auditLine is one line of audit.jsonl. Its first members are read alone where the rest says
// nothing more.
type auditLine struct {
	Serial uint64 `json:"serial"`
	Txn    string `json:"txn"`
	Kind   string `json:"kind"`
	File   string `json:"file"` // relative to the project root
	// direction of a move of two files, empty for other writes
	Move string `json:"move,omitempty"`
	Time string `json:"time"`
	about
	Added   []int    `json:"added,omitempty"`   // numbers that came into the file
	Removed []int    `json:"removed,omitempty"` // numbers that left the file
	Group   []member `json:"group,omitempty"`   // the transactions of a group
	// how many segments stand before this file, of a rotated line
	Segment int `json:"segment,omitempty"`
	// what turns the file back into the one before; nil: not known
	Undo undoing `json:"undo,omitzero"`
	Pre  string  `json:"pre"`           // the sha256 of the file before,
	Post string  `json:"post"`          // and after
	Prev string  `json:"prev"`          // that of the line before
	Key  string  `json:"key,omitempty"` // the id of the key that sealed the line
}

// about is what a line says of its transaction.
type about struct {
	Session  string    `json:"session_id"`
	Run      string    `json:"run"`
	Force    bool      `json:"force,omitempty"`
	Ops      []any     `json:"ops,omitempty"`
	Numbers  []int     `json:"numbers,omitempty"` // tasks made
	Verdicts []Verdict `json:"verdicts,omitempty"`
}

// member is one of several transactions that shared a line, in logs of earlier versions.
type member struct {
	Txn string `json:"txn"`
	about
}

// undoing are edits, each written as start, end and text.
type undoing []jsonx.Edit

// MarshalJSON writes the edits.
func (u undoing) MarshalJSON() ([]byte, error) {
	list := make([]any, len(u))
	for i, e := range u {
		list[i] = []any{e.Start, e.End, string(e.Text)}
	}
	return jsonx.Marshal(list, "")
}

// UnmarshalJSON reads the edits. Splice checks them.
func (u *undoing) UnmarshalJSON(src []byte) error {
	var list [][3]json.RawMessage
	err := json.Unmarshal(src, &list)
	*u = make(undoing, len(list))
	for i, e := range list {
		var text string
		err = errors.Join(
			err,
			json.Unmarshal(e[0], &(*u)[i].Start),
			json.Unmarshal(e[1], &(*u)[i].End),
			json.Unmarshal(e[2], &text),
		)
		(*u)[i].Text = []byte(text)
	}
	return err
}

// announces tells whether the line stands before a write that may not have happened.
func (l *auditLine) announces() bool {
	switch l.Kind {
	case lineWrite, lineUndo, lineGroup, lineRestored, lineMerged:
		return true
	}
	return false
}

// parts gives the line as one line for each of its transactions.
func (l *auditLine) parts() []auditLine {
	if len(l.Group) == 0 {
		return []auditLine{*l}
	}
	out := make([]auditLine, len(l.Group))
	for i, one := range l.Group {
		out[i] = *l
		out[i].Txn = one.Txn
		out[i].about = one.about
		out[i].Group = nil
		if l.Kind == lineGroup {
			out[i].Kind = lineWrite
		}
	}
	return out
}

func decodeLine(src []byte) (l auditLine, err error) {
	if err := json.Unmarshal(src, &l); err != nil {
		if _, wrong := jsonx.Parse(src, jsonx.Limits{}); wrong != nil {
			return l, wrong
		}
		return l, err
	}
	if l.Kind == "" {
		return l, errors.New("expected a line with serial and kind")
	}
	return l, nil
}

func textOf(v *jsonx.Value, key string) string {
	s, _ := v.Get(key).Str() // absent is empty
	return s
}
