package compile

import (
	"maps"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/nearest"
	"tercet/internal/query"
)

// between is what is known of the steps of Between Steps while the workflow is compiled.
type between struct {
	host   *formats.AgentInfo            // of the step around which one is being compiled; nil outside
	fields map[betweenRead]*betweenField // fields of $it that are read
	steps  []betweenStep                 // as in the file
	scope  scope                         // of the one that is being compiled
	nobody formats.AgentInfo             // of a host that is no subagent
}

// betweenStep is what is known of a step of Between Steps.
type betweenStep struct {
	any   bool     // it runs around some step
	hosts []string // of one that names its hosts: those around which it runs
	made  again[hostedStep]
}

// betweenRead is where a field of $it is read.
type betweenRead struct {
	pos  syntax.Pos
	name string
}

// betweenField is one read of a field of $it: some host must emit it.
type betweenField struct {
	pos     syntax.Pos
	name    string
	emitted bool
	names   []string
}

// around compiles what runs before and after a step. It is compiled for each such step, so that $it has its contract.
func (c *compiler) around(op *Op, info *stepInfo) {
	if c.inErrors || c.child || c.aside || c.betweens.host != nil {
		return
	}
	d, delegates := op.Do.(*Delegate)
	worker := delegates && !d.Sync && !d.Checks && d.Agent != GitWorkflow && (len(d.Among) > 0 || !d.Info.Builtin)
	if c.betweens.steps == nil {
		c.betweens.steps = make([]betweenStep, len(c.file.Between))
	}
	for i, b := range c.file.Between {
		list, into := b.After, &op.After
		if b.Before != nil {
			list, into = b.Before, &op.Before
		}
		if list == nil || list.Each && !worker || !list.Each && !slices.ContainsFunc(list.IDs, func(w syntax.Word) bool { return w.Text == op.ID }) {
			continue
		}
		kept := &c.betweens.steps[i]
		kept.any = true
		if !list.Each {
			kept.hosts = append(kept.hosts, op.ID)
		}
		if one := c.hosted(b, &kept.made, op, info); one != nil {
			if *into == nil {
				*into = c.made.refs.List(len(c.file.Between) - i)
			}
			*into = append(*into, one)
		}
	}
}

// hosted compiles one step of Between Steps around a host.
func (c *compiler) hosted(b *syntax.Step, made *again[hostedStep], host *Op, info *stepInfo) *Op {
	outer, last, status, held := c.scope, c.last, c.status, c.betweens.host
	c.betweens.scope = scope{vars: c.widen(true), task: outer.task, self: host.ID, outer: outer, steps: c.betweens.scope.steps[:0]}
	c.scope = &c.betweens.scope
	c.betweens.host = &c.betweens.nobody
	if info.agent != nil {
		c.betweens.host = info.agent
	}
	lenient, unsure := c.lenient, c.unsure
	c.lenient, c.unsure = true, true
	id := host.ID + "." + c.id(b)
	op := c.hostedStep(b, made, id)
	if op != nil {
		op.Host = host.ID
		outer.steps.add(id, c.scope.steps.of(id))
	}
	c.lenient, c.unsure = lenient, unsure
	c.scope, c.last, c.status, c.betweens.host = outer, last, status, held
	return op
}

// hostedStep compiles a step of Between Steps in the scope around its host, anew only if it has to.
func (c *compiler) hostedStep(b *syntax.Step, made *again[hostedStep], id string) *Op {
	if len(c.under) > 0 || !repeats(b) {
		return c.step(b, id)
	}
	fresh := false
	one := once(c, made, func() hostedStep {
		fresh = true
		op := c.step(b, id)
		return hostedStep{op, c.scope.steps.of(id)}
	})
	if fresh || one.op == nil {
		return one.op
	}
	c.scope.steps.add(id, one.info)
	return c.rehosted(b, one.op, id)
}

// itReference checks $it.MEMBER and notes the fields that are read.
func (c *compiler) itReference(e *syntax.Expr, ref query.Ref) {
	c.member(memberAt(e, ref, 0), ref.Path[0], []string{"id", "agent", "tools", "status", "summary", "artifacts", "fields", "issues"})
	if len(ref.Path) < 2 || ref.Path[0] != "fields" {
		return
	}
	pos := memberAt(e, ref, 1)
	key := betweenRead{pos, ref.Path[1]}
	f := c.betweens.fields[key]
	if f == nil {
		f = &betweenField{pos: pos, name: ref.Path[1]}
		if c.betweens.fields == nil {
			c.betweens.fields = map[betweenRead]*betweenField{}
		}
		c.betweens.fields[key] = f
	}
	host := c.betweens.host
	if host == nil || host.Fields == nil {
		f.emitted = true
		return
	}
	if _, ok := host.Fields[f.name]; ok {
		f.emitted = true
	}
	if f.emitted {
		return
	}
	for name := range host.Fields {
		f.names = append(f.names, name)
	}
}

