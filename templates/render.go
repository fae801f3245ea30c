package templates

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/parts"
)

// partsText holds the parts of commands and subagents.
//
//go:embed parts.txtar
var partsText string

var commandParts = sync.OnceValue(func() parts.Parts { return parts.Parse(partsText) })

// Data is the input of Render.
type Data struct {
	Name    string
	Purpose string              // the user's words
	Agents  []formats.AgentInfo // in order; a name may repeat
	// Parallel says for each subagent whether it runs in parallel with the previous one; nil: in
	// the shape parallel all do.
	Parallel []bool
	Merge    Merge // of parallel subagents; empty: All
	Args     []Arg // nil: a task
	Gate     bool  // ask the user before the last subagent or before publishing
}

// hasTask reports whether the command works on a task.
func (d Data) hasTask() bool {
	return d.Args == nil ||
		slices.ContainsFunc(d.Args, func(a Arg) bool {
			return a.Type == argTask
		})
}

// Render makes the command file of a shape. If the answers do not fit together, the error is
// VALIDATION_FAILED.
func Render(shape Shape, d Data) ([]byte, error) {
	if _, err := ParseShape(shape.String()); err != nil {
		return nil, err
	}
	if d.Args == nil {
		d.Args = []Arg{{Name: "task_number", Type: argTask}}
	}
	purpose, err := checkText(d.Name, d.Purpose)
	if err != nil {
		return nil, err
	}

	list, err := workers(shape, d)
	if err != nil {
		return nil, err
	}

	f := &flow{
		Data:    d,
		hasTask: d.hasTask(),
		purpose: shorten(purpose, maxDescription),
	}
	switch shape {
	case Conditional:
		f.conditional(list)
	case Iterative:
		f.iterative(list)
	case Single, Sequential, Parallel:
		f.sequential(list)
	}
	if err := cmp.Or(f.err, refuseBuiltin(list)); err != nil {
		return nil, err
	}

	texts := commandParts()
	var names []string
	for _, w := range list {
		names = append(names, w.info.Name)
	}
	values := parts.Values{
		"head": commandHead(d.Name, yamlScalar(f.purpose), d.Args, parts.Values{
			"during":  f.during,
			"example": d.example(),
		}),
		"purpose": escapeMarkdown(purpose),
		"shape":   shape.String(),
		"made_from": texts.Fill("made from "+shape.String(), parts.Values{
			"sequence": strings.Join(names, ", then "),
			"first":    names[0],
			"second":   names[len(names)-1],
			"element":  f.loopElement,
		}),
		"parsing": f.parsingSection(),
		"steps":   stepTexts(f.steps, "###", ""),
		"cleanup": "",
	}
	if slices.ContainsFunc(f.steps, func(s step) bool { return s.kind == "open" }) {
		values["cleanup"] = texts.Fill("cleanup", nil)
	}
	return []byte(texts.Fill("command", values) + "\n"), nil
}

// commandHead is the beginning of a command file. more are `during` and `example`, which may be
// empty.
func commandHead(name, description string, args []Arg, more parts.Values) string {
	usage := []string{"/" + name}
	var lines []string
	for _, a := range args {
		usage = append(usage, a.Usage())
		lines = append(lines, "  - "+a.Line())
	}
	return commandParts().Fill("head", parts.Values{
		"word":        yamlWord(name),
		"description": description,
		"arguments":   yamlBlock("arguments:", lines),
		"during":      more["during"],
		"example":     more["example"],
		"usage":       strings.Join(usage, " "),
	})
}

// example is a line that starts the command.
func (d Data) example() string {
	words := []string{"/" + d.Name}
	for _, a := range d.Args {
		words = append(words, a.Example())
	}
	return strings.Join(words, "")
}

// yamlBlock puts lines below a key; without lines there is no key.
func yamlBlock(key string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return key + "\n" + strings.Join(lines, "\n")
}

// checkText refuses an invalid name or purpose, and returns the purpose as one clean line.
func checkText(name, purpose string) (string, error) {
	if err := CheckName("command", name); err != nil {
		return "", err
	}
	purpose = cleanLine(purpose)
	n := utf8.RuneCountInString(purpose)
	switch {
	case n == 0:
		return "", refuse("", "expected what the command does, got nothing")
	case n > maxPurpose:
		return "", refuse("", "expected at most %d characters of purpose, got %d", maxPurpose, n)
	}
	return purpose, nil
}

// refuse is the error for an invalid request of the user.
func refuse(help, format string, args ...any) error {
	return formats.Fail(formats.CodeValidationFailed, help, format, args...)
}

