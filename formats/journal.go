package formats

import "time"

// JournalFormat is the version of the journal format. tercet shows a journal of another version,
// but does not resume it.
const JournalFormat = 5

// EntryType names a record of a run's journal.
type EntryType string

// The records of a run's journal.
const (
	EntryRunStarted        EntryType = "run_started"
	EntryStepScheduled     EntryType = "step_scheduled"
	EntryStepFinished      EntryType = "step_finished"
	EntryDelegationStarted EntryType = "delegation_started"
	EntryBudgetReserved    EntryType = "budget_reserved" // the share of a worker, before it starts
	EntryDelegationResult  EntryType = "delegation_result"
	// a signal ended the worker; it is called again on resume
	EntryDelegationCut EntryType = "delegation_cut"
	// a value read from the state, a file or a tree
	EntryObserved    EntryType = "observed"
	EntryWaited      EntryType = "waited" // a wait ended
	EntryLoopEntered EntryType = "loop_entered"
	EntryGateOpened  EntryType = "gate_opened"
	EntryGateVoted   EntryType = "gate_voted" // one vote of a gate with a quorum
	// the shown content changed: the gate asks again
	EntryGateRefused EntryType = "gate_refused"
	EntryGateDecided EntryType = "gate_decided"
	EntryRedo        EntryType = "redo"
	EntryRollback    EntryType = "rollback"
	// the user went back to a step: later entries no longer count
	EntryWentBack EntryType = "went_back"
	EntryAsked    EntryType = "asked"
	// a worker named another next agent than the file
	EntryNextMismatch EntryType = "next_mismatch"
	EntryGoto         EntryType = "goto"
	EntryPosted       EntryType = "posted" // a posting on a board; the key is the topic
	// a worker at work put a text on its board
	EntryPublished EntryType = "published"
	EntryTold      EntryType = "told" // a worker that starts gets messages of the user
	// a worker of a step with `session: keep` starts in a session of its agent CLI
	EntryAgentSession   EntryType = "agent_session"
	EntryStateCommitted EntryType = "state_committed"
	// the user or the time limit stopped the run; Error Handling follows
	EntryStopped     EntryType = "stopped"
	EntrySuspended   EntryType = "suspended"
	EntryResumed     EntryType = "resumed"
	EntryQueued      EntryType = "queued" // the run waits for its turn; the next entry ends that
	EntryRunFinished EntryType = "run_finished"
	// the user goes on with a run that failed; went_back follows
	EntryReopened EntryType = "reopened"
)

// Entry is one record of a run. The journal adds sequence number, time and the hash of the previous
// line. Data must be marshalable as JSON.
type Entry struct {
	Type    EntryType `json:"type"`
	Step    string    `json:"step_path,omitempty"` // with visits: "phases#1[2]/commit#1"
	Attempt int       `json:"attempt,omitempty"`
	Key     string    `json:"key,omitempty"`
	Data    any       `json:"data,omitempty"`
}

// Started is the data of run_started: everything that is needed to run the line again.
type Started struct {
	Format  int       `json:"format"`
	Version string    `json:"tercet_version,omitempty"`
	At      time.Time `json:"started_at"`
	User    string    `json:"user,omitempty"`
	Session string    `json:"session_id"`
	Line    string    `json:"command"`
	// Raw and Words are the line as given: the text of the prompt, or the words of a shell.
	Raw   string   `json:"raw,omitempty"`
	Words []string `json:"words,omitempty"`
	Task  int      `json:"task,omitempty"` // the bound task
	// the line with several tasks that the run belongs to; nil: none
	Among *Among `json:"among,omitempty"`
	Depth int    `json:"depth"`
	// Definition is the hash of the command file. Files maps all other files that decide to their
	// hashes.
	Definition string            `json:"def_sha"`
	Files      map[string]string `json:"files,omitempty"`
	// digest of the project's instructions for agents; empty: there are none
	Instructions string `json:"instructions,omitempty"`
	// ids of the steps of the workflow, in order
	Steps   []string       `json:"steps,omitempty"`
	Args    map[string]any `json:"args"`
	Consent bool           `json:"auto_approve,omitempty"`
	// the auto-approve file; empty for --yes
	Agreed Consent `json:"auto_approve_file,omitzero"`
	Commit string  `json:"commit,omitempty"` // what the configuration says is committed
	// observations before the first step
	Seen []Seen `json:"seen,omitempty"`
}

// Among identifies a line with several tasks.
type Among struct {
	Line string `json:"command"`
	// Round is the same for all runs of the line until each of its tasks is done, also when the
	// line is typed again.
	Round string `json:"round"`
}

