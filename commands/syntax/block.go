package syntax

import (
	"strings"

	"tercet/internal/md"
)

func stepKeys() keySet {
	return keySet{
		what: "a step",
		known: []string{
			"id", "when", "delegate", "foreach", "as", "max_parallel", "merge", "status", "gate", "show", "choices", "auto", "check", "else", "set",
			"fail", "code", "table", "columns", "title", "return", "with", "timeout", "retry", "fallback", "on", "expect", "prompt", "always",
		},
		later: []string{
			"parallel", "until", "max", "do", "tier", "after", "before", "each", "publish", "board", "compensate", "in", "among",
		},
	}
}

// companions maps a key to the keys of which one must stand beside it.
func companions() map[string][]string {
	work := []string{"delegate", "foreach", "parallel", "until", "do"}
	return map[string][]string{
		"as": {"foreach"}, "max_parallel": {"foreach"}, "merge": {"foreach", "parallel"},
		"show": {"gate"}, "choices": {"gate"}, "auto": {"gate"}, "else": {"check"}, "code": {"fail"}, "columns": {"table"}, "title": {"table"},
		"with": work, "fallback": work, "prompt": work, "retry": append(work, "check"), "expect": append(work, "check"),
	}
}

// stepBlock reads a block `yaml step` into a step.
func (p *parser) stepBlock(s *Step, b *md.Block) {
	p.margin(b)
	s.Block = Pos(b.BodyPos)
	n := p.block(b)
	if n == nil {
		p.refused[s] = true
		return
	}
	k := block{parser: p, step: s, node: n}
	for key, v := range p.entries(n, stepKeys()) {
		k.key(key, v)
	}
	for _, later := range stepKeys().later {
		if n.Get(later) != nil {
			p.refused[s] = true
		}
	}
	k.assemble()
}

// block is one step block on the way to a step.
type block struct {
	*parser
	step     *Step
	node     *md.Node
	actions  []Action
	delegate *Delegate
	foreach  *Foreach
	gate     *Gate
	check    *Check
	fail     *Fail
}

// key reads one key of the block. Keys that belong to an action are read with it, wherever they stand.
func (b *block) key(key string, v *md.Node) {
	switch key {
	case "id":
		b.step.ID = b.id(v)
	case "when":
		b.step.When = b.jq(v)
	case "delegate", "foreach", "status", "gate", "check", "set", "fail":
		b.action(key, v)
	case "table":
		b.step.Table = b.table(v)
	case "return":
		b.step.Return = b.ret(v)
	case "with":
		b.step.With, b.step.WithPos = b.fields(v), place(v)
	case "timeout":
		b.step.Timeout = b.timeout(v)
	case "retry":
		b.step.Retry = b.retry(v)
	case "fallback":
		w := b.word(v, "a subagent")
		b.step.Fallback = &w
	case "on":
		b.step.On = b.rules(v)
	case "expect":
		b.step.Expect = b.expect(v)
	case "prompt":
		b.step.Prompt = b.text(v)
	case "always":
		b.always(v)
	case "max_parallel":
		if n := b.integer(v, 1); n > 1 {
			b.report(CodeUnsupported, place(v), "remove it, or write 1", "'max_parallel' above 1 is not supported yet")
		}
	}
}

func (p *parser) id(n *md.Node) Word {
	w := p.word(n, "an id")
	if w.Text != "" && !isName(w.Text, '_') {
		p.report(CodeID, w.Pos, "", "expected an id of lower case letters, digits and '_', got %q", w.Text)
	}
	return w
}

func (b *block) always(n *md.Node) {
	w := b.oneOf(n, "failed", "completed", "any")
	if !b.parser.always {
		b.report(CodeCompanion, place(n), "move the step below '## "+sectionErrors+"'", "'always' belongs to the section '%s'", sectionErrors)
	}
	b.step.Always = &w
}

