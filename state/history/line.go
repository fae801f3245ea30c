package history

import (
	"encoding/json"
	"errors"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// The kinds of lines of the audit log.
const (
	KindInit  = "init"  // the state was created
	KindWrite = "write" // a transaction, written before its file is renamed into place
	// several transactions in one write, in logs of earlier versions
	KindGroup = "group"
	KindUndo  = "undo" // the same, of a transaction that undoes a run
	// the write-ahead line with the same txn and file was not carried out
	KindAborted  = "aborted"
	KindExternal = "external" // an external change was accepted
	KindAdopted  = "adopted"  // the same, accepted by the user
	KindRestored = "restored" // a backup was put back
	KindMerged   = "merged"   // conflict markers were resolved
	// a change while a worker ran; nothing is written until it is adopted or a backup restored
	KindDenied  = "denied"
	KindRotated = "rotated" // the log before it was moved into a segment
)

// The directions of a move between state.json and the archive.
const (
	MoveOut  = "archive"
	MoveBack = "unarchive"
)

// Line is one line of audit.jsonl.
type Line struct {
	Serial uint64 `json:"serial"`
	Txn    string `json:"txn"`
	Kind   string `json:"kind"`
	File   string `json:"file"` // relative to the project root
	// direction of a move of two files, empty for other writes
	Move string `json:"move,omitempty"`
	Time string `json:"time"`
	TxnInfo
	Added   []int         `json:"added,omitempty"`   // numbers that came into the file
	Removed []int         `json:"removed,omitempty"` // numbers that left the file
	Group   []groupMember `json:"group,omitempty"`   // the transactions of a group
	// number of segments before this file, on a rotated line
	Segment int `json:"segment,omitempty"`
	// edits that turn the file back into the previous one; nil: unknown
	Undo Edits  `json:"undo,omitzero"`
	Pre  string `json:"pre"`           // SHA-256 of the file before the write
	Post string `json:"post"`          // SHA-256 of the file after the write
	Prev string `json:"prev"`          // SHA-256 of the previous line
	Key  string `json:"key,omitempty"` // the id of the key that sealed the line
}

// TxnInfo is the part of a line that describes its transaction.
type TxnInfo struct {
	Session  string    `json:"session_id"`
	Run      string    `json:"run"`
	Force    bool      `json:"force,omitempty"`
	Ops      []any     `json:"ops,omitempty"`
	Numbers  []int     `json:"numbers,omitempty"` // created tasks
	Verdicts []Verdict `json:"verdicts,omitempty"`
}

// groupMember is one of several transactions that shared a line, in logs of earlier versions.
type groupMember struct {
	Txn string `json:"txn"`
	TxnInfo
}

// Edits are edits, each written as start, end and text.
type Edits []jsonx.Edit

// MarshalJSON writes the edits.
func (u Edits) MarshalJSON() ([]byte, error) {
	list := make([]any, len(u))
	for i, e := range u {
		list[i] = []any{e.Start, e.End, string(e.Text)}
	}
	return jsonx.Marshal(list, "")
}

// UnmarshalJSON reads the edits. Splice checks them.
func (u *Edits) UnmarshalJSON(src []byte) error {
	var list [][3]json.RawMessage
	err := json.Unmarshal(src, &list)

	*u = make(Edits, len(list))
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

// IsIntent reports whether the line is a write-ahead: the write may not have happened.
func (l *Line) IsIntent() bool {
	switch l.Kind {
	case KindWrite, KindUndo, KindGroup, KindRestored, KindMerged:
		return true
	}
	return false
}

// Transactions splits a line into one for each of its transactions.
func (l *Line) Transactions() []Line {
	if len(l.Group) == 0 {
		return []Line{*l}
	}

	out := make([]Line, len(l.Group))
	for i, one := range l.Group {
		out[i] = *l
		out[i].Txn = one.Txn
		out[i].TxnInfo = one.TxnInfo
		out[i].Group = nil
		if l.Kind == KindGroup {
			out[i].Kind = KindWrite
		}
	}
	return out
}

func decodeLine(src []byte) (l Line, err error) {
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

// Verdict is what happened to one task.
type Verdict struct {
	Op      string             `json:"op"`
	Task    int                `json:"task"`
	From    formats.TaskStatus `json:"from"` // empty for a created task
	To      formats.TaskStatus `json:"to"`   // equals From if the status stayed
	Changed bool               `json:"changed"`
}
