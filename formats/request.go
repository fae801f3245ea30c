package formats

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Invocation is what the router hands to a command: the command's file and the unparsed rest of the
// line.
type Invocation struct {
	Name    string   // without the slash, "git:commit" for namespaced ones
	File    string   // path inside its source
	Source  string   // name of the source, "library" for the embedded one
	Raw     string   // rest of the line as typed at the prompt
	Words   []string // words from a shell; nil if the line came as one text
	Session string
	Run     string
	Depth   Depth    // CommandDepth
	Path    []string // "router", "/name"
	Line    string   // the whole line, for messages, reasons and the journal
	DryRun  bool     // writes nothing, stubs delegations
	Among   *Among   // the line with several tasks that this one belongs to; nil: none
}

// Timeout bounds a delegation; zero fields mean the documented defaults (30 minutes, no idle
// limit).
type Timeout struct {
	Total time.Duration `json:"total"`
	Idle  time.Duration `json:"idle"`
}

// DefaultStepTimeout bounds a step without a timeout.
const DefaultStepTimeout = 30 * time.Minute

// Feedback is what a repeated step learns.
type Feedback struct {
	From   string  `json:"from"` // id of the step that sent it back
	Issues []Issue `json:"issues"`
	Note   string  `json:"note,omitempty"`
	Choice string  `json:"choice,omitempty"`
	Answer string  `json:"answer,omitempty"`
	// Question is what the step asked before it got Answer, and Target whom it asked.
	Question string `json:"question,omitempty"`
	Target   string `json:"target,omitempty"`
	Attempt  int    `json:"attempt"`
	// Last is what the step itself returned when it stopped before its work was done; nil if it did
	// not.
	Last *LastReturn `json:"last,omitempty"`
	// Own means that the step itself sent the work back and now checks the result.
	Own bool `json:"own,omitempty"`
}

// LastReturn is what a repeated step returned before, as far as it needs that to go on.
type LastReturn struct {
	Status    Outcome        `json:"status"`
	Summary   string         `json:"summary,omitempty"`
	Fields    map[string]any `json:"fields,omitempty"`
	NextSteps string         `json:"next_steps,omitempty"`
}

// Facets are the five parts of a prompt; Policy stays last on every path.
type Facets struct {
	// Messages are what the user told the run since the last worker started, oldest first. They
	// stand ahead of the instruction.
	Messages    []Message `json:"messages,omitempty"`
	Persona     string    `json:"persona,omitempty"`
	Knowledge   []string  `json:"knowledge,omitempty"`
	Instruction string    `json:"instruction,omitempty"`
	Output      string    `json:"output,omitempty"`
	Policy      []string  `json:"policy,omitempty"`
}

// Request is one delegation. Depth and Path are the caller's; the Dispatcher raises and extends
// them. An agent must not change maps and pointers of it.
type Request struct {
	Agent    string         `json:"agent"`
	Task     *Task          `json:"task,omitempty"` // the bound task; nil if there is none
	Input    map[string]any `json:"input,omitempty"`
	Facets   Facets         `json:"facets"`
	Feedback *Feedback      `json:"feedback,omitempty"`
	// Question asks for an answer only, in text or summary; no artifact or verdict is due. Empty
	// for work.
	Question string `json:"question,omitempty"`
	Session  string `json:"session_id"`
	Run      string `json:"run"`
	Command  string `json:"command"` // the line that started the run, for reasons and logs
	Step     string `json:"step"`    // its place in the run, "phases[2]/commit"
	// step_path in the journal, with visits: "phases#1[2]/commit#1"
	At      string   `json:"-"`
	Visit   int      `json:"visit"`
	Attempt int      `json:"attempt"` // 1 for the first
	Txn     string   `json:"txn"`     // transaction id for the state change of this delegation
	Depth   Depth    `json:"-"`
	Path    []string `json:"path"`
	Timeout Timeout  `json:"timeout"`
	Dir     string   `json:"dir"` // working tree, absolute: the worktree, else the project root
	// NoTree asks for work without a tree: Dir is then an empty folder made by the Dispatcher.
	NoTree bool `json:"no_tree,omitempty"`
	// folder for documents, absolute, made by the Dispatcher
	Out    string   `json:"out"`
	Repair []string `json:"repair,omitempty"` // violations in the last return, for a repair round
	// Refused is that return as received, cut to MaxRefused bytes, because a restarted agent does
	// not remember it.
	Refused string `json:"refused,omitempty"`
	// Schema is the JSON Schema for the fields of the return; empty: none.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Begun says whether an earlier process started this delegation.
	Begun Begun `json:"-"`
	// Pack is the one whose subagents are looked up first; PackLibrary for a shipped file, which
	// means shipped subagents; empty: none.
	Pack string `json:"-"`
	// Terms are what the command decides.
	Terms Terms `json:"-"`
	// Budget is the share reserved for this delegation; the runner stops the agent when it is used
	// up.
	Budget Budget `json:"budget,omitzero"`
}

