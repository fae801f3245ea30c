package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/journal"
	"tercet/internal/live"
	"tercet/internal/plain"
	"tercet/internal/style"
	"tercet/internal/trace"
)

// row is a run in the list.
type row struct {
	Run journal.Run

	state     state
	gate      *formats.Gate // the open gate
	answer    string        // an answer that waits until the run is resumed, and by whom
	readError string        // why its journal is unreadable
}

// state is the state of a run, in the order of the list.
type state int

const (
	asking state = iota // waiting for an answer
	running
	waiting // suspended, or its process is gone
	finished
)

// word is the state of a run in a word.
func (r row) word() string {
	switch {
	case r.answer != "":
		return "answered"
	case r.state == asking:
		return style.Asks
	case r.state == running:
		return style.AtWork
	case r.Run.Status == journal.Open:
		return style.Gone
	}
	return r.Run.Status
}

// update is the result of one poll.
type update struct {
	rows     []row
	run      string // the selected run, to which the fields below belong
	reset    bool   // the first poll of this run: replace everything
	events   []trace.Event
	log      []string
	diff     string
	diffRead bool // the diff was read
	err      error
}

// feed reads what other processes write. It belongs to the running poll, one at a time.
type feed struct {
	desk *control.Controller
	diff func(ctx context.Context, run string) (string, error)
	runs map[string]*runCache

	run            string // the selected run, to which the fields below belong
	log            *journal.Log
	actions        []timed           // actions of agents, until the log is shown
	doing          map[string]string // current action of an agent, by step
	pollsUntilDiff int               // polls until the diff is read again
}

func newFeed(c Config) *feed {
	return &feed{
		desk: c.Control,
		diff: c.Diff,
		runs: map[string]*runCache{},
	}
}

// runCache is the cached state of a run.
type runCache struct {
	row           row
	hasJournal    bool // it has a journal
	ended         bool // finished, nothing will change
	live          bool // a process works on it
	journal, info fileStamp
}

// timed is a line of the log.
type timed struct {
	at   time.Time
	text string
}

// fileStamp identifies a version of a file.
type fileStamp struct {
	size int64
	at   time.Time
}

// Limits: finished runs in the list, bytes of a trace per read, and polls between two diffs.
const (
	maxFinished   = 20
	maxTraceReads = 8
	diffInterval  = 3
)

// poll reads what is new of all runs, and for the selected run what the pane shows.
func (f *feed) poll(ctx context.Context, run string, at pane) (n update) {
	ids, err := journal.IDs(f.desk.Root)
	n.err = err
	if err != nil {
		return n
	}

	ended := 0
	for _, id := range slices.Backward(ids) { // ids begin with their time
		h := f.runs[id]
		if h == nil {
			h = &runCache{}
			f.runs[id] = h
		}
		if !h.ended {
			f.update(h, id, ended >= maxFinished)
		}
		if h.hasJournal && (h.row.state != finished || ended < maxFinished) {
			n.rows = append(n.rows, h.row)
		}
		if h.ended {
			ended++
		}
	}

	slices.SortStableFunc(n.rows, func(a, b row) int {
		return cmp.Or(
			int(a.state-b.state),
			b.Run.Started.Compare(a.Run.Started),
			strings.Compare(b.Run.ID, a.Run.ID),
		)
	})
	if run == "" && len(n.rows) > 0 {
		run = n.rows[0].Run.ID
	}
	n.run = run
	if run != "" {
		f.follow(ctx, &n, at)
	}
	return n
}