// checkBetween: steps between others name steps that there are, and read fields that one of them emits.
func checkBetween(c *compiler) {
	var names []string
	if len(c.file.Between) > 0 {
		names = c.stepNames()
	}
	for i, b := range c.file.Between {
		a := b.After
		if a == nil {
			a = b.Before
		}
		if a == nil {
			continue
		}
		var kept betweenStep
		if i < len(c.betweens.steps) {
			kept = c.betweens.steps[i]
		}
		for _, w := range a.IDs {
			switch {
			case !slices.Contains(names, w.Text):
				c.report(w.Pos, CodeStep, nearest.Help(w.Text, names), "no step has id '%s'", w.Text)
			case !slices.Contains(kept.hosts, w.Text):
				c.report(w.Pos, CodeAroundStep, "name the parallel step", "step '%s' is a child of parallel", w.Text)
			}
		}
		if a.Each && !kept.any {
			c.report(a.Pos, CodeAroundStep, "name the steps by their ids", "no step delegates to a worker")
		}
	}
	for _, f := range c.betweens.fields {
		if f.emitted {
			continue
		}
		slices.Sort(f.names)
		help := nearest.Help(f.name, f.names)
		if help == "" && len(f.names) > 0 {
			help = "their fields are " + strings.Join(slices.Compact(f.names), ", ")
		}
		c.report(f.pos, CodeField, help, "no step that this one runs around returns a field '%s'", f.name)
	}
}

// defaults gives a step that delegates to a worker what the file says for all of them.
func (c *compiler) defaults(s *syntax.Step, op *Op) {
	d := c.file.Defaults
	del, ok := op.Do.(*Delegate)
	if d == nil || !ok || del.Sync || del.Checks || del.Info.Builtin {
		return
	}
	if op.Timeout == (formats.Timeout{}) {
		op.Timeout = c.timeout(d.Timeout)
	}
	if op.Retry == nil {
		op.Retry = c.retry(d.Retry)
	}
	if op.In == "" && d.In != nil {
		op.In = d.In.Text
	}
	if s.Expect == nil {
		op.Expect = once(c, &c.defaulted.expect, func() *Expect { return c.expect(d.Expect) }) // nothing is judged yet
	}
}

// defaultRules adds the rules for outcomes that the step's own `on` does not name, where the step can have them.
func (c *compiler) defaultRules(s *syntax.Step, op *Op, possible []formats.Outcome) {
	lenient, judged := c.lenient, c.judged
	c.lenient, c.judged = true, judge{} // what one worker returns another need not
	for i, r := range c.file.Defaults.On {
		own := slices.ContainsFunc(s.On, func(o syntax.Rule) bool { return o.Status.Text == r.Status.Text })
		outcome := formats.Outcome(r.Status.Text)
		if slices.Contains(ruleClasses(), r.Status.Text) {
			outcome = formats.OutcomeFailed
		}
		c.defaulted.rules = true
		if slices.Contains(possible, outcome) {
			c.defaulted.words = append(c.defaulted.words, r.Status.Text)
		}
		if own || !slices.Contains(possible, outcome) && slices.Contains(formats.Outcomes(), outcome) {
			continue
		}
		if one := c.defaultRule(i, op, possible); one != nil {
			op.On = append(op.On, *one)
		}
	}
	c.lenient, c.judged = lenient, judged
}

// defaultRule compiles a rule of the defaults, anew only if it leads back to steps.
func (c *compiler) defaultRule(i int, op *Op, possible []formats.Outcome) *Rule {
	r := c.file.Defaults.On[i]
	if !steadyRule(r) {
		return c.rule(r, op, possible)
	}
	if c.defaulted.on == nil {
		c.defaulted.on = make([]again[*Rule], len(c.file.Defaults.On))
	}
	return once(c, &c.defaulted.on[i], func() *Rule { return c.rule(r, op, possible) })
}

// takesRules tells whether a step gets the rules of the defaults.
func (c *compiler) takesRules(op *Op) bool {
	d := c.file.Defaults
	del, ok := op.Do.(*Delegate)
	return d != nil && len(d.On) > 0 && ok && !c.child && !c.inErrors && !del.Sync && !del.Checks && !del.Info.Builtin
}

// defaulted is what was compiled of `yaml defaults`.
type defaulted struct {
	with   []again[*Value]
	whole  again[*Value] // of a delegation without an input of its own to a subagent that takes anything
	on     []again[*Rule]
	expect again[*Expect]
	fields []string // of with: those that a worker takes
	words  []string // of on: outcomes that a worker can have
	inputs bool     // a worker has been asked for its inputs
	rules  bool     // and one for its outcomes
}

// checkDefaults: what the defaults give is taken by some worker, and what they say of an outcome is said of one that there is.
func checkDefaults(c *compiler) {
	d := c.file.Defaults
	if d == nil || len(c.file.Unread) > 0 || slices.ContainsFunc(c.agents, func(a asked) bool { return !a.ok }) {
		return
	}
	for _, f := range d.With {
		if !c.defaulted.inputs || slices.Contains(c.defaulted.fields, f.Key.Text) {
			continue
		}
		var names []string
		for _, a := range c.agents {
			if !a.info.Builtin {
				names = slices.AppendSeq(names, maps.Keys(a.info.Inputs))
			}
		}
		slices.Sort(names)
		c.report(f.Key.Pos, CodeInput, nearest.Help(f.Key.Text, slices.Compact(names)), "no worker of the file takes an input '%s'", f.Key.Text)
	}
	for _, r := range d.On {
		if word := r.Status.Text; c.defaulted.rules && slices.Contains(formats.Outcomes(), formats.Outcome(word)) && !slices.Contains(c.defaulted.words, word) {
			c.report(r.Status.Pos, CodeOutcome, "remove it", "no worker that takes the rules of the defaults can end %s", word)
		}
	}
}
