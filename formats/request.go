package formats

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Invocation is what the router hands to a command: the command's file and the rest of the line, unparsed.
type Invocation struct {
	Name    string   // without the slash, "git:commit" for namespaced ones
	File    string   // path inside its source
	Source  string   // name of the source, "library" for the embedded one
	Raw     string   // rest of the line as typed, from the REPL
	Words   []string // the words from a shell; nil when the line came as one text
	Session string
	Run     string
	Depth   Depth    // CommandDepth
	Path    []string // "router", "/name"
	Line    string   // the whole line, for messages, reasons and the journal
	DryRun  bool     // nothing is written, delegates are stubbed
	Among   *Among   // the line with several tasks to which this one belongs; nil: there is none
}

// Timeout bounds a delegation; zero fields mean the documented defaults (30 minutes, no idle limit).
type Timeout struct {
	Total time.Duration `json:"total"`
	Idle  time.Duration `json:"idle"`
}

// DefaultStepTimeout bounds a step that names no timeout.
const DefaultStepTimeout = 30 * time.Minute

// Feedback is what a step learns when it is run again.
type Feedback struct {
	From    string  `json:"from"` // id of the step that sent it back
	Issues  []Issue `json:"issues"`
	Note    string  `json:"note,omitempty"`
	Choice  string  `json:"choice,omitempty"`
	Answer  string  `json:"answer,omitempty"`
	Attempt int     `json:"attempt"`
	// Own tells that the step itself sent the work back, and now looks at what became of it.
	Own bool `json:"own,omitempty"`
}

// Facets are the five parts of a prompt; Policy stays last on every path.
type Facets struct {
	Persona     string   `json:"persona,omitempty"`
	Knowledge   []string `json:"knowledge,omitempty"`
	Instruction string   `json:"instruction,omitempty"`
	Output      string   `json:"output,omitempty"`
	Policy      []string `json:"policy,omitempty"`
}

// Request is one delegation. Depth and Path are the caller's; the Dispatcher raises and extends them. An agent must not
// change the maps and pointers it is given.
type Request struct {
	Agent    string         `json:"agent"`
	Task     *Task          `json:"task,omitempty"` // the bound task, nil without one
	Input    map[string]any `json:"input,omitempty"`
	Facets   Facets         `json:"facets"`
	Feedback *Feedback      `json:"feedback,omitempty"`
	// Question is all that is wanted: the answer stands in text or summary, and no artifact or verdict is due. Empty for
	// work.
	Question string   `json:"question,omitempty"`
	Session  string   `json:"session_id"`
	Run      string   `json:"run"`
	Command  string   `json:"command"` // the line that started the run, for reasons and logs
	Step     string   `json:"step"`    // its place in the run, "phases[2]/commit"
	At       string   `json:"-"`       // step_path in the journal, with visits: "phases#1[2]/commit#1"
	Visit    int      `json:"visit"`
	Attempt  int      `json:"attempt"` // 1 for the first
	Txn      string   `json:"txn"`     // transaction id of the state change this delegation may make
	Depth    Depth    `json:"-"`
	Path     []string `json:"path"`
	Timeout  Timeout  `json:"timeout"`
	Dir      string   `json:"dir"` // tree to work in, absolute: the worktree, else the project root
	// NoTree asks for work without a tree: Dir is then an empty folder that the Dispatcher makes.
	NoTree bool     `json:"no_tree,omitempty"`
	Out    string   `json:"out"`              // folder for documents, absolute, made by the Dispatcher
	Repair []string `json:"repair,omitempty"` // violations of the last return that a repair round names
	// Refused is that return as it came, cut to MaxRefused bytes: a program that is started anew does not remember it.
	Refused string `json:"refused,omitempty"`
	// Schema is the JSON Schema that the fields of the return are to fit; empty: none.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Again tells that it was started before by a process that ended in the middle of it.
	Again bool `json:"-"`
	// Pack is the one whose subagents are looked up first; empty: none.
	Pack string `json:"-"`
	// Commits tells that a step of the run commits files in the project's own checkout.
	Commits bool `json:"-"`
	// Budget is the share that was reserved for this delegation; a runner stops its program at the end of it.
	Budget Budget `json:"budget,omitzero"`
}

// MaxRefused is how much of a refused return is quoted in a repair round.
const MaxRefused = 32 << 10

// NoSpawns as Budget.Spawns tells that no further worker may be started: zero would be no bound.
const NoSpawns = -1

