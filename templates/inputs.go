package templates

import (
	"maps"
	"slices"
	"strings"

	"tercet/formats"
)

// inputs gives what a worker is called with: of what the command has, everything that its contract lists and that bears
// on its work. A required input that the command does not have is an *InputError.
func (f *flow) inputs(w worker) ([]pair, error) {
	offers := f.offers(w)
	var out []pair
	for _, o := range offers {
		in, listed := w.info.Inputs[o.Key]
		open := w.info.Inputs == nil && o.free
		if open || listed && o.fits(in) && (o.use || in.Required) {
			out = append(out, o.pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.info.Inputs)) {
		if w.info.Inputs[name].Required && !gives(out, name) {
			return nil, noInput(w.info, name, w.info.Inputs[name].Type, names(offers))
		}
	}
	return out, nil
}

const builtinHelp = "what it does depends on its inputs: write that step by hand"

// noInput is a subagent that needs an input which a generated command does not have.
func noInput(info formats.AgentInfo, input string, kind formats.InputType, has []string) error {
	help := "make the input optional in the subagent's file, or write the command by hand"
	if info.Builtin {
		help = builtinHelp
	}
	return refuse(help, "subagent %s needs the input '%s' (%s), expected one of %s", info.Name, input, kind,
		strings.Join(has, ", "))
}

// offer is one input that the command can give.
type offer struct {
	pair
	kind formats.InputType
	use  bool // it is given to every worker that lists it; else only to one that requires it
	free bool // it is given to a worker that takes anything
}

func (o offer) fits(in formats.Input) bool {
	return in.Type == "" || in.Type == formats.TypeAny || in.Type == o.kind || in.Type == formats.TypeNumber &&
		o.kind == formats.TypeInteger
}

func names(list []offer) []string {
	var out []string
	for _, o := range list {
		out = append(out, o.Key)
	}
	return out
}

func gives(list []pair, key string) bool {
	return slices.ContainsFunc(list, func(p pair) bool { return p.Key == key })
}

// offers lists what the command has at this place.
func (f *flow) offers(w worker) []offer {
	implements := w.is(formats.RoleImplementer)
	out := []offer{
		{pair{"task", "$task"}, formats.TypeObject, true, true},
		{pair{"task_number", "$task.number"}, formats.TypeInteger, false, false},
	}
	if f.plan {
		// Whoever does a phase reads the plan, and a planner that stands in the branch of a plan replaces it.
		use := implements || f.element == "phase" || f.when == jqPlanned
		out = append(out, offer{pair{"plan", jqPlanPath}, formats.TypeString, use, implements})
	}
	switch f.element {
	case "phase":
		out = append(
			out, offer{pair{"phase", "$phase"}, formats.TypeObject, true, implements},
			offer{pair{"focus", "$phase.name"}, formats.TypeString, true, false},
		)
	case "part":
		out = append(out, offer{pair{"focus", "$part.name"}, formats.TypeString, true, false})
	}
	if f.report != "" {
		path := `'$steps.` + f.report + `.artifacts | map(select(.type == "report")) | last | .path'`
		out = append(out, offer{pair{"research_report", path}, formats.TypeString, true, false})
	}
	if f.changed {
		out = append(out, offer{pair{"changes", jqRunArtifacts}, formats.TypeArray, true, false})
	}
	return append(
		out,
		offer{pair{"text", literal(f.purpose)}, formats.TypeString, true, false},
		offer{pair{"args", "$args"}, formats.TypeObject, false, false},
	)
}

// Shape is the form of a workflow.
type Shape string

// The shapes.
const (
	// Single is one subagent and what follows from its role.
	Single Shape = "single"
	// Sequential is one subagent after the other.
	Sequential Shape = "sequential"
	// Conditional is the first subagent for a task with a plan, the second for one without.
	Conditional Shape = "conditional"
	// Iterative is all subagents for each open phase of the plan, or for each part of the task.
	Iterative Shape = "iterative"
)

// Shapes lists every shape.
func Shapes() []Shape { return []Shape{Single, Sequential, Conditional, Iterative} }

// ParseShape reads the name of a shape; a word outside the set is a *formats.ValueError.
func ParseShape(word string) (Shape, error) { return formats.OneOf("shape", word, Shapes()) }

// String is the name as it is typed.
func (s Shape) String() string { return string(s) }

// maxAgents bounds the subagents of one command; more belong into several commands.
const maxAgents = 10

// bounds gives the least and the most subagents of a shape.
func (s Shape) bounds() (least, most int) {
	b := map[Shape][2]int{Single: {1, 1}, Sequential: {2, maxAgents}, Conditional: {2, 2}, Iterative: {1, maxAgents}}[s]
	return b[0], b[1]
}
