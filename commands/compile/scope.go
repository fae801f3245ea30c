package compile

import (
	"slices"
	"strconv"

	"tercet/commands/syntax"
	"tercet/formats"
)

// scope is what an expression may refer to at one place of the file.
type scope struct {
	vars  []string
	task  bool
	steps results // of the steps of this sequence that stand before
	self  string  // id of the step being compiled
	loop  string  // id of the loop whose body this is, empty outside of loops
	outer *scope
}

// stepInfo is what is known of a step's result.
type stepInfo struct {
	agent *formats.AgentInfo
	kind  resultKind
	names []string             // members of a set's result
	among []*formats.AgentInfo // those of which one was called; agent is then nil
}

// results is what is known of the results of steps, by id. The last one of an id counts.
type results []result

type result struct {
	id   string
	info *stepInfo
}

func (r results) of(id string) *stepInfo {
	for i := range slices.Backward(r) {
		if r[i].id == id {
			return r[i].info
		}
	}
	return nil
}

func (r *results) add(id string, info *stepInfo) { *r = append(*r, result{id, info}) }

type resultKind uint8

const (
	resultPlain  resultKind = iota // status only: a step that shows or returns
	resultReturn                   // a subagent's return, or that of a check
	resultLoop
	resultGate
	resultSet
	resultParallel
)

func baseVars() []string {
	return []string{"$state", "$task", "$env", "$steps", "$feedback", "$run", "$board"}
}

// placeVars are variables that stand only at some places, with what is said where they do not.
func placeVars() map[string]string {
	return map[string]string{
		"$it": "it stands in Between Steps", "$tier": "declare tiers: [...] in the frontmatter", "$input": "it stands in a subagent with steps; here it is $args",
		"$args": "it stands in a command; here it is $input",
	}
}

func reserved(name string) bool {
	switch name {
	case "state", "task", "env", "steps", "feedback", "run", "board", "it", tierName, "input", "args", "index", "ENV", "__loc__":
		return true
	}
	return false
}

func newScope(task bool) *scope {
	return &scope{vars: baseVars(), task: task}
}

func (s *scope) add(name string) {
	if !slices.Contains(s.vars, name) {
		s.vars = append(s.vars, name)
	}
}

// enter opens the scope of a loop's body.
func (s *scope) enter(loop, as string) *scope {
	in := &scope{vars: append(make([]string, 0, len(s.vars)+2), s.vars...), task: s.task, loop: loop, outer: s}
	if as != "" {
		in.add("$" + as)
	}
	in.add("$index")
	in.vars = slices.Clip(in.vars)
	return in
}

// opened are the variables of a loop's body, with what they were made of.
type opened struct {
	outer   []string
	entered string
	vars    []string
}

// enter opens the scope of a loop's body. Loops that see the same variables share one list of them.
func (c *compiler) enter(loop, as string) *scope {
	for _, s := range c.inside {
		if s.entered == as && sameVars(s.outer, c.scope.vars) {
			return &scope{vars: s.vars, task: c.scope.task, loop: loop, outer: c.scope}
		}
	}
	outer, in := c.scope.vars, c.scope.enter(loop, as)
	c.inside = append(c.inside, opened{outer: outer, entered: as, vars: in.vars})
	return in
}

// inErrors is the scope of Error Handling: it sees what the workflow left.
func (s *scope) inErrors() *scope {
	return &scope{vars: slices.Clone(s.vars), task: s.task, outer: s}
}

func (s *scope) find(id string) *stepInfo {
	for at := s; at != nil; at = at.outer {
		if info := at.steps.of(id); info != nil {
			return info
		}
	}
	return nil
}

// inside tells whether the scope is in the body of a loop.
func (s *scope) inside(loop string) bool {
	for at := s; at != nil; at = at.outer {
		if at.loop == loop {
			return true
		}
	}
	return false
}

// known is one step of the file with its id and the loops in which it stands, outermost first. Without a step it is the
// delegation that stands in the same block as its loop.
type known struct {
	step   *syntax.Step
	id     string
	around []string
	apart  bool // a step of Between Steps: no other one can name it
}

// fewSteps is up to how many steps are looked through one by one.
const fewSteps = 64

