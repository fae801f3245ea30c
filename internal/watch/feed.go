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

// row is a run as the list shows it.
type row struct {
	journal.Run

	state   state
	gate    *formats.Gate // that waits for an answer
	answer  string        // who gave it one that lies there until the run goes on, and which
	trouble string        // why its journal cannot be read
}

// state is how a run stands; the list is in this order.
type state int

const (
	asks state = iota // for an answer
	works
	rests // suspended, or its process is gone
	over
)

// word is what the list says of a run.
func (r row) word() string {
	switch {
	case r.answer != "":
		return "answered"
	case r.state == asks:
		return style.Asks
	case r.state == works:
		return style.AtWork
	case r.Status == journal.Open:
		return style.Gone
	}
	return r.Status
}

// news is what one look has found.
type news struct {
	rows   []row
	run    string // what follows is of it
	afresh bool   // all of it: nothing was seen of the run before
	events []trace.Event
	log    []string
	diff   string
	differ bool // the diff was looked at
	err    error
}

// feed reads what other processes write. It belongs to the look that runs, one at a time.
type feed struct {
	desk *control.Controller
	diff func(ctx context.Context, run string) (string, error)
	held map[string]*held

	run     string // what follows is of the run that is looked at
	log     *journal.Log
	said    []timed           // what agents do, until the log is looked at
	doing   map[string]string // what an agent does, by its step
	differs int               // looks until its diff is looked at again
}

func newFeed(c Config) *feed {
	return &feed{
		desk: c.Desk,
		diff: c.Diff,
		held: map[string]*held{},
	}
}

// held is what is known of a run.
type held struct {
	row           row
	shown         bool // it has a journal
	ended         bool // nothing more is to come
	live          bool // a process works on it
	journal, info stamp
}

// timed is a line of the log.
type timed struct {
	at   time.Time
	text string
}

// stamp tells whether a file is another than before.
type stamp struct {
	size int64
	at   time.Time
}

// Limits: finished runs in the list, bytes of a trace per read, and polls between two diffs.
const (
	mostOver   = 20
	mostTraces = 8
	rarely     = 3
)

// look reads what is new of all runs, and of the one that is looked at what the pane shows.
func (f *feed) look(ctx context.Context, run string, at pane) (n news) {
	ids, err := journal.IDs(f.desk.Root)
	n.err = err
	if err != nil {
		return n
	}

	finished := 0
	for _, id := range slices.Backward(ids) { // ids begin with their time
		h := f.held[id]
		if h == nil {
			h = &held{}
			f.held[id] = h
		}
		if !h.ended {
			f.update(h, id, finished >= mostOver)
		}
		if h.shown && (h.row.state != over || finished < mostOver) {
			n.rows = append(n.rows, h.row)
		}
		if h.ended {
			finished++
		}
	}

	slices.SortStableFunc(n.rows, func(a, b row) int {
		return cmp.Or(
			int(a.state-b.state),
			b.Started.Compare(a.Started),
			strings.Compare(b.ID, a.ID),
		)
	})
	if run == "" && len(n.rows) > 0 {
		run = n.rows[0].ID
	}
	n.run = run
	if run != "" {
		f.follow(ctx, &n, at)
	}
	return n
}

// update looks at a run that may go on. Of one that has ended before all that are shown nothing is
// read.
func (f *feed) update(h *held, id string, enough bool) {
	info, err := f.stamp(path.Join(journal.Folder, id, journal.LockName+".info"))
	_, unlocked := f.desk.Root.Lstat(journal.LockPath(id))
	if unlocked != nil && enough && !h.shown {
		h.ended = true
		return
	}

	now, jerr := f.stamp(path.Join(journal.Folder, id, journal.Name))
	if jerr != nil {
		return // it has not begun
	}
	changed := now != h.journal || err == nil && info != h.info
	if changed || h.live {
		// which writes who held the lock
		h.live = unlocked == nil && f.desk.Running(id)
		h.info, _ = f.stamp(path.Join(journal.Folder, id, journal.LockName+".info")) //nolint:errcheck // none: no process did
	}
	if now != h.journal {
		r, ok := journal.Summarize(f.desk.Root, id)
		if !ok {
			return
		}
		h.shown = true
		h.journal = now
		h.row = row{Run: r}
		if r.Status == journal.Open || r.Status == formats.OutcomeSuspended.String() {
			records, err := f.desk.Records(id)
			if err != nil {
				h.row.trouble = err.Error()
			} else {
				h.row.gate, _ = journal.Gates(records)
			}
		} else {
			h.row.state = over
			h.ended = true
			return
		}
	}
	h.row.answer = ""
	switch {
	case h.row.gate != nil:
		h.row.state = asks
		a, ok, err := f.desk.Answered(*h.row.gate)
		if !h.live && h.row.gate.Quorum <= 1 && ok && err == nil {
			h.row.state = rests
			h.row.answer = a.By + ": " + a.Answer
		}
	case h.live:
		h.row.state = works
	default:
		h.row.state = rests
	}
}

func (f *feed) stamp(name string) (stamp, error) {
	info, err := f.desk.Root.Lstat(name)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.Size(), info.ModTime()}, nil
}

// follow reads what is new of the run that is looked at.
func (f *feed) follow(ctx context.Context, n *news, at pane) {
	if n.run != f.run {
		f.run = n.run
		f.log = journal.NewLog(f.desk.Root, n.run, "")
		f.said = nil
		f.differs = 0
		f.doing = map[string]string{}
		n.afresh = true
	}
	var err error
	for range mostTraces {
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
		// else it has only used more
		if doing := live.Doing(e); doing != "" && doing != f.doing[e.Step] {
			f.doing[e.Step] = doing
			text := strings.Join(
				[]string{e.Time.Local().Format(time.TimeOnly), e.Name, e.Step, doing},
				"  ",
			)
			f.said = append(f.said[max(0, len(f.said)-mostLog):], timed{e.Time, plain.Line(text)})
		}
	}

	switch at {
	case paneLog:
		if n.log, err = f.logged(); err != nil {
			n.err = err
		}
	case paneDiff:
		f.differs--
		if f.differs < 0 {
			f.differs = rarely
			n.differ = true
			if n.diff, err = f.diff(ctx, n.run); err != nil {
				n.err = err
			}
			n.diff = plain.Text(f.desk.Mask.Values(n.diff))
		}
	case paneTree, paneGate:
	}
}

// logged gives what is new of the log: what 'tercet show --log' prints, and what agents do, by
// their times.
func (f *feed) logged() (out []string, err error) {
	events, _, err := f.log.Poll()
	list := f.said
	f.said = nil
	var at time.Time
	for _, e := range events {
		if !e.Time.IsZero() {
			at = e.Time // what an agent printed has none of its own
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

// isEvent tells a line that an agent printed for programs. What it says stands in the trace in
// words.
func isEvent(text string) bool {
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}