// Budget bounds what work may use; a zero field is no bound. Seconds are what is left of the time of the run: workers
// side by side spend the same ones.
type Budget struct {
	Tokens  int64   `json:"tokens,omitempty"`
	Cost    float64 `json:"cost_usd,omitempty"`
	Spawns  int     `json:"spawns,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// InputType is the type of a subagent's input or returned field.
type InputType string

// The types of inputs and fields.
const (
	TypeString  InputType = "string"
	TypeInteger InputType = "integer"
	TypeNumber  InputType = "number"
	TypeBoolean InputType = "boolean"
	TypeArray   InputType = "array"
	TypeList    InputType = "list" // as array; items are strings
	TypeObject  InputType = "object"
	TypeAny     InputType = "any"
)

// Input describes one input of a subagent.
type Input struct {
	Type     InputType
	Required bool
	Document string // profile of the document that the value names; empty if none
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
	Optional bool   // good work may lack it
}

// The built-in subagents that steps come down to, by their names.
const (
	AgentStatusSync  = "status-sync-manager"
	AgentGatekeeper  = "gatekeeper"
	AgentGitWorkflow = "git-workflow-manager"

	// AgentDocumentWriter and AgentSandboxRunner have a file of the project, which names their runner.
	AgentDocumentWriter = "document-writer"
	AgentSandboxRunner  = "sandbox-runner"
)

// AgentInfo is what the checker of command files and the Dispatcher know of a subagent.
type AgentInfo struct {
	Name        string
	Pack        string // that it came with; empty: none
	Description string
	Role        Role
	Runner      []string // in order of preference; empty: the configured one
	Builtin     bool
	// Statuses are the outcomes it may return; nil means any.
	Statuses []Outcome
	// NoArtifacts is the contract `artifacts: none`; Artifacts are those promised, nil means any.
	NoArtifacts bool
	Artifacts   []ArtifactSpec
	Fields      map[string]Field // nil means any
	Inputs      map[string]Input // nil means any
	Tools       []string
	// Commands are those that `shell` in Tools grants: a line, with " *" all that begin with its words. Nil grants all.
	Commands []string
	// CanDelegateTo names the subagents its workflow may call.
	CanDelegateTo []string
	Timeout       Timeout
	// StatusQuery and IssuesQuery are jq over {status, fields}, with their places in File; empty if the contract has none.
	StatusQuery, IssuesQuery string
	StatusPos, IssuesPos     Pos
	AgentResult              bool // form: agent_result
	Workflow                 bool // the file has steps
	File                     string
	Sum                      string            // sha256 of the file, empty where it is not known
	Facets                   map[string]string // of the facet files that it names, by their paths
}

// MayGive tells whether the contract lets a subagent return an artifact of one of the types.
func (i AgentInfo) MayGive(types ...ArtifactType) bool {
	return !i.NoArtifacts && (i.Artifacts == nil ||
		slices.ContainsFunc(i.Artifacts, func(a ArtifactSpec) bool { return slices.Contains(types, a.Type) }))
}

// CommandInfo is what menus and help know of a command.
type CommandInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Usage       string   `json:"usage"`
	File        string   `json:"file"`
	Source      string   `json:"source"`
	Examples    []string `json:"examples,omitempty"`
	Pack        string   `json:"pack,omitempty"` // that it came with
	Hidden      bool     `json:"hidden,omitempty"`
}

// Limits bound a run; the zero value of each means its documented default. The configuration has them under these
// names, in lower case.
type Limits struct {
	Rollbacks int
	Retries   int
	Visits    int
	Steps     int
	Elements  int // elements of one loop
	Parallel  int
	Duration  time.Duration // of the run
	Tokens    int64         // used by workers, all that a runner reports; 0: no limit
	Cost      float64       // of the workers in US dollars; 0: no limit
	Spawns    int           // delegations to workers; 0: no limit

	// AutoResume is how long a run that waits for a time may be taken up without a person; 0: it may not.
	AutoResume time.Duration `key:"auto_resume"`
}

// The documented defaults of the limits.
const (
	DefaultRollbacks   = 3
	DefaultRetries     = 3
	DefaultVisits      = 5
	DefaultSteps       = 200
	DefaultElements    = 1000
	DefaultParallel    = 4
	MaxParallel        = 16
	DefaultRedo        = 3
	StallRounds        = 3 // rounds of a loop that came to the same: the next one is asked about
	DefaultAsk         = 3
	DefaultRunDuration = 2 * time.Hour
)

// WithDefaults replaces zero fields by the documented defaults.
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