// Seen is one observation outside the run.
type Seen struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// Posting is one post of a step on a board.
type Posting struct {
	By        string     `json:"by"`
	Round     int        `json:"round"` // number of the step's results, from 1
	Summary   string     `json:"summary"`
	Issues    []Issue    `json:"issues"`
	Artifacts []Artifact `json:"artifacts"`
	// Published: its worker said so while it worked, before that result.
	Published bool `json:"published,omitempty"`
}

// Published is the data of published.
type Published struct {
	Text string `json:"text"`
}

// Posted is the data of posted. Version is the topic's version with this posting: its number of
// postings.
type Posted struct {
	Version int `json:"version"`
	Posting
}

// Message is what the user told a run while it was under way.
type Message struct {
	ID   string    `json:"id"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	// Channel is the frontend through which it came; empty for a terminal and the page.
	Channel string `json:"channel,omitempty"`
}

// Told is the data of told: the messages that a worker gets when it starts, oldest first.
type Told struct {
	Messages []Message `json:"messages"`
}

// Suspended is the data of suspended: the question or the time that the run waits for.
type Suspended struct {
	Question string `json:"question,omitempty"`
	Gate     string `json:"gate,omitempty"` // id of the gate's opening
	Step     string `json:"step,omitempty"`

	Postponed
}

// Finished is the data of run_finished.
type Finished struct {
	Status  string `json:"status"` // Return.RunState
	Summary string `json:"summary"`
	Text    string `json:"text,omitempty"`
	// Code is that of the first error; empty if there is none.
	Code      Code    `json:"code,omitempty"`
	Cost      float64 `json:"cost_usd"`
	NextSteps string  `json:"next_steps"`
}

// Return is the return of the run as far as its journal has it.
func (f Finished) Return(run string) Return {
	ret := Return{
		Said:      Outcome(f.Status),
		Summary:   f.Summary,
		Text:      f.Text,
		NextSteps: f.NextSteps,
		Metadata:  Metadata{Run: run, Cost: f.Cost},
	}
	switch {
	case ret.Said.Passes():
		ret.Status = StatusCompleted
	case ret.Said == OutcomePartial || ret.Said == OutcomeBlocked:
		ret.Status = ReturnStatus(f.Status)
	default:
		ret.Status = StatusFailed
	}

	if f.Status == RunCancelled {
		ret.Said = OutcomeFailed
	}
	if f.Code != "" {
		ret.Errors = []ReturnError{{Type: f.Code.ErrorType(), Code: f.Code, Message: f.Summary}}
	}
	return ret
}

// RunCancelled is the state of a run that was cancelled. Its return is failed, with code CANCELLED.
const RunCancelled = "cancelled"

// ReasonInterrupted is Postponed.Why of a run whose process was ended by a signal.
const ReasonInterrupted = "interrupted"

// ReasonClosed is Postponed.Why of a run whose process closed the project, as a server does when it
// ends.
const ReasonClosed = "its program was closed"

// Cut is the data of delegation_cut: what an interrupted worker used.
type Cut struct {
	Metadata Metadata `json:"metadata"` // as far as its runner measured it
	// what else it could use, if the runner measured nothing: it counts as used
	Lost Budget `json:"lost,omitzero"`
}

// Postponed says why a run waits for a time.
type Postponed struct {
	Why string `json:"why,omitempty"`
	// Code says what broke the run off: CANCELLED for a signal, or the code of an I/O error. Empty:
	// the run waits.
	Code  Code      `json:"code,omitempty"`
	Until time.Time `json:"until,omitzero"` // when it can continue; zero: unknown
	// Alone is the latest time for an automatic resume; zero: only the user may resume it.
	Alone time.Time `json:"alone_until,omitzero"`
}

// Counted holds the counters of a run. They only grow, also after going back to an earlier step.
// Keys are step places and rules.
type Counted struct {
	Visits    map[string]int  `json:"visits,omitempty"`
	Used      map[string]int  `json:"used,omitempty"`
	Answered  map[string]int  `json:"answered,omitempty"`
	Asked     map[string]int  `json:"asked,omitempty"`
	Questions map[string]bool `json:"questions,omitempty"`
	Jumps     map[string]int  `json:"jumps,omitempty"`
	Rollbacks int             `json:"rollbacks,omitempty"`
	// how often the run was reopened after a failure
	Reopened int      `json:"reopened,omitempty"`
	Steps    int      `json:"steps"`
	Entered  int      `json:"entered,omitempty"`
	Spent    Metadata `json:"spent"`
	// Beside are the step paths of steps that ran in parallel with others.
	Beside map[string]bool `json:"-"`
}

// Resume says how to continue a suspended run.
type Resume struct {
	Run  string `json:"run"`
	Line string `json:"line"`           // the line to type
	Gate string `json:"gate,omitempty"` // the open question
	// Until is when it can continue; zero: at any time.
	Until time.Time `json:"until,omitzero"`
}