// CheckName rejects invalid names of commands and subagents; what names the kind.
func CheckName(what, name string) error {
	switch {
	case ValidName(name):
		return nil
	case deviceForm().MatchString(name):
		return refuse(
			"",
			"expected a name of a %s that a file can have everywhere, got %q, a device on Windows",
			what, name,
		)
	}
	return refuse(
		"",
		"expected a name of a %s, at most %d lower case letters, digits and '-' that start with "+
			"a letter, "+
			"got %q",
		what,
		maxName,
		name,
	)
}

// workers derives the workers of the command.
func workers(shape Shape, d Data) ([]worker, error) {
	agents := d.Agents
	if least, most := shape.bounds(); len(agents) < least || len(agents) > most {
		want := fmt.Sprintf("%d to %d subagents", least, most)
		help := "name them with --agents a,b"
		if least == most {
			want = formats.Count(least, "subagent")
		}
		switch {
		case len(agents) == 1:
			help = "use --shape single"
		case len(agents) > most && len(agents) <= maxAgents:
			help = "use --shape sequential"
		}
		return nil, refuse(help, "expected %s for shape %s, got %d", want, shape, len(agents))
	}

	var list []worker
	taken := map[string]bool{}
	planner := ""
	implementers := []string{}
	for _, info := range agents {
		w, err := newWorker(info, taken, d.hasTask())
		if err != nil {
			return nil, err
		}
		list = append(list, w)
		switch {
		case info.Role == formats.RoleImplementer:
			implementers = append(implementers, info.Name)
		case w.during == formats.Planning:
			planner = info.Name
		}
	}

	if shape == Conditional || shape == Iterative {
		if !d.hasTask() {
			return nil, refuse("give it --arguments task, or use --shape sequential",
				"shape %s needs a task", shape)
		}
	}
	if shape == Conditional {
		return list, nil
	}

	if len(implementers) > 0 && planner != "" {
		return nil, refuse(
			"make two commands, or use --shape conditional --agents "+implementers[0]+","+planner,
			"%s makes a plan and %s does the phases of one, and a command reads the plan before "+
				"its first step", planner, implementers[0],
		)
	}

	if len(implementers) > 1 && shape != Iterative {
		return nil, refuse(
			"let one of them do the phases, or use --shape iterative",
			"expected 0 to 1 subagents of role implementer for shape %s, got %d", shape,
			len(implementers),
		)
	}

	if len(implementers) > 0 {
		// The whole run counts as implementing: if it fails, a task whose plan is in progress must
		// not get an earlier status.
		for i := range list {
			if !list[i].hasRole(formats.RoleImplementer) {
				list[i].during = ""
				list[i].after = ""
			}
		}
	}

	if shape == Parallel {
		return groupParallel(list, d.Parallel, taken)
	}
	return list, nil
}

// groupParallel combines parallel workers.
func groupParallel(list []worker, parallel []bool, taken map[string]bool) ([]worker, error) {
	var out []worker
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && (parallel == nil || parallel[to]) {
			to++
		}
		if to-from == 1 {
			out = append(out, list[from])
		} else {
			w, err := parallelWorker(list[from:to], taken)
			if err != nil {
				return nil, err
			}
			out = append(out, w)
		}
		from = to
	}
	return out, nil
}

// refuseBuiltin refuses subagents that are not workers. It runs after the inputs, whose message
// says more.
func refuseBuiltin(list []worker) error {
	for _, w := range flatten(list) {
		if w.info.Builtin {
			return refuse(builtinHelp, "expected a worker, got the built-in subagent %s",
				w.info.Name)
		}
	}
	return nil
}

// sequential builds the shapes single, sequential and parallel.
func (f *flow) sequential(list []worker) {
	if f.hasTask && requiresInput(list, "plan") || hasImplementer(list) {
		f.hasPlan = true
		f.loads = append(f.loads, "plan")
	}
	if hasImplementer(list) {
		f.loads = append(f.loads, "phases")
	}
	f.startStatus(firstWithStatus(list))
	f.sequence(list)
	f.addEnd()
}

// startStatus gives the task the status of a worker before the first step.
func (f *flow) startStatus(w worker) {
	f.status = w.during
	f.during = duringValue(w, "")
	if w.hasRole(formats.RoleImplementer) {
		f.allow = formats.Words([]formats.TaskStatus{
			formats.Planned, formats.Revised, formats.Partial,
		})
	}
}

