package compile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
)

// steps compiles a sequence in order; each step sees the results of those before it.
func (c *compiler) steps(list []*syntax.Step) []*Op {
	var out []*Op
	ended := false
	for i, s := range list {
		if ended {
			c.reached = append(c.reached, s)
			ended = false
		}
		id := c.identify(s, list[:i])
		c.scope.self = id
		var op *Op
		if s.Sentence != nil {
			op = c.sentence(s, id)
		} else {
			op = c.step(s, id)
		}
		c.scope.self = ""
		if op == nil {
			continue
		}
		out = append(out, op)
		ended = endsAlways(op)
	}
	return out
}

// endsAlways tells whether nothing behind the step can be reached from it.
func endsAlways(op *Op) bool {
	if op.When != nil {
		return false
	}
	if _, ok := op.Do.(*Fail); ok {
		return true
	}
	return op.Return != nil && op.Do == nil
}

// identify gives the step its id and reports one that is used twice.
func (c *compiler) identify(s *syntax.Step, before []*syntax.Step) string {
	id := stepID(s)
	if s.ID.Text == "" {
		base := id
		for n := 2; id == "" || c.scope.steps[id] != nil; n++ {
			id = fmt.Sprintf("%s_%d", base, n)
			if base == "" {
				id = fmt.Sprintf("step_%d", len(before)+1)
			}
		}
		return id
	}
	if c.scope.find(id) != nil {
		c.report(s.ID.Pos, CodeStepTwice, "give one of them another id", "two steps have the id '%s'", id)
	}
	return id
}

// step compiles a step with a block.
func (c *compiler) step(s *syntax.Step, id string) *Op {
	op := &Op{Pos: s.Pos, ID: id, Title: s.Title, When: c.expr(s.When)}
	info := &stepInfo{id: id}
	if s.Always != nil {
		op.Always = s.Always.Text
	}
	op.Table = c.table(s.Table)
	if s.Timeout != nil {
		op.Timeout = formats.Timeout{Total: seconds(s.Timeout.Total), Idle: seconds(s.Timeout.Idle)}
	}
	op.Retry = c.retry(s.Retry)
	op.Do = c.action(s, info)
	if s.Action == nil && s.Table == nil && s.Return == nil {
		c.report(s.Pos, CodeAction, "add delegate, status, check, gate, set, foreach, table, return or fail", "step '%s' has no action", id)
		return nil
	}
	if s.Fallback != nil {
		if agent, ok := c.agent(*s.Fallback); ok {
			op.Fallback, op.FallbackInfo = agent.Name, agent
		}
	}
	op.Expect = c.expect(s.Expect)
	c.scope.steps[id] = info // its own result is `.` and may be read in its targets
	for _, r := range s.On {
		op.On = append(op.On, c.rule(r, s, op)...)
	}
	op.Return = c.ret(s.Return)
	return op
}

func (c *compiler) action(s *syntax.Step, info *stepInfo) Action {
	switch a := s.Action.(type) {
	case *syntax.Delegate:
		info.kind = resultReturn
		return c.delegate(a, s, info)
	case *syntax.Foreach:
		info.kind = resultLoop
		return c.foreach(a, s, info)
	case *syntax.Status:
		info.kind = resultReturn
		return c.status(a)
	case *syntax.Gate:
		info.kind = resultGate
		return c.gate(a, s)
	case *syntax.Check:
		info.kind = resultReturn
		return c.check(a)
	case *syntax.Set:
		info.kind = resultSet
		return c.set(a, info)
	case *syntax.Fail:
		return &Fail{Message: c.text(a.Message), Code: c.code(a.Code, formats.CodePrecondition)}
	}
	return nil
}

func (c *compiler) agent(w syntax.Word) (formats.AgentInfo, bool) {
	info, ok := c.env.Agent(w.Text)
	if !ok {
		c.report(w.Pos, CodeAgent, nearest.Help(w.Text, c.env.Names()), "unknown subagent '%s'", w.Text)
	}
	return info, ok
}

