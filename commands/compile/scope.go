package compile

import (
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
)

// place is where in the file the compiler is.
type place struct {
	scope   *scope
	loops   []inherited // what the loops around give to their bodies, outermost first
	status  statuses
	subject *Info // the step whose result the present condition is about
	host    *Info // the step around which one of Between Steps is being compiled

	inErrors       bool // under Error Handling
	lenient        bool // results of steps that may not have run may be read
	conditional    bool // the steps may be skipped by a condition around them
	inParallel     bool // of parallel
	inCompensation bool // in a compensation
}

// scope is what an expression may refer to at one place of the file.
type scope struct {
	vars  []string
	task  bool
	steps []*Info // of this sequence that stand before
	self  string  // id of the step being compiled
	loop  string  // id of the loop whose body this is, empty outside of loops
	outer *scope
}

func baseVars() []string {
	return []string{"$state", "$task", "$env", "$steps", "$feedback", "$run", "$board"}
}

// placeVars are variables that stand only at some places, with what is said where they do not.
var placeVars = map[string]string{
	"$it":    "it stands in Between Steps",
	"$tier":  "declare tiers: [...] in the frontmatter",
	"$input": "it stands in a subagent with steps; here it is $args",
	"$args":  "it stands in a command; here it is $input",
	"$item":  "it stands in the body of a foreach",
	"$index": "it stands in the body of a foreach",
}

// varMembers are the members of variables whose members are the same everywhere.
var varMembers = map[string][]string{
	"$run": {
		"id", "session_id", "command", "depth", "started_at", "worktree", "rollbacks",
		"auto_approve", "artifacts", "approval", "commit", "diff", "diffstat", "overrides",
		"repo_state",
	},
	"$feedback": {"from", "issues", "note", "choice", "answer", "attempt"},
	"$it":       {"id", "agent", "tools", "status", "summary", "artifacts", "fields", "issues"},
}

// reserved are names that the engine gives.
var reserved = []string{
	"state", "task", "env", "steps", "feedback", "run", "board", "it", tierName, "input", "args",
	"index", "ENV", "__loc__",
}

func (s *scope) add(name string) {
	if !slices.Contains(s.vars, name) {
		s.vars = append(s.vars, name)
	}
}

// find gives the step of an id whose result can be read; the last one of an id counts.
func (s *scope) find(id string) *Info {
	for at := s; at != nil; at = at.outer {
		for _, info := range slices.Backward(at.steps) {
			if info.ID == id {
				return info
			}
		}
	}
	return nil
}

// isInLoop tells whether the scope is in the body of a loop.
func (s *scope) isInLoop(loop string) bool {
	for at := s; at != nil; at = at.outer {
		if at.loop == loop {
			return true
		}
	}
	return false
}

// withAllNames compiles in a scope that has the names of every set of the file, whether it stands
// before this place or not. The text may read what has not run, and gets null then. It is for what
// is written once and holds at many places.
func (c *compiler) withAllNames(more []string, compile func()) {
	outer := c.scope
	lenient := c.lenient
	loose := *outer
	loose.vars = slices.Clone(outer.vars)
	for _, name := range slices.Concat(more, c.index.sets) {
		loose.add(name)
	}
	c.scope = &loose
	c.lenient = true
	compile()
	c.scope = outer
	c.lenient = lenient
}

// contract is that of the subagent that a step calls; nil for a step that calls none, or one of
// several.
func (i *Info) contract() *formats.AgentInfo {
	if i.Step.Kind().Delegates && i.Call.Agent != "" {
		return i.Call.Info
	}
	return nil
}

// members lists what there is of a step's result.
func (i *Info) members() []string {
	return append([]string{"status"}, kindOf(i.Step).members...)
}

// elements lists the members of each element of a list in a step's result; nil: not known. For the
// children of a loop with one step it also gives that step, whose result they show.
func (c *compiler) elements(i *Info, list string) (names []string, one *Info) {
	switch list {
	case "artifacts":
		return []string{"type", "path", "summary", "deleted"}, nil
	case "issues":
		return []string{"level", "description", "files", "line", "suggested_fix", "source"}, nil
	case "children", "completed", "partial", "failed", "blocked":
	default:
		return nil, nil
	}

	switch i.Step.Kind().Body {
	case syntax.NoBody, syntax.Inline:
	case syntax.Concurrent:
		names = []string{"id", "status"}
		for _, child := range i.Step.Body {
			if info := c.prog.Info(child); info != nil {
				names = append(names, info.members()...)
			}
		}
	case syntax.Repeated:
		names = []string{"index", "item", "status", "summary", "artifacts", "issues", "steps"}
		if i.Step.Delegation() != nil {
			if one = c.prog.Info(i.Step.Body[0]); one != nil {
				names = append(names, one.members()...)
			}
		}
	}

	return distinct(names), one
}

// distinct gives each name once, where it stands first.
func distinct(names []string) []string {
	var out []string
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
