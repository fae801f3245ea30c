package syntax

import (
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/md"
)

// Pos is a place in the command file.
type Pos = formats.Pos

// File is a parsed command file: plain data that shares nothing with the parser.
type File struct {
	Name  string // as given to Parse, for diagnostics
	Src   []byte
	Front Front
	Args  Args
	// Steps are from Workflow Execution, Between from Between Steps, Errors from Error Handling.
	Steps   []*Step
	Between []*Step
	Errors  []*Step
	// Defaults is the block `yaml defaults`; nil if there is none.
	Defaults *Defaults
	// Sentences are the plain sentences of Argument Parsing.
	Sentences []*Sentence
	// Literate means that the workflow has headings `### Step`; otherwise it is in the plain form.
	Literate bool
	// Prose is the body as text, for using the file as a prompt.
	Prose    string
	BodyLine int // the first line below the frontmatter
	// Found holds the findings about the form of the file, sorted. If Parse returned the file, all
	// are warnings.
	Found []formats.Diagnostic
	// Unread are the lines with an error; the tree may lack their content. NoFront means that the
	// whole frontmatter is missing. Hopeless means that nothing was read, or that a limit of the
	// format was exceeded.
	Unread   []Lines
	NoFront  bool
	Hopeless bool
	// Strict holds findings of `lint --strict` only: plain sentences where a block could stand, and
	// defaults without a sentence before them.
	Strict []formats.Diagnostic
}

// Word is a plain word with its position.
type Word struct {
	Pos  Pos
	Text string
}

// String is the word; empty if absent.
func (w *Word) String() string {
	if w == nil {
		return ""
	}
	return w.Text
}

// Front is the frontmatter of a command file. Absent keys are zero.
type Front struct {
	Pos         Pos
	Command     Word
	Description Word
	Arguments   []Argument
	Tiers       []Word // in order; nil if the key is absent
	Worktree    *Worktree
	During      *During
	Limits      []Field // name -> value; compile checks them
	Routing     []Field // language of the task -> subagent; compile checks them
	Examples    []string
	Env         []Word
	Needs       []Word // labels of a worker of a team
	// OutputSchema describes the fields that the command returns.
	OutputSchema *Shape
	// Subagents is the pack whose subagents are looked up first.
	Subagents Word
	Hidden    bool
}

// Argument is one declared argument. Absent numbers are nil.
type Argument struct {
	Pos         Pos
	Name        Word
	Type        Word
	Required    bool
	Default     *Value
	Description string
	Flag        bool
	Short       string
	Values      []string
	Min, Max    *float64
	Pattern     *Word
	Repeat      bool
	Complete    string
	Ask         bool
	Rules       *Word // nil if absent
	Unless      []Word
	Of          *Word // nil if absent
	Path        *Word // nil if absent
}

// Subagent is the argument type that names a subagent.
const Subagent = "subagent"

// Chosen gives the subagent argument if the expression is only that, as in `delegate: $args.name`;
// else it is empty.
func (f *Front) Chosen(pick *Text) string {
	if pick == nil || !pick.Whole || len(pick.Parts) != 1 || pick.Parts[0].Expr == nil {
		return ""
	}
	name, ok := strings.CutPrefix(pick.Parts[0].Expr.Src, "$args.")
	if ok && slices.ContainsFunc(f.Arguments, func(a Argument) bool {
		return a.Name.Text == name && a.Type.Text == Subagent
	}) {
		return name
	}
	return ""
}

// During is the status of a task while a command works on it. Failed follows if the command fails;
// nil: the one before.
type During struct {
	Pos    Pos
	Status Word
	When   *Expr
	Failed *Word
}

// PerChild gives each child of a parallel step or loop its own worktree.
const PerChild = "child"

// Worktree is `worktree: {per, branch}`.
type Worktree struct {
	Pos    Pos
	Per    Word // empty if absent
	Branch *Text
}

// Defaults applies to every step that delegates to a worker; the step's own keys win.
type Defaults struct {
	Pos     Pos
	With    []Field
	Timeout *Timeout
	Retry   *Retry
	On      []Rule
	In      *Word
	Expect  *Expect
}

// Args is the block `yaml args`; Pos is zero without one.
type Args struct {
	Pos     Pos
	Allow   []Word // nil when the key is absent
	Load    []Load
	Require []Require
}

// Load is one named value. Exactly one of Expr, Document, Files and Task is set, except that
// Document and Files together load all matching documents.
type Load struct {
	Name     Word
	Optional bool // written `name?:`
	Expr     *Expr
	Document *LoadDocument
	Files    []*Text
	Task     *Expr
}

