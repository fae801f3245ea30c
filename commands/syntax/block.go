package syntax

import (
	"cmp"
	"slices"
	"strings"

	"tercet/internal/md"
)

// stepBlock reads a block `yaml step` into a step.
func (p *parser) stepBlock(s *Step, b *md.Block) {
	p.checkMargin(b)
	s.Block = b.BodyPos
	p.reportTodos(b)
	n := p.block(b)
	if n == nil {
		p.invalid[s] = true
		return
	}
	p.stepMap(s, n, stepForm)
}

// todoMark begins a comment about what is left to do, as in the drafts of `lint --adopt`.
const todoMark = "# TODO: "

// reportTodos reports the comments of a block about what is left to do.
func (p *parser) reportTodos(b *md.Block) {
	at := b.BodyPos.Line
	for line := range strings.SplitSeq(string(b.Body), "\n") {
		text := strings.TrimLeft(line, " \t")
		if what, ok := strings.CutPrefix(text, todoMark); ok {
			pos := Pos{Line: at, Col: len(line) - len(text) + 1}
			p.report(CodeTodo, pos, "do it, and take the comment away", "left to do: %s",
				strings.TrimSpace(what))
		}
		at++
	}
}

// stepMap reads the keys of one step, wherever they stand: in a block, in a list of `do`, below
// `parallel`.
func (p *parser) stepMap(s *Step, n *md.Node, form Form) {
	p.depth++
	if p.depth > maxNested {
		p.depth--
		p.report(CodeBody, n.Pos, "give the inner steps headings of their own",
			"expected at most %d steps inside each other", maxNested)
		return
	}
	defer func() { p.depth-- }()

	b := block{
		p:    p,
		step: s,
		node: n,
	}
	p.fill(s, form, n, b.readKey)
	b.assemble()
}

// maxNested is how deep steps may stand inside each other's keys.
const maxNested = 16

// block is one step block on the way to a step.
type block struct {
	p           *parser
	step        *Step
	node        *md.Node
	actionCount int // how many actions stand in the block
}

// readKey reads the keys of a block whose place in a step is not simply the field of their name.
func (b *block) readKey(key string, v *md.Node) bool {
	s := b.step
	switch key {
	case "id":
		s.ID = b.p.id(v)
	case "do":
		s.Body = b.p.items(v)
	case "table":
		s.Table = &Table{Pos: v.Pos, Rows: b.p.jq(v)}
		b.readParts(key, s.Table)
		b.checkNotEmpty(s.Table.Columns, "columns", "the name of a column")
	case "timeout":
		return b.node.Get("gate") != nil
	case "always":
		if !b.p.inErrors {
			b.p.report(CodeCompanion, v.Pos, "move the step below '## "+sectionErrors+"'",
				"'always' belongs to the section '%s'", sectionErrors)
		}
		return false
	case "title": // of a table; a step has its title from the heading
	default:
		if !slices.Contains(actions, key) {
			return false
		}
		b.action(key, v)
	}

	return true
}

func (p *parser) id(n *md.Node) Word {
	w := p.word(n, "an id")
	if w.Text != "" {
		p.checkID(w)
	}
	return w
}

// checkID reports an id that expressions could not name.
func (p *parser) checkID(w Word) {
	if !isName(w.Text, '_') {
		p.report(CodeID, w.Pos, "",
			"expected an id of lower case letters, digits and '_', got %q", w.Text)
	}
}

// variable reads a name that jq takes after a $.
func (p *parser) variable(n *md.Node, what string) Word {
	w := p.word(n, what)
	if w.Text != "" {
		p.checkName(w, what)
	}
	return w
}

// checkName reports a name that jq does not take after a $.
func (p *parser) checkName(w Word, what string) {
	if !isVariable(w.Text) {
		p.report(CodeID, w.Pos, "", "expected %s of letters, digits and '_', got %q", what, w.Text)
	}
}

// checkNotEmpty reports a list below a key of the block that names nothing.
func (b *block) checkNotEmpty(list []Word, key, want string) {
	if v := b.node.Get(key); list != nil && v.Kind == md.List && len(v.Items) == 0 {
		b.p.Wrong(v, want, "")
	}
}

// action reads the key that says what the step does, with those that stand beside it. The first one
// counts, a delegation last.
func (b *block) action(key string, v *md.Node) {
	if key == "delegate" && b.node.Get("foreach") != nil {
		return // it is what the loop does
	}
	do := b.newAction(key, v)
	b.actionCount++
	if b.actionCount == 1 || b.step.Kind().Delegates {
		b.step.Action = do
	}
}

