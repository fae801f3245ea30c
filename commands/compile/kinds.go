package compile

import (
	"tercet/commands/syntax"
	"tercet/formats"
)

// kind is what the compiler knows of a kind of step beyond its row in the grammar. What is not set
// is so of most kinds: nothing to check, a result with a status alone, completed as the only
// outcome.
type kind struct {
	// check compiles what the step says. What the step calls goes into info.Call.
	check func(c *compiler, info *Info)
	// members are those of the step's result, beside status.
	members []string
	// outcomes are those that the step can have.
	outcomes func(info *Info) []formats.Outcome
	// choices lead on from the step, in place of rules.
	choices []syntax.GateChoice
	// moves tells that the step may change the status of a task.
	moves bool
	// treeless tells that the step works in no tree, so that 'in' means nothing.
	treeless bool
}

// membersOfCall are the members of the result of a step that calls a subagent.
var membersOfCall = []string{
	"summary", "text", "artifacts", "issues", "fields", "errors", "attempts", "class",
	"next_steps", "blocked_reason",
}

// outcomesOf are outcomes that all steps of a kind can have.
func outcomesOf(list ...formats.Outcome) func(*Info) []formats.Outcome {
	return func(*Info) []formats.Outcome { return list }
}

// kindOf is the row of a step's kind; the zero row for a step that only shows or returns something.
func kindOf(s *syntax.Step) kind {
	const (
		completed = formats.OutcomeCompleted
		partial   = formats.OutcomePartial
		approved  = formats.OutcomeApproved
		rejected  = formats.OutcomeRejected
		blocked   = formats.OutcomeBlocked
		suspended = formats.OutcomeSuspended
		skipped   = formats.OutcomeSkipped
		failed    = formats.OutcomeFailed
	)
	switch a := s.Action.(type) {
	case *syntax.Delegate:
		return kind{
			check:    func(c *compiler, info *Info) { c.compileDelegate(a, info) },
			members:  membersOfCall,
			outcomes: outcomesOfCall,
			moves:    a.Agent.Text == StatusSync && changesStatus(s.With),
		}
	case *syntax.Parallel:
		return kind{
			check:   func(c *compiler, info *Info) { c.compileParallel(a, info) },
			members: []string{"summary", "artifacts", "issues", "children"},
			outcomes: outcomesOf(completed, skipped, partial, rejected, blocked, suspended,
				failed),
		}
	case *syntax.Foreach:
		return kind{
			check: func(c *compiler, info *Info) { c.compileForeach(a, info) },
			members: []string{
				"summary", "completed", "partial", "failed", "blocked", "artifacts", "issues",
				"children",
			},
			outcomes: outcomesOf(completed, partial, rejected, blocked, suspended, failed),
		}
	case *syntax.Until:
		return kind{
			check:    func(c *compiler, info *Info) { c.compileUntil(a, info) },
			members:  []string{"summary", "artifacts", "issues", "children"},
			outcomes: outcomesOf(completed, partial, rejected, blocked, suspended, failed),
		}
	case *syntax.Group:
		return kind{check: func(c *compiler, info *Info) { c.compileGroup(a, info) }}
	case *syntax.Status:
		return kind{
			check: func(c *compiler, info *Info) {
				info.Call = c.compileStatus(a, c.alwaysRuns(s))
			},
			members:  membersOfCall,
			outcomes: outcomesOf(completed, failed),
			moves:    a.Phase == nil,
		}
	case *syntax.Gate:
		return kind{
			check:   func(c *compiler, info *Info) { c.compileGate(a, info) },
			members: []string{"choice", "note", "by"},
			choices: a.Choices,
		}
	case *syntax.Check:
		return kind{
			check:    func(c *compiler, info *Info) { info.Call = c.compileCheck(a, s) },
			members:  membersOfCall,
			outcomes: outcomesOf(approved, rejected, failed),
			treeless: a.Expr != nil,
		}
	case *syntax.Set:
		return kind{
			check:   func(c *compiler, _ *Info) { c.compileSet(a) },
			members: s.Binds(),
		}
	case *syntax.Publish:
		return kind{
			check:    func(c *compiler, info *Info) { info.Call = c.compilePublish(a) },
			members:  membersOfCall,
			outcomes: outcomesOfCall,
			treeless: true,
		}
	case *syntax.Fail:
		return kind{check: func(c *compiler, _ *Info) { c.compileFail(a) }}
	}
	return kind{}
}

// compileSet checks names that get values.
func (c *compiler) compileSet(a *syntax.Set) {
	for _, v := range a.Values {
		c.compileExpr(v.Expr)
		c.checkTierValue(v.Name.Text, v.Expr)
		c.bindName(v.Name)
	}
}

// compileFail checks the end of a command as failed.
func (c *compiler) compileFail(a *syntax.Fail) {
	c.compileExprs(a)
	c.checkExitCode(a.Code)
}

// alwaysRuns tells whether a step runs whenever its sequence does, and passes if that goes on.
func (c *compiler) alwaysRuns(s *syntax.Step) bool {
	return s.When == nil && s.Tier == nil && len(s.On) == 0 && !c.conditional
}