func (c *compiler) delegate(a *syntax.Delegate, s *syntax.Step, info *stepInfo) Action {
	agent, ok := c.agent(a.Agent)
	d := &Delegate{Agent: a.Agent.Text, Info: agent, With: &Value{IsMap: true, Fields: c.fields(s.With)}, Prompt: c.text(s.Prompt)}
	if !ok {
		return d
	}
	info.agent = &agent
	c.inputs(agent, s, a.Pos)
	c.last = &lastWorker{id: info.id, agent: agent}
	return d
}

// inputs checks the step's input against the subagent's contract.
func (c *compiler) inputs(agent formats.AgentInfo, s *syntax.Step, pos syntax.Pos) {
	if agent.Inputs == nil {
		return
	}
	names := make([]string, 0, len(agent.Inputs))
	for name := range agent.Inputs {
		names = append(names, name)
	}
	slices.Sort(names)
	given := map[string]bool{}
	for _, f := range s.With {
		given[f.Key.Text] = true
		in, ok := agent.Inputs[f.Key.Text]
		if !ok {
			c.report(f.Key.Pos, CodeInput, nearest.Help(f.Key.Text, names), "subagent %s takes no input '%s'; expected one of %s", agent.Name, f.Key.Text, strings.Join(names, ", "))
			continue
		}
		if f.Value.Kind == syntax.Literal && !fits(in.Type, f.Value.Lit) {
			c.report(f.Value.Pos, CodeInput, "", "expected %s for input '%s', got %v", in.Type, f.Key.Text, f.Value.Lit)
		}
	}
	for _, name := range names {
		if agent.Inputs[name].Required && !given[name] {
			c.report(pos, CodeInput, "add it to with", "subagent %s needs the input '%s'", agent.Name, name)
		}
	}
}

// fits tells whether a literal can be of the type; null fits all.
func fits(t formats.InputType, v any) bool {
	if v == nil {
		return true
	}
	switch t {
	case formats.TypeString:
		_, ok := v.(string)
		return ok
	case formats.TypeInteger:
		_, ok := v.(int)
		return ok
	case formats.TypeNumber:
		_, whole := v.(int)
		_, ok := v.(float64)
		return ok || whole
	case formats.TypeBoolean:
		_, ok := v.(bool)
		return ok
	case formats.TypeArray, formats.TypeList, formats.TypeObject:
		return false
	case formats.TypeAny:
	}
	return true
}

func (c *compiler) foreach(a *syntax.Foreach, s *syntax.Step, info *stepInfo) Action {
	f := &Foreach{In: c.expr(a.In), As: a.As.Text, Merge: a.Merge != nil}
	if f.As == "" {
		f.As = "item"
	}
	if reserved(f.As) {
		c.report(a.As.Pos, CodeName, "choose another name", "$%s is the engine's", f.As)
	}
	if a.Merge != nil && strings.TrimSpace(a.Merge.Src) != "true" {
		c.report(a.Merge.Pos, CodeUnsupported, "true goes on after an element that did not pass", "merge on a foreach is not supported yet, but for true")
	}
	outer := c.scope
	outer.steps[info.id] = info
	c.scope = outer.enter(f.As)
	if a.Delegate != nil {
		inner := *s
		inner.ID, inner.Action, inner.When, inner.On, inner.Table, inner.Return = syntax.Word{Text: a.Delegate.Agent.Text}, a.Delegate, nil, nil, nil, nil
		f.Body = []*Op{c.step(&inner, slug(a.Delegate.Agent.Text))}
	} else {
		f.Body = c.steps(s.Body)
	}
	for id := range c.scope.steps {
		info.inside = append(info.inside, id)
	}
	slices.Sort(info.inside)
	c.scope = outer
	if len(f.Body) == 0 {
		c.report(a.Pos, CodeAction, "put deeper step headings below it, or a delegate beside it", "foreach has no body")
	}
	return f
}