// index gives every step of the file its id before anything is compiled: the one that is written, else the slug of the title,
// made unique. It notes in which loops each stands, and which steps are sent back to.
func (c *compiler) index() {
	c.all = make([]known, 0, count(c.file.Steps)+count(c.file.Between)+count(c.file.Errors))
	c.gather(c.file.Steps, false)
	c.gather(c.file.Between, true)
	c.gather(c.file.Errors, false)
	c.made.ops.Reserve(len(c.all))
	c.made.infos.Reserve(len(c.all))
	c.written()
	c.unwritten()
	c.chains(c.file.Steps, nil)
	c.chains(c.file.Errors, nil)
	for i := range c.all {
		if s := c.all[i].step; s != nil {
			eachTarget(s.On, s.Action, c.comesBack)
		}
	}
	if d := c.file.Defaults; d != nil {
		c.treed(d.In)
		eachTarget(d.On, nil, c.comesBack)
	}
	if c.redoable == nil {
		return
	}
	for i := range c.all {
		s := c.all[i].step
		if s == nil {
			continue
		}
		if _, ok := s.Action.(*syntax.Group); ok && c.redoable[c.all[i].id] {
			for _, inner := range s.Body {
				c.redoable[c.id(inner)] = true
			}
		}
	}
}

// count is how many steps there are in a list and in their bodies, and delegations beside loops.
func count(list []*syntax.Step) int {
	n := len(list)
	for _, s := range list {
		if p, ok := s.Action.(*syntax.Parallel); ok {
			n += count(p.Children)
		}
		if f, ok := s.Action.(*syntax.Foreach); ok && f.Delegate != nil {
			n++
		}
		n += count(s.Body)
	}
	return n
}

// gather lists steps, bodies behind their loop.
func (c *compiler) gather(list []*syntax.Step, apart bool) {
	for _, s := range list {
		c.all = append(c.all, known{step: s, apart: apart})
		if p, ok := s.Action.(*syntax.Parallel); ok {
			c.gather(p.Children, apart)
		}
		c.gather(s.Body, apart)
	}
}

// written takes the ids that stand in the file. Of two that are alike the second is none.
func (c *compiler) written() {
	var many map[string]int // where each id stands in all, of a file with many steps
	if len(c.all) > fewSteps {
		many = make(map[string]int, len(c.all))
	}
	before := func(i int, id string) int {
		if many != nil {
			if at, ok := many[id]; ok {
				return at
			}
			many[id] = i
			return -1
		}
		return indexOf(c.all[:i], id)
	}
	for i := range c.all {
		s := c.all[i].step
		switch id := s.ID.Text; id {
		case "":
		case itself:
			c.report(s.ID.Pos, CodeName, "choose another id", "'%s' stands for the step itself", itself)
		default:
			if at := before(i, id); at >= 0 {
				c.report(s.ID.Pos, CodeStepTwice, "give one of them another id", "two steps have the id '%s', the first is on line %d", id, c.all[at].step.ID.Pos.Line)
				continue
			}
			c.all[i].id = id
		}
	}
}

// indexOf is where a step of an id stands, -1 if there is none; the id is not empty. Ids of one length differ most often at the end.
func indexOf(list []known, id string) int {
	last := id[len(id)-1]
	for i := range list {
		if one := list[i].id; len(one) == len(id) && one[len(one)-1] == last && one == id {
			return i
		}
	}
	return -1
}

// unwritten makes the ids of the other steps from their titles.
func (c *compiler) unwritten() {
	many, last := map[string]bool(nil), map[string]int(nil)
	taken := func(id string) bool {
		if many != nil {
			return many[id]
		}
		return id == itself || indexOf(c.all, id) >= 0
	}
	if len(c.all) > fewSteps {
		many = map[string]bool{itself: true}
		for _, k := range c.all {
			many[k.id] = true
		}
	}
	var marks idMarks
	marks.add(itself)
	for i := range c.all {
		marks.add(c.all[i].id)
	}
	for i := range c.all {
		if c.all[i].id != "" {
			continue
		}
		base := slug(c.all[i].step.Title)
		if base == "" {
			base = "step"
		}
		id := base
		for n := max(last[base], 1) + 1; marks.may(id) && taken(id); n++ {
			if last == nil {
				last = map[string]int{}
			}
			id, last[base] = base+"_"+strconv.Itoa(n), n
		}
		c.all[i].id = id
		marks.add(id)
		if many != nil {
			many[id] = true
		}
	}
}

// idMarks tell of most ids that are not among some without looking at each of those.
type idMarks [4]uint64

func (m *idMarks) of(id string) (word int, bit uint64) {
	n := len(id)
	sum := uint(n)*7 + uint(id[0])*13 + uint(id[n/2])*31 + uint(id[n-1])*5
	return int(sum >> 6 & 3), 1 << (sum & 63)
}

func (m *idMarks) add(id string) {
	if id != "" {
		word, bit := m.of(id)
		m[word] |= bit
	}
}

func (m *idMarks) may(id string) bool {
	word, bit := m.of(id)
	return m[word]&bit != 0
}

