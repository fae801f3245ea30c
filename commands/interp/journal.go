package interp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
)

// runJournal is the journal of a run and what the run knows of it. All sequences of steps share it;
// each has a cursor.
type runJournal struct {
	ctx    context.Context // does not end with the run: what was done is recorded all the same
	store  Journal
	off    bool   // nothing is read or written: a dry run
	prefix string // of the paths of a workflow subagent's steps

	begun      bool  // the first entry is there
	pastEnd    bool  // a resumed run has come to the end of its journal
	diverged   error // replay decided something else than the journal says; no effect may run
	unwritable bool  // an entry could not be written; the run goes on once there is room

	// past holds what a resumed run observed before its first entry; what was used is taken out.
	past []formats.Seen
	seen []formats.Seen // the same, of a new run

	// admit is called once, before the run does something new; nil: it was.
	admit func() error
	// takeOver is called once, before a resumed run does something new.
	takeOver func() error
	// pauseReason gives the reason for which nothing new may begin.
	pauseReason func() error
}

// write appends the answer of an effect. It is safe for concurrent use.
func (j *runJournal) write(e formats.Entry) error {
	_, err := j.store.Append(j.ctx, e, false)
	return err
}

// failed adds to an error that the journal gave that it is one of the journal. It remembers that
// the run diverged or that the journal cannot be written.
func (j *runJournal) failed(err error) error {
	if _, ok := errors.AsType[*formats.StoppedError](err); ok {
		return err
	}
	if isDiverged(err) {
		j.diverged = err
		return err
	}
	j.unwritable = true
	return fmt.Errorf("journal: %w", err)
}

// reachEnd is called before the first thing that the journal does not have. A resumed run then
// takes over its tasks.
func (j *runJournal) reachEnd() error {
	if err := j.enter(); err != nil {
		return err
	}
	if j.takeOver == nil || j.pastEnd {
		return nil
	}
	j.pastEnd = true
	j.diverged = j.takeOver()
	return j.diverged
}

// enter waits until the run may do something new.
func (j *runJournal) enter() error {
	admit := j.admit
	j.admit = nil
	if admit == nil {
		return nil
	}
	return admit()
}

// endsProcess reports whether an entry ends the work of a process on a run, for which nobody waits.
func endsProcess(t formats.EntryType) bool {
	return t == formats.EntrySuspended || t == formats.EntryStopped || t == formats.EntryRunFinished
}

// cursor is the place of one sequence of steps in the journal.
type cursor struct {
	log      *runJournal
	nested   bool // the sequence is a branch, so that other entries may come between its own
	replayed bool // what was decided last stood in the journal
}

// append makes an entry. If an earlier process of the run made it, the journal compares the two.
func (c *cursor) append(e formats.Entry) error {
	j := c.log
	if j.off {
		return nil
	}
	e.Step = cmp.Or(e.Step, strings.TrimSuffix(j.prefix, "/"))
	replayed, err := j.store.Append(j.ctx, e, !c.nested && j.prefix == "")
	c.replayed = replayed
	if err != nil {
		return j.failed(err)
	}
	if replayed {
		return nil
	}

	if endsProcess(e.Type) {
		j.admit = nil
	}
	return j.reachEnd()
}

// recall takes the data of an entry that an earlier process made.
func (c *cursor) recall(e formats.Entry, into any) (bool, error) {
	if c.log.off {
		return false, nil
	}
	found, err := c.lookup(e, into)
	c.replayed = found
	return found, err
}

// lookup is recall without a decision: replayed stays as it is.
func (c *cursor) lookup(e formats.Entry, into any) (bool, error) {
	if c.log.off {
		return false, nil
	}
	e.Step = cmp.Or(e.Step, strings.TrimSuffix(c.log.prefix, "/"))
	data, ok := c.log.store.Recall(e)
	if !ok {
		return false, nil
	}
	return true, read(data, into)
}

// live is called before the run does something that the journal does not have.
func (c *cursor) live(alone bool) error {
	c.replayed = false
	j := c.log
	if j.off {
		return nil
	}
	if err := j.store.Live(alone); err != nil {
		return j.failed(err)
	}
	if err := j.enter(); err != nil {
		return err
	}
	if err := j.pauseReason(); err != nil {
		return err
	}
	return j.reachEnd()
}

// read decodes the data of an entry. Numbers stay as they are written.
func read(data []byte, into any) error {
	if len(data) == 0 || into == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// observe reads something from the project, and journals it. A run that is resumed gets what it
// read then. What is read before the first entry is kept in that entry.
func observe[T any](
	fr frame,
	step, key string,
	readNow func() (T, error),
) (out T, err error) {
	j := fr.journal.log
	if j.off || fr.freshReads {
		return readNow()
	}
	if !j.begun {
		return observeEarly(j, key, readNow)
	}

	e := formats.Entry{
		Type: formats.EntryObserved,
		Step: step,
		Key:  key,
	}
	if found, err := fr.journal.recall(e, &out); found || err != nil {
		return out, err
	}

	// without this the task would be read without the lease of this run
	if err := j.reachEnd(); err != nil {
		return out, err
	}
	out, err = readNow()
	if err != nil {
		return out, err
	}

	e.Data = out
	return out, fr.journal.append(e)
}

// observeEarly is observe before the first entry.
func observeEarly[T any](j *runJournal, key string, readNow func() (T, error)) (out T, err error) {
	at := slices.IndexFunc(j.past, func(s formats.Seen) bool { return s.Key == key })
	if at >= 0 {
		value := j.past[at].Value
		j.past = slices.Delete(j.past, at, at+1)
		data, err := json.Marshal(value)
		if err != nil {
			return out, err
		}
		return out, read(data, &out)
	}

	out, err = readNow()
	if err == nil {
		j.seen = append(j.seen, formats.Seen{Key: key, Value: out})
	}
	return out, err
}
