package compile

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/internal/query"
)

// expr compiles jq in the present scope; nil stays nil. What it refers to is checked at once.
func (c *compiler) expr(e *syntax.Expr) *Expr {
	if e == nil {
		return nil
	}
	c.exprs++
	code, err := c.compiled(e.Src)
	if err != nil {
		c.exprError(e, err)
		return nil
	}
	out := c.made.exprs.New()
	out.Pos, out.Src, out.Code = e.Pos, e.Src, code
	for ref := range code.EachRef {
		if ref.Bound {
			continue
		}
		c.reference(e, ref)
		if c.noting && len(ref.Path) > 0 && (ref.Var == "$steps" || ref.Var == "$it") {
			c.noted = append(c.noted, read{e, ref})
		}
	}
	return out
}

// compiled is an expression that was compiled before, with the variables that it could read.
type compiled struct {
	known []string
	code  *query.Code
	next  *compiled // with other variables
}

// compiled compiles an expression once for all the places of the file that have the same variables.
func (c *compiler) compiled(src string) (*query.Code, error) {
	count := 0
	before := c.codes[src]
	for one := before; one != nil; one = one.next {
		if count++; sameVars(one.known, c.scope.vars) {
			return one.code, nil
		}
	}
	code, err := query.Compile(src, query.Options{Vars: c.scope.vars, Funcs: query.Workflow, Strict: true})
	if err != nil {
		return nil, err
	}
	if count < maxSame {
		one := c.made.codes.New()
		one.known, one.code, one.next = c.scope.vars, code, before
		c.codes[src] = one
	}
	return code, nil
}

