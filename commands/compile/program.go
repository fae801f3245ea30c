package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"maps"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/schema"
	"tercet/internal/query"
)

// Names of the built-in subagents that steps compile to.
const (
	StatusSync  = formats.AgentStatusSync
	Gatekeeper  = formats.AgentGatekeeper
	GitWorkflow = formats.AgentGitWorkflow
)

// Program is a compiled command: the tree of its file, and what compile proved about it. It is
// immutable and safe for concurrent runs.
type Program struct {
	// File is the tree as it runs. Every step has an id; sentences, and delegates beside a loop,
	// are expanded into steps. Do not change its Src.
	File        *syntax.File
	Name        string // of the command, or of the workflow subagent
	Workflow    bool   // steps of a subagent file, which read $input instead of $args
	Args        []argspec.Spec
	Tiers       []string             // in order; nil without
	Allow       []formats.TaskStatus // nil: any status
	Limits      formats.Limits
	Output      *schema.Schema // schema of the fields of a passing return; nil: anything
	EngineCalls EngineCalls
	Warnings    []formats.Diagnostic
	Wishes      *formats.Wishes // of the prompt of another tool; nil: none
	// the files of the project that are a part of it, one after the other; nil without any
	files []byte
	facts facts
}

// EngineCalls holds the calls that the engine makes beside the steps; nil where it makes none.
type EngineCalls struct {
	Begin  *Call // writes the status of `during` and takes the lease
	Failed *Call // sets the status that `during` names for failures; nil: the prior status
	// puts a task that the run left in progress back to its prior status; interp adds the number
	Back  *Call
	Open  *Call // opens the worktree before the first step that works in it
	Close *Call // closes the worktree when the run is over
	// Join brings a child's work into the run's worktree; nil if children work in that one. interp
	// adds which child.
	Join *Call
}

// facts is what was proved of the parts of the tree, by the part.
type facts struct {
	steps   map[*syntax.Step]*Info // but for those of Between Steps, of which each host has its own
	code    map[*syntax.Expr]*query.Code
	schemas map[*syntax.Shape]*schema.Schema
	agents  map[string]*formats.AgentInfo // those that the file names; not to be changed
}

// Info is what compile knows about one step beyond the tree. Where a name also exists in Step, Info
// has the value that counts at run time, after loops and `yaml defaults`.
type Info struct {
	Step     *syntax.Step
	ID       string   // in Between Steps: appended to the host's
	Host     string   // in Between Steps: id of the step around which it runs
	Tiers    []string // tiers in which it runs; nil: all
	Terms    Terms
	Call     *Call // the delegation of the step; nil if the engine does it alone
	Fallback *Call // tried once after the retries; nil if there is none
	On       []syntax.Rule
	Expect   *syntax.Expect
	Before   []*Info // steps of Between Steps, in file order
	After    []*Info
	Undo     *Info // compensates the step; nil if nothing does
	back     []*syntax.Target
}

// Terms are the conditions of a delegation.
type Terms struct {
	Timeout formats.Timeout
	Retry   *syntax.Retry // nil: syntax.DefaultRetry for workers
	In      string        // worktree, main, none; empty: as the file says
	Board   string        // topic; empty if there is none
	Live    bool          // what is published there is seen at once
	Keep    bool          // further rounds go on in the session of the agent CLI
}

// Call is one delegation: a `delegate`, or what `status`, `publish` and a check of commands compile
// to.
type Call struct {
	Agent string             // empty if Pick chooses one of Among
	Info  *formats.AgentInfo // never nil; shared, do not change it
	With  []syntax.Field     // the whole input
	Link  bool               // adds the run's unlinked artifacts to the input
	Among []*Call            // candidates; Pick chooses one at run time
}

// Hash gives the SHA-256 of the source and of the files that belong to it, in hex. It is computed
// on each call: only the start of a run needs it.
func (p *Program) Hash() string {
	sum := sha256.Sum256(p.File.Src)
	if p.files != nil {
		files := sha256.Sum256(p.files)
		sum = sha256.Sum256(append(sum[:], files[:]...))
	}
	return hex.EncodeToString(sum[:])
}

// Files gives the hashes of the named subagent files and of their facets.
func (p *Program) Files() map[string]string {
	out := map[string]string{}
	for _, info := range p.facts.agents {
		if info.Sum != "" {
			out[info.File] = info.Sum
		}
		maps.Copy(out, info.Facets)
	}
	return out
}

// Info gives the Info of a step of the workflow or of Error Handling.
func (p *Program) Info(s *syntax.Step) *Info {
	return p.facts.steps[s]
}

// Code gives the compiled form of an expression of the tree.
func (p *Program) Code(e *syntax.Expr) *query.Code {
	return p.facts.code[e]
}

