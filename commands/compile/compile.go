package compile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/internal/slab"
)

// Env answers what a command file may name. Names lists the known subagents for suggestions.
type Env interface {
	Agent(name string) (formats.AgentInfo, bool)
	Names() []string
}

// itself is the word that stands for the present step in a list of ids.
const itself = "it"

// Compile checks a parsed file against the subagents there are and gives its Program. The error is a
// *formats.Diagnostics with every finding, those of the syntax included, sorted; a file with findings of severity error
// gives no Program. Of a file that could be read in part nothing is said that could follow from the rest.
func Compile(f *syntax.File, env Env) (*Program, error) {
	if f.Hopeless {
		return nil, &formats.Diagnostics{List: f.Found, Sources: map[string][]byte{f.Name: f.Src}}
	}
	return newCompiler(f, env).compile()
}

func (c *compiler) compile() (*Program, error) {
	f := c.file
	c.prog.Name, c.prog.Description, c.prog.Examples, c.prog.Hidden = f.Front.Command.Text, f.Front.Description.Text, f.Front.Examples, f.Front.Hidden
	c.arguments()
	c.limits()
	c.environment()
	c.scope = newScope(c.hasTask())
	c.scope.add("$args")
	if c.prog.Tiers != nil {
		c.scope.add("$" + tierName)
	}
	c.index()
	during := c.preflight()
	c.always = during != nil && during.When == nil
	c.during(during)
	c.argsBlock()
	if c.prog.During != nil {
		c.prog.During.When = c.expr(during.When) // it may read what the block loads
	}
	c.worktree()
	c.prog.Output = c.schema(f.Front.Output)
	c.begin()
	c.sequences()
	if c.prog.During != nil || movesInside(f.Steps) || movesInside(f.Errors) || movesInside(f.Between) {
		c.prog.Back = c.sync(f.Front.Pos, syncFields{operation: c.lit(OpUpdateStatus), back: c.lit(true)})
	}
	return c.finish()
}

func newCompiler(f *syntax.File, env Env) *compiler {
	return &compiler{
		file: f, env: env, unread: unreadOf(f), found: &formats.Diagnostics{Sources: map[string][]byte{f.Name: f.Src}},
		prog:  &Program{File: f.Name, Src: f.Src},
		codes: make(map[string]*compiled, len(f.Src)/bytesPerExpr),
	}
}

// sequences compiles the workflow and what stands under Error Handling.
func (c *compiler) sequences() {
	c.prog.Ops = c.steps(c.file.Steps)
	outer := c.scope
	c.scope, c.inErrors, c.last, c.status = c.scope.inErrors(), true, nil, statuses{}
	c.prog.Always = c.steps(c.file.Errors)
	c.scope, c.inErrors = outer, false
}

// finish makes the checks over the whole file and gives the program if nothing was found.
func (c *compiler) finish() (*Program, error) {
	for _, check := range checks() {
		check(c)
	}
	c.found.List = append(c.found.List, c.file.Found...)
	c.found.Sort()
	// What is compiled once for each step around which it runs is reported once.
	c.found.List = slices.CompactFunc(c.found.List, func(a, b formats.Diagnostic) bool {
		return a.Code == b.Code && a.Pos == b.Pos && a.Message == b.Message
	})
	if c.found.HasErrors() {
		return nil, c.found
	}
	c.prog.Warnings = c.found.List
	return c.prog, nil
}

// bytesPerExpr is about how many bytes of a file there are for each expression.
const bytesPerExpr = 256

type compiler struct {
	file   *syntax.File
	env    Env
	agents []asked
	found  *formats.Diagnostics
	prog   *Program
	unread *unread // nil for a file that was read whole

	all      []known         // the steps of the file, and behind them the delegations beside loops
	next     int             // where in all the next step is looked for
	byID     map[string]int  // of a file with many steps
	redoable map[string]bool // ids that a step sends back to

	scope    *scope
	under    []inherited // what the loops around give to their bodies, outermost first
	status   statuses
	last     *lastWorker    // the worker that the sentence before delegated to
	reached  []*syntax.Step // steps that no path leads to
	always   bool           // the preflight has no condition
	inErrors bool

	codes     map[string]*compiled // by source, what was compiled before
	wides     []wide
	defaulted defaulted
	anew      bool   // nothing is kept from one place for another
	noting    bool   // what is read is noted
	noted     []read // to be checked again at other places
	exprs     int    // how many expressions were met
	reports   int    // how many findings there were
	made      made
	inside    []opened // the variables of the bodies of loops
	betweens  between
	judged    judge
	given     []string           // the names that any set of the file gives, with their $
	gotos     map[string]bool    // ids that a goto names
	workflow  *formats.AgentInfo // of the subagent whose steps these are; nil for a command
	tiered    bool               // something gives $tier
	lenient   bool               // results of steps that may not have run may be read
	unsure    bool               // the steps may be skipped by a condition around them
	child     bool               // the step is a child of parallel
	aside     bool               // the step is a compensation
}

