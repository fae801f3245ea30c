package project

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tercet/formats"
	"tercet/internal/control"
	"tercet/internal/journal"
	"tercet/internal/trace"
	"tercet/subagents/worktree"
)

// Filter selects runs.
type Filter struct {
	Unfinished bool // only runs that can go on
	Closed     bool // only runs that Close suspended
	Most       int  // the newest ones; 0: all
}

// Runs lists the runs of the project, newest first. It skips folders that hold no journal.
func (p *Project) Runs(f Filter) ([]RunInfo, error) {
	list, err := p.listRuns(f)
	queue := p.queues()
	for i := range list {
		list[i].Queue = queue[list[i].ID]
	}
	return list, err
}

func (p *Project) listRuns(f Filter) ([]RunInfo, error) {
	list, err := journal.Runs(p.Root, f.Unfinished || f.Closed)
	if f.Closed {
		list = slices.DeleteFunc(list, func(r RunInfo) bool {
			return r.Why != formats.ReasonClosed
		})
	}
	if err == nil && f.Most > 0 {
		list = list[:min(len(list), f.Most)]
	}
	return list, err
}

// RunWithSteps is a run with the summaries of its steps.
type RunWithSteps struct {
	RunInfo

	Steps []StepInfo `json:"steps"`
}

// RunsWithSteps lists all runs with their steps, newest first. One that cannot be read is noted and
// left out.
func (p *Project) RunsWithSteps() ([]RunWithSteps, error) {
	list, err := p.Runs(Filter{})
	if err != nil {
		return nil, err
	}

	out := []RunWithSteps{}
	for _, r := range list {
		records, err := journal.Load(p.Root, r.ID)
		if err != nil {
			p.note("warning: run %s is left out: %s", r.ID, err)
			continue
		}
		steps := append([]StepInfo{}, journal.Steps(records)...)
		out = append(out, RunWithSteps{r, steps})
	}
	return out, nil
}

// Find finds a run by a beginning of its id.
func (p *Project) Find(word string) (RunInfo, error) {
	r, err := p.Control.Named(word)
	r.Queue = p.queues()[r.ID]
	return r, err
}

// AtWork reports whether a process works on a run.
func (p *Project) AtWork(run string) bool {
	return p.Control.Running(run)
}

// RunDetail is a run with what it did.
type RunDetail struct {
	Run    RunInfo    `json:"run"`
	Steps  []StepInfo `json:"steps"`
	Boards []Topic    `json:"boards"`
	// Told are the messages of the user to the run; those that wait come last.
	Told []RunMessage `json:"told"`
	// Resume is the line that goes on with a run that did not end; Next is what one that ended
	// recommends.
	Resume string        `json:"resume"`
	Next   string        `json:"next_steps"`
	Gate   *formats.Gate `json:"-"` // the open question
	// Follow is the FollowLine of a run that another process works on, so that Resume would be
	// refused; else it is empty.
	Follow string `json:"-"`
	// Reopen is the line that goes on with a failed run without repeating what was paid for; empty
	// if it cannot. ReopenDoes says what the line does, such as "go on and keep what is done".
	Reopen     string `json:"-"`
	ReopenDoes string `json:"-"`
}

// Detail reads the steps of a run from its journal. A damaged journal is an error with its place.
func (p *Project) Detail(run string) (RunDetail, error) {
	r, err := p.Find(run)
	if err != nil {
		return RunDetail{}, err
	}
	records, err := journal.Load(p.Root, r.ID)
	if err != nil {
		return RunDetail{Run: r}, err
	}

	end, _ := journal.End(records)
	d := RunDetail{
		Run:    r,
		Steps:  append([]StepInfo{}, journal.Steps(records)...),
		Boards: append([]Topic{}, journal.Topics(records)...),
		Next:   end.NextSteps,
	}

	if step := journal.ReopenStep(records); step != "" {
		d.Reopen = "tercet resume " + r.ID + " --from " + worktree.Quoted(step)
		d.ReopenDoes = "go on and keep what is done"
		if question := journal.RefusedQuestion(records); question != "" {
			d.ReopenDoes = "be asked '" + question + "' again and keep what is done"
		}
	}

	d.Told, err = p.Messages(r.ID)
	if err != nil {
		return d, err
	}
	if !journal.Finished(records) {
		d.Resume = "tercet resume " + r.ID
		if p.Control.RunsElsewhere(r.ID) {
			d.Follow = FollowLine(r.ID)
		}
	}
	d.Gate, _ = journal.Gates(records)
	return d, nil
}

