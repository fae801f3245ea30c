package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tercet/formats"
)

// Ledger is the journal of a run that runs from its beginning, for the first time or as a replay.
// It finds an earlier entry by type, step path, attempt and key, and equal ones by their order. It
// compares such an entry and does not write it twice. A resumed run thus makes all decisions again
// with the same code, and takes answers from the journal.
type Ledger struct {
	// files that changed since the run began, with the hashes that the user accepted before
	Accepted map[string]string

	w *Writer
	// resumed is written down of the process before the first new entry of a run that began before;
	// nil: it is.
	resumed map[string]any
	over    atomic.Bool
	kept    atomic.Bool // a step has finished, or a question was asked
	waited  bool        // the run was suspended

	mu    sync.Mutex
	lines []past
	left  int // how many of them the run has not come to
	// by step path the oldest entry that was not taken yet, by its place in lines
	first   map[string]int
	nested  map[string][]int // of the entries of a subagent's own steps, by the delegation
	stopped int              // place of the entry that the run was stopped; -1: none
}

// past is what a Ledger needs of a record. There may be many thousand.
type past struct {
	kind      formats.EntryType
	step, key string
	data      json.RawMessage // nil once it was taken
	attempt   int32
	seq       int32
	next      int32 // the next entry of the same step that was not taken yet; 0: none
	left      bool  // the run has not come to it
}

// about tells whether an entry is the same as one that was made before, or has to be.
func (p past) about(e formats.Entry) bool {
	return p.kind == e.Type && p.key == e.Key && int(p.attempt) == e.Attempt
}

// NewLedger starts with the records of a run, none for a new one; w writes new entries. Before the
// first new entry of a resumed run it records who resumed it. A stopped run continues if its Error
// Handling has not begun, unless it must stay stopped.
func NewLedger(w *Writer, records []Record, who map[string]any, stay bool) *Ledger {
	l := &Ledger{
		w:       w,
		first:   map[string]int{},
		nested:  map[string][]int{},
		stopped: -1,
	}
	if n := len(records); n > 0 {
		l.resumed = who
		l.waited = records[n-1].Type == formats.EntrySuspended
	}
	l.Accepted, _ = Accepted(records)
	records = course(records)
	l.kept.Store(slices.ContainsFunc(records, func(r Record) bool {
		return keeps(r.Entry)
	}))
	l.lines = make([]past, len(records))
	for i, r := range slices.Backward(records) {
		switch {
		case aside(r.Type), r.Type == formats.EntryStopped && i == len(records)-1 && !stay:
			continue
		case r.Type == formats.EntryStopped && l.stopped < 0:
			l.stopped = i
		}
		l.lines[i] = past{
			kind:    r.Type,
			step:    r.Step,
			key:     r.Key,
			data:    r.Raw(),
			attempt: int32(r.Attempt),
			seq:     int32(r.Seq),
			next:    int32(l.first[r.Step]),
			left:    true,
		}
		l.first[r.Step] = i
		l.left++
		if outer := delegation(r.Step + "/"); outer != "" { // its own beginning and end too
			l.nested[outer] = append(l.nested[outer], i)
		}
	}

	return l
}

// Accept writes down, with the next new entry, that the user accepts files that changed since the
// run began, by hash.
func (l *Ledger) Accept(changed map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := maps.Clone(changed)
	who := map[string]any{}
	maps.Copy(who, l.resumed)
	if old, more := who["accepted"].(map[string]string); more { // those of another file
		maps.Copy(all, old)
	}
	who["accepted"] = all
	l.resumed = who
}

// Accepted gives the files that were accepted so far, and how many records the run had before the
// last time.
func Accepted(records []Record) (files map[string]string, before int) {
	files = map[string]string{}
	for i, r := range records {
		var who struct{ Accepted map[string]string }
		if r.Type == formats.EntryResumed && json.Unmarshal(r.Raw(), &who) == nil &&
			len(who.Accepted) > 0 {
			maps.Copy(files, who.Accepted)
			before = i
		}
	}
	return files, before
}

// Resumed reports whether another process began the run, and whether its last process was killed. A
// nil Ledger is no run.
func (l *Ledger) Resumed() (resumed, killed bool) {
	resumed = l != nil && len(l.lines) > 0
	return resumed, resumed && !l.waited
}