func (c *compiler) status(a *syntax.Status) Action {
	in := syncFields{"task_number": c.source(a.Pos, "$task.number")}
	if a.Task != nil {
		in["task_number"] = c.value(a.Task)
	} else if !c.scope.task {
		return &Delegate{Agent: StatusSync}
	}
	in["status"], in["reason"] = c.value(a.To), c.value(a.Reason)
	if a.Phase != nil {
		in["operation"], in["phase"] = lit("set_phase"), c.value(a.Phase)
		c.phaseStatus(a.To)
		return c.sync(a.Pos, in)
	}
	in["operation"] = lit("update_status")
	if a.Artifacts != nil {
		in["artifacts"] = c.value(a.Artifacts)
	}
	d := c.sync(a.Pos, in)
	d.Link = a.Artifacts == nil
	d.To = c.taskStatus(a.To, a.Task == nil)
	return d
}

func (c *compiler) phaseStatus(v *syntax.Value) {
	if v == nil || v.Kind != syntax.Literal {
		return
	}
	word, _ := v.Lit.(string)
	if _, err := formats.ParsePhaseStatus(word); err != nil {
		c.report(v.Pos, CodeStatus, "use not_started, in_progress, completed, partial or blocked", "expected phase status, got %q", word)
	}
}

// taskStatus checks a literal status word; own tells that it is for the bound task, which `during` may have moved.
func (c *compiler) taskStatus(v *syntax.Value, own bool) formats.TaskStatus {
	if v == nil || v.Kind != syntax.Literal {
		return ""
	}
	word, ok := v.Lit.(string)
	status, err := formats.ParseTaskStatus(word)
	if !ok || err != nil {
		c.report(v.Pos, CodeStatus, statusHelp(word), "expected task status, got %q", fmt.Sprint(v.Lit))
		return ""
	}
	if d := c.prog.During; own && d != nil && d.When == nil && !c.inAlways && !formats.CanMove(d.Status, status) {
		c.report(v.Pos, CodeTransition, "", "a task cannot go from %s to %s", d.Status, status)
	}
	return status
}

func (c *compiler) gate(a *syntax.Gate, s *syntax.Step) Action {
	g := &Gate{Question: c.text(a.Question)}
	for _, e := range a.Show {
		g.Show = append(g.Show, c.expr(e))
	}
	if len(s.On) > 0 {
		c.report(s.On[0].Status.Pos, CodeAction, "name the targets in choices", "a gate has choices instead of on")
	}
	labels := []string{}
	for _, ch := range a.Choices {
		labels = append(labels, ch.Label.Text)
		g.Choices = append(g.Choices, Choice{Label: ch.Label.Text, Target: c.target(ch.Target)})
	}
	if a.Choices == nil {
		labels = []string{"approve", "reject"}
		g.Choices = []Choice{{Label: "approve", Target: &Target{Kind: ToNext}}, {Label: "reject", Target: &Target{Kind: ToFail}}}
	}
	if a.Auto != nil {
		if !slices.Contains(labels, a.Auto.Text) {
			c.report(a.Auto.Pos, CodeMember, nearest.Help(a.Auto.Text, labels), "no choice is named '%s'", a.Auto.Text)
		}
		g.Auto = a.Auto.Text
	}
	return g
}

func (c *compiler) check(a *syntax.Check) Action {
	if a.Command != nil || a.Project != nil {
		return c.gatekeeper(a)
	}
	out := &Check{Expr: c.expr(a.Expr), Path: c.value(a.Path), File: c.value(a.File), Nonempty: a.Nonempty, Else: c.text(a.Else)}
	if a.Document != nil {
		c.profile(*a.Document)
		out.Document = a.Document.Text
	}
	return out
}

