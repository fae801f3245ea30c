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
// It finds a recorded entry by type, step path, attempt and key, and equal ones by their order. It
// compares such an entry with the new one and does not write it again. A resumed run thus makes all
// decisions again with the same code and takes answers from the journal.
type Ledger struct {
	// Accepted are files that changed since the run began, with the hashes that the user accepted
	// before.
	Accepted map[string]string

	w *Writer
	// pendingResume is recorded before the first new entry of a resumed run; nil if it was recorded
	// or the run is new.
	pendingResume map[string]any
	finished      atomic.Bool
	resumable     atomic.Bool // see Resumable
	suspended     bool        // the last process suspended the run
	everKilled    bool        // a process of the run ended without that

	mu        sync.Mutex
	entries   []pastEntry
	unreached int // number of entries that the replay has not reached
	// first is the index of the oldest entry of a step that was not consumed.
	first     map[string]int
	nested    map[string][]int // by delegation: indexes of the entries of the subagent's own steps
	stoppedAt int              // index of the entry stopped; -1: none
}

// pastEntry is what a Ledger needs of a record. There may be many thousand.
type pastEntry struct {
	kind      formats.EntryType
	step, key string
	data      json.RawMessage // nil once it was consumed
	attempt   int32
	seq       int32
	next      int32 // index of the step's next unconsumed entry; 0: none
	unreached bool  // the replay has not reached it
}

// matches reports whether a new entry corresponds to the recorded one.
func (p pastEntry) matches(e formats.Entry) bool {
	return p.kind == e.Type && p.key == e.Key && int(p.attempt) == e.Attempt
}

// NewLedger makes a ledger from the records of a run, none for a new one; w writes new entries.
// Before the first new entry of a resumed run it records who resumed it. A stopped run continues if
// its Error Handling has not begun, unless keepStopped is set.
func NewLedger(w *Writer, records []Record, who map[string]any, keepStopped bool) *Ledger {
	l := &Ledger{
		w:         w,
		first:     map[string]int{},
		nested:    map[string][]int{},
		stoppedAt: -1,
	}
	if n := len(records); n > 0 {
		l.pendingResume = who
		l.suspended = records[n-1].Type == formats.EntrySuspended
		l.everKilled = !l.suspended
	}

	for i, r := range records {
		if r.Type == formats.EntryResumed && i > 0 {
			l.everKilled = l.everKilled || records[i-1].Type != formats.EntrySuspended
		}
	}

	l.Accepted, _ = Accepted(records)
	records = currentRecords(records)
	l.resumable.Store(slices.ContainsFunc(records, func(r Record) bool {
		return makesResumable(r.Entry)
	}))

	l.entries = make([]pastEntry, len(records))
	for i, r := range slices.Backward(records) {
		switch {
		case isProcessEntry(r.Type), r.Type == formats.EntryStopped && i == len(records)-1 &&
			!keepStopped:
			continue
		case r.Type == formats.EntryStopped && l.stoppedAt < 0:
			l.stoppedAt = i
		}
		l.entries[i] = pastEntry{
			kind:      r.Type,
			step:      r.Step,
			key:       r.Key,
			data:      r.Raw(),
			attempt:   int32(r.Attempt),
			seq:       int32(r.Seq),
			next:      int32(l.first[r.Step]),
			unreached: true,
		}
		l.first[r.Step] = i
		l.unreached++
		if outer := enclosingCall(r.Step + "/"); outer != "" { // including its own start and finish
			l.nested[outer] = append(l.nested[outer], i)
		}
	}

	return l
}

// Accept records, with the next new entry, that the user accepts files that changed since the run
// began, by hash.
func (l *Ledger) Accept(changed map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := maps.Clone(changed)
	who := map[string]any{}
	maps.Copy(who, l.pendingResume)
	if old, more := who["accepted"].(map[string]string); more { // accepted for another command file
		maps.Copy(all, old)
	}
	who["accepted"] = all
	l.pendingResume = who
}

// Accepted returns the files that were accepted so far, and how many records the run had before the
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
// nil Ledger reports false.
func (l *Ledger) Resumed() (resumed, killed bool) {
	resumed = l != nil && len(l.entries) > 0
	return resumed, resumed && !l.suspended
}

// EverKilled reports whether any process of the run so far ended without suspending it.
func (l *Ledger) EverKilled() bool {
	return l != nil && l.everKilled
}