// delegation is the call in whose steps an entry stands: "phases#1[2]/run#1.1/" of
// "phases#1[2]/run#1.1/code#1". A call has its attempt behind the visit, which no step has.
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
func aside(t formats.EntryType) bool {
	return t == formats.EntrySuspended || t == formats.EntryResumed || t == formats.EntryReopened
}

// Append makes an entry durable; if the run made it before, it writes nothing and old is true. A
// *formats.DivergedError means that the entry differs from the journal's, or that it is new while
// the journal has unreached entries. The latter only counts with alone: nothing runs in parallel. A
// new entry after the point where the run was stopped is a *formats.StoppedError.
func (l *Ledger) Append(ctx context.Context, e formats.Entry, alone bool) (old bool, err error) {
	l.mu.Lock()
	at, old := l.take(e)
	switch {
	case old:
		err = l.compare(l.told(at), e)
	case !aside(e.Type), l.looks():
		err = l.news(alone, fmt.Sprintf("%s of step '%s'", e.Type, e.Step))
	}
	defer func() { // a run whose end could not be written can be resumed
		if err == nil && e.Type == formats.EntryRunFinished && e.Step == "" {
			l.over.Store(true)
		}
		if err == nil && !l.kept.Load() && keeps(e) {
			l.kept.Store(true)
		}
	}()
	who := l.resumed
	if old || err != nil {
		l.mu.Unlock()
		return old, err
	}

	l.resumed = nil
	l.mu.Unlock()
	if who != nil {
		err := l.w.Append(ctx, formats.Entry{Type: formats.EntryResumed, Data: who})
		if err != nil {
			return false, err
		}
	}
	return false, l.w.Append(ctx, e)
}

// Live declares that the run now does something new. Its errors are those of Append.
func (l *Ledger) Live(alone bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.news(alone, "something else")
}

// news tells whether the run may do what its journal does not have.
func (l *Ledger) news(alone bool, what string) error {
	switch {
	case l.stopped >= 0 && l.lines[l.stopped].left:
		return l.stop()
	case alone && l.left > 0:
		first := l.unmet()
		return diverged(
			first,
			fmt.Sprintf("%s of step '%s' was made here, and now %s comes",
				first.kind, first.step, what),
		)
	case l.looks():
		return &formats.EndError{Failure: formats.Fail(formats.CodeSuspended, "",
			"%s ends before %s", Name, what)}
	}
	return nil
}

// looks tells that nothing may be done: the journal is only held against what comes out.
func (l *Ledger) looks() bool {
	return l.w.open == nil
}

// Rest is the difference of a run that ended without making all recorded entries; nil if it made
// all.
func (l *Ledger) Rest() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped >= 0 || l.left == 0 {
		return nil
	}
	first := l.unmet()
	return diverged(
		first,
		fmt.Sprintf("%s of step '%s' was made here, and is not made now", first.kind, first.step),
	)
}

// unmet is the first entry that the run has not come to.
func (l *Ledger) unmet() past {
	return l.lines[slices.IndexFunc(l.lines, func(p past) bool { return p.left })]
}

// Over reports whether the run has recorded its end.
func (l *Ledger) Over() bool {
	return l.over.Load()
}

// Resumable reports whether there is something to go on with: a step has finished, or a question
// was asked.
func (l *Ledger) Resumable() bool {
	return l.kept.Load()
}

// keeps tells an entry with which a run has come to something.
func keeps(e formats.Entry) bool {
	if e.Type != formats.EntryStepFinished {
		return e.Type == formats.EntryGateOpened
	}
	var step struct{ Status formats.Outcome }
	data, err := json.Marshal(e.Data)
	if err == nil {
		err = json.Unmarshal(data, &step)
	}
	return err == nil && step.Status != formats.OutcomeSkipped
}

// Recall gives the data of an earlier entry and consumes it.
func (l *Ledger) Recall(e formats.Entry) (data json.RawMessage, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.take(e)
	if !ok {
		return nil, false
	}
	if e.Type == formats.EntryDelegationResult && !l.looks() { // what its own steps did is in it
		for _, i := range l.nested[fmt.Sprintf("%s.%d/", e.Step, e.Attempt)] {
			l.met(i)
		}
	}
	return l.told(at).data, true
}

