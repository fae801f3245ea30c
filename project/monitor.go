package project

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/journal"
	"tercet/internal/order"
)

// RunState is a run with what it does now.
type RunState struct {
	Run    RunInfo
	State  State
	Gate   *formats.Gate // the open gate
	Live   bool          // a process works on it; false once it has ended
	Answer string        // an answer that waits until the run is resumed, and by whom
	// ReadError says why the journal cannot be read; the run then neither resumes nor takes
	// answers.
	ReadError string
}

// State is what a run does, in the order in which a person wants to see them.
type State int

// String is the state in one word.
func (s State) String() string {
	return [...]string{"asking", "running", "waiting", "finished"}[s]
}

// The states of a run.
const (
	StateAsking   State = iota // waits for an answer
	StateRunning               // a process works on it
	StateWaiting               // suspended, or its process is gone
	StateFinished              // has ended
)

// Monitor follows the runs of a project, also those of other processes. It reads only what has
// changed since the last time, so it may be asked often. It belongs to one goroutine.
type Monitor struct {
	// LookEvery is how often it looks whether the process of a run that does not change is still
	// there; zero: each time. Such a look takes a lock and searches all processes for who has it.
	LookEvery time.Duration

	project *Project
	runs    map[string]*monitoredRun
	queue   map[string]string // the places of runs that wait for their turn
}

// Monitor makes a monitor of the runs of the project.
func (p *Project) Monitor() *Monitor {
	return &Monitor{project: p, runs: map[string]*monitoredRun{}}
}

// monitoredRun is what a monitor knows of a run.
type monitoredRun struct {
	state       RunState
	hasJournal  bool
	ended       bool      // it will not change any more
	live        bool      // a process works on it
	checkedAt   time.Time // when that process was last looked for
	follower    *journal.Follower
	journalFile fileStamp
	lockFile    fileStamp
}

// fileStamp identifies a version of a file.
type fileStamp struct {
	size int64
	at   time.Time
}

// Runs gives the runs, those that need a person first, and of those that ended only the newest.
func (m *Monitor) Runs(finished int) ([]RunState, error) {
	ids, err := journal.IDs(m.project.Root)
	if err != nil {
		return nil, err
	}
	m.queue = m.project.queues()

	var list []RunState
	ended := 0
	for _, id := range slices.Backward(ids) { // ids begin with their time
		r := m.lookup(id)
		if r.ended && r.hasJournal && ended < finished && m.canGoOn(id) {
			r.ended = false // somebody goes back to one of its steps
		}
		if !r.ended {
			m.update(r, id, ended >= finished)
		}
		if r.hasJournal && (r.state.State != StateFinished || ended < finished) {
			list = append(list, r.state)
		}
		if r.ended {
			ended++
		}
	}

	order.Stable(list, Before)
	return list, nil
}

// Before orders runs: those that need a person first, then the newest.
func Before(a, b RunState) int {
	return cmp.Or(
		int(a.State-b.State),
		b.Run.Started.Compare(a.Run.Started),
		strings.Compare(b.Run.ID, a.Run.ID),
	)
}

// Run gives one run by its id, also one that ended long ago. It is false until the run is in its
// journal.
func (m *Monitor) Run(id string) (RunState, bool) {
	m.queue = m.project.queues()
	r := m.lookup(id)
	if r.ended && (!r.hasJournal || m.canGoOn(id)) {
		r.ended = false // not read yet, or somebody goes back to one of its steps
	}
	if !r.ended {
		m.update(r, id, false)
	}
	if !r.hasJournal {
		delete(m.runs, id)
	}
	return r.state, r.hasJournal
}

// lookup gives what the monitor knows of a run, which is nothing at first.
func (m *Monitor) lookup(id string) *monitoredRun {
	r := m.runs[id]
	if r == nil {
		r = &monitoredRun{}
		m.runs[id] = r
	}
	return r
}

// update reads a run that may have changed. It does not read one that has ended if enough of those
// are known.
func (m *Monitor) update(r *monitoredRun, id string, enough bool) {
	lockInfo := path.Join(journal.Folder, id, journal.LockName+".info")
	lockFile, lockErr := m.stamp(lockInfo)
	locked := m.canGoOn(id)
	if !locked && enough && !r.hasJournal {
		r.ended = true
		return
	}

	journalFile, err := m.stamp(path.Join(journal.Folder, id, journal.Name))
	if err != nil {
		return // not begun
	}

	now := m.project.Host.Clock.Now()
	grew := journalFile != r.journalFile
	checkProcess := func() {
		r.live = locked && m.project.AtWork(id) // which writes the info file anew
		r.checkedAt = now
		r.lockFile, _ = m.stamp(lockInfo) //nolint:errcheck // none: no process did
	}
	lockChanged := lockErr == nil && lockFile != r.lockFile
	lookDue := r.live && now.Sub(r.checkedAt) >= m.LookEvery
	if lockChanged || lookDue || grew && !r.live {
		checkProcess()
	}

	if grew {
		summary, ok := journal.Summarize(m.project.Root, id)
		if !ok {
			return
		}
		r.hasJournal = true
		r.journalFile = journalFile
		r.state = RunState{Run: summary}
		if summary.Status != journal.Open &&
			summary.Status != formats.OutcomeSuspended.String() {
			r.state.State = StateFinished
			r.follower = nil
			r.ended = true
			return
		}
		r.state.State = StateWaiting
		if r.follower == nil {
			r.follower = journal.NewFollower(m.project.Root, id, m.project.Control.Key(id))
		}
		if _, err := r.follower.Poll(); err != nil {
			r.follower = nil
			r.state.ReadError = err.Error()
		} else {
			r.state.Gate, _ = r.follower.Gates()
		}
	}

	if r.state.State == StateFinished {
		r.ended = true
		return
	}
	if r.live && r.state.Run.Status != journal.Open {
		checkProcess() // its process is about to leave it
	}

	m.setState(r)
}

// canGoOn reports whether a run has a lock file, as all have that can go on.
func (m *Monitor) canGoOn(id string) bool {
	_, err := m.project.Root.Lstat(journal.LockPath(id))
	return err == nil
}

// setState works out the state of a run that has not ended.
func (m *Monitor) setState(r *monitoredRun) {
	r.state.Answer = ""
	r.state.Live = r.live
	r.state.Run.Queue = m.queue[r.state.Run.ID]

	switch {
	case r.state.Gate != nil:
		r.state.State = StateAsking
		answer, ok, err := m.project.Control.Answered(*r.state.Gate)
		if !r.live && r.state.Gate.Quorum <= 1 && ok && err == nil {
			r.state.State = StateWaiting
			r.state.Answer = answer.By + ": " + answer.Answer
		}
	case r.live:
		r.state.State = StateRunning
	default:
		r.state.State = StateWaiting
	}
}

func (m *Monitor) stamp(name string) (fileStamp, error) {
	info, err := m.project.Root.Lstat(name)
	if err != nil {
		return fileStamp{}, err
	}
	return fileStamp{info.Size(), info.ModTime()}, nil
}
