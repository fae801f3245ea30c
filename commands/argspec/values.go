package argspec

import (
	"maps"
	"slices"
)

// RawName is the member of Map that holds the line as it was typed.
const RawName = "_raw"

// Values is what a line gave to the arguments of a command. It is immutable, and so are the lists and maps that it
// gives; the zero value has no arguments.
//
// A string, path, enum or text is a string, an integer, a task or a duration (in seconds) an int, a number a float64, a
// boolean a bool, tasks a []any of int or the string of a declared word such as all, json what encoding/json makes of
// it with json.Number for numbers, a repeated argument a []any of these.
type Values struct {
	Raw string // rest of the line; the words of a shell joined by Join
	// Engine are the flags of the engine that stood in the line, as --name or --name=value. An error has those before it.
	Engine []string

	vals  map[string]any // every argument; nil if absent and without default
	given map[string]bool
	task  string // name of the argument that binds $task, empty if none
	span  []int  // the tasks of a range, nil for a single number
}

// Get gives the value of an argument; ok is false if there is no such argument or it was neither given nor has a
// default.
func (v Values) Get(name string) (value any, ok bool) {
	value = v.vals[name]
	return value, value != nil
}

// Given tells whether the line named the argument, in contrast to a default.
func (v Values) Given(name string) bool { return v.given[name] }

// Map gives a fresh map of all arguments with RawName beside them. Absent arguments are nil, booleans false, repeated
// ones an empty list.
func (v Values) Map() map[string]any {
	out := map[string]any{}
	maps.Copy(out, v.vals)
	out[RawName] = v.Raw
	return out
}

// Task gives the number that binds $task: the first argument of type task, else an integer named task_number. For a
// range it is the first number.
func (v Values) Task() (number int, ok bool) {
	number, ok = v.vals[v.task].(int)
	return number, ok
}

// TaskRange gives the numbers of a task argument that was given as a range, ascending; nil for a single number. Each is
// meant for a run of its own, see At.
func (v Values) TaskRange() []int { return slices.Clone(v.span) }

// At gives the same values with the task argument bound to a number, for one run of a range.
func (v Values) At(number int) Values {
	if v.task == "" {
		return v
	}
	v.vals = maps.Clone(v.vals)
	v.vals[v.task] = number
	v.span = nil
	return v
}
