package interp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// prepare binds the task, checks that the command may start, and reads what the block `yaml args` loads. It writes
// nothing.
func (r *run) prepare(ctx context.Context) error {
	if r.prog.Workflow {
		r.workflow()
	} else {
		r.base["$args"] = query.Prepare(r.args.Map())
	}
	env := map[string]any{}
	for _, name := range r.prog.File.Front.Env {
		if r.cfg.Env == nil {
			break
		}
		if v, ok := r.cfg.Env(name.Text); ok {
			env[name.Text] = v
		}
	}
	r.base["$env"] = query.Prepare(env)
	if n, ok := r.args.Task(); ok && !r.prog.Workflow {
		if err := r.bind(ctx, n); err != nil {
			return err
		}
	}
	args := &r.prog.File.Args
	for i := range args.Load {
		l := &args.Load[i]
		v, err := r.load(ctx, l)
		switch {
		case err != nil:
			return err
		case !compile.IsTask(l):
			if err := r.tiered(l.Name.Text, v); err != nil {
				return err
			}
			r.base["$"+l.Name.Text] = query.Prepare(v)
			continue
		case v == nil:
			continue
		}
		if m, ok := v.(map[string]any); ok {
			v = m["number"]
		}
		n, ok := number(v)
		if !ok {
			return r.notFound(l, "expected the number of a task, got "+query.Text(v))
		}
		if err := r.bind(ctx, n); err != nil {
			return err
		}
	}
	for i := range args.Require {
		if err := r.require(ctx, &args.Require[i]); err != nil {
			return err
		}
	}
	return r.mayWork(ctx)
}

// bind finds the task in the present state; it stays as it was at the start for the whole run. A task from whose status
// the command may not start is refused before anything else is read.
func (r *run) bind(ctx context.Context, wanted int) error {
	doc, _, err := r.cfg.State.Snapshot(ctx)
	if err != nil {
		return err
	}
	r.stateSeen = doc
	root := as[map[string]any](doc)
	tasks := as[[]any](root["tasks"])
	for _, one := range tasks {
		task := as[map[string]any](one)
		if n, ok := number(task["number"]); !ok || n != wanted {
			continue
		}
		data, err := json.Marshal(task)
		if err != nil {
			return &formats.Failure{Code: formats.CodeInvalidState, Message: fmt.Sprintf("task %d", wanted), Err: err}
		}
		var typed formats.Task
		if err := json.Unmarshal(data, &typed); err != nil {
			return &formats.Failure{
				Code: formats.CodeInvalidState, Message: fmt.Sprintf("task %d", wanted), Err: err,
				Help: "run 'tercet state verify'",
			}
		}
		r.task, r.base["$task"] = &typed, query.Prepare(task)
		return r.mayStart()
	}
	return formats.Fail(formats.CodeNotFound, "run 'tercet query \".tasks[].number\"' to list the tasks",
		"task %d does not exist", wanted)
}

// mayStart checks the task's effective status against allow.
func (r *run) mayStart() error {
	if r.prog.Allow == nil {
		return nil
	}
	if _, always := r.prog.During(); always {
		if err := r.free(); err != nil || r.ours() {
			return err
		}
	}
	if !slices.Contains(r.prog.Allow, r.task.Status) {
		return r.errStatus(r.prog.Allow)
	}
	return nil
}

// free tells that no other session works on the task.
func (r *run) free() error {
	l := r.task.Lease
	if !r.task.Status.InProgress() || l == nil || l.Session == r.cfg.IDs.Session {
		return nil
	}
	return formats.Fail(formats.CodeLeaseHeld, "wait until it has ended, then run the command again",
		"task %d is %s: session %s (pid %d on %s) works on it since %s",
		r.task.Number, r.task.Status, l.Session, l.PID, l.Host, l.Taken)
}

// ours tells that an earlier run of this session left the task in the status that this one would give it.
func (r *run) ours() bool {
	during, _ := r.prog.During()
	return r.task.Status == during && r.task.Lease != nil && r.task.Lease.Session == r.cfg.IDs.Session
}

// mayWork decides whether the preflight takes place; with a condition, the status is held against it here.
func (r *run) mayWork(ctx context.Context) error {
	d := r.prog.File.Front.During
	if d == nil || r.task == nil {
		return nil
	}
	v, err := r.eval(ctx, r.root, d.When, nil)
	if err != nil || !truth(v) {
		return err
	}
	r.during = true
	if d.When == nil {
		return nil
	}
	if err := r.free(); err != nil || r.ours() {
		return err
	}
	if during, _ := r.prog.During(); !formats.CanMove(r.task.Status, during) {
		return r.errStatus(formats.MovesInto(during))
	}
	return nil
}

