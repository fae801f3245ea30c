package compile

import (
	"time"

	"tercet/formats"
)

// GitWorkflow is the built-in subagent that worktree and publish are lowered to.
const GitWorkflow = "git-workflow-manager"

// Parallel runs its children side by side; a child has no rules, Merge decides over all of them.
type Parallel struct {
	Children []*Op
	Merge    *Expr // nil: all(approved)
}

// Until runs Body until Cond holds after a pass, at most Max times.
type Until struct {
	Cond *Expr
	Max  int
	Body []*Op
}

// Group runs Body in the sequence around it: its condition covers the body.
type Group struct{ Body []*Op }

func (*Parallel) op() {}
func (*Until) op()    {}
func (*Group) op()    {}

// Asked is a subagent that a question may go to.
type Asked struct {
	Name string
	Info formats.AgentInfo
}

// Worktree is opened before the first step that works in it, and closed when the run is over.
type Worktree struct{ Open, Close *Delegate }

// Wait takes a gate's choice when nobody has answered for a while.
type Wait struct {
	After  time.Duration
	Choose string
}

// Bodies gives the sequences that stand inside a step: those of a loop, a group, or the children of parallel.
func (o *Op) Bodies() []*Op {
	switch a := o.Do.(type) {
	case *Foreach:
		return a.Body
	case *Until:
		return a.Body
	case *Group:
		return a.Body
	case *Parallel:
		return a.Children
	}
	return nil
}
