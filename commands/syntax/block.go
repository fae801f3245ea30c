package syntax

import (
	"slices"
	"strings"

	"tercet/internal/md"
)

// keys are those of a form, made once a file.
func (p *parser) keys(form string) *keySet { return p.keysBut(form, form, nil) }

// keysBut are those of a form without some, under a name of their own.
func (p *parser) keysBut(name, form string, less []string) *keySet {
	for i := range p.forms {
		if p.forms[i].name == name {
			return p.forms[i].keys
		}
	}
	set := keysOf(form, less)
	p.forms = append(p.forms, formKeys{name, set})
	return set
}

// formKeys are the keys of a form that was needed.
type formKeys struct {
	name string
	keys *keySet
}

// actionNames are the keys of which a step has one.
func actionNames() []string {
	return []string{"delegate", "parallel", "foreach", "until", "status", "gate", "check", "set", "publish", "fail"}
}

// lacks gives the key that must stand beside a key and does not, or the first of several of which one must.
func (b *block) lacks(key string) string {
	var need []string
	switch key {
	case "as", "max_parallel":
		need = []string{"foreach"}
	case "merge":
		need = []string{"foreach", "parallel"}
	case "among":
		need = []string{"delegate"}
	case "max":
		need = []string{"until"}
	case "show", "choices", "auto":
		need = []string{"gate"}
	case "else":
		need = []string{"check"}
	case "code":
		need = []string{"fail"}
	case "columns", "title":
		need = []string{"table"}
	case "with", "fallback", "prompt", "board":
		need = []string{"delegate", "foreach", "parallel", "until"}
	case "retry":
		need = []string{"delegate", "foreach", "parallel", "until", "check", "publish"}
	case "expect":
		need = []string{"delegate", "foreach", "parallel", "until", "check"}
	case "in":
		need = []string{"delegate", "foreach", "parallel", "until", "check", "publish"}
	case "compensate":
		need = []string{"delegate", "foreach", "parallel", "until", "status", "publish", "check"}
	}
	if need == nil || b.anyOf(need) {
		return ""
	}
	return need[0]
}

// stepBlock reads a block `yaml step` into a step.
func (p *parser) stepBlock(s *Step, b *md.Block) {
	p.margin(b)
	s.Block = b.BodyPos
	n := p.block(b)
	if n == nil {
		p.refuse(s)
		return
	}
	p.stepMap(s, n, p.keys("step"))
}

// stepMap reads the keys of one step, wherever they stand: in a block, in a list of `do`, below `parallel`.
func (p *parser) stepMap(s *Step, n *md.Node, keys *keySet) {
	if p.depth++; p.depth > maxNested {
		p.depth--
		p.report(CodeBody, n.Pos, "give the inner steps headings of their own", "expected at most %d steps inside each other", maxNested)
		return
	}
	defer func() { p.depth-- }()
	k := block{parser: p, step: s, node: n}
	for key, v := range p.entries(n, keys) {
		k.key(key, v)
	}
	k.assemble()
}

// maxNested is how deep steps may stand inside each other's keys.
const maxNested = 16

// block is one step block on the way to a step.
type block struct {
	*parser
	step     *Step
	node     *md.Node
	actions  int
	delegate *Delegate
	parallel *Parallel
	foreach  *Foreach
	until    *Until
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
	case "tier":
		b.step.Tier = b.tier(v)
	case "delegate", "parallel", "foreach", "until", "status", "gate", "check", "set", "publish", "fail":
		b.action(key, v)
	case "do":
		b.step.Body = b.items(v)
	case "table":
		b.step.Table = b.table(v)
	case "return":
		b.step.Return = b.ret(v)
	case "with":
		b.step.With, b.step.WithPos = b.fields(v), v.Pos
	case "timeout":
		if b.node.Get("gate") == nil {
			b.step.Timeout = b.timeout(v)
		}
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
	case "in":
		b.step.In = b.inWord(v)
	case "board":
		w := b.word(v, "a topic")
		b.step.Board = &w
		if w.Text != "" && !isVariable(w.Text) {
			b.report(CodeID, w.Pos, "", "expected a topic of letters, digits and '_', got %q", w.Text)
		}
	case "compensate":
		b.step.Compensate = b.compensation(v)
	case "after":
		b.step.After = b.around(key, v)
	case "before":
		b.step.Before = b.around(key, v)
	}
}

// inWord reads the tree that a step works in.
func (p *parser) inWord(n *md.Node) *Word {
	w := p.oneOf(n, "worktree", "main", "none")
	return &w
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
		b.report(CodeCompanion, n.Pos, "move the step below '## "+sectionErrors+"'", "'always' belongs to the section '%s'", sectionErrors)
	}
	b.step.Always = &w
}

// action reads the key that says what the step does.
func (b *block) action(key string, v *md.Node) {
	pos := v.Pos
	switch key {
	case "delegate":
		b.delegate = &Delegate{Pos: pos}
		if isScalar(v) && strings.Contains(v.Value, "$") {
			b.delegate.Pick = b.text(v)
			return
		}
		b.delegate.Agent = b.word(v, "a subagent")
	case "parallel":
		b.parallel = &Parallel{Pos: pos, Children: b.children(v)}
		b.does(b.parallel)
	case "until":
		b.until = &Until{Pos: pos, Cond: b.jq(v)}
		b.does(b.until)
	case "publish":
		b.does(b.publish(v))
	case "foreach":
		b.foreach = &Foreach{Pos: pos, In: b.jq(v)}
		b.does(b.foreach)
	case "status":
		b.does(b.status(v))
	case "gate":
		b.gate = &Gate{Pos: pos, Question: b.question(v)}
		b.does(b.gate)
	case "check":
		b.check = b.checkOf(v)
		b.does(b.check)
	case "set":
		b.does(b.set(v))
	case "fail":
		b.fail = &Fail{Pos: pos, Message: b.text(v)}
		b.does(b.fail)
	}
}