// update reads a run that may have changed. It does not read finished runs that are too old to be
// shown.
func (f *feed) update(h *runCache, id string, enough bool) {
	info, err := f.fileStamp(path.Join(journal.Folder, id, journal.LockName+".info"))
	_, unlocked := f.desk.Root.Lstat(journal.LockPath(id))
	if unlocked != nil && enough && !h.hasJournal {
		h.ended = true
		return
	}

	now, jerr := f.fileStamp(path.Join(journal.Folder, id, journal.Name))
	if jerr != nil {
		return // not begun
	}
	changed := now != h.journal || err == nil && info != h.info
	if changed || h.live {
		// Running rewrites the info file of the lock
		h.live = unlocked == nil && f.desk.Running(id)
		info := path.Join(journal.Folder, id, journal.LockName+".info")
		h.info, _ = f.fileStamp(info) //nolint:errcheck // none: no process did
	}
	if now != h.journal {
		r, ok := journal.Summarize(f.desk.Root, id)
		if !ok {
			return
		}
		h.hasJournal = true
		h.journal = now
		h.row = row{Run: r}
		if r.Status == journal.Open || r.Status == formats.OutcomeSuspended.String() {
			records, err := f.desk.Records(id)
			if err != nil {
				h.row.readError = err.Error()
			} else {
				h.row.gate, _ = journal.Gates(records)
			}
		} else {
			h.row.state = finished
			h.ended = true
			return
		}
	}
	h.row.answer = ""
	switch {
	case h.row.gate != nil:
		h.row.state = asking
		a, ok, err := f.desk.Answered(*h.row.gate)
		if !h.live && h.row.gate.Quorum <= 1 && ok && err == nil {
			h.row.state = waiting
			h.row.answer = a.By + ": " + a.Answer
		}
	case h.live:
		h.row.state = running
	default:
		h.row.state = waiting
	}
}

func (f *feed) fileStamp(name string) (fileStamp, error) {
	info, err := f.desk.Root.Lstat(name)
	if err != nil {
		return fileStamp{}, err
	}
	return fileStamp{info.Size(), info.ModTime()}, nil
}

// follow reads what is new of the selected run.
func (f *feed) follow(ctx context.Context, n *update, at pane) {
	if n.run != f.run {
		f.run = n.run
		f.log = journal.NewLog(f.desk.Root, n.run, "")
		f.actions = nil
		f.pollsUntilDiff = 0
		f.doing = map[string]string{}
		n.reset = true
	}
	var err error
	for range maxTraceReads {
		lines, err := f.log.Trace()
		if err != nil {
			n.err = err
		}
		if len(lines) == 0 {
			break
		}
		n.events = slices.AppendSeq(n.events, trace.Lines(lines))
	}

	for i, e := range n.events {
		n.events[i].Run = n.run
		// otherwise only its usage changed
		if doing := live.Doing(e); doing != "" && doing != f.doing[e.Step] {
			f.doing[e.Step] = doing
			text := strings.Join(
				[]string{e.Time.Local().Format(time.TimeOnly), e.Name, e.Step, doing},
				"  ",
			)
			f.actions = append(
				f.actions[max(0, len(f.actions)-maxLog):], timed{e.Time, plain.Line(text)},
			)
		}
	}

	switch at {
	case paneLog:
		if n.log, err = f.newLog(); err != nil {
			n.err = err
		}
	case paneDiff:
		f.pollsUntilDiff--
		if f.pollsUntilDiff < 0 {
			f.pollsUntilDiff = diffInterval
			n.diffRead = true
			if n.diff, err = f.diff(ctx, n.run); err != nil {
				n.err = err
			}
			n.diff = plain.Text(f.desk.Mask.Values(n.diff))
		}
	case paneTree, paneGate:
	}
}

// newLog returns the new lines of the log: what 'tercet show --log' prints, and the actions of
// agents, by time.
func (f *feed) newLog() (out []string, err error) {
	events, _, err := f.log.Poll()
	list := f.actions
	f.actions = nil
	var at time.Time
	for _, e := range events {
		if !e.Time.IsZero() {
			at = e.Time // an agent's output has no time
		}
		if e.Type != journal.Output || !isEvent(e.Text) {
			list = append(list, timed{at, plain.Line(e.String())})
		}
	}
	slices.SortStableFunc(list, func(a, b timed) int {
		return a.at.Compare(b.at)
	})
	for _, one := range list {
		out = append(out, one.text)
	}
	return out, err
}

// isEvent reports whether an agent printed a line for programs. The trace has it in words.
func isEvent(text string) bool {
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}
