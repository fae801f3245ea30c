package formats

import "time"

// JournalFormat is the number of the form that journals have. One of another form is shown, and not continued.
const JournalFormat = 4

// EntryType names a record of a run's journal.
type EntryType string

// The records of a run's journal.
const (
	EntryRunStarted        EntryType = "run_started"
	EntryStepScheduled     EntryType = "step_scheduled"
	EntryStepFinished      EntryType = "step_finished"
	EntryDelegationStarted EntryType = "delegation_started"
	EntryBudgetReserved    EntryType = "budget_reserved" // what a worker may use, before it starts
	EntryDelegationResult  EntryType = "delegation_result"
	EntryObserved          EntryType = "observed" // what the run saw of the state, of files and of trees
	EntryWaited            EntryType = "waited"   // a wait that is over
	EntryLoopEntered       EntryType = "loop_entered"
	EntryGateOpened        EntryType = "gate_opened"
	EntryGateVoted         EntryType = "gate_voted"   // by one of the people that a gate needs
	EntryGateRefused       EntryType = "gate_refused" // what was shown has changed: the gate asks anew
	EntryGateDecided       EntryType = "gate_decided"
	EntryRedo              EntryType = "redo"
	EntryRollback          EntryType = "rollback"
	EntryWentBack          EntryType = "went_back" // a person goes back to a step: what came after it counts no more
	EntryAsked             EntryType = "asked"
	EntryNextMismatch      EntryType = "next_mismatch" // the agent that a worker named is not the next one
	EntryGoto              EntryType = "goto"
	EntryPosted            EntryType = "posted" // on a board; the topic is its key
	EntryStateCommitted    EntryType = "state_committed"
	EntryStopped           EntryType = "stopped" // by a person or by its time; what follows is Error Handling
	EntrySuspended         EntryType = "suspended"
	EntryResumed           EntryType = "resumed"
	EntryRunFinished       EntryType = "run_finished"
)

// Entry is one record of a run. The journal adds sequence number, time and the hash of the entry before. Data must be
// marshalable as JSON.
type Entry struct {
	Type    EntryType `json:"type"`
	Step    string    `json:"step_path,omitempty"` // with visits, "phases#1[2]/commit#1"
	Attempt int       `json:"attempt,omitempty"`
	Key     string    `json:"key,omitempty"`
	Data    any       `json:"data,omitempty"`
}

// Started is the data of run_started: what a run begins with, which is all that it takes to begin it again.
type Started struct {
	Format  int       `json:"format"`
	Version string    `json:"tercet_version,omitempty"`
	At      time.Time `json:"started_at"`
	User    string    `json:"user,omitempty"`
	Session string    `json:"session_id"`
	Line    string    `json:"command"`
	// Raw and Words are the line as it came: the one text of a prompt, or the words of a shell.
	Raw   string   `json:"raw,omitempty"`
	Words []string `json:"words,omitempty"`
	Task  int      `json:"task,omitempty"`  // the bound task
	Among *Among   `json:"among,omitempty"` // the line with several tasks to which it belongs; nil: there is none
	Depth int      `json:"depth"`
	// Definition is the hash of the command file, Files those of all other files that decide, by their names.
	Definition string            `json:"def_sha"`
	Files      map[string]string `json:"files,omitempty"`
	Steps      []string          `json:"steps,omitempty"` // ids of the steps of the workflow, in order
	Args       map[string]any    `json:"args"`
	Consent    bool              `json:"auto_approve,omitempty"`
	Agreed     Consent           `json:"auto_approve_file,omitzero"` // the file that answers, and nothing for --yes
	Seen       []Seen            `json:"seen,omitempty"`             // before the first step
}

// Among tells to which line with several tasks a run belongs.
type Among struct {
	Line string `json:"command"`
	// Round is the same for all runs of the line until each of its tasks is done, however often it is typed until then.
	Round string `json:"round"`
}

// Seen is one thing that a run saw of the world outside of it.
type Seen struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

// Posting is what a step left on a board.
type Posting struct {
	By        string     `json:"by"`
	Round     int        `json:"round"` // of this step, from 1
	Summary   string     `json:"summary"`
	Issues    []Issue    `json:"issues"`
	Artifacts []Artifact `json:"artifacts"`
}

// Posted is the data of posted. Version is that of the topic with this posting: the number of its postings.
type Posted struct {
	Version int `json:"version"`
	Posting
}

// Suspended is the data of suspended: what a run waits for, a question or a time.
type Suspended struct {
	Question string `json:"question,omitempty"`
	Gate     string `json:"gate,omitempty"` // the id of its opening
	Step     string `json:"step,omitempty"`

	Postponed
}

// Postponed says why a run waits that waits for a time.
type Postponed struct {
	Why   string    `json:"why,omitempty"`
	Until time.Time `json:"until,omitzero"` // when it can go on; zero: nobody said
	// Alone is until when it may be taken up then without a person; zero: it may not.
	Alone time.Time `json:"alone_until,omitzero"`
}

// Counted is what a run has counted. It only grows: who goes back to an earlier step goes on with these numbers. Keys
// are places of steps, and rules.
type Counted struct {
	Visits    map[string]int  `json:"visits,omitempty"`
	Used      map[string]int  `json:"used,omitempty"`
	Answered  map[string]int  `json:"answered,omitempty"`
	Asked     map[string]int  `json:"asked,omitempty"`
	Questions map[string]bool `json:"questions,omitempty"`
	Jumps     map[string]int  `json:"jumps,omitempty"`
	Rollbacks int             `json:"rollbacks,omitempty"`
	Steps     int             `json:"steps"`
	Entered   int             `json:"entered,omitempty"`
	Spent     Metadata        `json:"spent"`
	// Beside are the steps that ran side by side with others, by their step paths.
	Beside map[string]bool `json:"-"`
}

// Resume tells how a run goes on that waits for something.
type Resume struct {
	Run  string `json:"run"`
	Line string `json:"line"`           // the line to type
	Gate string `json:"gate,omitempty"` // the question without an answer
	// Until is when it can go on; zero: at any time.
	Until time.Time `json:"until,omitzero"`
}
