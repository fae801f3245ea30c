package query

import (
	"slices"

	"github.com/itchyny/gojq"
)

// Statuses is what `ready` needs to know about task statuses.
type Statuses struct {
	Waiting []string // a task with one of these is ready for work
	Done    string   // a dependency must have this status
}

// readyName is the function that returns the ready tasks of a state.
const readyName = "ready"

// The task members that ready reads.
const (
	readyTasks  = "tasks"
	readyNumber = "number"
	readyStatus = "status"
	readyDeps   = "dependencies"
)

// readiness decides which tasks of a list are ready, in linear time: all of them are added first.
type readiness struct {
	*Statuses

	open map[int]bool // by number: not done
	deps [][]int      // dependencies of each task; nil if it does not wait for work
}

// addAll adds the tasks of a state, or of a part of one; false if it is not one.
func (r *readiness) addAll(state any) bool {
	doc, _ := state.(map[string]any) //nolint:errcheck // nil has no tasks
	list, isList := doc[readyTasks].([]any)
	return isList && !slices.ContainsFunc(list, func(task any) bool { return !r.addTask(task) })
}

func (r *readiness) addTask(task any) bool {
	t, _ := task.(map[string]any) //nolint:errcheck // nil has no number
	n, isInt := t[readyNumber].(int)
	word, isText := t[readyStatus].(string)
	list, isList := t[readyDeps].([]any)
	if !isInt || !isText || !isList && t[readyDeps] != nil {
		return false
	}

	r.open[n] = word != r.Done
	deps := make([]int, len(list))
	for i, d := range list {
		deps[i], isInt = d.(int)
		if !isInt {
			return false
		}
	}

	if !slices.Contains(r.Waiting, word) {
		deps = nil
	}
	r.deps = append(r.deps, deps)
	return true
}

// isReady reports whether the task at an index waits for no other task.
func (r *readiness) isReady(i int) bool {
	return r.deps[i] != nil &&
		!slices.ContainsFunc(r.deps[i], func(n int) bool { return r.open[n] })
}

// readyFunction is `ready` for a document that was decoded.
func readyFunction(s *Statuses) gojq.CompilerOption {
	return gojq.WithIterFunction(readyName, 0, 0, func(v any, _ []any) gojq.Iter {
		r := readiness{Statuses: s, open: map[int]bool{}}
		if !r.addAll(v) {
			return gojq.NewIter[any](errState)
		}

		//nolint:errcheck,forcetypeassert // addAll has looked
		tasks := v.(map[string]any)[readyTasks].([]any)
		var out []any
		for i, task := range tasks {
			if r.isReady(i) {
				out = append(out, task)
			}
		}
		return gojq.NewIter(out...)
	})
}

// readyElements is the flow of the tasks that are ready.
func (f flow) readyElements() flow {
	tasks := f.key(readyTasks)
	elems := tasks.iterate()
	demand(elems.key(readyNumber), elems.key(readyStatus), elems.key(readyDeps))
	for _, n := range tasks.at {
		n.ready = true
	}
	return elems
}