// WorktreeChanges gives the changes in the worktree of a run: the files that changed, then the
// patch. It is empty if the run has none.
func (p *Project) WorktreeChanges(ctx context.Context, run string) (string, error) {
	dir := filepath.Join(p.Dir, formats.Workspace, formats.WorktreeFolder, run)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", nil //nolint:nilerr // the run has no worktree, or no longer
	}
	patch, stat, err := p.Changes(ctx, dir)
	if err != nil {
		return "", err
	}
	return p.Mask.Values(stat + "\n\n" + patch), nil
}

// Spent sums what the agents of the runs reported since a time (zero: all).
func (p *Project) Spent(since time.Time) ([]Spent, error) {
	return control.Sums(p.Control, since)
}

// Compare compares two runs by their journals, which must be complete. The ids are those of the
// runs that the words name; the difference is nil if there is none.
func (p *Project) Compare(first, second string) (ids [2]string, d *Difference, err error) {
	var records [2][]journal.Record
	for i, word := range []string{first, second} {
		r, list, err := p.Control.FindVerified(word)
		if err != nil {
			return ids, nil, err
		}
		ids[i] = r.ID
		records[i] = list
	}
	return ids, journal.Compare(records[0], records[1]), nil
}

// RunLog reads what a run wrote, and what is new since the last call. It belongs to one goroutine.
type RunLog struct {
	project *Project
	run     string
	step    string
	log     *journal.Log
}

// Log reads the log of a run, or of a step of it: an id, a place or a step path.
func (p *Project) Log(run, step string) *RunLog {
	return &RunLog{
		project: p,
		run:     run,
		step:    step,
		log:     journal.NewLog(p.Root, run, step),
	}
}

// Lines gives the new lines of the log, and whether the run has ended.
func (l *RunLog) Lines() (lines []LogLine, over bool, err error) {
	return l.log.Poll()
}

// maxTraceReads bounds how much of a trace one call of Events reads.
const maxTraceReads = 8

// Events gives the new events of the run.
func (l *RunLog) Events() ([]Event, error) {
	return l.EventsWith()
}

// EventsWith gives the new events whose line has one of the texts. The others are not decoded,
// which takes most of the time. No text: all.
func (l *RunLog) EventsWith(texts ...string) ([]Event, error) {
	var events []Event
	for range maxTraceReads {
		lines, err := l.log.Trace()
		if err != nil {
			return events, err
		}
		if len(lines) == 0 {
			break
		}
		for e := range trace.Lines(linesWith(lines, texts)) {
			e.Run = l.run
			events = append(events, e)
		}
	}
	return events, nil
}

// linesWith keeps the lines that have one of the texts; no text: all.
func linesWith(lines []byte, texts []string) []byte {
	if len(texts) == 0 {
		return lines
	}
	var kept []byte
	for line := range bytes.Lines(lines) {
		has := func(text string) bool { return bytes.Contains(line, []byte(text)) }
		if slices.ContainsFunc(texts, has) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// pollInterval is how often a run of another process is looked at.
const pollInterval = 200 * time.Millisecond

// Events gives the events of a run behind the first ones, and waits for more until the run has
// ended or the context ends. The run may be that of another process. An error is the last element.
func (p *Project) Events(ctx context.Context, run string, after int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		log := p.Log(run, "")
		finished := false
		for {
			wasFinished := finished
			_, ended, err := log.Lines()
			finished = finished || ended

			events, traceErr := log.Events()
			for _, e := range events {
				if after > 0 {
					after--
				} else if !yield(e, nil) {
					return
				}
			}
			if err = cmp.Or(err, traceErr); err != nil {
				yield(Event{}, err)
				return
			}
			// the last event comes after the end of the journal
			if wasFinished && len(events) == 0 {
				return
			}
			if p.Host.Clock.Sleep(ctx, pollInterval) != nil {
				return
			}
		}
	}
}

// CheckStep is an error that names the steps of the run if it has none of that name.
func (l *RunLog) CheckStep() error {
	records, err := journal.Load(l.project.Root, l.run)
	if err == nil {
		_, _, err = journal.StateAt(records, l.step)
	}
	return err
}

// QuotedDir is the project's folder as a word of a shell.
func (p *Project) QuotedDir() string { return worktree.Quoted(p.Dir) }