// at is where a step stands in all; mostly it is the one behind that which was asked for last.
func (c *compiler) at(s *syntax.Step) int {
	for i := c.next; i < len(c.all); i++ {
		if c.all[i].step == s {
			c.next = i + 1
			return i
		}
	}
	for i := range min(c.next, len(c.all)) {
		if c.all[i].step == s {
			c.next = i + 1
			return i
		}
	}
	return -1
}

// id is that of a step of the file.
func (c *compiler) id(s *syntax.Step) string {
	if i := c.at(s); i >= 0 {
		return c.all[i].id
	}
	return ""
}

// comesBack notes the steps that a target runs again.
func (c *compiler) comesBack(t *syntax.Target) {
	for _, id := range t.Steps {
		switch {
		case t.Kind == syntax.ToGoto:
			if c.gotos == nil {
				c.gotos = map[string]bool{}
			}
			c.gotos[id.Text] = true
		case id.Text != itself:
			if c.redoable == nil {
				c.redoable = map[string]bool{}
			}
			c.redoable[id.Text] = true
		}
	}
}

// walk visits every step of the file, bodies behind their loop.
func (c *compiler) walk(visit func(*syntax.Step)) {
	for i := range c.all {
		if s := c.all[i].step; s != nil {
			visit(s)
		}
	}
}

func (c *compiler) chains(list []*syntax.Step, around []string) {
	for _, s := range list {
		at := c.at(s)
		id := c.all[at].id
		c.all[at].around = around
		switch a := s.Action.(type) {
		case *syntax.Group:
			c.chains(s.Body, around)
		case *syntax.Parallel:
			inner := slices.Concat(around, []string{id})
			c.chains(a.Children, inner)
			c.chains(s.Body, inner)
		default:
			if len(s.Body) > 0 {
				c.chains(s.Body, slices.Concat(around, []string{id}))
			}
		}
		if f, ok := s.Action.(*syntax.Foreach); ok && f.Delegate != nil {
			c.all = append(c.all, known{id: bodyID(f), around: slices.Concat(around, []string{id})})
		}
	}
}

// bodyID is the id of the delegation that stands in the same block as its loop.
func bodyID(f *syntax.Foreach) string {
	if f.Delegate.Pick != nil {
		return "delegate" // which subagent it is differs by element
	}
	return slug(f.Delegate.Agent.Text)
}

// named finds what an id names: a step, else the first delegation beside a loop. nil if it names nothing.
func (c *compiler) named(id string) *known {
	if len(c.all) > fewSteps && c.byID == nil {
		c.byID = make(map[string]int, len(c.all))
		for i := range slices.Backward(c.all) {
			if k := &c.all[i]; !k.apart {
				c.byID[k.id] = i // the first one stays: steps stand before delegations
			}
		}
	}
	if c.byID != nil {
		if i, ok := c.byID[id]; ok {
			return &c.all[i]
		}
		return nil
	}
	for i := range c.all {
		if k := &c.all[i]; !k.apart && k.id == id {
			return k
		}
	}
	return nil
}

// outsideLoop gives the loops in which a step stands but the present place does not, outermost first.
func (c *compiler) outsideLoop(id string) []string {
	k := c.named(id)
	if k == nil {
		return nil
	}
	for i, loop := range k.around {
		if !c.scope.inside(loop) {
			return k.around[i:]
		}
	}
	return nil
}

// stepNames lists what ids can be named.
func (c *compiler) stepNames() []string {
	out := make([]string, 0, len(c.all))
	for i := range c.all {
		if !c.all[i].apart {
			out = append(out, c.all[i].id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// eachTarget visits where rules, and the choices of an action, lead.
func eachTarget(rules []syntax.Rule, action syntax.Action, visit func(*syntax.Target)) {
	choices := func(g *syntax.Gate) {
		for _, ch := range g.Choices {
			if ch.Target != nil {
				visit(ch.Target)
			}
		}
	}
	for _, r := range rules {
		for _, t := range r.Targets {
			visit(t)
			if t.Gate != nil {
				choices(t.Gate)
			}
		}
	}
	if g, ok := action.(*syntax.Gate); ok {
		choices(g)
	}
}

// maxSlug is the most bytes of an id that is made from a title.
const maxSlug = 40

func slug(title string) string {
	var room [maxSlug + 1]byte
	out := room[:0]
	for i := range len(title) {
		ch := title[i]
		switch {
		case ch >= 'A' && ch <= 'Z':
			out = append(out, ch+'a'-'A')
		case ch >= 'a' && ch <= 'z', ch >= '0' && ch <= '9' && len(out) > 0:
			out = append(out, ch)
		case len(out) > 0 && out[len(out)-1] != '_':
			out = append(out, '_')
		}
		if len(out) >= maxSlug {
			break
		}
	}
	for len(out) > 0 && out[len(out)-1] == '_' {
		out = out[:len(out)-1]
	}
	return string(out)
}
