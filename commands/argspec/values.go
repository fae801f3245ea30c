package argspec

import (
	"maps"
	"slices"
	"strings"
)

// RawName is the key of Map under which the line stands as typed.
const RawName = "_raw"

// Values holds the arguments that a line gave. It is immutable, and so are its lists and maps; the
// zero value has no arguments.
//
// Go types: string, path, enum and text are string; integer, task and duration (in seconds) are
// int; number is float64; boolean is bool. tasks is a []any of int, or a declared word such as
// "all". json is what encoding/json decodes, with json.Number for numbers. A repeated argument is a
// []any of these.
type Values struct {
	Raw string // rest of the line; shell words joined by Join
	// Engine holds the engine's flags in the line, as --name or --name=value. After an error it
	// holds those before the error.
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

// Get gives the value of an argument. ok is false if the argument was not given and has no default.
func (v Values) Get(name string) (value any, ok bool) {
	value = v.vals[name]
	return value, value != nil
}

// Given reports whether the line itself gave the argument; a default does not count.
func (v Values) Given(name string) bool {
	return v.given[name]
}

// Map gives a fresh map of all arguments, plus RawName. Absent arguments are nil, booleans false,
// repeated ones an empty list.
func (v Values) Map() map[string]any {
	out := map[string]any{}
	maps.Copy(out, v.vals)
	out[RawName] = v.Raw
	return out
}

// Task gives the number that binds $task: the first argument of type task, else an integer named
// task_number. For a list it is the first number.
func (v Values) Task() (number int, ok bool) {
	number, ok = v.vals[v.task].(int)
	return number, ok
}

// Tasks gives the numbers of a task argument given as a list such as 3, 5-7, in order; nil for a
// single number. Each gets a run of its own, see Line.
func (v Values) Tasks() []int {
	return slices.Clone(v.span)
}

// Parallel is how many tasks of the line may run side by side.
func (v Values) Parallel() (int, error) {
	text := "1"
	for _, one := range v.Engine {
		if n, ok := strings.CutPrefix(one, parallelFlag+"="); ok {
			text = n
		}
	}
	return Parallel(text)
}

// Line gives the same line for another list of tasks, such as one task alone: as text, or as shell
// words. It leaves out the flags that concern the whole list.
func (v Values) Line(list string) (raw string, words []string) {
	if v.words == nil {
		var b strings.Builder
		at := 0
		for _, c := range v.cuts {
			b.WriteString(v.raw[at:c.start])
			at = c.end
			if c.list {
				b.WriteString(list)
			} else {
				at = skipSpace(v.raw, at)
			}
		}
		return strings.TrimSpace(b.String() + v.raw[at:]), nil
	}

	words = []string{}
	for _, w := range v.words {
		i := slices.IndexFunc(v.cuts, func(c cut) bool {
			return c.start < w.End && w.Start < c.end
		})
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