// Board is what a worker sees of the board of its step while it works. It is safe for concurrent
// use.
type Board interface {
	// Publish puts a text on the board.
	Publish(text string) error
	// Since gives what stands there after the first n postings, and how many stand there.
	Since(n int) (list []Posting, all int)
}

// Bounds of what a worker publishes: MaxPublished of one text in bytes, MaxPublications of one
// call.
const (
	MaxPublished    = 4 << 10
	MaxPublications = 64
)

// AgentSession names a session that an agent CLI stores.
type AgentSession struct {
	Runner string `json:"runner"`
	ID     string `json:"id,omitempty"` // empty: the agent CLI has not named it yet
}

// SessionStart is the data of agent_session: how a worker of a step with `session: keep` starts.
type SessionStart struct {
	AgentSession

	Resumed bool   `json:"resumed"`
	Why     string `json:"why,omitempty"` // it starts fresh although the step was called before
}

// KeptSession is what a step with `session: keep` knows of the session of its worker. One call uses
// it, from one goroutine.
type KeptSession interface {
	// Last is the session that the last call left, with what is new since. It has no id where the
	// call has to begin afresh; why then says what speaks against going on, empty for a first call.
	Last() (last AgentSession, news News, why string)
	// Start journals how a call starts, before it does, and again once its session has an id.
	Start(s SessionStart) error
	// Left is the session in which a call ended with an answer.
	Left(s AgentSession)
}

// News are the parts of a request that differ from those of the call before it. Feedback, messages
// and what a repair is about are always new, and not among them.
type News struct {
	Task        *Task
	Input       map[string]any
	Knowledge   []string
	Instruction string
}

// Terms are what a command decides: the board for one delegation, the rest for all of them.
type Terms struct {
	Board Board // of the step, for a worker at work; nil: it has none
	// Live means that the worker is told how to use Board, because others see at once what it says.
	Live bool
	// Kept is set where the step keeps the session of its worker.
	Kept KeptSession
	// Commits means that a step of the run commits files in the user's checkout.
	Commits bool
	// Wishes are what the command file of another tool asks for; nil: nothing.
	Wishes *Wishes
}

// Wishes are what the command file of another tool asks for, beside its text. A runner follows what
// it can.
type Wishes struct {
	Model map[string]string // by runner
	// Tools are all that the worker may use of its own tools; nil: no limit.
	Tools []string
	// Commands are the only command lines if shell is among Tools; nil: all of them.
	Commands []string
}

// Narrow gives those of a worker's own tools and commands that the file allows as well.
func (w *Wishes) Narrow(tools, commands []string) (narrowTools, narrowCommands []string) {
	if w == nil || w.Tools == nil {
		return tools, commands
	}
	allowed := func(list []string) func(string) bool {
		return func(one string) bool { return !slices.Contains(list, one) }
	}

	tools = slices.DeleteFunc(slices.Clone(tools), allowed(w.Tools))
	switch {
	case w.Commands == nil:
		return tools, commands
	case commands == nil:
		return tools, w.Commands
	}

	both := slices.DeleteFunc(slices.Clone(commands), allowed(w.Commands))
	if len(both) == 0 {
		tools = slices.DeleteFunc(tools, func(one string) bool { return one == "shell" })
	}
	return tools, both
}

// MaxRefused bounds the quotation of a refused return, in bytes.
const MaxRefused = 32 << 10

// NoSpawns as Budget.Spawns forbids further workers, because zero means no bound.
const NoSpawns = -1

