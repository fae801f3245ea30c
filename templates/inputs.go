package templates

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
	"tercet/internal/order"
)

// inputsOf returns the inputs of a worker: everything that the command has, its contract lists and
// its work needs. A missing required input is the error of the flow.
func (f *flow) inputsOf(w worker) []pair {
	offers := f.availableInputs(w)
	var out []pair
	for _, o := range offers {
		in, listed := w.info.Inputs[o.Key]
		open := w.info.Inputs == nil && o.optionalToo
		if open || listed && o.fits(in) && (o.always || in.Required) {
			out = append(out, o.pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.info.Inputs)) {
		in := w.info.Inputs[name]
		if in.Required && !hasKey(out, name) {
			f.err = cmp.Or(f.err, noInput(w.info, name, in.Type, availableNames(offers)))
		}
	}
	return out
}

const builtinHelp = "what it does depends on its inputs: write that step by hand"

// noInput is the error for a subagent that requires an input which a generated command lacks.
func noInput(info formats.AgentInfo, input string, kind formats.InputType, has []string) error {
	help := "make the input optional in the subagent's file, or write the command by hand"
	if info.Builtin {
		help = builtinHelp
	}
	return refuse(help, "subagent %s needs the input '%s' (%s), expected one of %s",
		info.Name, input, kind, strings.Join(has, ", "))
}

// available is one input that the command can provide.
type available struct {
	pair
	kind        formats.InputType
	always      bool // passed to every worker that lists it, not only to one that requires it
	optionalToo bool // passed to a worker that accepts anything
}

func (o available) fits(in formats.Input) bool {
	return in.Type == "" || in.Type == formats.TypeAny || in.Type == o.kind ||
		in.Type == formats.TypeNumber &&
			o.kind == formats.TypeInteger
}

func availableNames(list []available) []string {
	var out []string
	for _, o := range list {
		out = append(out, o.Key)
	}
	return out
}

func hasKey(list []pair, key string) bool {
	return slices.ContainsFunc(list, func(p pair) bool { return p.Key == key })
}

// availableInputs lists the inputs that the command has at this point.
func (f *flow) availableInputs(w worker) []available {
	implements := w.hasRole(formats.RoleImplementer)
	var out []available
	if f.hasTask {
		out = append(out, available{pair{"task", "$task"}, formats.TypeObject, true, true},
			available{pair{"task_number", "$task.number"}, formats.TypeInteger, false, false})
	}
	for _, a := range f.Args {
		if a.Type != argTask {
			out = append(out, available{pair{a.Name, "$args." + a.Name}, a.inputType(), true, true})
		}
	}

	if f.hasPlan {
		// The worker of a phase reads the plan, and a planner that stands in the branch of a plan
		// replaces it.
		use := implements || f.element == "phase" || f.when == jqPlanned
		out = append(out, available{pair{"plan", jqPlanPath}, formats.TypeString, use, implements})
	}
	if f.element == "phase" {
		out = append(out, available{pair{"phase", "$phase"}, formats.TypeObject, true, implements})
	}
	if f.element != "" {
		focus := pair{"focus", "$" + f.element + ".name"}
		out = append(out, available{focus, formats.TypeString, true, false})
	}

	if f.reportStep != "" {
		path := `'$steps.` + f.reportStep +
			`.artifacts | map(select(.type == "report")) | last | .path'`
		out = append(out, available{pair{"research_report", path}, formats.TypeString, true, false})
	}
	if f.implemented || f.previous != "" {
		out = append(
			out, available{pair{"changes", jqRunArtifacts}, formats.TypeArray, true, false},
		)
	}
	return append(
		out,
		available{pair{"text", yamlLiteral(f.purpose)}, formats.TypeString, true, false},
		available{pair{"args", "$args"}, formats.TypeObject, false, false},
	)
}

// Shape is the form of a workflow.
type Shape string

// The shapes.
const (
	// Single is one subagent.
	Single Shape = "single"
	// Sequential is one subagent after the other.
	Sequential Shape = "sequential"
	// Conditional is the first subagent for a task with a plan, and the second for one without.
	Conditional Shape = "conditional"
	// Iterative repeats all subagents for each open phase of the plan, or for each part of the
	// task.
	Iterative Shape = "iterative"
	// Parallel is subagents side by side with merged results; others may run before and after them.
	Parallel Shape = "parallel"
)

// Shapes lists every shape.
func Shapes() []Shape {
	return []Shape{Single, Sequential, Conditional, Iterative, Parallel}
}

// ParseShape parses the name of a shape; an unknown word is a *formats.ValueError.
func ParseShape(word string) (Shape, error) {
	return formats.OneOf("shape", word, Shapes())
}

func (s Shape) String() string {
	return string(s)
}

// maxAgents bounds the subagents of one command.
const maxAgents = 10

// bounds returns the minimum and maximum number of subagents of a shape.
func (s Shape) bounds() (least, most int) {
	b := map[Shape][2]int{
		Single:      {1, 1},
		Sequential:  {2, maxAgents},
		Conditional: {2, 2},
		Iterative:   {1, maxAgents},
		Parallel:    {2, maxAgents},
	}[s]
	return b[0], b[1]
}

// Merge decides whether the work of parallel subagents passes.
type Merge string

// The merges: all subagents must pass, one of them, or more than half.
const (
	All  Merge = "all"
	Any  Merge = "any"
	Most Merge = "most"
)

// ParseMerge parses the name of a merge; an unknown word is a *formats.ValueError.
func ParseMerge(word string) (Merge, error) {
	return formats.OneOf("merge", word, []Merge{All, Any, Most})
}

// String is the name as typed.
func (m Merge) String() string {
	return string(m)
}

// jq is the condition over n results.
func (m Merge) jq(n int) string {
	switch m {
	case Any:
		return "any(approved)"
	case Most:
		return fmt.Sprintf("quorum(%d)", n/2+1)
	case All:
	}
	return "all(approved)"
}

// Arg is one argument of the new command.
type Arg struct {
	Name, Type string
	Optional   bool
	Positional bool // positional, optional or not
}

// argTask is the type of the argument that names a task; its argument is called task_number.
const argTask = "task"

// argTypes maps the types of arguments to the types of inputs.
var argTypes = map[string]formats.InputType{
	argTask:   formats.TypeInteger,
	"string":  formats.TypeString,
	"path":    formats.TypeString,
	"text":    formats.TypeString,
	"integer": formats.TypeInteger,
	"boolean": formats.TypeBoolean,
}

// taskWord is a purpose that is about a task.
var taskWord = lazy.Regexp(`(?i)\btasks?\b`)

// NeededArgs are the arguments of a command whose line nobody settled: a task if a subagent, the
// shape or the purpose is about one, else none. known finds a subagent that exists.
func NeededArgs(
	shape Shape,
	agents []string,
	purpose string,
	known func(name string) (formats.AgentInfo, bool),
) []Arg {
	needs := func(name string) bool {
		info, ok := known(name)
		if !ok {
			role, hasRole := RoleOf(name)
			return hasRole && role != formats.RoleReviewer
		}
		return info.Inputs["task"].Required || info.Inputs["task_number"].Required ||
			info.Role == formats.RoleImplementer
	}
	if shape == Conditional || shape == Iterative || taskWord().MatchString(purpose) ||
		slices.ContainsFunc(agents, needs) {
		return []Arg{{Name: "task_number", Type: argTask}}
	}
	return []Arg{}
}

func (a Arg) inputType() formats.InputType {
	return argTypes[a.Type]
}

// reservedInputs are the inputs that every command provides, and help.
var reservedInputs = []string{
	"args", "changes", "focus", "help", "phase", "plan", "research_report", "text",
}

// ParseArgs parses "task,version,dry:boolean,note:string?": names with types, string by default; a
// question mark means optional. "none" is none.
func ParseArgs(text string) ([]Arg, error) {
	var out []Arg
	if text == "none" {
		return []Arg{}, nil
	}

	for word := range strings.SplitSeq(text, ",") {
		a := Arg{}
		word, a.Optional = strings.CutSuffix(strings.TrimSpace(word), "?")
		a.Name, a.Type, _ = strings.Cut(word, ":")
		a.Type = cmp.Or(a.Type, "string")
		if a.Name == argTask {
			a.Name = "task_number"
			a.Type = argTask
		}
		a.Optional = a.Optional || a.Type == "boolean"

		taken := slices.ContainsFunc(out, func(o Arg) bool {
			return o.Name == a.Name || o.Type == "text" && !a.isFlag()
		})
		types := strings.Join(slices.Sorted(maps.Keys(argTypes)), ", ")
		switch {
		case !argForm().MatchString(a.Name) || len(a.Name) > maxName ||
			slices.Contains(reservedInputs, a.Name):
			return nil, refuse("such as version,dry:boolean",
				"expected the name of an argument, got %q", a.Name)
		case argTypes[a.Type] == "" || a.Type == argTask && a.Name != "task_number":
			return nil, refuse("a task is written as task",
				"expected a type of argument %s (%s), got %q", a.Name, types, a.Type)
		case taken:
			return nil, refuse("write it once, and a text last",
				"argument %s cannot stand here", a.Name)
		}

		out = append(out, a)
	}
	// optional ones come last
	order.Stable(out, func(a, b Arg) int {
		return a.sortKey() - b.sortKey()
	})
	return out, nil
}

func (a Arg) isFlag() bool {
	return a.Optional && !a.Positional && a.Type != argTask && a.Type != "text"
}

func (a Arg) sortKey() int {
	if a.isFlag() {
		return 1
	}
	return 0
}

// Line is the argument in the frontmatter.
func (a Arg) Line() string {
	out := "{name: " + a.Name + ", type: " + a.Type
	switch {
	case a.isFlag():
		return out + ", flag: true}"
	case a.Optional && a.Type != argTask:
		return out + "}"
	}
	return out + ", required: true}"
}

// Usage is the argument in the usage line.
func (a Arg) Usage() string {
	if a.isFlag() {
		return "[--" + strings.ReplaceAll(a.Name, "_", "-") + "]"
	}
	if a.Optional && a.Type != argTask {
		return "[" + a.Name + "]"
	}
	return "<" + a.Name + ">"
}

// Example is a value of the argument; empty if it is optional.
func (a Arg) Example() string {
	switch {
	case a.Optional && a.Type != argTask:
		return ""
	case a.Type == argTask:
		return " 196"
	case a.Type == "integer":
		return " 3"
	}
	return " " + a.Name
}