// made is where the parts of the program are made.
type made struct {
	ops        slab.Of[Op]
	infos      slab.Of[stepInfo]
	exprs      slab.Of[Expr]
	values     slab.Of[Value]
	texts      slab.Of[Text]
	parts      slab.Of[Part]
	fields     slab.Of[Field]
	refs       slab.Of[*Op]
	codes      slab.Of[compiled]
	delegates  slab.Of[Delegate]
	sources    slab.Of[syntax.Expr]
	workers    slab.Of[lastWorker]
	results    slab.Of[result]
	rules      slab.Of[Rule]
	targets    slab.Of[Target]
	targetRefs slab.Of[*Target]
}

func (c *compiler) report(pos syntax.Pos, code, help, format string, args ...any) {
	severity := formats.SeverityError
	if strings.HasPrefix(code, "W") {
		severity = formats.SeverityWarning
	}
	c.add(formats.Diagnostic{
		Code: code, Severity: severity, File: c.file.Name, Pos: pos, Message: fmt.Sprintf(format, args...), Help: help,
	})
}

// add keeps a finding, unless it follows from what could not be read.
func (c *compiler) add(d formats.Diagnostic) {
	c.reports++
	if c.unread != nil && c.unread.explains(&d) {
		return
	}
	c.found.List = append(c.found.List, d)
}

func (c *compiler) arguments() {
	specs, found := argspec.Specs(c.tiers())
	for _, d := range found {
		d.File = c.file.Name
		c.add(d)
	}
	c.prog.Args = specs
}

// hasTask tells whether an argument or a load binds $task.
func (c *compiler) hasTask() bool {
	return slices.ContainsFunc(c.file.Front.Arguments, func(a syntax.Argument) bool {
		return a.Type.Text == argspec.Task.String() || (a.Type.Text == argspec.Integer.String() && a.Name.Text == "task_number")
	}) || slices.ContainsFunc(c.file.Args.Load, bindsTask)
}

// bindsTask tells whether a load gives $task: it is named so.
func bindsTask(l syntax.Load) bool {
	return l.Task != nil || l.Name.Text == "task" && l.Expr != nil
}

func (c *compiler) environment() {
	for _, name := range c.file.Front.Env {
		c.prog.Env = append(c.prog.Env, name.Text)
	}
}

// literal is a word that is written, empty for anything else.
func literal(v *syntax.Value) string {
	word, ok := v.Lit.(string)
	if !ok {
		return ""
	}
	return word
}

// shown is a value in a message.
func shown(v *syntax.Value) string {
	switch {
	case v == nil:
		return "nothing"
	case v.Kind == syntax.Map:
		return "a map"
	case v.Kind == syntax.List:
		return "a list"
	case v.Kind == syntax.Jq || v.Kind == syntax.Template:
		return "an expression"
	case v.Lit == nil:
		return "null"
	}
	if text, ok := v.Lit.(string); ok {
		return fmt.Sprintf("%.60q", text)
	}
	return fmt.Sprint(v.Lit)
}

// during compiles the preflight; nil means that the command has none.
func (c *compiler) during(d *syntax.During) {
	if d == nil {
		return
	}
	status, err := formats.ParseTaskStatus(d.Status.Text)
	switch {
	case err != nil:
		c.report(d.Status.Pos, CodeStatus, statusHelp(d.Status.Text), "expected a task status, got %q", d.Status.Text)
		return
	case !status.InProgress():
		c.report(d.Status.Pos, CodeStatus, inProgressHelp(), "during needs a status that is in progress, got '%s'", status)
		return
	case !c.scope.task:
		c.report(d.Pos, CodeNoTask, "declare an argument of type task", "during needs a task")
		return
	}
	out := &During{Pos: d.Pos, Status: status}
	out.Begin = c.moveTo(d.Pos, status)
	if d.Failed != nil {
		failed, err := formats.ParseTaskStatus(d.Failed.Text)
		switch {
		case err != nil:
			c.report(d.Failed.Pos, CodeStatus, statusHelp(d.Failed.Text), "expected a task status, got %q", d.Failed.Text)
		case !formats.CanMove(status, failed):
			c.report(d.Failed.Pos, CodeTransition, "from "+status.String()+" it can go to "+joinStatuses(movesFrom(status)), "a task cannot go from %s to %s", status, failed)
		default:
			out.Failed = c.moveTo(d.Failed.Pos, failed)
		}
	}
	c.prog.During = out
}