// delegate reads the subagent, or the expression that names one, and the subagents that it may
// name.
func (b *block) delegate(v *md.Node) *Delegate {
	d := &Delegate{Pos: v.Pos}
	b.readParts("delegate", d)

	if isScalar(v) && strings.Contains(v.Value, "$") {
		d.Pick = b.p.text(v)
		if len(d.Among) == 0 && b.p.file.Front.Chosen(d.Pick) == "" {
			b.p.report(
				CodeValue,
				d.Pos,
				"add among: [subagent, subagent]",
				"a subagent that an expression names needs 'among'",
			)
		}
		return d
	}

	d.Agent = b.p.word(v, "a subagent")
	if d.Among != nil {
		b.p.report(
			CodeCompanion,
			b.node.Get("among").Pos,
			"remove it",
			"'among' belongs to a delegate with an expression",
		)
	}
	return d
}

// loop reads what a loop goes over, and the delegate that it does for each element.
func (b *block) loop(v *md.Node) *Foreach {
	out := withParts(b, "foreach", &Foreach{Pos: v.Pos, In: b.p.jq(v)})
	out.As.Text = cmp.Or(out.As.Text, "item")
	if v := b.node.Get("max_parallel"); v != nil && !v.Absent() {
		out.Parallel = b.p.integer(v, 1)
	}
	if v := b.node.Get("delegate"); v != nil && !v.Absent() {
		out.Delegate = b.delegate(v)
		if b.node.Get("do") != nil {
			b.p.report(
				CodeBody,
				b.node.Get("do").Pos,
				"remove 'delegate' or 'do'",
				"a loop has either deeper steps or a delegate",
			)
		}
	}
	return out
}

// assemble checks the keys of the block against each other.
func (b *block) assemble() {
	for _, e := range b.node.Entries {
		need := slices.Concat(partOf[e.Key.Value], allowedBeside[e.Key.Value])
		if need != nil &&
			!slices.ContainsFunc(need, func(key string) bool {
				return b.node.Get(key) != nil
			}) {
			b.p.report(CodeCompanion, e.Key.Pos, "", "'%s' belongs to '%s'", e.Key.Value, need[0])
		}
	}

	if b.actionCount > 1 {
		b.p.report(CodeAction, b.step.Block, "give each its own step",
			"a step has one action, got '%s'", strings.Join(b.actionKeys(), "' and '"))
	}

	do := b.node.Get("do")
	if do == nil {
		return
	}
	switch {
	case b.step.Action == nil:
		b.step.Action = &Group{Pos: do.Pos}
	case b.step.Kind().Body != Repeated:
		b.p.report(CodeBody, do.Pos, "give the inner steps a step of their own",
			"'do' belongs to 'foreach', to 'until', or stands without an action")
	}
}

// actionKeys lists the action keys of the block as they are written.
func (b *block) actionKeys() []string {
	var out []string
	for _, e := range b.node.Entries {
		if slices.Contains(actions, e.Key.Value) {
			out = append(out, e.Key.Value)
		}
	}
	return out
}

// gate reads a question with its choices.
func (b *block) gate(v *md.Node) *Gate {
	out := withParts(b, "gate", &Gate{Pos: v.Pos, Question: b.p.question(v)})
	out.addDefaultChoices()
	if wait := b.node.Get("timeout"); wait != nil && !wait.Absent() {
		out.Timeout = b.p.gateTimeout(wait)
	}
	return out
}

// addDefaultChoices gives a gate the choices that it has where none are written.
func (g *Gate) addDefaultChoices() {
	if g.Choices == nil {
		g.Choices = []GateChoice{
			{Word{Text: "approve"}, &Target{Kind: ToNext}},
			{Word{Text: "reject"}, &Target{Kind: ToFail}},
		}
	}
}

// choices reads the labels of a gate with where they lead.
func (p *parser) choices(n *md.Node) []GateChoice {
	if n.Kind != md.Map {
		p.Wrong(n, "a map from labels to targets", "write {approve: next, reject: fail}")
		return nil
	}
	out := []GateChoice{}
	for _, e := range n.Entries {
		if e.Value.Absent() {
			p.report(CodeAbsent, e.Key.Pos, "write a target",
				"choice '%s' has no target", e.Key.Value)
		} else if t := p.target(e.Value); t != nil {
			out = append(out, GateChoice{Label: Word{e.Key.Pos, e.Key.Value}, Target: t})
		}
	}
	return out
}