// Budget bounds the use of one delegation; a zero field is no bound. Seconds is the rest of the
// run's time, which parallel workers spend together.
type Budget struct {
	Tokens  int64   `json:"tokens,omitempty"`
	Cost    float64 `json:"cost_usd,omitempty"`
	Spawns  int     `json:"spawns,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// Begun says whether an earlier process started a delegation.
type Begun string

// What is known of a delegation.
const (
	BegunUnknown Begun = ""      // an effect of it may be there already
	BegunNow     Begun = "now"   // no earlier process started it, so it has had no effect
	BegunAgain   Begun = "again" // an earlier process started it and died during it
)

// InputType is the type of an input of a subagent or of a field of its return.
type InputType string

// The types of inputs and fields.
const (
	TypeString  InputType = "string"
	TypeInteger InputType = "integer"
	TypeNumber  InputType = "number"
	TypeBoolean InputType = "boolean"
	TypeArray   InputType = "array"
	TypeList    InputType = "list" // an array of strings
	TypeObject  InputType = "object"
	TypeAny     InputType = "any"
)

// Input describes one input of a subagent.
type Input struct {
	Type     InputType
	Required bool
	Document string   // profile of the document named by the value; empty if none
	Enum     []string // the texts that the value may be; nil: any
}

// Field describes one typed member of `fields` that a subagent returns.
type Field struct {
	Type     InputType
	Optional bool
}

// ArtifactSpec is one artifact that a contract promises. Name and Document may be empty.
type ArtifactSpec struct {
	Type     ArtifactType
	Name     string
	Document string // profile; empty: the profile of the same name as the type, if there is one
	Optional bool   // completed work may lack it
}

// The names of built-in subagents that steps compile to.
const (
	AgentStatusSync  = "status-sync-manager"
	AgentGatekeeper  = "gatekeeper"
	AgentGitWorkflow = "git-workflow-manager"

	// AgentDocumentWriter and AgentSandboxRunner are declared in a file of the project with their
	// runner.
	AgentDocumentWriter = "document-writer"
	AgentSandboxRunner  = "sandbox-runner"
)

// DepthKeys are keys of files of other systems about the depth of a delegation. tercet counts it by
// itself.
func DepthKeys() []string {
	return []string{"delegation_depth", "max_delegation_depth", "delegation_path"}
}

// AgentInfo is what compile and the Dispatcher know of a subagent.
type AgentInfo struct {
	Name        string
	Pack        string // its pack; empty: none
	Description string
	Role        Role
	Runner      []string // in order of preference; empty: the configured one
	Builtin     bool
	// Statuses are the allowed outcomes; nil means any.
	Statuses []Outcome
	// NoArtifacts is the contract `artifacts: none`; Artifacts are the promised ones, nil means
	// any.
	NoArtifacts bool
	// Open is the contract of an agent of another tool, which has its own form of result: nothing
	// is due.
	Open      bool
	Artifacts []ArtifactSpec
	Fields    map[string]Field // nil means any
	Inputs    map[string]Input // nil means any
	Tools     []string
	// Commands are the command lines that `shell` in Tools allows; a final " *" allows further
	// words. Nil allows all.
	Commands []string
	// CanDelegateTo names the subagents its workflow may call.
	CanDelegateTo []string
	Timeout       Timeout
	// StatusQuery and IssuesQuery are jq over {status, fields}, with their places in File; empty if
	// absent.
	StatusQuery, IssuesQuery string
	StatusPos, IssuesPos     Pos
	AgentResult              bool // form: agent_result
	Workflow                 bool // the file has steps
	File                     string
	Sum                      string            // SHA-256 of the file; empty if unknown
	Facets                   map[string]string // hashes of its facet files, by path
}

// MayGive reports whether the contract allows an artifact of one of the types.
func (i AgentInfo) MayGive(types ...ArtifactType) bool {
	return !i.NoArtifacts && (i.Artifacts == nil ||
		slices.ContainsFunc(i.Artifacts, func(a ArtifactSpec) bool {
			return slices.Contains(types, a.Type)
		}))
}

// CommandInfo is a command in menus and help.
type CommandInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Usage       string `json:"usage"`
	// Arguments are in the order of the line. A prompt of another tool has at most one, a text.
	Arguments []ArgumentInfo `json:"arguments"`
	File      string         `json:"file"`
	Source    string         `json:"source"`
	Examples  []string       `json:"examples,omitempty"`
	Pack      string         `json:"pack,omitempty"` // its pack
	Hidden    bool           `json:"hidden,omitempty"`
	// Broken says that the file cannot be used.
	Broken bool `json:"broken,omitempty"`
}

// Limits bound a run; a zero field means its documented default. The configuration uses the same
// names in lower case.
type Limits struct {
	Rollbacks int
	Retries   int
	Visits    int
	Steps     int
	Elements  int // elements of one loop
	Parallel  int
	Duration  time.Duration // of the run
	Tokens    int64         // of workers, as reported by their runners; 0: no limit
	Cost      float64       // of workers, in US dollars; 0: no limit
	Spawns    int           // delegations to workers; 0: no limit

	// AutoResume is how long after its suspension a run that waits for a time may resume
	// automatically; 0: never.
	AutoResume time.Duration `key:"auto_resume"`
}

// The documented defaults of the limits.
const (
	DefaultRollbacks   = 3
	DefaultRetries     = 3
	DefaultVisits      = 5
	DefaultSteps       = 200
	ElementSteps       = 50 // by which each element or round of a loop raises the limit of steps
	DefaultElements    = 1000
	DefaultParallel    = 4
	MaxParallel        = 16
	DefaultRedo        = 3
	StallRounds        = 3 // rounds of a loop with the same result before a question
	DefaultAsk         = 3
	DefaultRunDuration = 2 * time.Hour
)

// WithDefaults sets zero fields to the documented defaults.
func (l Limits) WithDefaults() Limits {
	l.Rollbacks = cmp.Or(l.Rollbacks, DefaultRollbacks)
	l.Retries = cmp.Or(l.Retries, DefaultRetries)
	l.Visits = cmp.Or(l.Visits, DefaultVisits)
	l.Steps = cmp.Or(l.Steps, DefaultSteps)
	l.Elements = cmp.Or(l.Elements, DefaultElements)
	l.Parallel = cmp.Or(l.Parallel, DefaultParallel)
	l.Duration = cmp.Or(l.Duration, DefaultRunDuration)
	return l
}