// gatekeeper lowers a check that runs commands to a delegation.
func (c *compiler) gatekeeper(a *syntax.Check) Action {
	info, ok := c.env.Agent(Gatekeeper)
	if !ok {
		c.report(a.Pos, CodeAgent, "", "unknown subagent %q", Gatekeeper)
	}
	with := &Value{IsMap: true}
	if a.Command != nil {
		argv := &Value{IsList: true}
		for _, v := range a.Command {
			argv.Items = append(argv.Items, c.value(v))
		}
		with.Fields = append(with.Fields, Field{Key: "command", Value: argv})
	} else {
		kinds := &Value{IsList: true}
		for _, w := range a.Project {
			if !slices.Contains([]string{"build", "lint", "test"}, w.Text) {
				c.report(w.Pos, CodeMember, nearest.Help(w.Text, []string{"build", "lint", "test"}), "expected build, lint or test, got %q", w.Text)
			}
			kinds.Items = append(kinds.Items, lit(w.Text))
		}
		with.Fields = append(with.Fields, Field{Key: "project", Value: kinds})
	}
	return &Delegate{Agent: Gatekeeper, Info: info, With: with, Checks: true, Else: c.text(a.Else)}
}

func (c *compiler) set(a *syntax.Set, info *stepInfo) Action {
	out := &Set{}
	for _, v := range a.Values {
		out.Values = append(out.Values, SetValue{Name: v.Name.Text, Expr: c.expr(v.Expr)})
		info.names = append(info.names, v.Name.Text)
		c.name(v.Name)
	}
	return out
}

func (c *compiler) table(t *syntax.Table) *Table {
	if t == nil {
		return nil
	}
	out := &Table{Rows: c.expr(t.Rows), Title: c.text(t.Title)}
	for _, w := range t.Columns {
		out.Columns = append(out.Columns, w.Text)
	}
	return out
}

func (c *compiler) retry(r *syntax.Retry) Retry {
	if r == nil {
		return Retry{}
	}
	most := c.prog.Limits.WithDefaults().Retries
	if r.Max > most {
		c.report(r.Pos, CodeRetries, "", "expected at most %d retries, got %d", most, r.Max)
	}
	out := Retry{Max: r.Max, Backoff: r.Backoff, Factor: r.Factor, Cap: r.Cap}
	for _, w := range r.On {
		out.On = append(out.On, formats.Class(w.Text))
	}
	if out.On == nil {
		out.On = []formats.Class{formats.ClassTransient}
	}
	if out.Backoff == 0 {
		out.Backoff = 2
	}
	if out.Factor == 0 {
		out.Factor = 2
	}
	if out.Cap == 0 {
		out.Cap = 60
	}
	return out
}

func (c *compiler) expect(e *syntax.Expect) *Expect {
	if e == nil {
		return nil
	}
	out := &Expect{If: c.expr(e.If)}
	if e.Artifact != nil {
		kind, ok := artifactType(e.Artifact.Text)
		if !ok {
			c.report(e.Artifact.Pos, CodeArtifact, "", "expected artifact type, got %q", e.Artifact.Text)
		}
		out.Artifact = kind
	}
	return out
}

func (c *compiler) ret(r *syntax.Return) *Return {
	if r == nil {
		return nil
	}
	out := &Return{
		Status: c.value(r.Status), Message: c.text(r.Message), Text: c.value(r.Text), Artifacts: c.value(r.Artifacts), NextSteps: c.text(r.NextSteps),
	}
	if r.Fields != nil {
		out.Fields = &Value{IsMap: true, Fields: c.fields(r.Fields)}
	}
	if r.Status != nil && r.Status.Kind == syntax.Literal {
		word, _ := r.Status.Lit.(string)
		if !slices.Contains(formats.Outcomes(), formats.Outcome(word)) {
			c.report(r.Status.Pos, CodeOutcome, outcomeHelp(word), "expected a status, got %v", r.Status.Lit)
		}
	}
	return out
}

func outcomeHelp(word string) string {
	names := make([]string, 0, len(formats.Outcomes()))
	for _, o := range formats.Outcomes() {
		names = append(names, o.String())
	}
	return nearest.Help(word, names)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
