package interp

import (
	"maps"

	"tercet/formats"
)

// counters are the numbers that rules and limits go by. They only grow, also where the user goes
// back to an earlier step.
type counters struct {
	steps       int            // against limits.Steps
	passes      int            // of loops, elements too; each allows formats.ElementSteps
	visits      map[string]int // by step path
	targets     map[string]int // uses of targets with a max, by step path and rule
	autoAnswers map[string]int // answers to the engine's gate of a step without the user
	rollbacks   int            // shared by all routes
	asked       map[string]int // questions by the path of the step that asked
	questions   map[string]bool
	jumps       map[string]int // entries by goto, by step path
	reopened    int            // how often the run was reopened after a failure
}

func newCounters() counters {
	return counters{
		visits:      map[string]int{},
		targets:     map[string]int{},
		autoAnswers: map[string]int{},
		asked:       map[string]int{},
		questions:   map[string]bool{},
		jumps:       map[string]int{},
	}
}

// visit is the present visit of a step, the first one before it was entered.
func (n *counters) visit(path string) int {
	return max(1, n.visits[path])
}

// giveNewVisit gives a call of the engine a visit of its own in a run that was reopened. The calls
// at its earlier end had the same paths, and a change with the transaction id of one of them would
// not be applied.
func (n *counters) giveNewVisit(path string) {
	if n.reopened > 0 {
		n.visits[path] = max(n.visits[path], n.reopened+1)
	}
}

// countStep counts a step, up to a limit that each element or round of a loop raises.
func (n *counters) countStep(limit int) error {
	n.steps++
	most := limit + n.passes*formats.ElementSteps
	if n.steps > most {
		return errLimit("steps", raiseLimit("steps"), most)
	}
	return nil
}

// countPastMax counts the use of a target with a limit, and tells whether the limit was reached
// before. A limit of 0 is none.
func (n *counters) countPastMax(key string, most int) bool {
	if most == 0 {
		return false
	}
	if n.targets[key] >= most {
		return true
	}
	n.targets[key]++
	return false
}

// snapshot is what the journal keeps of the counters.
func (n *counters) snapshot() formats.Counted {
	return formats.Counted{
		Visits:    n.visits,
		Used:      n.targets,
		Answered:  n.autoAnswers,
		Asked:     n.asked,
		Questions: n.questions,
		Jumps:     n.jumps,
		Rollbacks: n.rollbacks,
		Reopened:  n.reopened,
		Steps:     n.steps,
		Entered:   n.passes,
	}
}

// restore goes on from a snapshot.
func (n *counters) restore(was formats.Counted) {
	maps.Copy(n.visits, was.Visits)
	maps.Copy(n.targets, was.Used)
	maps.Copy(n.autoAnswers, was.Answered)
	maps.Copy(n.asked, was.Asked)
	maps.Copy(n.questions, was.Questions)
	maps.Copy(n.jumps, was.Jumps)
	n.rollbacks = was.Rollbacks
	n.reopened = was.Reopened
	n.steps = was.Steps
	n.passes = was.Entered
}
