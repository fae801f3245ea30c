package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"tercet/formats"
)

// Ledger is the journal of a run that is gone through from its beginning, whether for the first time or again. An entry
// that the run made before is found by its type, step path, attempt and key, those alike by their order; it is compared
// and not written twice. So a run that is resumed decides everything anew by the same code, and takes from the journal
// what it cannot decide: what others answered.
type Ledger struct {
	w       *Writer
	records []Record
	resumed any // what is written down of the process before the first new entry of a run that began before; nil: it is
	over    bool

	mu      sync.Mutex
	pending map[string][]int // places in records by what an entry is about, oldest first
	nested  map[string][]int // of the entries of a subagent's own steps, by the delegation
	left    map[int]bool     // places that the run has not come to
	stopped int              // place of the entry that the run was stopped; -1: none
}

// NewLedger goes through the records of a run, none for a new one, and writes what is new by w. Before the first new
// entry of a run that began before it writes down who goes on with it. A run that was stopped goes on with its work if
// nothing came of that yet, unless it is to stay stopped.
func NewLedger(w *Writer, records []Record, who any, stay bool) *Ledger {
	records = course(records)
	l := &Ledger{
		w: w, records: records, pending: map[string][]int{}, nested: map[string][]int{}, left: map[int]bool{}, stopped: -1,
	}
	if len(records) > 0 {
		l.resumed = who
	}
	for i, r := range records {
		switch {
		case aside(r.Type):
			continue
		case r.Type == formats.EntryStopped && i == len(records)-1 && !stay:
			continue
		case r.Type == formats.EntryStopped:
			l.stopped = i
		}
		id := about(r.Entry)
		l.pending[id] = append(l.pending[id], i)
		l.left[i] = true
		if outer := delegation(r.Step + "/"); outer != "" { // its own beginning and end too
			l.nested[outer] = append(l.nested[outer], i)
		}
	}
	return l
}

// delegation is the call in whose steps an entry stands: "phases#1[2]/run#1.1/" of "phases#1[2]/run#1.1/code#1". A call
// has its attempt behind the visit, which no step has.
func delegation(step string) string {
	at := 0
	for part := range strings.SplitAfterSeq(step, "/") {
		at += len(part)
		visit := strings.IndexByte(part, visitMark)
		if visit >= 0 && strings.HasSuffix(part, "/") && strings.Contains(part[visit:], ".") {
			return step[:at]
		}
	}
	return ""
}

// visitMark stands before the visit of a step in its path.
const visitMark = '#'

// aside tells an entry that belongs to a process and not to what the run decides.
func aside(t formats.EntryType) bool { return t == formats.EntrySuspended || t == formats.EntryResumed }

func about(e formats.Entry) string {
	return strings.Join([]string{string(e.Type), e.Step, strconv.Itoa(e.Attempt), e.Key}, "\x00")
}

// Append makes an entry durable, unless the run made it before; old tells that. One that comes out otherwise, and a new
// one while the journal has others that the run has not come to, is a *formats.DivergedError; the latter only if the
// entry is made alone, with nothing that goes on beside it. A new one behind which the run was stopped is a
// *formats.StoppedError.
func (l *Ledger) Append(ctx context.Context, e formats.Entry, alone bool) (old bool, err error) {
	l.mu.Lock()
	at, old := l.take(about(e))
	switch {
	case old:
		err = l.compare(l.records[at], e)
	case !aside(e.Type), l.looks():
		err = l.news(alone, fmt.Sprintf("%s of step '%s'", e.Type, e.Step))
	}
	l.over = l.over || err == nil && e.Type == formats.EntryRunFinished && e.Step == ""
	who := l.resumed
	if old || err != nil {
		l.mu.Unlock()
		return old, err
	}
	l.resumed = nil
	l.mu.Unlock()
	if who != nil {
		if err := l.w.Append(ctx, formats.Entry{Type: formats.EntryResumed, Data: who}); err != nil {
			return false, err
		}
	}
	return false, l.w.Append(ctx, e)
}

// Live tells that something is done now that the journal does not have. Its errors are those of Append.
func (l *Ledger) Live(alone bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.news(alone, "something else")
}

// news tells whether the run may do what its journal does not have.
func (l *Ledger) news(alone bool, what string) error {
	switch {
	case l.stopped >= 0 && l.left[l.stopped]:
		return l.stop()
	case alone && len(l.left) > 0:
		first := l.records[least(l.left)]
		return l.diverged(first, fmt.Sprintf("%s of step '%s' was made here, and now %s comes",
			first.Type, first.Step, what))
	case l.looks():
		return &formats.EndError{Failure: formats.Fail(formats.CodeSuspended, "", "%s ends before %s", Name, what)}
	}
	return nil
}

// looks tells that nothing may be done: the journal is only held against what comes out.
func (l *Ledger) looks() bool { return l.w.open == nil }