// action reads the key that says what the step does.
func (b *block) action(key string, v *md.Node) {
	pos := place(v)
	switch key {
	case "delegate":
		b.delegate = &Delegate{Pos: pos}
		if isScalar(v) && strings.HasPrefix(v.Value, "$") {
			b.report(CodeUnsupported, pos, "name the subagent", "'delegate' with an expression is not supported yet")
			return
		}
		b.delegate.Agent = b.word(v, "a subagent")
	case "foreach":
		b.foreach = &Foreach{Pos: pos, In: b.jq(v)}
		b.actions = append(b.actions, b.foreach)
	case "status":
		b.actions = append(b.actions, b.status(v))
	case "gate":
		b.gate = &Gate{Pos: pos, Question: b.text(v)}
		b.actions = append(b.actions, b.gate)
	case "check":
		b.check = b.checkOf(v)
		b.actions = append(b.actions, b.check)
	case "set":
		b.actions = append(b.actions, b.set(v))
	case "fail":
		b.fail = &Fail{Pos: pos, Message: b.text(v)}
		b.actions = append(b.actions, b.fail)
	}
}

// assemble joins the actions with the keys that stand beside them.
func (b *block) assemble() {
	for _, e := range b.node.Entries {
		if need := companions()[e.Key.Value]; need != nil && !b.anyOf(need) {
			b.report(CodeCompanion, place(e.Key), "", "'%s' belongs to '%s'", e.Key.Value, need[0])
		}
	}
	get := b.node.Get
	if b.foreach != nil {
		if v := get("as"); v != nil && !v.Absent() {
			if b.foreach.As = b.word(v, "a name"); b.foreach.As.Text != "" && !isVariable(b.foreach.As.Text) {
				b.report(CodeID, b.foreach.As.Pos, "", "expected a name of letters, digits and '_', got %q", b.foreach.As.Text)
			}
		}
		if v := get("merge"); v != nil && !v.Absent() {
			b.foreach.Merge = b.jq(v)
		}
		b.foreach.Delegate, b.delegate = b.delegate, nil
	}
	if b.delegate != nil {
		b.actions = append(b.actions, b.delegate)
	}
	b.gateKeys()
	if v := get("else"); v != nil && b.check != nil && !v.Absent() {
		b.check.Else = b.text(v)
	}
	if v := get("code"); v != nil && b.fail != nil && !v.Absent() {
		w := b.word(v, "a code")
		b.fail.Code = &w
	}
	if len(b.actions) > 0 {
		b.step.Action = b.actions[0]
	}
	if len(b.actions) > 1 {
		b.report(CodeAction, b.step.Block, "give each its own step", "a step has one action, got %s", b.actionKeys())
	}
}

func (b *block) anyOf(keys []string) bool {
	for _, key := range keys {
		if b.node.Get(key) != nil {
			return true
		}
	}
	return false
}

// actionKeys lists the action keys of the block as they are written.
func (b *block) actionKeys() string {
	var out []string
	for _, e := range b.node.Entries {
		switch e.Key.Value {
		case "delegate", "foreach", "status", "gate", "check", "set", "fail":
			out = append(out, "'"+e.Key.Value+"'")
		}
	}
	return strings.Join(out, " and ")
}

func (b *block) gateKeys() {
	if b.gate == nil {
		return
	}
	if v := b.node.Get("show"); v != nil && !v.Absent() {
		items := []*md.Node{v}
		if v.Kind == md.List {
			items = v.Items
		}
		for _, item := range items {
			b.gate.Show = append(b.gate.Show, b.jq(item))
		}
	}
	if v := b.node.Get("choices"); v != nil && !v.Absent() {
		b.choices(v)
	}
	if v := b.node.Get("auto"); v != nil && !v.Absent() {
		w := b.word(v, "a choice")
		b.gate.Auto = &w
	}
}

func (b *block) choices(n *md.Node) {
	if n.Kind != md.Map {
		b.reject(n, "a map from labels to targets", "write {approve: next, reject: fail}")
		return
	}
	b.gate.Choices = []GateChoice{}
	for _, e := range n.Entries {
		if e.Value.Absent() {
			b.report(CodeAbsent, place(e.Key), "write a target", "choice '%s' has no target", e.Key.Value)
			continue
		}
		if t := b.target(e.Value); t != nil {
			b.gate.Choices = append(b.gate.Choices, GateChoice{Label: Word{place(e.Key), e.Key.Value}, Target: t})
		}
	}
}
