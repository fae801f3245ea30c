package compile

import (
	"errors"
	"slices"
	"strings"

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
	code, err := query.Compile(e.Src, query.Options{Vars: c.scope.vars, Funcs: query.Workflow, Strict: true})
	if err != nil {
		c.exprError(e, err)
		return nil
	}
	out := &Expr{Pos: e.Pos, Src: e.Src, Code: code}
	for _, ref := range code.Refs() {
		if ref.Bound {
			continue
		}
		switch ref.Var {
		case "$state":
			out.State = true
		case "$steps":
			if len(ref.Path) > 0 && !slices.Contains(out.Steps, ref.Path[0]) {
				out.Steps = append(out.Steps, ref.Path[0])
			}
		}
		c.reference(e, ref)
	}
	return out
}

func (c *compiler) exprError(e *syntax.Expr, err error) {
	if list, ok := errors.AsType[query.ErrorList](err); ok {
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
	if name := variableAt(e.Src, bad.Offset); name != "" {
		code = CodeVariable
		switch {
		case slices.Contains(laterVars(), name):
			c.report(at(e, bad.Offset), CodeUnsupported, "", "%s is not supported yet", name)
			return
		case name == "$item" || name == "$index":
			help = "it stands in the body of a foreach"
		case slices.Contains(c.prog.argNames(), name[1:]):
			help = "write $args." + name[1:]
		}
	}
	c.report(at(e, bad.Offset), code, help, "%s", bad.Msg)
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

// at is the place of a byte of an expression. Lines behind the first are taken to be indented as the first one is.
func at(e *syntax.Expr, offset int) syntax.Pos {
	if offset < 0 || offset > len(e.Src) {
		return e.Pos
	}
	before := e.Src[:offset]
	lines := strings.Count(before, "\n")
	if lines == 0 {
		return syntax.Pos{Line: e.Pos.Line, Col: e.Pos.Col + offset}
	}
	return syntax.Pos{Line: e.Pos.Line + lines, Col: e.Pos.Col + offset - strings.LastIndexByte(before, '\n') - 1}
}

func (p *Program) argNames() []string {
	out := make([]string, 0, len(p.Args)+1)
	for _, a := range p.Args {
		out = append(out, a.Name)
	}
	return out
}

// reference checks one use of a variable.
func (c *compiler) reference(e *syntax.Expr, ref query.Ref) {
	pos := at(e, ref.Offset)
	switch ref.Var {
	case "$args":
		names := append(c.prog.argNames(), "_raw")
		if len(ref.Path) > 0 && !slices.Contains(names, ref.Path[0]) {
			c.report(pos, CodeArgument, nearest.Help(ref.Path[0], names), "no argument is named '%s'", ref.Path[0])
		}
	case "$task":
		if !c.scope.task {
			c.report(pos, CodeNoTask, "declare an argument of type task", "$task needs a task")
		}
	case "$run":
		c.runMember(pos, ref)
	case "$feedback":
		c.member(pos, ref.Path, []string{"from", "issues", "note", "choice", "answer", "attempt"})
	case "$env":
		if len(ref.Path) > 0 && !slices.Contains(c.prog.Env, ref.Path[0]) {
			c.report(pos, CodeMember, "list the name under env: in the frontmatter", "$env has no '%s'", ref.Path[0])
		}
	case "$steps":
		c.stepReference(pos, ref)
	}
}

func (c *compiler) runMember(pos syntax.Pos, ref query.Ref) {
	if len(ref.Path) > 0 && slices.Contains([]string{"diff", "diffstat", "overrides"}, ref.Path[0]) {
		c.report(pos, CodeUnsupported, "", "$run.%s is not supported yet", ref.Path[0])
		return
	}
	c.member(pos, ref.Path, []string{
		"id", "session_id", "command", "depth", "started_at", "worktree", "rollbacks", "auto_approve", "artifacts", "approval",
	})
}

func (c *compiler) member(pos syntax.Pos, path, names []string) {
	if len(path) > 0 && !slices.Contains(names, path[0]) {
		c.report(pos, CodeMember, nearest.Help(path[0], names), "no member '%s' here; expected one of %s", path[0], strings.Join(names, ", "))
	}
}

// stepReference checks $steps.ID, the member read of it, and typed fields.
func (c *compiler) stepReference(pos syntax.Pos, ref query.Ref) {
	if len(ref.Path) == 0 {
		return
	}
	id := ref.Path[0]
	info := c.scope.find(id)
	if info == nil {
		c.noStep(pos, id)
		return
	}
	members := []string{"status", "summary", "text", "artifacts", "issues", "fields", "errors", "attempts", "class", "next_steps", "blocked_reason", "children"}
	switch info.kind {
	case resultSet:
		members = append(info.names, "status")
	case resultGate:
		members = []string{"status", "choice", "note", "by"}
	case resultLoop:
		members = append(members, "completed", "partial", "failed", "blocked")
	case resultReturn, resultOther:
	}
	c.member(pos, ref.Path[1:], members)
	if len(ref.Path) > 2 && ref.Path[1] == "fields" && info.agent != nil && info.agent.Fields != nil {
		if _, ok := info.agent.Fields[ref.Path[2]]; !ok {
			names := make([]string, 0, len(info.agent.Fields))
			for name := range info.agent.Fields {
				names = append(names, name)
			}
			slices.Sort(names)
			c.report(pos, CodeField, nearest.Help(ref.Path[2], names), "subagent %s returns no field '%s'", info.agent.Name, ref.Path[2])
		}
	}
}

func (c *compiler) noStep(pos syntax.Pos, id string) {
	for _, loop := range c.scope.ids() {
		if info := c.scope.find(loop); info != nil && slices.Contains(info.inside, id) {
			c.report(pos, CodeStep, "outside the loop write $steps."+loop+".children[0].steps."+id, "step '%s' is inside the loop '%s'", id, loop)
			return
		}
	}
	every := allIDs(c.file.Steps)
	if every[id] {
		if c.mayComeBack() {
			return
		}
		c.report(pos, CodeNotYetRun, "", "step '%s' cannot have run yet", id)
		return
	}
	names := make([]string, 0, len(every))
	for name := range every {
		names = append(names, name)
	}
	slices.Sort(names)
	c.report(pos, CodeStep, nearest.Help(id, names), "no step has id '%s'", id)
}

// mayComeBack tells whether a later step sends back to the present one or to a loop around it.
func (c *compiler) mayComeBack() bool {
	for s := c.scope; s != nil; s = s.outer {
		if s.self != "" && c.redoable[s.self] {
			return true
		}
	}
	return c.inAlways
}

func (c *compiler) text(t *syntax.Text) *Text {
	if t == nil {
		return nil
	}
	out := &Text{Pos: t.Pos, Whole: t.Whole}
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
	switch v.Kind {
	case syntax.Jq:
		return &Value{Expr: c.expr(v.Expr)}
	case syntax.Template:
		return &Value{Text: c.text(v.Text)}
	case syntax.Map:
		return &Value{IsMap: true, Fields: c.fields(v.Fields)}
	case syntax.List:
		out := &Value{IsList: true}
		for _, item := range v.Items {
			out.Items = append(out.Items, c.value(item))
		}
		return out
	case syntax.Literal:
	}
	return &Value{Lit: v.Lit}
}

func (c *compiler) fields(list []syntax.Field) []Field {
	var out []Field
	for _, f := range list {
		out = append(out, Field{Key: f.Key.Text, Value: c.value(f.Value)})
	}
	return out
}

func lit(v any) *Value { return &Value{Lit: v} }

// source compiles jq that the compiler wrote itself for a step at pos.
func (c *compiler) source(pos syntax.Pos, src string) *Value {
	return &Value{Expr: c.expr(&syntax.Expr{Pos: pos, Src: src})}
}

// syncFields are the input of a call of the status-sync manager.
type syncFields map[string]*Value

// sync makes a delegation to the status-sync manager.
func (c *compiler) sync(pos syntax.Pos, in syncFields) *Delegate {
	info, ok := c.env.Agent(StatusSync)
	if !ok {
		c.report(pos, CodeAgent, "", "unknown subagent %q", StatusSync)
	}
	d := &Delegate{Agent: StatusSync, Info: info, With: &Value{IsMap: true}, Sync: true}
	for _, key := range []string{"operation", "task_number", "status", "back", "reason", "artifacts", "phase", "plan"} {
		if v := in[key]; v != nil {
			d.With.Fields = append(d.With.Fields, Field{Key: key, Value: v})
		}
	}
	return d
}

func artifactType(word string) (formats.ArtifactType, bool) {
	t := formats.ArtifactType(word)
	return t, slices.Contains([]formats.ArtifactType{
		formats.ArtifactReport, formats.ArtifactPlan, formats.ArtifactImplementation, formats.ArtifactSummary,
		formats.ArtifactReview, formats.ArtifactDocumentation,
	}, t)
}
