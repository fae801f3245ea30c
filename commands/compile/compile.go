package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

// Env answers what a command file may name. Agents lists the known names for suggestions.
type Env interface {
	Agent(name string) (formats.AgentInfo, bool)
	Names() []string
}

// Compile checks a parsed file against the subagents there are and gives its Program. The error is a
// *formats.Diagnostics with every finding, sorted; a file with findings of severity error gives no Program.
func Compile(f *syntax.File, env Env) (*Program, error) {
	sum := sha256.Sum256(f.Src)
	c := &compiler{file: f, env: env, found: &formats.Diagnostics{Sources: map[string][]byte{f.Name: f.Src}}}
	c.prog = &Program{
		Name: f.Front.Command.Text, Description: f.Front.Description.Text, File: f.Name, Hash: hex.EncodeToString(sum[:]),
		Examples: f.Front.Examples, Hidden: f.Front.Hidden,
	}
	c.arguments()
	c.limits()
	c.environment()
	c.scope = newScope(c.hasTask())
	c.redoable = redoable(f.Steps)
	during := c.preflight()
	c.during(during)
	c.argsBlock(during != nil && during.When == nil)
	if c.prog.During != nil {
		c.prog.During.When = c.expr(during.When) // it may read what the block loads
	}
	c.prog.Ops = c.steps(f.Steps)
	outer := c.scope
	c.scope, c.inAlways = c.scope.inErrors(), true
	c.prog.Always = c.steps(f.Errors)
	c.scope, c.inAlways = outer, false
	for _, check := range checks() {
		check(c)
	}
	c.found.List = append(c.found.List, f.Warnings...)
	c.found.Sort()
	if c.found.HasErrors() {
		return nil, c.found
	}
	c.prog.Warnings = c.found.List
	return c.prog, nil
}

type compiler struct {
	file     *syntax.File
	env      Env
	found    *formats.Diagnostics
	prog     *Program
	scope    *scope
	redoable map[string]bool // ids that a later step sends back to
	last     *lastWorker     // the worker that the sentence before delegated to
	reached  []*syntax.Step  // steps that no path leads to
	inAlways bool
}

func (c *compiler) report(pos syntax.Pos, code, help, format string, args ...any) {
	severity := formats.SeverityError
	if strings.HasPrefix(code, "W") {
		severity = formats.SeverityWarning
	}
	c.found.List = append(c.found.List, formats.Diagnostic{
		Code: code, Severity: severity, File: c.file.Name, Pos: pos, Message: fmt.Sprintf(format, args...), Help: help,
	})
}

func (c *compiler) arguments() {
	specs, found := argspec.Specs(c.file.Front.Arguments)
	for _, d := range found {
		d.File = c.file.Name
		c.found.List = append(c.found.List, d)
	}
	c.prog.Args = specs
}

// hasTask tells whether an argument or a load binds $task.
func (c *compiler) hasTask() bool {
	return slices.ContainsFunc(c.file.Front.Arguments, func(a syntax.Argument) bool {
		return a.Type.Text == "task" || (a.Type.Text == "integer" && a.Name.Text == "task_number")
	}) || slices.ContainsFunc(c.file.Args.Load, func(l syntax.Load) bool { return l.Task != nil })
}

func (c *compiler) environment() {
	for _, name := range c.file.Front.Env {
		c.prog.Env = append(c.prog.Env, name.Text)
	}
}

// limits reads the frontmatter's limits; each may only lower the documented default.
func (c *compiler) limits() {
	defaults := formats.Limits{}.WithDefaults()
	fields := map[string]struct {
		into *int
		most int
	}{
		"rollbacks": {&c.prog.Limits.Rollbacks, defaults.Rollbacks},
		"retries":   {&c.prog.Limits.Retries, defaults.Retries},
		"visits":    {&c.prog.Limits.Visits, defaults.Visits},
		"steps":     {&c.prog.Limits.Steps, 10 * defaults.Steps},
		"elements":  {&c.prog.Limits.Elements, defaults.Elements},
	}
	names := []string{"rollbacks", "retries", "visits", "steps", "elements", "duration"}
	for _, f := range c.file.Front.Limits {
		if f.Key.Text == "duration" {
			c.duration(f.Value)
			continue
		}
		field, ok := fields[f.Key.Text]
		if !ok {
			if slices.Contains([]string{"parallel", "tokens", "cost", "spawns"}, f.Key.Text) {
				c.report(f.Key.Pos, CodeUnsupported, "", "limit %s is not supported yet", f.Key.Text)
				continue
			}
			c.report(f.Key.Pos, CodeUnknownKey, nearest.Help(f.Key.Text, names), "unknown limit %q", f.Key.Text)
			continue
		}
		n, ok := f.Value.Lit.(int)
		if !ok || n < 1 || n > field.most {
			c.report(f.Value.Pos, CodeLimitValue, "", "expected %s from 1 to %d, got %v", f.Key.Text, field.most, f.Value.Lit)
			continue
		}
		*field.into = n
	}
}

func (c *compiler) duration(v *syntax.Value) {
	text, ok := v.Lit.(string)
	d, err := argspec.ParseDuration(text)
	if !ok || err != nil || d <= 0 {
		c.report(v.Pos, CodeLimitValue, "write it like 30m or 2h", "expected a duration, got %v", v.Lit)
		return
	}
	c.prog.Limits.Duration = d
}

