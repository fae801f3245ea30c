package compile

import (
	"crypto/sha256"
	"encoding/hex"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// Names of the built-in subagents that steps are lowered to.
const (
	StatusSync = "status-sync-manager"
	Gatekeeper = "gatekeeper"
)

// Program is a compiled command. It is immutable and safe for concurrent runs.
type Program struct {
	Name        string
	Description string
	File        string
	Src         []byte // what it was made of; it must not be changed
	Files       []byte // the files of the project that are a part of it, one after the other; nil without any
	Args        []argspec.Spec
	Examples    []string
	Hidden      bool
	Tiers       []string  // in order; nil without
	Worktree    *Worktree // nil: the run works in the project's own tree
	Workflow    bool      // the steps of a subagent file: $input instead of $args
	During      *During
	// Back gives a task that the run left in progress its status of before; the runner adds the number. Nil in a file that
	// changes no status.
	Back     *Delegate
	Allow    []formats.TaskStatus // nil: any status
	Loads    []Load
	Requires []Require
	Ops      []*Op
	Always   []*Op // Error Handling
	Limits   formats.Limits
	Env      []string // names of the variables that $env may show
	// Output is what the fields of a return that passes must hold; nil: anything.
	Output   *formats.Schema
	Warnings []formats.Diagnostic
}

// Hash gives the sha256 of the source in hex, with that of the files that are a part of it. Only a run that starts asks for it, so it is not kept.
func (p *Program) Hash() string {
	sum := sha256.Sum256(p.Src)
	if p.Files != nil {
		files := sha256.Sum256(p.Files)
		sum = sha256.Sum256(append(sum[:], files[:]...))
	}
	return hex.EncodeToString(sum[:])
}

// During is the preflight: Begin writes the in-progress status and takes the lease, Failed gives the task the status that
// the file names for failures (nil if it names none: then it goes back to what it was).
type During struct {
	Pos    formats.Pos
	Status formats.TaskStatus
	When   *Expr
	Begin  *Delegate
	Failed *Delegate
}

// Load is one named value of the block `yaml args`.
type Load struct {
	Pos      formats.Pos
	Name     string
	Optional bool
	Task     bool // the value is the task to bind, or its number
	Expr     *Expr
	Document *LoadDocument
	Files    []*Text
}

// LoadDocument is a document with its profile; the path is an expression or a list of candidates.
type LoadDocument struct {
	Profile string
	Path    []*Text
	Expr    *Expr
}

// Require is a precondition with its message and code.
type Require struct {
	Pos  formats.Pos
	When *Expr
	Else *Text
	Code formats.Code
}

// Expr is compiled jq with its place.
type Expr struct {
	Pos  formats.Pos
	Src  string
	Code *query.Code
}

// Reads is what an expression reads.
type Reads struct {
	Vars []string // the variables, with their $
	// Steps are the ids that it reads from $steps; AllSteps tells that it reads $steps as a whole.
	Steps    []string
	AllSteps bool
	Run      []string // the members that it reads of $run
}

// Text is a text with expressions in it; Whole texts are one expression whose value is taken as it is.
type Text struct {
	Pos   formats.Pos
	Parts []Part
	Whole bool
}

// Part is a literal or an expression.
type Part struct {
	Lit  string
	Expr *Expr
}

// Value is a literal, an expression, a text, a map or a list; exactly one of the pointers is set, none for a literal.
type Value struct {
	Lit    any
	Expr   *Expr
	Text   *Text
	Fields []Field // of a map in file order; of a list its items, without keys
	IsMap  bool
	IsList bool
}

// Field is one key of a map value.
type Field struct {
	Key   string
	Value *Value
}

// Op is one step.
type Op struct {
	Pos     formats.Pos
	ID      string
	Title   string
	When    *Expr
	Tiers   []string // the tiers in which it runs; nil: in all
	Table   *Table
	Do      Action // nil when the step only shows or returns
	Return  *Return
	Timeout formats.Timeout
	Retry   *Retry // nil: it is tried once
	// Fallback is the subagent tried once after the retries, empty without one.
	Fallback     string
	FallbackInfo *formats.AgentInfo
	FallbackWith *Value
	On           []Rule
	Expect       *Expect
	Always       string // failed, completed or any, under Error Handling
	In           string // worktree, main, or empty: as the file says
	Board        string // topic, empty without one
	Compensate   *Op    // takes the effect back; nil without
	Before       []*Op  // what runs around it, in file order
	After        []*Op
	Host         string // of a step of Between Steps: the id of the step around which it runs
}

// Action is what an Op does: one of Delegate, Parallel, Foreach, Until, Group, Gate, Check, Set and Fail.
type Action interface{ op() }

// Delegate calls a subagent.
type Delegate struct {
	Agent  string
	Info   *formats.AgentInfo // never nil; shared by the delegations to one subagent, and not to be changed
	With   *Value
	Prompt *Text
	// Link adds the artifacts of the run that are not linked yet to the input.
	Link bool
	// Sync marks a status change of the bound task: To is the literal status if it is known when compiled.
	Sync bool
	To   formats.TaskStatus
	// Checks marks a delegation whose rejection is the answer of a check; Else is its message.
	Checks bool
	Else   *Text
	// Pick names one of Among when the step runs; Agent is then empty.
	Pick  *Text
	Among []*Delegate
}

// Foreach runs Body once an element.
type Foreach struct {
	In    *Expr
	As    string
	Body  []*Op
	Merge bool  // go on after an element that did not pass
	Rule  *Expr // the predicate over the children; nil: all(approved)
	Side  int   // elements side by side, at least 1
}

// Gate asks a person.
type Gate struct {
	Question *Text
	Show     []*Expr
	Choices  []Choice
	Auto     string
	Wait     *Wait // nil: for ever
}

// Choice is one label with where it leads.
type Choice struct {
	Label  string
	Target *Target
}

// Check holds or not, without running anything. Exactly one of Expr, Document and File is set.
type Check struct {
	Expr     *Expr
	Document string
	Path     *Value // nil: the newest artifact of the profile's type
	File     *Value
	Nonempty bool
	Else     *Text
}

// Set gives values to names.
type Set struct{ Values []SetValue }

// SetValue is one name with its expression.
type SetValue struct {
	Name string
	Expr *Expr
}

// Fail ends the command.
type Fail struct {
	Message *Text
	Code    formats.Code
}

func (*Delegate) op() {}
func (*Foreach) op()  {}
func (*Gate) op()     {}
func (*Check) op()    {}
func (*Set) op()      {}
func (*Fail) op()     {}

// Table shows rows.
type Table struct {
	Rows    *Expr
	Columns []string
	Title   *Text
}

// Return ends the command.
type Return struct {
	Status    *Value
	Message   *Text
	Text      *Value
	Artifacts *Value
	Fields    *Value
	NextSteps *Text
}

// Retry repeats a failed attempt; Max counts attempts after the first, times are seconds.
type Retry struct {
	Max     int
	On      []formats.Class
	Backoff float64
	Factor  float64
	Cap     float64
}

// Expect is what a result must hold.
type Expect struct {
	Artifact formats.ArtifactType
	If       *Expr
	Schema   *formats.Schema // of the fields; nil: any
}

// Rule leads from an outcome, or from a class of failure, to the first target that matches.
type Rule struct {
	Outcome formats.Outcome // empty when Class is set
	Class   formats.Class
	Targets []*Target
}

// TargetKind names where a result leads.
type TargetKind = syntax.TargetKind

// The targets.
const (
	ToNext     = syntax.ToNext
	ToFail     = syntax.ToFail
	ToRedo     = syntax.ToRedo
	ToReturn   = syntax.ToReturn
	ToGate     = syntax.ToGate
	ToRollback = syntax.ToRollback
	ToAsk      = syntax.ToAsk
	ToGoto     = syntax.ToGoto
)

// Target is where a result leads. Max is 0 where the file names none.
type Target struct {
	Pos    formats.Pos
	Kind   TargetKind
	If     *Expr
	Max    int
	Redo   []string // redo and rollback: ids in the order they are run again; this step, if it is named, is run last anyway
	Ask    []Asked
	Goto   string
	Back   bool  // goto: to a step that stands before this one, or to itself
	Gate   *Gate // a question of the file's own; nil: the engine's
	Return *Return
}