func (r *run) require(ctx context.Context, q *syntax.Require) error {
	v, err := r.eval(ctx, r.root, q.When, nil)
	if err != nil {
		return err
	}
	if truth(v) {
		return nil
	}
	code, _ := compile.ExitCode(q.Exit)
	fail := &formats.Failure{
		Code: code, Message: "a precondition of /" + r.prog.Name + " does not hold: " + q.When.Src,
		Help: "see /" + r.prog.Name + " --help",
	}
	if q.Else != nil {
		if fail.Message, err = r.text(ctx, r.root, q.Else, nil); err != nil {
			return err
		}
	}
	return fail
}

// load gives the value of one name. A missing one is null when the name ends with ?, NOT_FOUND otherwise.
func (r *run) load(ctx context.Context, l *syntax.Load) (any, error) {
	switch {
	case l.Document != nil:
		return r.loadDocument(ctx, l)
	case l.Files != nil:
		patterns := make([]string, 0, len(l.Files))
		for _, t := range l.Files {
			p, err := r.text(ctx, r.root, t, nil)
			if err != nil {
				return nil, err
			}
			patterns = append(patterns, braces(p)...)
		}
		found, err := r.cfg.Docs.Glob(ctx, patterns)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 && l.Optional {
			return nil, nil
		}
		out := make([]any, len(found))
		for i, p := range found {
			out[i] = p
		}
		return out, nil
	}
	e := cmp.Or(l.Task, l.Expr)
	v, err := r.eval(ctx, r.root, e, nil)
	if err != nil {
		return nil, err
	}
	if v == nil && !l.Optional {
		return nil, r.notFound(l, "nothing found for '"+l.Name.Text+"': "+e.Src)
	}
	return v, nil
}

// braces writes docs/{A,B}.md as the two patterns that it means.
func braces(pattern string) []string {
	before, rest, ok := strings.Cut(pattern, "{")
	inner, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return []string{pattern}
	}
	var out []string
	for one := range strings.SplitSeq(inner, ",") {
		out = append(out, braces(before+one+after)...)
	}
	return out
}

func (r *run) notFound(l *syntax.Load, what string) error {
	help := "/" + r.prog.Name + " needs '" + l.Name.Text + "' before it can start"
	return formats.Fail(formats.CodeNotFound, help, "%s: %s", r.placeOf(l.Name.Pos), what)
}

// loadDocument parses the first candidate that exists; a second one is a warning.
func (r *run) loadDocument(ctx context.Context, l *syntax.Load) (any, error) {
	candidates, err := r.candidates(ctx, l.Document)
	if err != nil {
		return nil, err
	}
	var found string
	var src []byte
	for _, path := range candidates {
		data, err := r.cfg.Docs.Open(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if found != "" {
			r.warn("%s: both %s and %s exist; the first is used", l.Name.Text, found, path)
			break
		}
		found, src = path, data
	}
	if found == "" {
		if l.Optional {
			return nil, nil
		}
		if len(candidates) == 0 {
			return nil, r.notFound(l, "no "+l.Document.Profile.Text+" found: its path is empty")
		}
		return nil, r.notFound(l, "no "+l.Document.Profile.Text+" found at "+quoted(candidates))
	}
	doc, bad := formats.ParseDocument(l.Document.Profile.Text, found, src)
	if bad != nil && bad.HasErrors() {
		bad.Of = formats.CodeValidationFailed
		return nil, bad
	}
	return doc.Any(), nil
}

func (r *run) candidates(ctx context.Context, d *syntax.LoadDocument) ([]string, error) {
	var out []string
	for _, t := range d.Path {
		p, err := r.text(ctx, r.root, t, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	if d.Expr == nil {
		return out, nil
	}
	v, err := r.eval(ctx, r.root, d.Expr, nil)
	if err != nil {
		return nil, err
	}
	return paths(v), nil
}

// paths reads a path or a list of paths; everything else in it is left out.
func paths(v any) []string {
	switch v := v.(type) {
	case string:
		if v != "" {
			return []string{v}
		}
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, paths(one)...)
		}
		return out
	}
	return nil
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, ", ")
}