// LoadDocument names a document by candidate paths; without any, the files of the load are the
// documents.
type LoadDocument struct {
	Pos     Pos
	Profile Word
	Path    []*Text // candidates as texts
	Expr    *Expr   // or one expression that gives a path or a list of paths
}

// Require is one precondition. If When is not true, the command ends with Else and Exit (a code
// word or an exit number; empty: PRECONDITION).
type Require struct {
	Pos  Pos
	When *Expr
	Else *Text
	Exit *Word
}

// Expr is jq with the place of its first byte.
type Expr struct {
	Pos  Pos
	Src  string
	node *md.Node // of the file that it stands in, nil for one that the engine wrote
	base int      // where it begins in the value of the node
}

// At is the position of a byte of the expression; the first byte's if the offset is outside.
func (e *Expr) At(offset int) Pos {
	switch {
	case offset < 0 || offset > len(e.Src):
		return e.Pos
	case e.node == nil:
		return Pos{Line: e.Pos.Line, Col: e.Pos.Col + offset}
	}
	return e.node.ValuePos(e.base + offset)
}

// Text is a text that may contain `${{ }}`. Whole means that it is exactly one `${{ }}`, which
// keeps its type.
type Text struct {
	Pos   Pos
	Parts []Part
	Whole bool
}

// String is the text as written; empty if absent.
func (t *Text) String() string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range t.Parts {
		b.WriteString(p.Lit)
		if p.Expr != nil {
			b.WriteString("${{ " + p.Expr.Src + " }}")
		}
	}
	return b.String()
}

// Part is a literal piece of a text, or an expression.
type Part struct {
	Lit  string
	Expr *Expr // nil for a literal
}

// ValueKind is the kind of a value in a block.
type ValueKind uint8

// The kinds of a value.
const (
	Literal  ValueKind = iota // Lit: string, int, float64, bool or nil without an expression
	Jq                        // Expr: a scalar that begins with $
	Template                  // Text: a scalar with ${{ }} in it
	Map                       // Fields
	List                      // Items
)

// Value is any YAML value of a block. Kind says which of Lit, Expr, Text, Fields and Items is set.
type Value struct {
	Pos    Pos
	End    Pos
	Kind   ValueKind
	Lit    any
	Expr   *Expr
	Text   *Text
	Fields []Field
	Items  []*Value
}

// String describes the value for messages.
func (v *Value) String() string {
	switch {
	case v == nil:
		return "nothing"
	case v.Kind == Map:
		return "a map"
	case v.Kind == List:
		return "a list"
	case v.Kind != Literal:
		return "an expression"
	case v.Lit == nil:
		return "null"
	}
	if text, ok := v.Lit.(string); ok {
		return fmt.Sprintf("%.60q", text)
	}
	return fmt.Sprint(v.Lit)
}

// Field is one key of a map, in file order.
type Field struct {
	Key   Word
	Value *Value
}

// Board is where the results of a step are posted.
type Board struct {
	Pos   Pos
	Topic *Word
	Live  bool // what a worker publishes is there at once for those beside it
}

// Step is one step. For a plain sentence the parser sets only Sentence, and compile expands it.
type Step struct {
	Pos Pos // of the heading, the plain line, the item of `do` or the child of `parallel`
	// of the first line inside the fence, or of an item's first key; zero if there is no block
	Block    Pos
	Number   string // empty if the step has no heading
	Title    string
	ID       Word // as written; empty Text if absent
	When     *Expr
	Tier     *Tier
	Action   Action    // nil for a step with only Table or Return, and for a sentence
	Table    *Table    // alone or beside one action
	Return   *Return   // alone or beside one action
	Sentence *Sentence // a plain step or a heading step without a fence
	With     []Field
	Timeout  *Timeout
	Retry    *Retry
	Fallback *Word
	On       []Rule
	Expect   *Expect
	Prompt   *Text
	Always   *Word // under Error Handling: failed, completed, any
	In       *Word // worktree or main
	Session  *Word // keep
	Board    *Board
	// Compensate undoes the step's effect; it has neither id nor transitions.
	Compensate    *Step
	After, Before *Around // in Between Steps, exactly one of these
	// of a loop or a group: the deeper headings or `do`; of parallel: its children
	Body []*Step
}

// Tier says in which tiers a step runs: the named ones, or with OrLater the named one and all later
// ones.
type Tier struct {
	Pos     Pos
	Names   []Word
	OrLater bool
}

