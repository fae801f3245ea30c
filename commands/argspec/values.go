package argspec

import (
	"maps"
	"slices"
	"strings"
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
	span  []int  // the tasks of a list, nil for a single number
	raw   string // what was split, with all its space
	words []Word // of a shell, nil without one
	cuts  []cut  // of raw, in order: what the line of one task of a list has not
}

// cut is a piece of a line.
type cut struct {
	start, end int
	list       bool // the number of the task stands there instead
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

// Task gives the number that binds $task: the first argument of type task, else an integer named task_number. Of a list
// it is the first.
func (v Values) Task() (number int, ok bool) {
	number, ok = v.vals[v.task].(int)
	return number, ok
}

// Tasks gives the numbers of a task argument that was given as a list such as 3, 5-7, in its order; nil for a single
// number. Each is meant for a run of its own, see Line.
func (v Values) Tasks() []int { return slices.Clone(v.span) }

// Parallel tells how many tasks the line lets be done side by side.
func (v Values) Parallel() (int, error) {
	text := "1"
	for _, one := range v.Engine {
		if n, ok := strings.CutPrefix(one, parallel+"="); ok {
			text = n
		}
	}
	return Parallel(text)
}

// Line gives the line as it would be typed for another list, such as one task alone: the rest of a line, or the words
// of a shell. What concerns a list as a whole is left out.
func (v Values) Line(list string) (raw string, words []string) {
	if v.words == nil {
		var b strings.Builder
		at := 0
		for _, c := range v.cuts {
			b.WriteString(v.raw[at:c.start])
			if at = c.end; c.list {
				b.WriteString(list)
			} else {
				at = skipSpace(v.raw, at)
			}
		}
		return strings.TrimSpace(b.String() + v.raw[at:]), nil
	}
	words = []string{}
	for _, w := range v.words {
		i := slices.IndexFunc(v.cuts, func(c cut) bool { return c.start < w.End && w.Start < c.end })
		switch {
		case i < 0:
			words = append(words, w.Text)
		case !v.cuts[i].list || w.Start > v.cuts[i].start: // a further word of the list
		case w.Start < v.cuts[i].start:
			name, _, _ := strings.Cut(w.Text, "=")
			words = append(words, name+"="+list)
		default:
			words = append(words, list)
		}
	}
	return "", words
}