// enclosingCall is the call that an entry belongs to: "phases#1[2]/run#1.1/" for
// "phases#1[2]/run#1.1/code#1". A call has its attempt after the visit; a step has no attempt.
func enclosingCall(step string) string {
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

// visitMark precedes the visit of a step in its path.
const visitMark = '#'

// isProcessEntry reports whether an entry is about a process and not a decision of the run.
func isProcessEntry(t formats.EntryType) bool {
	return t == formats.EntrySuspended || t == formats.EntryResumed ||
		t == formats.EntryReopened || t == formats.EntryQueued
}

// Append makes an entry durable. If the journal already has it, it writes nothing and old is true.
// A *formats.DivergedError means that the entry differs from the recorded one, or that it is new
// while the journal has unreached entries. The latter is only checked with alone, when nothing runs
// in parallel. A new entry after the point where the run was stopped is a *formats.StoppedError.
func (l *Ledger) Append(ctx context.Context, e formats.Entry, alone bool) (old bool, err error) {
	l.mu.Lock()
	at, old := l.consumeEntry(e)
	switch {
	case old:
		err = l.compareEntry(l.takeEntry(at), e)
	case !isProcessEntry(e.Type), l.readOnly():
		err = l.checkNew(alone, fmt.Sprintf("%s of step '%s'", e.Type, e.Step))
	}
	defer func() { // only once written: a run whose end could not be written can be resumed
		if err == nil && e.Type == formats.EntryRunFinished && e.Step == "" {
			l.finished.Store(true)
		}
		if err == nil && !l.resumable.Load() && makesResumable(e) {
			l.resumable.Store(true)
		}
	}()
	who := l.pendingResume
	if old || err != nil {
		l.mu.Unlock()
		return old, err
	}

	l.pendingResume = nil
	l.mu.Unlock()
	if who != nil {
		err := l.w.Append(ctx, formats.Entry{Type: formats.EntryResumed, Data: who})
		if err != nil {
			return false, err
		}
	}
	return false, l.w.Append(ctx, e)
}

// Live declares that the run is about to do something that is not in the journal. Its errors are
// those of Append.
func (l *Ledger) Live(alone bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checkNew(alone, "something else")
}

// checkNew checks that the run may do what its journal does not have.
func (l *Ledger) checkNew(alone bool, what string) error {
	switch {
	case l.stoppedAt >= 0 && l.entries[l.stoppedAt].unreached:
		return l.stoppedError()
	case alone && l.unreached > 0:
		first := l.firstUnreached()
		return divergedError(
			first,
			fmt.Sprintf("%s of step '%s' was made here, and now %s comes",
				first.kind, first.step, what),
		)
	case l.readOnly():
		return &formats.EndError{Failure: formats.Fail(formats.CodeSuspended, "",
			"%s ends before %s", Name, what)}
	}
	return nil
}

// readOnly reports whether the journal is only verified: no entry is written and no effect may run.
func (l *Ledger) readOnly() bool {
	return l.w.open == nil
}

// Unreached is the divergence of a run that ended without reaching all recorded entries, or nil.
func (l *Ledger) Unreached() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stoppedAt >= 0 || l.unreached == 0 {
		return nil
	}
	first := l.firstUnreached()
	return divergedError(
		first,
		fmt.Sprintf("%s of step '%s' was made here, and is not made now", first.kind, first.step),
	)
}

// firstUnreached is the first entry that the replay has not reached.
func (l *Ledger) firstUnreached() pastEntry {
	return l.entries[slices.IndexFunc(l.entries, func(p pastEntry) bool { return p.unreached })]
}

// Finished reports whether the run has recorded its end.
func (l *Ledger) Finished() bool {
	return l.finished.Load()
}

// Resumable reports whether there is anything to resume: a step has finished, a gate was opened, or
// the run was queued.
func (l *Ledger) Resumable() bool {
	return l.resumable.Load()
}

// makesResumable reports whether an entry makes a run worth resuming.
func makesResumable(e formats.Entry) bool {
	if e.Type != formats.EntryStepFinished {
		return e.Type == formats.EntryGateOpened || e.Type == formats.EntryQueued
	}
	var step struct{ Status formats.Outcome }
	data, err := json.Marshal(e.Data)
	if err == nil {
		err = json.Unmarshal(data, &step)
	}
	return err == nil && step.Status != formats.OutcomeSkipped
}

// Recall returns the data of a recorded entry and consumes it.
func (l *Ledger) Recall(e formats.Entry) (data json.RawMessage, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.consumeEntry(e)
	if !ok {
		return nil, false
	}

	// the result includes the effects of its own steps
	if e.Type == formats.EntryDelegationResult && !l.readOnly() {
		for _, i := range l.nested[fmt.Sprintf("%s.%d/", e.Step, e.Attempt)] {
			l.markReached(i)
		}
	}
	return l.takeEntry(at).data, true
}