// Schema gives the compiled form of a JSON Schema of the tree.
func (p *Program) Schema(s *syntax.Shape) *schema.Schema {
	return p.facts.schemas[s]
}

// Agent gives the contract of a subagent that the file names.
func (p *Program) Agent(name string) *formats.AgentInfo {
	return p.facts.agents[name]
}

// Subagents lists the names of the subagents that the file names, sorted.
func (p *Program) Subagents() []string {
	return slices.Sorted(maps.Keys(p.facts.agents))
}

// Pack is the pack whose subagents are looked up first; empty: none.
func (p *Program) Pack() string {
	return p.File.Front.Subagents.Text
}

// IsLibrary reports whether the file ships with tercet or with a pack: its steps rely on the
// contracts of shipped subagents.
func (p *Program) IsLibrary() bool {
	return p.Pack() != "" || strings.HasPrefix(p.File.Name, formats.LibraryCommands+"/") ||
		strings.HasPrefix(p.File.Name, formats.LibrarySubagents+"/")
}

// CallingPack is the pack of the file for its delegations, PackLibrary for a file that ships with
// tercet.
func (p *Program) CallingPack() string {
	if p.Pack() == "" && p.IsLibrary() {
		return formats.PackLibrary
	}
	return p.Pack()
}

// FullName is the full name of a subagent of the file; one of a pack has the pack's name in front,
// and a shipped one beside one of the project has its own.
func (p *Program) FullName(name string) string {
	info := p.facts.agents[name]
	if info != nil && p.IsLibrary() && strings.HasSuffix(info.Name, ":"+name) {
		return info.Name
	}
	if info != nil && info.Pack != "" && info.Pack == p.Pack() {
		return p.Pack() + ":" + info.Name
	}
	return name
}

// Codes yields every expression of the program, in no order.
func (p *Program) Codes() iter.Seq[*query.Code] {
	return maps.Values(p.facts.code)
}

// Infos yields every step, with the steps around it and its compensation, in no order.
func (p *Program) Infos() iter.Seq[*Info] {
	return func(yield func(*Info) bool) {
		for _, info := range p.facts.steps {
			for _, one := range slices.Concat([]*Info{info, info.Undo}, info.Before, info.After) {
				if one != nil && !yield(one) {
					return
				}
			}
		}
	}
}

// Commits reports whether a step asks for a commit.
func (p *Program) Commits() bool {
	for info := range p.Infos() {
		c := info.Call
		if c != nil && c.Agent == GitWorkflow &&
			slices.ContainsFunc(c.With, func(f syntax.Field) bool {
				return f.Key.Text == "action" && f.Value != nil && literalText(f.Value) == "commit"
			}) {
			return true
		}
	}
	return false
}

// Reruns lists the steps that a target reruns, in order. `it` is the step, or in Between Steps its
// host.
func (i *Info) Reruns(t *syntax.Target) []string {
	if t.Kind != syntax.ToRedo && t.Kind != syntax.ToRollback {
		return nil
	}
	out := make([]string, len(t.Steps))
	for n, w := range t.Steps {
		out[n] = w.Text
		switch w.Text {
		case selfWord:
			out[n] = cmp.Or(i.Host, i.ID)
		case i.Step.ID.Text:
			out[n] = i.ID
		}
	}
	return out
}

// GoesBack reports whether a goto of this step leads to itself or to an earlier step.
func (i *Info) GoesBack(t *syntax.Target) bool {
	return slices.Contains(i.back, t)
}

// IsTask reports whether a load binds the task: its value is the task or its number.
func IsTask(l *syntax.Load) bool {
	return l.Task != nil || l.Name.Text == "task" && l.Expr != nil
}

// Reads is what an expression reads.
type Reads struct {
	Vars []string // the variables, with their $
	// Steps are the ids read from $steps; AllSteps means that the expression reads $steps as a
	// whole.
	Steps    []string
	AllSteps bool
	Run      []string // the members read of $run
}

// Reads gives what an expression reads.
func (p *Program) Reads(e *syntax.Expr) Reads {
	code := p.Code(e)
	out := Reads{Vars: code.Vars()}
	for _, ref := range code.Refs() {
		if ref.Bound {
			continue
		}
		switch {
		case ref.Var == "$steps" && len(ref.Path) == 0:
			out.AllSteps = true
		case ref.Var == "$steps" && !slices.Contains(out.Steps, ref.Path[0]):
			out.Steps = append(out.Steps, ref.Path[0])
		case ref.Var == "$run" && len(ref.Path) > 0:
			out.Run = append(out.Run, ref.Path[0])
		}
	}
	return out
}
