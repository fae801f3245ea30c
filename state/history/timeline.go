package history

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/jsonx"
	"tercet/state/files"
	"tercet/state/statefile"
)

// Timeline is the sequence of states of state.json in the log, oldest first: one for each line.
type Timeline struct {
	segments []logSegment
	lines    []Line
	// anchors are the states whose bytes are on disk, by SHA-256: the file itself and the backups.
	anchors map[string][]byte
}

// Read reads the log and the backups.
func Read(root *os.Root) (_ *Timeline, err error) {
	c := &Timeline{anchors: map[string][]byte{}}
	c.segments, err = readSegments(root)
	if err != nil {
		return nil, err
	}

	for _, p := range c.segments {
		for l := range Lines(p.data) {
			n := len(c.lines)
			switch {
			case l.File != statefile.Path || l.Kind == KindRotated, l.Kind == KindDenied:
			case l.Kind == KindAborted:
				if n > 0 && c.lines[n-1].Post == l.Pre {
					c.lines = c.lines[:n-1]
				}
			default:
				c.lines = append(c.lines, *l)
			}
		}
	}

	src, err := files.ReadIfExists(root, statefile.Path, files.MaxState)
	if err != nil {
		return nil, err
	}
	if src != nil {
		c.anchors[formats.Sum(src)] = src
	}
	for _, src := range EachBackup(root) {
		c.anchors[formats.Sum(src)] = src
	}

	return c, nil
}

// hasUndo reports whether the state of a line can be derived from the state of the next line.
func (c *Timeline) hasUndo(i int) bool {
	return i+1 < len(c.lines) && c.lines[i+1].Undo != nil && c.lines[i+1].Pre == c.lines[i].Post
}

// reachable reports for each line whether its state can be reconstructed.
func (c *Timeline) reachable() []bool {
	out := make([]bool, len(c.lines))
	for i := len(c.lines) - 1; i >= 0; i-- {
		_, there := c.anchors[c.lines[i].Post]
		out[i] = there || c.hasUndo(i) && out[i+1]
	}
	return out
}

// serials lists the reconstructible serials as ranges: "3, 7-12".
func (c *Timeline) serials() string {
	readable := map[uint64]bool{}
	for i, ok := range c.reachable() {
		if ok {
			readable[c.lines[i].Serial] = true
		}
	}

	for _, src := range c.anchors {
		if doc, err := statefile.Parse(statefile.Path, src); err == nil {
			readable[doc.Serial] = true
		}
	}

	var out []string
	list := slices.Sorted(maps.Keys(readable))
	from := 0
	for i, n := range list {
		switch {
		case i+1 < len(list) && list[i+1] == n+1:
			continue
		case i == from:
			out = append(out, fmt.Sprint(n))
		default:
			out = append(out, fmt.Sprintf("%d-%d", list[from], n))
		}
		from = i + 1
	}

	return strings.Join(out, ", ")
}

// At reconstructs state.json as of a serial. Every step back is checked against the SHA-256 in the
// log.
func (c *Timeline) At(serial uint64) ([]byte, error) {
	target := -1
	for i := range c.lines {
		if c.lines[i].Serial == serial {
			target = i
		}
	}

	if target < 0 { // not in the log, but perhaps in a file
		for _, src := range c.anchors {
			if doc, err := statefile.Parse(statefile.Path, src); err == nil &&
				doc.Serial == serial {
				return src, nil
			}
		}
		return nil, c.unreachable(serial)
	}

	from := target
	for c.anchors[c.lines[from].Post] == nil {
		if !c.hasUndo(from) {
			return nil, c.unreachable(serial)
		}
		from++
	}

	src := c.anchors[c.lines[from].Post]
	for ; from > target; from-- {
		old, err := jsonx.Splice(src, c.lines[from].Undo)
		if err != nil || formats.Sum(old) != c.lines[from-1].Post {
			return nil, &formats.Failure{
				Code: formats.CodeInvalidState,
				Message: fmt.Sprintf("the audit log does not lead back from serial %d to %d",
					c.lines[from].Serial, c.lines[from-1].Serial),
				Err:  err,
				Help: "look at it with: tercet state verify",
			}
		}
		src = old
	}

	return src, nil
}

func (c *Timeline) unreachable(serial uint64) error {
	help := "the serials that can be read are " + c.serials()
	if c.serials() == "" {
		help = "no earlier state can be read"
	}
	return formats.Fail(formats.CodeNotFound, help,
		"the state of serial %d cannot be read any more", serial)
}

// Entry is one line of the history.
type Entry struct {
	Serial    uint64           `json:"serial"`
	Time      string           `json:"time"`
	Kind      string           `json:"kind"`
	File      string           `json:"file"`
	Txn       string           `json:"txn"`
	Session   string           `json:"session_id"`
	Run       string           `json:"run"`
	Force     bool             `json:"force"`
	Ops       []any            `json:"ops"`
	Numbers   []int            `json:"numbers"` // created tasks
	Changes   []map[string]any `json:"changes"` // {op, task, from, to} of changed tasks
	Reachable bool             `json:"reachable"`
	tasks     []int
}

// About reports whether the entry concerns a task.
func (e *Entry) About(task int) bool {
	return slices.Contains(e.tasks, task)
}

// Summary describes the entry's change briefly.
func (e *Entry) Summary() string {
	var parts []string
	for _, c := range e.Changes {
		from := c["from"]
		to := c["to"]
		what := fmt.Sprintf("%v: %v", c["task"], c["op"])
		switch {
		case c["task"] == 0:
			what = fmt.Sprintf("%v", c["op"])
		case from == "":
			what = fmt.Sprintf("+%v", c["task"])
		case from != to:
			what = fmt.Sprintf("%v: %v -> %v", c["task"], from, to)
		}
		parts = append(parts, what)
	}

	if len(parts) == 0 && !strings.HasSuffix(e.File, "/state.json") {
		return e.File
	}
	if e.Force {
		parts = append(parts, "(forced)")
	}
	return strings.Join(parts, ", ")
}

// Entries returns the log, oldest first.
func (c *Timeline) Entries() []Entry {
	readable := map[string]bool{}
	for i, ok := range c.reachable() {
		readable[c.lines[i].Post] = ok
	}
	out := []Entry{}
	for _, p := range c.segments {
		for l := range Lines(p.data) {
			if l.Kind == KindRotated {
				continue
			}
			for _, one := range l.Transactions() {
				reachable := readable[l.Post] && l.File == statefile.Path && l.Kind != KindAborted
				out = append(out, entryOf(&one, reachable))
			}
		}
	}

	return out
}

func entryOf(l *Line, reachable bool) Entry {
	e := Entry{
		Serial:    l.Serial,
		Time:      l.Time,
		Kind:      l.Kind,
		File:      l.File,
		Txn:       l.Txn,
		Session:   l.Session,
		Run:       l.Run,
		Force:     l.Force,
		Ops:       append([]any{}, l.Ops...),
		Numbers:   append([]int{}, l.Numbers...),
		Changes:   []map[string]any{},
		Reachable: reachable,
	}
	for _, v := range l.Verdicts {
		e.tasks = append(e.tasks, v.Task)
		if v.Changed {
			e.Changes = append(e.Changes, map[string]any{
				"op":   v.Op,
				"task": v.Task,
				"from": v.From.String(),
				"to":   v.To.String(),
			})
		}
	}

	e.tasks = append(e.tasks, slices.Concat(l.Numbers, l.Removed)...)
	return e
}