// consumeEntry returns the index of the oldest unconsumed entry that matches e.
func (l *Ledger) consumeEntry(e formats.Entry) (at int, ok bool) {
	before := -1
	for at, ok = l.first[e.Step]; ok && !l.entries[at].matches(e); ok = at > 0 {
		before = at
		at = int(l.entries[at].next)
	}
	if !ok {
		return 0, false
	}

	next := l.entries[at].next
	switch {
	case before >= 0:
		l.entries[before].next = next
	case next > 0:
		l.first[e.Step] = int(next)
	default:
		delete(l.first, e.Step)
	}

	l.markReached(at)
	if at == l.stoppedAt { // the replay does not reach what was in progress then
		for i := range at {
			l.markReached(i)
		}
	}
	return at, true
}

// markReached marks an entry as reached by the replay.
func (l *Ledger) markReached(at int) {
	if l.entries[at].unreached {
		l.entries[at].unreached = false
		l.unreached--
	}
}

// takeEntry returns a consumed entry and drops its data, which the run holds from here on: a long
// run would hold all of it twice.
func (l *Ledger) takeEntry(at int) pastEntry {
	p := l.entries[at]
	l.entries[at].data = nil
	return p
}

// compareEntry compares a recorded decision with the present one.
func (l *Ledger) compareEntry(p pastEntry, e formats.Entry) error {
	if err := l.w.mask(&e); err != nil {
		return err
	}
	now := Record{Entry: e}.Raw()
	if bytes.Equal(now, p.data) || equalData(p.kind, decodeJSON(p.data), decodeJSON(now)) {
		return nil
	}
	was := formats.Clip(string(p.data), maxQuoted)
	is := formats.Clip(string(now), maxQuoted)
	return divergedError(p, fmt.Sprintf("%s of step '%s' was %s and comes out as %s",
		p.kind, p.step, was, is))
}

// equalData compares the recorded data of an entry with the present one. The end of a run that an
// earlier version recorded has neither code nor text.
func equalData(kind formats.EntryType, recorded, now any) bool {
	then, isMap := recorded.(map[string]any)
	end, alike := now.(map[string]any)
	if isMap && alike && kind == formats.EntryRunFinished && then != nil {
		for _, name := range []string{"code", "text"} {
			if _, has := then[name]; !has {
				delete(end, name)
			}
		}
	}
	return reflect.DeepEqual(recorded, now)
}

// maxQuoted bounds how much of an entry an error shows.
const maxQuoted = 200

func divergedError(p pastEntry, what string) error {
	return &formats.DivergedError{Failure: formats.Fail(formats.CodeInvalidState,
		"nothing was done; type the line with --new to begin afresh",
		"%s:%d:1: %s", Name, p.seq, what)}
}

// stoppedError is the error with which the run was stopped.
func (l *Ledger) stoppedError() error {
	var f struct {
		Code          formats.Code
		Message, Help string
	}
	if err := json.Unmarshal(l.entries[l.stoppedAt].data, &f); err != nil {
		return divergedError(l.entries[l.stoppedAt], err.Error())
	}
	return &formats.StoppedError{Failure: formats.Fail(f.Code, f.Help, "%s", f.Message)}
}

// decodeJSON decodes JSON so that equal values compare as equal; no data is null.
func decodeJSON(data []byte) any {
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

// WorkingTime is the working time of all processes of the run, without the time between them and
// in a queue.
func WorkingTime(records []Record) (all time.Duration) {
	for i, r := range records {
		begins := r.Type == formats.EntryResumed || r.Type == formats.EntryReopened ||
			r.Type == formats.EntryWentBack
		if i > 0 && !begins && records[i-1].Type != formats.EntryQueued {
			all += r.Time.Sub(records[i-1].Time)
		}
	}
	return all
}

// Started returns the data of run_started. It refuses a journal of another format version.
func Started(records []Record) (formats.Started, error) {
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
		return s, damagedError(1, err.Error())
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

// End is how a run ended; ok is false if it did not.
func End(records []Record) (end formats.Finished, ok bool) {
	if !Finished(records) {
		return end, false
	}
	return end, json.Unmarshal(records[len(records)-1].Raw(), &end) == nil
}

// Finished reports whether the run has ended and was not reopened since.
func Finished(records []Record) (over bool) {
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