// moveTo changes the bound task's status; the reason, where the table asks one, is the command line.
func (c *compiler) moveTo(pos syntax.Pos, to formats.TaskStatus) *Delegate {
	d := c.sync(pos, syncFields{
		operation: c.lit(OpUpdateStatus), task: c.source(pos, "$task.number"), status: c.lit(to.String()), reason: c.source(pos, "$run.command"),
	})
	d.To = to
	return d
}

// argsBlock compiles allow, load and require.
func (c *compiler) argsBlock() {
	c.allow()
	for _, l := range c.file.Args.Load {
		c.load(l)
	}
	for _, r := range c.file.Args.Require {
		c.prog.Requires = append(c.prog.Requires, Require{
			Pos: r.Pos, When: c.expr(r.When), Else: c.text(r.Else), Code: c.code(r.Exit, formats.CodePrecondition),
		})
	}
}

// allow reads the statuses from which the command may start; without the key they are those from which during is legal.
func (c *compiler) allow() {
	during := c.prog.During
	words := c.file.Args.Allow
	for _, w := range words {
		status, err := formats.ParseTaskStatus(w.Text)
		if err != nil {
			c.report(w.Pos, CodeStatus, statusHelp(w.Text), "expected a task status, got %q", w.Text)
			continue
		}
		if during != nil && c.always && !formats.CanMove(status, during.Status) && status != during.Status {
			c.report(w.Pos, CodeAllow, during.Status.String()+" can start from "+joinStatuses(formats.MovesInto(during.Status)),
				"a task cannot go from %s to %s", status, during.Status)
		}
		c.prog.Allow = append(c.prog.Allow, status)
	}
	switch {
	case len(words) > 0 && !c.scope.task:
		c.report(words[0].Pos, CodeNoTask, "declare an argument of type task", "allow needs a task")
	case words != nil && len(words) == 0:
		c.report(c.file.Args.Pos, CodeStatus, "name the statuses, or remove the key", "allow names no status")
	case c.prog.Allow == nil && during != nil && c.always:
		c.prog.Allow = formats.MovesInto(during.Status)
	}
}

func (c *compiler) load(l syntax.Load) {
	out := Load{Pos: l.Name.Pos, Name: l.Name.Text, Optional: l.Optional}
	switch {
	case l.Task != nil:
		out.Task, out.Expr = true, c.expr(l.Task)
		if l.Name.Text != "task" {
			c.report(l.Name.Pos, CodeName, "write task: "+l.Task.Src, "a task is loaded under the name 'task', got '%s'", l.Name.Text)
		}
	case bindsTask(l):
		out.Task, out.Expr = true, c.expr(l.Expr)
	case l.Expr != nil:
		out.Expr = c.expr(l.Expr)
	case l.Document != nil:
		out.Document = &LoadDocument{Profile: l.Document.Profile.Text, Expr: c.expr(l.Document.Expr), Path: c.texts(l.Document.Path)}
		c.profile(l.Document.Profile)
	default:
		out.Files = c.texts(l.Files)
	}
	c.prog.Loads = append(c.prog.Loads, out)
	c.tierValue(l.Name.Text, l.Expr)
	if !out.Task {
		c.name(l.Name)
	}
}

// name makes a value visible to what stands behind it.
func (c *compiler) name(w syntax.Word) {
	if w.Text == tierName && c.prog.Tiers != nil {
		c.tiered = true
		return
	}
	if reserved(w.Text) {
		c.report(w.Pos, CodeName, "choose another name", "'$%s' is the engine's", w.Text)
		return
	}
	c.scope.add("$" + w.Text)
}

func (c *compiler) profile(w syntax.Word) bool {
	if formats.IsProfile(w.Text) {
		return true
	}
	help := nearest.Help(w.Text, formats.Profiles())
	if help == "" {
		help = "the profiles are " + strings.Join(formats.Profiles(), ", ")
	}
	c.report(w.Pos, CodeProfile, help, "unknown document profile '%s'", w.Text)
	return false
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
		c.report(w.Pos, CodeExit, "run 'tercet exit-codes' for the list", "expected an exit code that a failure can have, got %d", n)
		return otherwise
	}
	code, err := formats.ParseCode(w.Text)
	if err != nil {
		names := make([]string, 0, len(formats.Codes()))
		for _, one := range formats.Codes() {
			names = append(names, one.String())
		}
		help := nearest.Help(w.Text, names)
		if help == "" {
			help = "run 'tercet exit-codes' for the list"
		}
		c.report(w.Pos, CodeExit, help, "expected an error code, got %q", w.Text)
		return otherwise
	}
	return code
}
