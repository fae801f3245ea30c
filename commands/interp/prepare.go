package interp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// prepare binds the task, checks that the command may start, and reads what the block `yaml args`
// loads. It writes nothing.
func (r *run) prepare() error {
	front := &r.prog.File.Front
	args := &r.prog.File.Args
	plan := r.cfg.Consent.Plan
	if plan != "" && r.prog.Tiers != nil && !slices.Contains(r.prog.Tiers, plan) {
		return r.unknownTierError(plan)
	}

	r.root.setVar("env", r.environ(front.Env))
	if r.prog.Workflow { // the steps of a subagent read its input, and the task of the command
		input := object{}
		maps.Copy(input, r.cfg.Input)
		r.root.setVar("input", input)
		r.tasks.commandTask = r.cfg.Task
		r.root.setVar("task", r.tasks.commandTask)
	} else {
		r.root.setVar("args", r.args.Map())
		if n, ok := r.args.Task(); ok {
			if err := r.bindTask(n); err != nil {
				return err
			}
		}
	}

	for i := range args.Load {
		if err := r.load(&args.Load[i]); err != nil {
			return err
		}
	}

	for i := range args.Require {
		if err := r.require(&args.Require[i]); err != nil {
			return err
		}
	}

	return r.checkStatusChange()
}

// unknownTierError refuses a tier of the auto-approve file that the command does not have. It is
// never rounded to another.
func (r *run) unknownTierError(plan string) error {
	d := formats.Found(formats.FindingConsent, r.cfg.Consent.At,
		"name a tier of /"+r.prog.Name+", or take the line out",
		"expected one of %s for PLAN, which are the tiers of /%s; got '%s'",
		strings.Join(r.prog.Tiers, ", "), r.prog.Name, plan)
	d.File = r.cfg.Consent.File
	return &formats.Diagnostics{List: []formats.Diagnostic{d}, Of: formats.CodeConfig}
}

// environ gives the variables that the file names. They may be secrets, so they are not journaled:
// a run that is resumed sees those of its present process.
func (r *run) environ(names []syntax.Word) object {
	env := object{}
	for _, name := range names {
		if r.cfg.Env == nil {
			break
		}
		if v, ok := r.cfg.Env(name.Text); ok {
			env[name.Text] = v
		}
	}
	return env
}

// bindTask binds $task to the task as it is in the state now; $task stays so for the whole run. A
// task from whose status the command may not start is refused before anything else is read.
func (r *run) bindTask(wanted int) error {
	one, err := observe(r.main, "", fmt.Sprintf("task %d",
		wanted), func() (any, error) { return r.taskByNumber(wanted) })
	if err != nil {
		return err
	}

	one = normalize(one)
	r.tasks.commandTask = &formats.Task{}
	if err := decode(one, r.tasks.commandTask); err != nil {
		return &formats.Failure{
			Code:    formats.CodeInvalidState,
			Message: fmt.Sprintf("task %d", wanted),
			Err:     err,
			Help:    "run 'tercet state verify'",
		}
	}

	r.root.setVar("task", withLists(one))
	return r.tasks.checkStart()
}

// withLists gives a task the lists that a state written by hand or by another program left out, so
// that a command may go through them.
func withLists(task any) any {
	m := objectOf(task)
	if m == nil {
		return task
	}
	out := maps.Clone(m)
	for _, key := range []string{"artifacts", "dependencies"} {
		if out[key] == nil {
			out[key] = []any{}
		}
	}
	return out
}

func (r *run) taskByNumber(wanted int) (any, error) {
	doc, err := r.main.snapshot()
	if err != nil {
		return nil, err
	}
	for _, one := range listIn(doc, "tasks") {
		if n, ok := number(objectOf(one)["number"]); ok && n == wanted {
			return one, nil
		}
	}
	return nil, formats.Fail(formats.CodeNotFound, "'tercet task list' shows the tasks",
		"task %d does not exist", wanted)
}

// checkStatusChange decides whether the command changes the status of the task while it runs, and
// checks that the status may change so.
func (r *run) checkStatusChange() (err error) {
	d := r.prog.File.Front.During
	if d == nil || r.tasks.commandTask == nil {
		return nil
	}
	r.changesStatus, err = r.env().holds(d.When, nil)
	if err != nil || !r.changesStatus || d.When == nil {
		return err
	}
	return r.tasks.checkMove()
}

func (r *run) require(q *syntax.Require) error {
	if ok, err := r.env().holds(q.When, nil); err != nil || ok {
		return err
	}

	message, err := r.env().text(q.Else, nil)
	if err != nil {
		return err
	}
	if q.Else == nil {
		message = "a precondition of /" + r.prog.Name + " does not hold: " + q.When.Src
	}
	code, _ := compile.ExitCode(q.Exit)
	return formats.Fail(code, "see /"+r.prog.Name+" --help", "%s", message)
}

// load sets one name. If nothing is found, a name with ? is null, and any other is NOT_FOUND. A
// task is bound.
func (r *run) load(l *syntax.Load) error {
	ld := loader{frame: r.main, env: r.env(), docs: r.cfg.Docs, into: &r.loads}
	v, err := ld.value(l)
	if err != nil {
		return err
	}

	if !compile.IsTask(l) {
		r.root.setVar(l.Name.Text, v)
		return r.checkTier(l.Name.Text, v)
	}
	if v == nil {
		return nil
	}

	if m, ok := v.(object); ok {
		v = m["number"]
	}
	n, ok := number(v)
	if !ok {
		return ld.notFoundError(l, "expected the number of a task, got "+query.Text(v))
	}
	return r.bindTask(n)
}