// Rest is the difference of a run that came to its end, or to that of its journal, and did not make all entries; nil if
// it made all.
func (l *Ledger) Rest() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped >= 0 || len(l.left) == 0 {
		return nil
	}
	first := l.records[least(l.left)]
	return l.diverged(first, fmt.Sprintf("%s of step '%s' was made here, and is not made now", first.Type, first.Step))
}

// Over tells whether the run has written its end.
func (l *Ledger) Over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// Recall gives the data of an entry that the run made before, and takes it as made again.
func (l *Ledger) Recall(e formats.Entry) (data json.RawMessage, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.take(about(e))
	if !ok {
		return nil, false
	}
	if e.Type == formats.EntryDelegationResult && !l.looks() { // what its own steps did is in it
		for _, i := range l.nested[fmt.Sprintf("%s.%d/", e.Step, e.Attempt)] {
			delete(l.left, i)
		}
	}
	return l.records[at].raw(), true
}

// take gives the oldest entry of its kind that was not taken yet.
func (l *Ledger) take(id string) (at int, ok bool) {
	list := l.pending[id]
	if len(list) == 0 {
		return 0, false
	}
	l.pending[id] = list[1:]
	delete(l.left, list[0])
	if list[0] == l.stopped { // what was under way then is not come to again
		maps.DeleteFunc(l.left, func(at int, _ bool) bool { return at < l.stopped })
	}
	return list[0], true
}

// compare holds what was decided against what is decided now.
func (l *Ledger) compare(r Record, e formats.Entry) error {
	if err := l.w.mask(&e); err != nil {
		return err
	}
	now, before := Record{Entry: e}.raw(), r.raw()
	if bytes.Equal(now, before) || reflect.DeepEqual(plainly(now), plainly(before)) {
		return nil
	}
	return l.diverged(r, fmt.Sprintf("%s of step '%s' was %s and comes out as %s", r.Type, r.Step,
		formats.Clip(string(before), mostQuoted), formats.Clip(string(now), mostQuoted)))
}

// mostQuoted is how much of an entry an error shows.
const mostQuoted = 200

func (l *Ledger) diverged(r Record, what string) error {
	return &formats.DivergedError{Failure: formats.Fail(formats.CodeInvalidState,
		"nothing was done; type the line with --new to begin afresh", "%s:%d:1: %s", Name, r.Seq, what)}
}

// stop is the failure with which the run was stopped.
func (l *Ledger) stop() error {
	var f struct {
		Code          formats.Code
		Message, Help string
	}
	if err := json.Unmarshal(l.records[l.stopped].raw(), &f); err != nil {
		return l.diverged(l.records[l.stopped], err.Error())
	}
	return &formats.StoppedError{Failure: formats.Fail(f.Code, f.Help, "%s", f.Message)}
}

// plainly decodes JSON so that two texts of one value are equal; none is null.
func plainly(data []byte) any {
	if len(data) == 0 {
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(data)
	}
	return v
}

func least(set map[int]bool) int {
	first := -1
	for i := range maps.Keys(set) {
		if first < 0 || i < first {
			first = i
		}
	}
	return first
}

// Spent is how long processes have worked on the run: what passed between them does not count.
func Spent(records []Record) (all time.Duration) {
	for i, r := range records {
		if i > 0 && r.Type != formats.EntryResumed {
			all += r.Time.Sub(records[i-1].Time)
		}
	}
	return all
}

// Resumes counts how often the run was taken up again.
func Resumes(records []Record) (n int) {
	for _, r := range records {
		if r.Type == formats.EntryResumed {
			n++
		}
	}
	return n
}

// Begun is what the run began with. A journal of another form is refused.
func Begun(records []Record) (formats.Started, error) {
	var s formats.Started
	if len(records) == 0 || records[0].Type != formats.EntryRunStarted {
		return s, formats.Fail(formats.CodeNotFound, "run 'tercet runs' to list the runs", "the run has not begun")
	}
	d := json.NewDecoder(bytes.NewReader(records[0].raw()))
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		return s, damaged(1, err.Error())
	}
	form, known := strconv.Itoa(s.Format), strconv.Itoa(formats.JournalFormat)
	if f := formats.Newer(formats.CodePrecondition, Name, form, known); f != nil {
		if s.Version != "" {
			f.Message += " (" + s.Version + ")"
		}
		f.Message, f.Help = Name+":1:1: "+f.Message, f.Help+"; or type its line with --new"
		return s, f
	}
	if s.Format != formats.JournalFormat {
		return s, formats.Fail(formats.CodePrecondition, "type its line again to begin afresh",
			"%s:1:1: expected a journal of form %d, got form %d: another version of tercet wrote it", Name,
			formats.JournalFormat, s.Format)
	}
	return s, nil
}

// Over tells whether the run has ended.
func Over(records []Record) bool {
	for _, r := range records {
		if r.Type == formats.EntryRunFinished && r.Step == "" {
			return true
		}
	}
	return false
}