// take gives the oldest entry of its kind that was not taken yet.
func (l *Ledger) take(e formats.Entry) (at int, ok bool) {
	before := -1
	for at, ok = l.first[e.Step]; ok && !l.lines[at].about(e); ok = at > 0 {
		before = at
		at = int(l.lines[at].next)
	}
	if !ok {
		return 0, false
	}
	next := l.lines[at].next
	switch {
	case before >= 0:
		l.lines[before].next = next
	case next > 0:
		l.first[e.Step] = int(next)
	default:
		delete(l.first, e.Step)
	}
	l.met(at)
	if at == l.stopped { // what was under way then is not come to again
		for i := range at {
			l.met(i)
		}
	}
	return at, true
}

// met takes an entry as one that the run has come to.
func (l *Ledger) met(at int) {
	if l.lines[at].left {
		l.lines[at].left = false
		l.left--
	}
}

// told is an entry that was taken, whose data the run has from here on. A long run would else hold
// all of it twice.
func (l *Ledger) told(at int) past {
	p := l.lines[at]
	l.lines[at].data = nil
	return p
}

// compare holds what was decided against what is decided now.
func (l *Ledger) compare(p past, e formats.Entry) error {
	if err := l.w.mask(&e); err != nil {
		return err
	}
	now := Record{Entry: e}.Raw()
	if bytes.Equal(now, p.data) || reflect.DeepEqual(plainly(now), plainly(p.data)) {
		return nil
	}
	return diverged(p, fmt.Sprintf("%s of step '%s' was %s and comes out as %s", p.kind, p.step,
		formats.Clip(string(p.data), mostQuoted), formats.Clip(string(now), mostQuoted)))
}

// mostQuoted is how much of an entry an error shows.
const mostQuoted = 200

func diverged(p past, what string) error {
	return &formats.DivergedError{Failure: formats.Fail(formats.CodeInvalidState,
		"nothing was done; type the line with --new to begin afresh",
		"%s:%d:1: %s", Name, p.seq, what)}
}

// stop is the failure with which the run was stopped.
func (l *Ledger) stop() error {
	var f struct {
		Code          formats.Code
		Message, Help string
	}
	if err := json.Unmarshal(l.lines[l.stopped].data, &f); err != nil {
		return diverged(l.lines[l.stopped], err.Error())
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

// Spent is the working time of all processes of the run, without the time between them.
func Spent(records []Record) (all time.Duration) {
	for i, r := range records {
		begins := r.Type == formats.EntryResumed || r.Type == formats.EntryReopened ||
			r.Type == formats.EntryWentBack
		if i > 0 && !begins {
			all += r.Time.Sub(records[i-1].Time)
		}
	}
	return all
}

// Begun is the run_started data. It refuses a journal of another version.
func Begun(records []Record) (formats.Started, error) {
	var s formats.Started
	if len(records) == 0 || records[0].Type != formats.EntryRunStarted {
		return s, formats.Fail(
			formats.CodeNotFound,
			"run 'tercet runs' to list the runs",
			"the run has not begun",
		)
	}

	d := json.NewDecoder(bytes.NewReader(records[0].Raw()))
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		return s, damaged(1, err.Error())
	}

	form := strconv.Itoa(s.Format)
	known := strconv.Itoa(formats.JournalFormat)
	if f := formats.Newer(formats.CodePrecondition, Name, form, known); f != nil {
		if s.Version != "" {
			f.Message += " (" + s.Version + ")"
		}
		f.Message = Name + ":1:1: " + f.Message
		f.Help = f.Help + "; or type its line with --new"
		return s, f
	}
	if s.Format != formats.JournalFormat {
		return s, formats.Fail(formats.CodePrecondition,
			"type its line again to begin afresh",
			"%s:1:1: expected a journal of form %d, got form %d: another version of tercet "+
				"wrote it", Name, formats.JournalFormat, s.Format)
	}
	return s, nil
}

// Next is what a run that is over said to do next; empty if it did not.
func Next(records []Record) string {
	var end formats.Return
	if !Over(records) || json.Unmarshal(records[len(records)-1].Raw(), &end) != nil {
		return ""
	}
	return end.NextSteps
}

// Over reports whether the run has ended, and was not reopened since.
func Over(records []Record) (over bool) {
	for _, r := range records {
		switch {
		case r.Type == formats.EntryRunFinished && r.Step == "":
			over = true
		case r.Type == formats.EntryReopened:
			over = false
		}
	}
	return over
}