// does notes an action; the first one counts.
func (b *block) does(a Action) {
	if b.actions++; b.actions == 1 {
		b.step.Action = a
	}
}

// assemble joins the actions with the keys that stand beside them.
func (b *block) assemble() {
	for _, e := range b.node.Entries {
		if need := b.lacks(e.Key.Value); need != "" {
			b.report(CodeCompanion, e.Key.Pos, "", "'%s' belongs to '%s'", e.Key.Value, need)
		}
	}
	b.loopKeys()
	if b.delegate != nil {
		b.among()
		b.does(b.delegate)
	}
	b.gateKeys()
	if v := b.given("else"); v != nil && b.check != nil {
		b.check.Else = b.text(v)
	}
	if v := b.given("code"); v != nil && b.fail != nil {
		w := b.word(v, "a code")
		b.fail.Code = &w
	}
	if b.actions > 1 {
		b.report(CodeAction, b.step.Block, "give each its own step", "a step has one action, got %s", b.actionKeys())
	}
	if do := b.node.Get("do"); do != nil && b.step.Action == nil {
		b.step.Action = &Group{Pos: do.Pos}
	} else if do != nil && b.foreach == nil && b.until == nil {
		b.report(CodeBody, do.Pos, "give the inner steps a step of their own", "'do' belongs to 'foreach', to 'until', or stands without an action")
	}
}

// given is the value of a key that has one.
func (b *block) given(key string) *md.Node {
	if v := b.node.Get(key); v != nil && !v.Absent() {
		return v
	}
	return nil
}

// loopKeys reads what stands beside foreach, until and parallel.
func (b *block) loopKeys() {
	if b.foreach != nil {
		if v := b.given("as"); v != nil {
			if b.foreach.As = b.word(v, "a name"); b.foreach.As.Text != "" && !isVariable(b.foreach.As.Text) {
				b.report(CodeID, b.foreach.As.Pos, "", "expected a name of letters, digits and '_', got %q", b.foreach.As.Text)
			}
		}
		if v := b.given("max_parallel"); v != nil {
			b.foreach.Parallel = b.integer(v, 1)
		}
		if v := b.given("merge"); v != nil {
			b.foreach.Merge = b.jq(v)
		}
		if b.delegate != nil {
			b.among()
		}
		b.foreach.Delegate, b.delegate = b.delegate, nil
		if b.foreach.Delegate != nil && b.node.Get("do") != nil {
			b.report(CodeBody, b.node.Get("do").Pos, "remove 'delegate' or 'do'", "a loop has either deeper steps or a delegate")
		}
	}
	if v := b.given("merge"); v != nil && b.parallel != nil {
		b.parallel.Merge = b.jq(v)
	}
	if b.until == nil {
		return
	}
	if v := b.given("max"); v != nil {
		b.until.Max = b.integer(v, 1)
	} else if b.node.Get("max") == nil {
		b.report(CodeValue, b.until.Pos, "add max: 3", "expected 'max' beside 'until'")
	}
}

// among reads the subagents that an expression may name.
func (b *block) among() {
	if v := b.given("among"); v != nil {
		b.delegate.Among = b.words(v, "a subagent")
	}
	switch {
	case b.delegate.Pick != nil && len(b.delegate.Among) == 0:
		b.report(CodeValue, b.delegate.Pos, "add among: [subagent, subagent]", "a subagent that an expression names needs 'among'")
	case b.delegate.Pick == nil && b.delegate.Among != nil:
		b.report(CodeCompanion, b.node.Get("among").Pos, "remove it", "'among' belongs to a delegate with an expression")
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
		if slices.Contains(actionNames(), e.Key.Value) {
			out = append(out, "'"+e.Key.Value+"'")
		}
	}
	return strings.Join(out, " and ")
}

func (b *block) gateKeys() {
	if b.gate == nil {
		return
	}
	b.askKeys(b.gate, b.node)
	if v := b.given("timeout"); v != nil {
		b.gate.Timeout = b.gateTimeout(v)
	}
}

// askKeys reads show, choices and auto beside the question of a gate.
func (p *parser) askKeys(g *Gate, n *md.Node) {
	if v := n.Get("show"); v != nil && !v.Absent() {
		items := []*md.Node{v}
		if v.Kind == md.List {
			items = v.Items
		}
		for _, item := range items {
			if e := p.jq(item); e != nil {
				g.Show = append(g.Show, e)
			}
		}
	}
	if v := n.Get("choices"); v != nil && !v.Absent() {
		p.choices(g, v)
	}
	if v := n.Get("auto"); v != nil && !v.Absent() {
		g.Auto = p.label(v)
	}
}

func (p *parser) choices(g *Gate, n *md.Node) {
	if n.Kind != md.Map {
		p.reject(n, "a map from labels to targets", "write {approve: next, reject: fail}")
		return
	}
	g.Choices = []GateChoice{}
	for _, e := range n.Entries {
		if e.Value.Absent() {
			p.report(CodeAbsent, e.Key.Pos, "write a target", "choice '%s' has no target", e.Key.Value)
			continue
		}
		if t := p.target(e.Value); t != nil {
			g.Choices = append(g.Choices, GateChoice{Label: Word{e.Key.Pos, e.Key.Value}, Target: t})
		}
	}
}