// iterative builds a loop over the phases of the plan, or over the parts of the task if it needs no
// plan.
func (f *flow) iterative(list []worker) {
	element := "part"
	f.loads = []string{"plan?", "phases", "items", "parts"}
	if hasImplementer(list) || requiresInput(list, "plan") || requiresInput(list, "phase") {
		element = "phase"
		f.hasPlan = true
		f.loads = []string{"plan", "phases"}
	}
	lead := furthestWorker(list)
	f.startStatus(lead)
	if !lead.hasRole(formats.RoleImplementer) {
		f.addGate("the first " + element)
	}
	f.addLoop(list, element)
	if lead.hasRole(formats.RoleImplementer) {
		f.finish()
	} else if lead.after != "" {
		f.addStatus(lead.after)
	}
	f.addEnd()
}

// conditional builds one branch for a task with a plan and one for a task without.
func (f *flow) conditional(list []worker) {
	with := list[0]
	without := list[1]
	f.loads = []string{"has_plan"}
	if with.hasRole(formats.RoleImplementer) || acceptsInput(with, "plan") {
		f.loads = append(f.loads, "plan?")
	}
	if with.hasRole(formats.RoleImplementer) {
		f.loads = append(f.loads, "phases")
	}
	if without.hasRole(formats.RoleImplementer) {
		offered := []string{"task", "which has no plan"}
		f.err = noInput(without.info, "plan", formats.TypeString, offered)
		return
	}

	second := without.during
	switch {
	case with.during == without.during:
		f.startStatus(with)
	case with.during != "":
		f.during = duringValue(with, jqPlanned)
		f.status = with.during
		second = ""
	default:
		f.during = duringValue(without, jqPlanned+" | not")
	}

	other := flow{
		Data:    f.Data,
		hasTask: true,
		purpose: f.purpose,
		status:  second,
		lead:    "Without a plan",
	}
	f.when = jqPlanned
	f.lead = "With a plan"
	f.hasPlan = true
	f.sequence(list[:1])
	f.addEnd()
	other.sequence(list[1:])
	other.addEnd()
	f.steps = append(f.steps, other.steps...)
	f.err = cmp.Or(f.err, other.err)
}

// parsingSection is the section on arguments, empty if the command reads nothing.
func (f *flow) parsingSection() string {
	if len(f.allow)+len(f.loads) == 0 {
		return ""
	}
	texts := commandParts()
	about := "plan"
	var loads []string
	for _, name := range f.loads {
		if name == "has_plan" || name == "parts" {
			about = name
		}
		jq := texts.Fill("load "+strings.TrimSuffix(name, "?"), nil)
		loads = append(loads, "  "+name+": "+jq)
	}
	return texts.Fill("parsing", parts.Values{
		"about": texts.Fill("about "+about, nil),
		"allow": strings.Join(f.allow, ", "),
		"loads": strings.Join(loads, "\n"),
	})
}

// duringValue is the value of that key for a worker; empty if its role implies no status.
func duringValue(w worker, when string) string {
	if w.during == "" {
		return ""
	}
	out := w.during.String()
	if when != "" {
		out += ", when: " + quoteJQ(when)
	}
	if w.hasRole(formats.RoleImplementer) {
		out += ", failed: " + formats.Partial.String()
	}
	if !strings.Contains(out, ",") {
		return out
	}
	return "{status: " + out + "}"
}

// quoteJQ quotes jq for YAML.
func quoteJQ(jq string) string {
	if strings.ContainsAny(jq, `|"'[]{},:# `) {
		return "'" + strings.ReplaceAll(jq, "'", "''") + "'"
	}
	return jq
}

// firstWithStatus is the first worker whose role implies a status, or an empty worker.
func firstWithStatus(list []worker) worker {
	for _, w := range list {
		if w.during != "" {
			return w
		}
	}
	return worker{}
}

// furthestWorker is the worker whose status the task has during a loop: the one that is furthest in
// a task's life.
func furthestWorker(list []worker) worker {
	var out worker
	for _, status := range []formats.TaskStatus{
		formats.Researching,
		formats.Planning,
		formats.Implementing,
	} {
		for _, w := range list {
			if w.during == status {
				out = w
			}
		}
	}
	return out
}

// flatten returns every worker separately.
func flatten(list []worker) []worker {
	var out []worker
	for _, w := range list {
		out = append(out, w.members...)
		if w.members == nil {
			out = append(out, w)
		}
	}
	return out
}

// hasImplementer reports whether a worker is an implementer.
func hasImplementer(list []worker) bool {
	return slices.ContainsFunc(flatten(list), func(w worker) bool {
		return w.hasRole(formats.RoleImplementer)
	})
}

// requiresInput reports whether a worker requires an input.
func requiresInput(list []worker, input string) bool {
	return slices.ContainsFunc(flatten(list), func(w worker) bool {
		return w.info.Inputs[input].Required
	})
}

func acceptsInput(w worker, input string) bool {
	_, ok := w.info.Inputs[input]
	return ok
}
