package templates

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"tercet/formats"
)

//go:embed *.tmpl
var files embed.FS

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

// task reports whether the command works on a task.
func (d Data) task() bool {
	return d.Args == nil ||
		slices.ContainsFunc(d.Args, func(a Arg) bool {
			return a.Type == argTask
		})
}

// view is the data of the template of a shape.
type view struct {
	Data

	Task        bool
	Description string // YAML
	Purpose     string // Markdown
	Agents      []string
	During      string // YAML, empty without one
	Allow       []string
	Loads       []string // what the file loads, by the names in parts.tmpl
	Steps       []step
	Worktree    bool
	Items       string // elements of a loop, in words
}

// Render makes the command file of a shape. Errors: the answers do not fit together
// (VALIDATION_FAILED), or a template is broken (BUG).
func Render(shape Shape, d Data) ([]byte, error) {
	if _, err := ParseShape(shape.String()); err != nil {
		return nil, err
	}
	v, err := outline(shape, d)
	if err != nil {
		return nil, err
	}
	return fill(shape.String()+".tmpl", v)
}

// checkText refuses an invalid name or purpose, and returns the purpose as one clean line.
func checkText(what, name, purpose string) (string, error) {
	if err := CheckName(what, name); err != nil {
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

// outline builds the steps of the command.
func outline(shape Shape, d Data) (view, error) {
	if d.Args == nil {
		d.Args = []Arg{{Name: "task_number", Type: argTask}}
	}
	purpose, err := checkText("command", d.Name, d.Purpose)
	if err != nil {
		return view{}, err
	}

	list, err := workers(shape, d)
	if err != nil {
		return view{}, err
	}
	v := view{
		Data:        d,
		Task:        d.task(),
		Description: scalar(shorten(purpose, maxDescription)),
		Purpose:     prose(purpose),
	}
	for _, w := range list {
		v.Agents = append(v.Agents, w.info.Name)
	}

	f := &flow{
		Data:    d,
		task:    d.task(),
		purpose: shorten(purpose, maxDescription),
	}
	switch shape {
	case Conditional:
		err = v.conditional(f, list)
	case Iterative:
		err = v.iterative(f, list)
	case Single, Sequential, Parallel:
		err = v.sequential(f, list)
	}

	v.Steps = f.steps
	v.Worktree = slices.ContainsFunc(f.steps, func(s step) bool {
		return s.Kind == "open"
	})
	number(v.Steps, "###", "")
	return v, err
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
		w, err := newWorker(info, taken, d.task())
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
		if !d.task() {
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
			if !list[i].is(formats.RoleImplementer) {
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
func groupParallel(list []worker, beside []bool, taken map[string]bool) ([]worker, error) {
	var out []worker
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && (beside == nil || beside[to]) {
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

// sequential builds shapes single and sequential.
func (v *view) sequential(f *flow, list []worker) error {
	if f.task && requires(list, "plan") || has(list, formats.RoleImplementer) {
		f.plan = true
		v.Loads = append(v.Loads, "plan")
	}
	if has(list, formats.RoleImplementer) {
		v.Loads = append(v.Loads, "phases")
	}
	v.start(f, firstWithStatus(list))
	f.sequence(list)
	f.addEnd()
	return cmp.Or(f.err, refuseBuiltin(list))
}

// start sets the status of the first worker that has one before the first step.
func (v *view) start(f *flow, w worker) {
	f.cur = w.during
	v.During = during(w, "")
	if w.is(formats.RoleImplementer) {
		v.allowPlanned()
	}
}

// allowPlanned allows the statuses of a task with a plan.
func (v *view) allowPlanned() {
	v.Allow = []string{formats.Planned.String(), formats.Revised.String(), formats.Partial.String()}
}

// iterative builds a loop over the phases of the plan, or over the parts of the task if it needs no
// plan.
func (v *view) iterative(f *flow, list []worker) error {
	as := "part"
	if has(list, formats.RoleImplementer) || requires(list, "plan") || requires(list, "phase") {
		as = "phase"
		f.plan = true
		v.Loads = []string{"plan", "phases"}
	} else {
		v.Loads = []string{"plan?", "phases", "items", "parts"}
	}
	v.Items = as
	lead := furthestWorker(list)
	v.start(f, lead)
	if !lead.is(formats.RoleImplementer) {
		f.addGate("the first " + as)
	}
	f.addLoop(list, as)
	if lead.is(formats.RoleImplementer) {
		f.finish()
	} else if lead.after != "" {
		f.addStatus(lead.after)
	}
	f.addEnd()
	return cmp.Or(f.err, refuseBuiltin(list))
}

// conditional builds one branch for a task with a plan and one for a task without.
func (v *view) conditional(f *flow, list []worker) error {
	with := list[0]
	without := list[1]
	v.Loads = []string{"has_plan"}
	if with.is(formats.RoleImplementer) || accepts(with, "plan") {
		v.Loads = append(v.Loads, "plan?")
	}
	if with.is(formats.RoleImplementer) {
		v.Loads = append(v.Loads, "phases")
	}
	if without.is(formats.RoleImplementer) {
		return noInput(without.info, "plan", formats.TypeString, []string{
			"task",
			"which has no plan",
		})
	}

	second := without.during
	switch {
	case with.during == without.during:
		v.start(f, with)
	case with.during != "":
		v.During = during(with, jqPlanned)
		f.cur = with.during
		second = ""
	default:
		v.During = during(without, jqPlanned+" | not")
	}

	f.when = jqPlanned
	f.lead = "With a plan"
	f.plan = true
	f.sequence(list[:1])
	f.addEnd()
	other := flow{
		Data:    f.Data,
		task:    true,
		purpose: f.purpose,
		cur:     second,
		lead:    "Without a plan",
		err:     f.err,
	}
	other.sequence(list[1:])
	other.addEnd()
	f.steps = append(f.steps, other.steps...)
	return cmp.Or(other.err, refuseBuiltin(list))
}

// during is the value of that key for a worker; empty if its role implies no status.
func during(w worker, when string) string {
	if w.during == "" {
		return ""
	}
	out := w.during.String()
	if when != "" {
		out += ", when: " + quoted(when)
	}
	if w.is(formats.RoleImplementer) {
		out += ", failed: " + formats.Partial.String()
	}
	if !strings.Contains(out, ",") {
		return out
	}
	return "{status: " + out + "}"
}

// quoted quotes jq for YAML.
func quoted(jq string) string {
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

func has(list []worker, role formats.Role) bool {
	return slices.ContainsFunc(flatten(list), func(w worker) bool { return w.is(role) })
}

// requires reports whether a worker requires an input.
func requires(list []worker, input string) bool {
	return slices.ContainsFunc(flatten(
		list,
	), func(w worker) bool { return w.info.Inputs[input].Required })
}

func accepts(w worker, input string) bool {
	_, ok := w.info.Inputs[input]
	return ok
}

// fill executes a template once; the output is never read as a template.
func fill(name string, data any) ([]byte, error) {
	var t *template.Template
	t, err := template.New("").Delims("<%", "%>").Option("missingkey=error").Funcs(template.FuncMap{
		"word":   word,
		"quoted": quoted,
		"join":   strings.Join,
		"step": func(s step) (string, error) {
			var b bytes.Buffer
			err := t.ExecuteTemplate(&b, s.Kind, s)
			return b.String(), err
		},
		"bare": func(list []pair) bool {
			return !slices.ContainsFunc(list, func(p pair) bool {
				return strings.ContainsAny(p.Value, `"', {}[]`)
			})
		},
	}).ParseFS(files, "*.tmpl")
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeBug,
			Message: "template " + name,
			Err:     err,
		}
	}

	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeBug,
			Message: "template " + name,
			Err:     err,
		}
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

// Subagent is the input of RenderSubagent. Contract, Output and Policy are copied from the worker
// with the same role.
type Subagent struct {
	Name    string
	Command string // its command, without slash
	Purpose string // purpose of the command, in the user's words
	// Contract is the frontmatter after name, description and role.
	Contract       string
	Output, Policy string
	Args           []Arg  // of the command
	Program        string // its executable; empty: the configured runner
}

// Plain means that the subagent gets the command's arguments and makes no document. It is true if
// an executable does the work, or if there is no task. Contract, Output and Policy are then
// needless.
func (s Subagent) Plain() bool {
	return s.Program != "" || !(Data{Args: s.Args}).task()
}

// Role is derived from the name; a plain subagent only judges or not.
func (s Subagent) Role() (role formats.Role, told bool) {
	if role, told = RoleOf(s.Name); s.Plain() && role != formats.RoleReviewer {
		return formats.RoleUtility, true
	}
	return role, told
}

// RenderSubagent makes a subagent file; its name gives the role (RoleOf). Errors are those of
// Render.
func RenderSubagent(s Subagent) ([]byte, error) {
	if err := CheckName("subagent", s.Name); err != nil {
		return nil, err
	}
	purpose, err := checkText("command", s.Command, s.Purpose)
	if err != nil {
		return nil, err
	}
	role, told := s.Role()
	for _, text := range []*string{&s.Contract, &s.Output, &s.Policy} {
		*text = strings.Trim(*text, "\n")
	}
	return fill("subagent.tmpl", struct {
		Subagent
		Description, Purpose string
		Role                 formats.Role
		Told, Task           bool
	}{
		Subagent:    s,
		Purpose:     prose(purpose),
		Role:        role,
		Told:        told,
		Task:        (Data{Args: s.Args}).task(),
		Description: scalar(shorten("Works for /"+s.Command+": "+purpose, maxDescription)),
	})
}

// RoleOf derives a new subagent's role from its name, word by word from the last: plan-reviewer
// reviews. Any other name gives researcher, which changes nothing and needs only the task; told is
// then false. Each role has an offline worker.
func RoleOf(name string) (role formats.Role, told bool) {
	for _, w := range slices.Backward(strings.Split(name, "-")) {
		switch {
		case strings.HasPrefix(w, "research"):
			return formats.RoleResearcher, true
		case slices.Contains([]string{"plan", "plans", "planner", "planning"}, w):
			return formats.RolePlanner, true
		case strings.HasPrefix(w, "implement"):
			return formats.RoleImplementer, true
		case strings.HasPrefix(w, "review"), strings.HasPrefix(w, "audit"):
			return formats.RoleReviewer, true
		}
	}
	return formats.RoleResearcher, false
}

// Offline reports whether the offline runner has a worker for a subagent.
func Offline(info formats.AgentInfo) bool {
	switch info.Role {
	case formats.RoleResearcher, formats.RolePlanner, formats.RoleImplementer, formats.RoleReviewer:
		return true
	case formats.RoleWriter, formats.RoleUtility:
	}
	return info.Builtin || info.Name == taskReviser
}

// taskReviser is the only worker of the offline runner that is selected by name.
const taskReviser = "task-reviser"
