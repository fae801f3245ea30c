package compile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"maps"
	"slices"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// Names of the built-in subagents that steps come down to.
const (
	StatusSync  = formats.AgentStatusSync
	Gatekeeper  = formats.AgentGatekeeper
	GitWorkflow = formats.AgentGitWorkflow
)

// Program is a compiled command: the tree of its file, and beside it what was proved of it. It is immutable and safe
// for concurrent runs.
type Program struct {
	// File is the tree as it runs. Every step has its id; sentences, and delegates beside a loop, are written out as the
	// steps that they mean. Its Src must not be changed.
	File     *syntax.File
	Name     string // of the command, or of the subagent whose steps these are
	Workflow bool   // the steps of a subagent file: $input instead of $args
	Args     []argspec.Spec
	Tiers    []string             // in order; nil without
	Allow    []formats.TaskStatus // nil: any status
	Limits   formats.Limits
	Output   *formats.Schema // what the fields of a return that passes must hold; nil: anything
	Own      Own
	Warnings []formats.Diagnostic
	files    []byte // the files of the project that are a part of it, one after the other; nil without any
	facts    facts
}

// Own are the calls that the engine makes beside the steps, nil where it makes none.
type Own struct {
	Begin  *Call // writes the status of `during` and takes the lease
	Failed *Call // gives the task the status that `during` names for failures; nil: it goes back to what it was
	Back   *Call // gives a task that the run left in progress its status of before; the runner adds the number
	Open   *Call // of the worktree, before the first step that works in it
	Close  *Call // of the worktree, when the run is over
	// Join brings the work of a child to the run's worktree; nil where children work in that. The runner says which child.
	Join *Call
}

// facts is what was proved of the parts of the tree, by the part.
type facts struct {
	steps   map[*syntax.Step]*Info // but for those of Between Steps, of which each host has its own
	code    map[*syntax.Expr]*query.Code
	schemas map[*syntax.Shape]*formats.Schema
	agents  map[string]*formats.AgentInfo // those that the file names; not to be changed
}

// Info is what is known of one step beside the tree. Names that a step has too stand for what holds when it runs: with
// what loops around it and `yaml defaults` give.
type Info struct {
	*syntax.Step
	ID       string   // behind that of the host in Between Steps
	Host     string   // in Between Steps: the id of the step around which it runs
	Tiers    []string // in which it runs; nil: in all
	Terms    Terms
	Call     *Call // what the step has done; nil for one that the engine does alone
	Fallback *Call // tried once after the retries; nil without one
	On       []syntax.Rule
	Expect   *syntax.Expect
	Before   []*Info // of Between Steps, in file order
	After    []*Info
	Undo     *Info // takes the effect back; nil without
	back     []*syntax.Target
}

// Terms are how work is done.
type Terms struct {
	Timeout formats.Timeout
	Retry   *syntax.Retry // nil: it is tried once
	In      string        // worktree, main, none, or empty: as the file says
	Board   string        // topic, empty without one
}

// Call is a delegation as it is made: that of `delegate`, or what `status`, `publish` and a check of commands come down
// to.
type Call struct {
	Agent string             // empty when one of Among is picked
	Info  *formats.AgentInfo // never nil; shared, and not to be changed
	With  []syntax.Field     // the whole input
	Link  bool               // the artifacts of the run that are not linked yet are added to the input
	Among []*Call            // of which the step's Pick names one when it runs
}

// Hash gives the sha256 of the source in hex, with that of the files that are a part of it. Only a run that starts asks
// for it, so it is not kept.
func (p *Program) Hash() string {
	sum := sha256.Sum256(p.File.Src)
	if p.files != nil {
		files := sha256.Sum256(p.files)
		sum = sha256.Sum256(append(sum[:], files[:]...))
	}
	return hex.EncodeToString(sum[:])
}

// Files gives the hashes of the subagent files that the program names, and of the facets that these name.
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

// Info gives what is known of a step of the workflow or of Error Handling.
func (p *Program) Info(s *syntax.Step) *Info { return p.facts.steps[s] }

// Code gives the compiled form of an expression of the tree.
func (p *Program) Code(e *syntax.Expr) *query.Code { return p.facts.code[e] }

// Schema gives the compiled form of a JSON Schema of the tree.
func (p *Program) Schema(s *syntax.Shape) *formats.Schema { return p.facts.schemas[s] }

// Agent gives the contract of a subagent that the file names.
func (p *Program) Agent(name string) *formats.AgentInfo { return p.facts.agents[name] }

// Pack is the one whose subagents are looked up first; empty: none.
func (p *Program) Pack() string { return p.File.Front.Subagents.Text }

// Called is the name by which a subagent of the file is found everywhere: one of a pack has that in front.
func (p *Program) Called(name string) string {
	if info := p.facts.agents[name]; info != nil && info.Pack != "" && info.Pack == p.Pack() {
		return p.Pack() + ":" + info.Name
	}
	return name
}

// Codes yields every expression of the program, in no order.
func (p *Program) Codes() iter.Seq[*query.Code] { return maps.Values(p.facts.code) }

// Infos yields every step with what runs around it and what takes it back, in no order.
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

// Commits tells whether a step asks for a commit.
func (p *Program) Commits() bool {
	for info := range p.Infos() {
		if info.Call == nil || info.Call.Agent != GitWorkflow {
			continue
		}
		for _, f := range info.Call.With {
			if f.Key.Text == "action" && f.Value != nil && literal(f.Value) == "commit" {
				return true
			}
		}
	}
	return false
}

// Again lists the steps that a target of this step runs again, in order. `it` is the step, or in Between Steps its
// host.
func (i *Info) Again(t *syntax.Target) []string {
	if t.Kind != syntax.ToRedo && t.Kind != syntax.ToRollback {
		return nil
	}
	out := make([]string, len(t.Steps))
	for n, w := range t.Steps {
		if out[n] = w.Text; w.Text == itself {
			out[n] = cmp.Or(i.Host, i.ID)
		}
	}
	return out
}

// GoesBack tells whether a goto of this step leads to itself or to a step before it.
func (i *Info) GoesBack(t *syntax.Target) bool { return slices.Contains(i.back, t) }

// IsTask tells whether a load binds the task: it gives it, or its number.
func IsTask(l *syntax.Load) bool { return l.Task != nil || l.Name.Text == "task" && l.Expr != nil }

// Reads is what an expression reads.
type Reads struct {
	Vars []string // the variables, with their $
	// Steps are the ids that it reads from $steps; AllSteps tells that it reads $steps as a whole.
	Steps    []string
	AllSteps bool
	Run      []string // the members that it reads of $run
}

// Reads tells what an expression reads.
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