// sameVars tells whether two lists of variables are alike; most often they are one.
func sameVars(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// Reads tells what the expression reads.
func (e *Expr) Reads() Reads {
	out := Reads{Vars: e.Code.Vars()}
	for ref := range e.Code.EachRef {
		if ref.Bound {
			continue
		}
		switch {
		case ref.Var == "$steps" && len(ref.Path) == 0:
			out.AllSteps = true
		case ref.Var == "$steps" && !slices.Contains(out.Steps, ref.Path[0]):
			out.Steps = append(out.Steps, ref.Path[0])
		case ref.Var == "$run" && len(ref.Path) > 0:
			out.Run = append(out.Run, ref.Path[0])
		}
	}
	return out
}

// maxSame is how many sets of variables one expression is kept for.
const maxSame = 8

func (c *compiler) exprError(e *syntax.Expr, err error) {
	if list, ok := errors.AsType[query.Errors](err); ok {
		for _, one := range list {
			c.exprProblem(e, one)
		}
		return
	}
	if one, ok := errors.AsType[*query.Error](err); ok {
		c.exprProblem(e, one)
		return
	}
	c.report(e.Pos, CodeExpression, "", "%s", err)
}

// exprProblem reports one finding of the jq compiler; an unknown variable gets the advice that its name suggests.
func (c *compiler) exprProblem(e *syntax.Expr, bad *query.Error) {
	code, help := CodeExpression, bad.DidYouMean
	if help != "" {
		help = "did you mean '" + help + "'?"
	}
	if name := variableAt(e.Src, bad.Offset); name != "" && strings.HasPrefix(bad.Msg, "unknown variable") {
		code = CodeVariable
		switch {
		case placeVars()[name] != "":
			help = placeVars()[name]
		case name == "$item" || name == "$index":
			help = "it stands in the body of a foreach"
		case slices.Contains(c.prog.argNames(), name[1:]):
			help = "write $args." + name[1:]
		case c.scope.find(name[1:]) != nil:
			help = "write $steps." + name[1:]
		}
	}
	c.report(e.At(bad.Offset), code, help, "%s", bad.Msg)
}

// variableAt is the $name that begins at the offset, or the empty string.
func variableAt(src string, offset int) string {
	if offset < 0 || offset >= len(src) || src[offset] != '$' {
		return ""
	}
	end := offset + 1
	for end < len(src) && (src[end] == '_' || src[end] >= '0' && src[end] <= '9' || src[end] >= 'a' && src[end] <= 'z' || src[end] >= 'A' && src[end] <= 'Z') {
		end++
	}
	if end == offset+1 {
		return ""
	}
	return src[offset:end]
}

func (p *Program) argNames() []string {
	out := make([]string, 0, len(p.Args)+1)
	for _, a := range p.Args {
		out = append(out, a.Name)
	}
	return out
}

// memberAt is the place of the i-th member of the path that follows a variable.
func memberAt(e *syntax.Expr, ref query.Ref, i int) syntax.Pos {
	if ref.Offset < 0 {
		return e.Pos
	}
	at := ref.Offset + len(ref.Var)
	for n, key := range ref.Path[:i+1] {
		found := strings.Index(e.Src[at:], key)
		if found < 0 {
			return e.At(ref.Offset)
		}
		at += found
		if n < i {
			at += len(key)
		}
	}
	return e.At(at)
}

// reference checks one use of a variable.
func (c *compiler) reference(e *syntax.Expr, ref query.Ref) {
	if ref.Var == "$task" && !c.scope.task {
		c.report(e.At(ref.Offset), CodeNoTask, "declare an argument of type task", "$task needs a task")
	}
	if len(ref.Path) == 0 {
		return
	}
	first := ref.Path[0]
	pos := memberAt(e, ref, 0)
	switch ref.Var {
	case "$args":
		c.argument(e, ref)
	case "$run":
		c.member(pos, first, []string{
			"id", "session_id", "command", "depth", "started_at", "worktree", "rollbacks", "auto_approve", "artifacts", "approval", "diff",
			"diffstat", "overrides",
		})
	case "$feedback":
		c.member(pos, first, []string{"from", "issues", "note", "choice", "answer", "attempt"})
	case "$env":
		if !slices.Contains(c.prog.Env, first) {
			c.report(pos, CodeMember, "list the name under env: in the frontmatter", "$env has no '%s'", first)
		}
	case "$steps":
		c.stepReference(e, ref)
	case "$it":
		c.itReference(e, ref)
	case "$board":
		if list := c.topics(); !slices.Contains(list, first) {
			c.report(pos, CodeMember, nearest.Help(first, list), "no step posts to a board '%s'", first)
		}
	case "$input":
		c.inputReference(pos, first)
	}
}

// topics lists the boards of the file.
func (c *compiler) topics() []string {
	var out []string
	c.walk(func(s *syntax.Step) {
		if s.Board != nil && !slices.Contains(out, s.Board.Text) {
			out = append(out, s.Board.Text)
		}
	})
	slices.Sort(out)
	return out
}

func (c *compiler) argument(e *syntax.Expr, ref query.Ref) {
	at := slices.IndexFunc(c.prog.Args, func(s argspec.Spec) bool { return s.Name == ref.Path[0] })
	switch {
	case at >= 0 && c.prog.Args[at].Type == argspec.Boolean:
		c.orElse(e, ref)
	case at < 0 && ref.Path[0] != argspec.RawName:
		c.report(memberAt(e, ref, 0), CodeArgument, nearest.Help(ref.Path[0], append(c.prog.argNames(), argspec.RawName)), "no argument is named '%s'", ref.Path[0])
	}
}

// orElse warns of `//` behind a boolean.
func (c *compiler) orElse(e *syntax.Expr, ref query.Ref) {
	if ref.Offset < 0 {
		return
	}
	rest, ok := strings.CutPrefix(e.Src[ref.Offset:], strings.TrimSuffix(ref.Var, ".")+"."+strings.Join(ref.Path, "."))
	if ok && strings.HasPrefix(strings.TrimLeft(rest, " \t\n"), "//") {
		c.report(e.At(ref.Offset), CodeOrElse, "write default(...) behind a |", "'//' replaces false as well as null")
	}
}

func (c *compiler) member(pos syntax.Pos, name string, names []string) {
	if !slices.Contains(names, name) {
		c.report(pos, CodeMember, nearest.Help(name, names), "no member '%s' here; expected one of %s", name, strings.Join(names, ", "))
	}
}

// stepReference checks $steps.ID, the member read of it, and typed fields.
func (c *compiler) stepReference(e *syntax.Expr, ref query.Ref) {
	info := c.scope.find(ref.Path[0])
	if info == nil {
		c.noStep(memberAt(e, ref, 0), ref.Path[0])
		return
	}
	if len(ref.Path) == 1 {
		return
	}
	c.member(memberAt(e, ref, 1), ref.Path[1], membersOf(info))
	if len(ref.Path) < 3 || ref.Path[1] != "fields" {
		return
	}
	if info.agent == nil || info.agent.Fields == nil {
		c.amongField(e, ref, info)
		return
	}
	c.contractField(e, ref, 2, info.agent)
}

// contractField checks a field, the i-th member of a path, against the contract of the subagent that returns it.
func (c *compiler) contractField(e *syntax.Expr, ref query.Ref, i int, agent *formats.AgentInfo) {
	name := ref.Path[i]
	field, ok := agent.Fields[name]
	switch {
	case ok && field.Type == formats.TypeBoolean:
		c.orElse(e, ref)
	case !ok:
		names := slices.Sorted(maps.Keys(agent.Fields))
		help := nearest.Help(name, names)
		if help == "" && len(names) > 0 {
			help = "its fields are " + strings.Join(names, ", ")
		}
		c.report(memberAt(e, ref, i), CodeField, help, "subagent %s returns no field '%s'", agent.Name, name)
	}
}

// judge is what a condition over the result of a step looks at: what is known of the result, and the contract of the fallback.
type judge struct {
	info     *stepInfo
	fallback *formats.AgentInfo
}

// verdict compiles a condition over the result of the present step, which is its input. What it reads of the fields has to be
// in the contract.
func (c *compiler) verdict(e *syntax.Expr) *Expr {
	out := c.expr(e)
	info := c.judged.info
	if out == nil || info == nil || info.agent == nil || info.agent.Fields == nil {
		return out
	}
	for ref := range out.Code.EachPath {
		if len(ref.Path) < 2 || ref.Path[0] != "fields" {
			continue
		}
		if second := c.judged.fallback; second != nil {
			if _, ok := second.Fields[ref.Path[1]]; ok || second.Fields == nil {
				continue
			}
		}
		c.contractField(e, ref, 1, info.agent)
	}
	return out
}

// membersOf lists what there is of a step's result.
func membersOf(info *stepInfo) []string {
	switch info.kind {
	case resultReturn:
		return []string{"status", "summary", "text", "artifacts", "issues", "fields", "errors", "attempts", "class", "next_steps", "blocked_reason"}
	case resultSet:
		return append(slices.Clone(info.names), "status")
	case resultGate:
		return []string{"status", "choice", "note", "by"}
	case resultParallel:
		return []string{"status", "summary", "artifacts", "issues", "children"}
	case resultLoop:
		return []string{"status", "summary", "completed", "partial", "failed", "blocked", "artifacts", "issues", "children"}
	case resultPlain:
	}
	return []string{"status"}
}

// amongField checks a field of a step that calls one of several subagents: one of them must emit it.
func (c *compiler) amongField(e *syntax.Expr, ref query.Ref, info *stepInfo) {
	var names []string
	for i := range info.among {
		if info.among[i].Fields == nil {
			return
		}
		for name := range info.among[i].Fields {
			names = append(names, name)
		}
	}
	if len(info.among) == 0 || slices.Contains(names, ref.Path[2]) {
		return
	}
	c.report(memberAt(e, ref, 2), CodeField, nearest.Help(ref.Path[2], names), "none of its subagents returns a field '%s'", ref.Path[2])
}

// noStep says why the result of a step cannot be read here. A step that is sent back to may read what stands behind it.
func (c *compiler) noStep(pos syntax.Pos, id string) {
	if c.named(id) == nil {
		c.report(pos, CodeStep, nearest.Help(id, c.stepNames()), "no step has id '%s'", id)
		return
	}
	if loops := c.outsideLoop(id); len(loops) > 0 {
		c.report(pos, CodeStep, "outside the loop write $steps."+strings.Join(loops, ".children[0].steps.")+".children[0].steps."+id, "step '%s' is inside the loop '%s'", id, loops[0])
		return
	}
	if c.scope.inside(id) {
		c.report(pos, CodeNotYetRun, "its result is there once it has ended", "step '%s' is the loop around this place", id)
		return
	}
	if !c.lenient && !c.mayComeBack() {
		c.report(pos, CodeNotYetRun, "", "step '%s' cannot have run yet", id)
	}
}

// mayComeBack tells whether a later step sends back to the present one or to a loop around it.
func (c *compiler) mayComeBack() bool {
	if len(c.gotos) > 0 {
		return true
	}
	for s := c.scope; s != nil; s = s.outer {
		if s.self != "" && c.redoable[s.self] {
			return true
		}
	}
	return false
}

func (c *compiler) text(t *syntax.Text) *Text {
	if t == nil {
		return nil
	}
	out := c.made.texts.New()
	out.Pos, out.Whole, out.Parts = t.Pos, t.Whole, c.made.parts.List(len(t.Parts))
	for _, p := range t.Parts {
		part := Part{Lit: p.Lit}
		if p.Expr != nil {
			part.Expr = c.expr(p.Expr)
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

func (c *compiler) texts(list []*syntax.Text) []*Text {
	var out []*Text
	for _, t := range list {
		out = append(out, c.text(t))
	}
	return out
}

func (c *compiler) value(v *syntax.Value) *Value {
	if v == nil {
		return nil
	}
	out := c.made.values.New()
	switch v.Kind {
	case syntax.Jq:
		out.Expr = c.expr(v.Expr)
	case syntax.Template:
		out.Text = c.text(v.Text)
	case syntax.Map:
		out.IsMap, out.Fields = true, c.fields(v.Fields)
	case syntax.List:
		out.IsList = true
		out.Fields = c.made.fields.List(len(v.Items))
		for _, item := range v.Items {
			out.Fields = append(out.Fields, Field{Value: c.value(item)})
		}
	case syntax.Literal:
		out.Lit = v.Lit
	}
	return out
}

func (c *compiler) fields(list []syntax.Field) []Field {
	if len(list) == 0 {
		return nil
	}
	out := c.made.fields.List(len(list))
	for _, f := range list {
		out = append(out, Field{Key: f.Key.Text, Value: c.value(f.Value)})
	}
	return out
}

func (c *compiler) lit(v any) *Value {
	out := c.made.values.New()
	out.Lit = v
	return out
}

// source compiles jq that the compiler wrote itself for a step at pos.
func (c *compiler) source(pos syntax.Pos, src string) *Value {
	out := c.made.values.New()
	e := c.made.sources.New()
	e.Pos, e.Src = pos, src
	out.Expr = c.expr(e)
	return out
}

// syncFields are the input of a call of the status-sync manager.
type syncFields struct {
	operation, task, status, back, reason, artifacts, phase *Value
}

// sync makes a delegation to the status-sync manager.
func (c *compiler) sync(pos syntax.Pos, in syncFields) *Delegate {
	info := c.builtin(pos, StatusSync)
	d := c.made.delegates.New()
	d.Agent, d.Info, d.With, d.Sync = StatusSync, info, c.made.values.New(), true
	d.With.IsMap = true
	fields := [...]Field{
		{"operation", in.operation},
		{"task_number", in.task},
		{"status", in.status},
		{"back", in.back},
		{"reason", in.reason},
		{"artifacts", in.artifacts},
		{"phase", in.phase},
	}
	count := 0
	for _, f := range fields {
		if f.Value != nil {
			fields[count] = f
			count++
		}
	}
	d.With.Fields = append(c.made.fields.List(count), fields[:count]...)
	return d
}

func artifactType(word string) (formats.ArtifactType, bool) {
	t := formats.ArtifactType(word)
	return t, slices.Contains(formats.ArtifactTypes(), t)
}

func artifactWords() []string {
	var out []string
	for _, t := range formats.ArtifactTypes() {
		out = append(out, string(t))
	}
	return out
}