// Around says around which steps a step of Between Steps runs: the named ones, or every delegation
// to a worker.
type Around struct {
	Pos  Pos
	IDs  []Word
	Each bool
}

// Table shows rows.
type Table struct {
	Pos     Pos
	Rows    *Expr
	Columns []Word
	Title   *Text
}

// Return ends the command.
type Return struct {
	Pos       Pos
	Status    *Value
	Message   *Text
	Text      *Value // markdown that is printed on standard output
	Artifacts *Value
	Fields    []Field
	NextSteps *Text `json:"next_steps"`
}

// Timeout bounds a step; the values are seconds as duration texts, checked by the parser.
type Timeout struct {
	Pos         Pos
	Total, Idle float64 // seconds, 0 if absent
}

// Retry repeats a failed attempt. Max counts attempts after the first; durations are seconds.
type Retry struct {
	Pos     Pos
	Max     int
	On      []Word // transient, timeout, invalid_return
	Backoff float64
	Factor  float64
	Cap     float64
}

// Expect is what a result must contain to pass.
type Expect struct {
	Pos      Pos
	Artifact *Word
	If       *Expr
	Else     *Text // what is said where If does not hold; nil: the jq
	Schema   *Shape
}

// Shape is a JSON Schema: written in place, or in a file of the project.
type Shape struct {
	Pos  Pos
	File string   // path from the project root; empty: Root is set
	Root *md.Node // nil if the value had the wrong type, which is reported
}

// Rule is `on: {status: targets}`.
type Rule struct {
	Status  Word
	Targets []*Target
}

// TargetKind says where a result leads; its text is the key in the file.
type TargetKind string

// The targets.
const (
	ToNext     TargetKind = "next"
	ToFail     TargetKind = "fail"
	ToRedo     TargetKind = "redo"
	ToReturn   TargetKind = "return"
	ToGate     TargetKind = "gate"
	ToRollback TargetKind = "rollback"
	ToAsk      TargetKind = "ask"
	ToGoto     TargetKind = "goto"
)

// Target is where a result leads. If may stand in every map; Max is 0 if absent.
type Target struct {
	Pos    Pos
	End    Pos `json:"-"`
	Kind   TargetKind
	If     *Expr
	Max    int
	Note   bool   `json:",omitempty"` // of a choice: the answer must have a note
	Steps  []Word // of redo and rollback; of goto exactly one
	Agents []Word // ask
	Gate   *Gate  // its own question; nil: the engine's
	Return *Return
}

// SentenceKind is one of the plain sentences that tercet knows.
type SentenceKind uint8

// The plain sentences.
const (
	SayDelegate SentenceKind = iota // Delegate to NAME [subagent] [with WORDS]
	// Delegate to status-sync-manager to update task status [to "X"]
	SayUpdateStatus
	SayExtract          // Extract [optional] ARG from args[i]
	SayPositive         // Validate ARG is positive integer
	SayValidateArgument // Validate ARG ...
	SayTaskExists       // Validate task exists
	SayTaskReady        // Validate task exists and is ready for VERBing
	SayValidateFormat   // Validate NOUN format
	SayLoadTask         // Load task context ...
	SayForEach          // For each X [in JQ]: [NAME] (deeper steps, or the call of NAME, in Body)
	SayReturn           // Return WORDS [to orchestrator]
	SayCommit           // Delegate to git-workflow-manager to commit WORDS
	SayParallel         // Delegate in parallel to A, B and C (each in Body)
	SayEither           // If [ARG is] VALUE: delegate to A, otherwise to B
	SayIfValid          // If valid: A, else: B
	SayDelegateWith     // Delegate to NAME with: (lines - KEY: VALUE below)
	SayFail             // Return error ["TEXT"]
	SayNothing          // what the engine does anyway: Validate inputs, Aggregate results, ...
)

// Sentence is a recognised plain sentence. Kind says which fields are set.
type Sentence struct {
	Pos   Pos
	Kind  SentenceKind
	Name  Word    // agent, argument, noun, loop variable
	Verb  Word    // "planning" of SayTaskReady
	To    Word    // status of SayUpdateStatus, or of the call of SayForEach; empty if absent
	Index int     // of SayExtract
	Opt   bool    // of SayExtract
	Expr  *Expr   // of SayForEach; nil if it only names what it goes over
	Agent Word    // of SayForEach, empty if the body is in deeper steps
	Value Word    // of SayEither
	Among []Word  // of SayEither and SayIfValid, and the subagents of SayParallel
	With  []Field // of SayDelegateWith
	Rest  string  // the words after with / return
}