// during compiles the preflight; nil means that the command has none.
func (c *compiler) during(d *syntax.During) {
	if d == nil {
		return
	}
	status, err := formats.ParseTaskStatus(d.Status.Text)
	if err != nil {
		c.report(d.Status.Pos, CodeStatus, statusHelp(d.Status.Text), "expected task status, got %q", d.Status.Text)
		return
	}
	if !status.InProgress() {
		c.report(d.Status.Pos, CodeStatus, "use researching, planning, revising or implementing", "during needs an in-progress status, got %q", status)
		return
	}
	if !c.scope.task {
		c.report(d.Pos, CodeNoTask, "declare an argument of type task", "during needs a task")
		return
	}
	out := &During{Pos: d.Pos, Status: status}
	out.Begin = c.sync(d.Pos, syncFields{"operation": lit("update_status"), "task_number": c.source(d.Pos, "$task.number"), "status": lit(status.String()), "reason": c.source(d.Pos, "$run.command")})
	out.Begin.To = status
	out.Back = c.sync(d.Pos, syncFields{"operation": lit("update_status"), "task_number": c.source(d.Pos, "$task.number"), "back": lit(true)})
	if d.Failed != nil {
		failed, err := formats.ParseTaskStatus(d.Failed.Text)
		switch {
		case err != nil:
			c.report(d.Failed.Pos, CodeStatus, statusHelp(d.Failed.Text), "expected task status, got %q", d.Failed.Text)
		case !formats.CanMove(status, failed):
			c.report(d.Failed.Pos, CodeTransition, "", "a task cannot go from %s to %s", status, failed)
		default:
			out.Failed = c.sync(d.Pos, syncFields{"operation": lit("update_status"), "task_number": c.source(d.Pos, "$task.number"), "status": lit(failed.String()), "reason": c.source(d.Pos, "$run.command")})
			out.Failed.To = failed
		}
	}
	c.prog.During = out
}

// argsBlock compiles allow, load and require. always tells that the preflight has no condition.
func (c *compiler) argsBlock(always bool) {
	during := c.prog.During
	for _, w := range c.file.Args.Allow {
		status, err := formats.ParseTaskStatus(w.Text)
		if err != nil {
			c.report(w.Pos, CodeStatus, statusHelp(w.Text), "expected task status, got %q", w.Text)
			continue
		}
		if during != nil && always && !formats.CanMove(status, during.Status) && status != during.Status {
			c.report(w.Pos, CodeAllow, "a task can start "+during.Status.String()+" from "+joinStatuses(formats.MovesInto(during.Status)),
				"a task cannot go from %s to %s", status, during.Status)
		}
		c.prog.Allow = append(c.prog.Allow, status)
	}
	if len(c.file.Args.Allow) > 0 && !c.scope.task {
		c.report(c.file.Args.Allow[0].Pos, CodeNoTask, "declare an argument of type task", "allow needs a task")
	}
	if c.prog.Allow == nil && during != nil && always {
		c.prog.Allow = formats.MovesInto(during.Status)
	}
	for _, l := range c.file.Args.Load {
		c.load(l)
	}
	for _, r := range c.file.Args.Require {
		c.prog.Requires = append(c.prog.Requires, Require{
			Pos: r.Pos, When: c.expr(r.When), Else: c.text(r.Else), Code: c.code(r.Exit, formats.CodePrecondition),
		})
	}
}

func (c *compiler) load(l syntax.Load) {
	out := Load{Pos: l.Name.Pos, Name: l.Name.Text, Optional: l.Optional}
	switch {
	case l.Task != nil:
		out.Task, out.Expr = true, c.expr(l.Task)
	case l.Expr != nil:
		out.Expr = c.expr(l.Expr)
	case l.Document != nil:
		out.Document = &LoadDocument{Profile: l.Document.Profile.Text, Expr: c.expr(l.Document.Expr), Path: c.texts(l.Document.Path)}
		c.profile(l.Document.Profile)
	default:
		out.Files = c.texts(l.Files)
	}
	c.prog.Loads = append(c.prog.Loads, out)
	if !out.Task {
		c.name(l.Name)
	}
}

// name makes a value visible to what stands behind it.
func (c *compiler) name(w syntax.Word) {
	if reserved(w.Text) {
		c.report(w.Pos, CodeName, "choose another name", "$%s is the engine's", w.Text)
		return
	}
	c.scope.add("$" + w.Text)
}

func (c *compiler) profile(w syntax.Word) {
	if !slices.Contains(formats.Profiles(), w.Text) {
		c.report(w.Pos, CodeProfile, nearest.Help(w.Text, formats.Profiles()), "unknown document profile %q", w.Text)
	}
}

// code reads a code word or a number of the table of exits.
func (c *compiler) code(w *syntax.Word, otherwise formats.Code) formats.Code {
	if w == nil {
		return otherwise
	}
	if n, err := strconv.Atoi(w.Text); err == nil {
		for _, e := range formats.Exits() {
			if e.Number == n && len(e.Codes) > 0 {
				return e.Codes[0]
			}
		}
		if n == 1 {
			return formats.CodePrecondition
		}
		c.report(w.Pos, CodeExit, "run 'tercet exit-codes'", "expected an exit code that a failure can have, got %d", n)
		return otherwise
	}
	code, err := formats.ParseCode(w.Text)
	if err != nil {
		names := make([]string, 0, len(formats.Codes()))
		for _, one := range formats.Codes() {
			names = append(names, one.String())
		}
		c.report(w.Pos, CodeExit, nearest.Help(w.Text, names), "expected an error code, got %q", w.Text)
		return otherwise
	}
	return code
}

func statusHelp(word string) string {
	names := make([]string, 0, len(formats.TaskStatuses()))
	for _, s := range formats.TaskStatuses() {
		names = append(names, s.String())
	}
	return nearest.Help(word, names)
}

func joinStatuses(list []formats.TaskStatus) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}
