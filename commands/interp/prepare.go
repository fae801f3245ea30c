package interp

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
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
		return r.noSuchTier(plan)
	}

	r.root.setVar("env", r.environ(front.Env))
	if r.prog.Workflow { // the steps of a subagent read its input, and the task of the command
		input := map[string]any{}
		maps.Copy(input, r.cfg.Input)
		r.root.setVar("input", input)
		r.tasks.own = r.cfg.Task
		r.root.setVar("task", r.tasks.own)
	} else {
		r.root.setVar("args", r.args.Map())
		if n, ok := r.args.Task(); ok {
			if err := r.bind(n); err != nil {
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

// noSuchTier refuses a tier of the auto-approve file that the command does not have. It is never
// rounded to another.
func (r *run) noSuchTier(plan string) error {
	d := formats.Found(formats.FindingConsent, r.cfg.Consent.At,
		"name a tier of /"+r.prog.Name+", or take the line out",
		"expected one of %s for PLAN, which are the tiers of /%s; got '%s'",
		strings.Join(r.prog.Tiers, ", "), r.prog.Name, plan)
	d.File = r.cfg.Consent.File
	return &formats.Diagnostics{List: []formats.Diagnostic{d}, Of: formats.CodeConfig}
}

// environ gives the variables that the file names. They may be secrets, so they are not journaled:
// a run that is resumed sees those of its present process.
func (r *run) environ(names []syntax.Word) map[string]any {
	env := map[string]any{}
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

// bind binds $task to the task as it is in the state now; $task stays so for the whole run. A task
// from whose status the command may not start is refused before anything else is read.
func (r *run) bind(wanted int) error {
	one, err := observe(r.main, "", fmt.Sprintf("task %d",
		wanted), func() (any, error) { return r.taskByNumber(wanted) })
	if err != nil {
		return err
	}
	one = normalize(one)
	r.tasks.own = &formats.Task{}
	if err := decode(one, r.tasks.own); err != nil {
		return &formats.Failure{
			Code:    formats.CodeInvalidState,
			Message: fmt.Sprintf("task %d", wanted),
			Err:     err,
			Help:    "run 'tercet state verify'",
		}
	}
	r.root.setVar("task", one)
	return r.checkStart()
}

func (r *run) taskByNumber(wanted int) (any, error) {
	doc, err := r.main.snapshot()
	if err != nil {
		return nil, err
	}
	for _, one := range as[[]any](as[map[string]any](query.Normalize(doc))["tasks"]) {
		if n, ok := number(as[map[string]any](one)["number"]); ok && n == wanted {
			return one, nil
		}
	}
	return nil, formats.Fail(formats.CodeNotFound, "'tercet task list' shows the tasks",
		"task %d does not exist", wanted)
}

// checkStart checks the effective status of the task against allow.
func (r *run) checkStart() error {
	if r.prog.Allow == nil {
		return nil
	}
	if _, always := r.prog.During(); always {
		if err := r.checkLease(); err != nil || r.leftByOwnSession() {
			return err
		}
	}
	if !slices.Contains(r.prog.Allow, r.tasks.own.Status) {
		return r.errStatus(r.prog.Allow)
	}
	return nil
}

// taskIsPast tells whether the task is past every status from which the command starts.
func (r *run) taskIsPast() bool {
	notBefore := func(s formats.TaskStatus) bool {
		return !s.Before(r.tasks.own.Status)
	}
	return r.tasks.own != nil && len(r.prog.Allow) > 0 && !slices.ContainsFunc(r.prog.Allow, notBefore)
}

// checkLease refuses a task on which another session works.
func (r *run) checkLease() error {
	l := r.tasks.own.Lease
	if !r.tasks.own.Status.InProgress() || l == nil || l.Session == r.cfg.IDs.Session {
		return nil
	}
	if l.Suspended {
		return formats.Fail(
			formats.CodeLeaseHeld,
			fmt.Sprintf("run 'tercet resume %s' to go on with it, or 'tercet cancel "+
				"%s' to give it up", l.Run, l.Run),
			"task %d waits for run %s, which is suspended",
			r.tasks.own.Number,
			l.Run,
		)
	}
	return formats.Fail(formats.CodeLeaseHeld,
		"wait until it has ended, then run the command again",
		"task %d is %s: session %s (pid %d on %s) works on it since %s", r.tasks.own.Number,
		r.tasks.own.Status, l.Session, l.PID, l.Host, l.Taken)
}

// leftByOwnSession tells whether an earlier run of this session left the task in the status that
// this run would give it.
func (r *run) leftByOwnSession() bool {
	during, _ := r.prog.During()
	return r.tasks.own.Status == during && r.tasks.own.Lease != nil &&
		r.tasks.own.Lease.Session == r.cfg.IDs.Session
}

// checkStatusChange decides whether the command changes the status of the task while it runs, and
// checks that the status may change so.
func (r *run) checkStatusChange() (err error) {
	d := r.prog.File.Front.During
	if d == nil || r.tasks.own == nil {
		return nil
	}
	if r.during, err = r.env().holds(d.When, nil); err != nil || !r.during || d.When == nil {
		return err
	}
	if err := r.checkLease(); err != nil || r.leftByOwnSession() {
		return err
	}
	if during, _ := r.prog.During(); !formats.CanMove(r.tasks.own.Status, during) {
		return r.errStatus(formats.MovesInto(during))
	}
	return nil
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
	v, err := r.loadValue(l)
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
	if m, ok := v.(map[string]any); ok {
		v = m["number"]
	}
	n, ok := number(v)
	if !ok {
		return r.notFound(l, "expected the number of a task, got "+query.Text(v))
	}
	return r.bind(n)
}

func (r *run) loadValue(l *syntax.Load) (any, error) {
	key := "load " + l.Name.Text
	switch {
	case l.Document != nil:
		v, err := observe(r.main, "", key, func() (any, error) {
			return r.loadDocument(l)
		})
		list, several := normalize(v).([]any)
		if !several {
			list = []any{normalize(v)}
		}
		for _, one := range list {
			doc := as[map[string]any](one)
			r.loaded = append(r.loaded, paths(doc["path"])...)
			if sum := as[string](doc["sha256"]); sum != "" {
				r.loadedSums[as[string](doc["path"])] = sum
			}
		}
		return normalize(v), err
	case l.Files != nil:
		found, err := observe(r.main, "", key, func() ([]string, error) {
			return r.files(l)
		})
		if err != nil || len(found) == 0 && l.Optional {
			return nil, err
		}
		r.warnDoubles(l, found)
		return listOf(found), nil
	}

	e := cmp.Or(l.Task, l.Expr)
	v, err := r.env().eval(e, nil)
	if err == nil && v == nil && !l.Optional {
		err = r.notFound(l, "nothing found for '"+l.Name.Text+"': "+e.Src)
	}
	return v, err
}

// files are the files that match the patterns of a load.
func (r *run) files(l *syntax.Load) ([]string, error) {
	written, err := r.fillTexts(l.Files)
	if err != nil {
		return nil, err
	}
	var patterns []string
	for _, p := range written {
		patterns = append(patterns, braces(p)...)
	}
	return r.cfg.Docs.Glob(r.main.ctx, patterns)
}

// warnDoubles warns of each document that is both in docs/ and in the root, if the load names it.
func (r *run) warnDoubles(l *syntax.Load, found []string) {
	for _, t := range l.Files {
		for _, name := range braces(t.String()) {
			if slices.Contains(found, name) && slices.Contains(found, "docs/"+name) {
				r.warnDouble("docs/"+name, name)
			}
		}
	}
}

func (r *run) warnDouble(first, second string) {
	text := "W465: both " + first + " and " + second + " exist; the first is used"
	if !slices.Contains(r.warnings, text) {
		r.warn("%s", text)
	}
}

// fillTexts evaluates texts of the block `yaml args`.
func (r *run) fillTexts(list []*syntax.Text) (out []string, err error) {
	for _, t := range list {
		one, err := r.env().text(t, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// braces expands docs/{A,B}.md to the two patterns that it means.
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

// loadDocument parses the first candidate that exists; a second one is a warning. With files it
// parses all of them.
func (r *run) loadDocument(l *syntax.Load) (any, error) {
	profile := l.Document.Profile.Text
	if l.Files != nil {
		found, err := r.files(l)
		list := []any{}
		for _, name := range found {
			var doc any
			if src, cause := r.cfg.Docs.Open(r.main.ctx, name); cause != nil {
				err = errors.Join(err, cause)
			} else if doc, cause = r.document(profile, name, src); cause != nil {
				err = errors.Join(err, cause)
			}
			list = append(list, doc)
		}
		return list, err
	}

	candidates, err := r.fillTexts(l.Document.Path)
	if err != nil {
		return nil, err
	}
	if l.Document.Expr != nil {
		v, err := r.env().eval(l.Document.Expr, nil)
		if err != nil {
			return nil, err
		}
		candidates = paths(v)
	}
	if profile == formats.ProfileAutoApprove { // only the file that answers for this run counts
		candidates = slices.DeleteFunc(candidates, func(name string) bool {
			return name != r.cfg.Consent.File
		})
	}
	var found string
	var src []byte
	for _, path := range candidates {
		data, err := r.cfg.Docs.Open(r.main.ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if found != "" {
			r.warnDouble(found, path)
			break
		}
		found = path
		src = data
	}

	switch {
	case found != "":
	case l.Optional:
		return nil, nil
	case len(candidates) == 0:
		return nil, r.notFound(l, "no "+profile+" found: its path is empty")
	default:
		for i, path := range candidates {
			candidates[i] = strconv.Quote(path)
		}
		return nil, r.notFound(l, "no "+profile+" found at "+strings.Join(candidates, ", "))
	}

	return r.document(profile, found, src)
}

// document is a document as jq sees it. A document of a flow has the hash of its text, because a
// run that is resumed asks before it goes on with a changed one.
func (r *run) document(profile, found string, src []byte) (any, error) {
	doc, bad := formats.DocumentOptions{
		Needed: true,
		Exists: func(name string) bool {
			_, err := r.cfg.Docs.Open(r.main.ctx, name)
			return err == nil
		},
	}.Parse(profile, found, src)
	if bad.HasErrors() && !formats.IsHandoff(profile) {
		bad.Of = formats.CodeValidationFailed
		return nil, bad
	}
	// A check would find these; for rules nothing else reports them.
	if bad != nil && (r.dry.on || profile == formats.ProfileRules) && formats.IsHandoff(profile) {
		for _, d := range bad.List {
			r.warn("%s", d.Error())
		}
	}
	out := doc.Any()
	if formats.IsHandoff(profile) {
		out["sha256"] = formats.Sum(src)
	} else {
		r.warnFormat(profile, found, bad)
	}
	return out, nil
}

// warnFormat warns once of all places in which a document breaks its profile.
func (r *run) warnFormat(profile, name string, d *formats.Diagnostics) {
	if d == nil {
		return
	}
	list := slices.DeleteFunc(slices.Clone(d.List), func(one formats.Diagnostic) bool {
		return strings.HasPrefix(one.Code, "W") // of every document
	})
	if len(list) > 0 {
		r.warn(
			"%s breaks its format in %s, which does not matter here; the first is %d:%d: %s; to "+
				"see all: %s",
			name, formats.Count(len(list), "place"), list[0].Pos.Line, list[0].Pos.Col,
			list[0].Message, "tercet check --profile "+profile+" "+name,
		)
	}
}

// paths reads a path or a list of paths, and ignores everything else.
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
