package compile

import (
	"fmt"
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
)

// scope is what an expression may refer to at one place of the file.
type scope struct {
	vars  []string
	task  bool
	steps map[string]*stepInfo // by id, those of this sequence that stand before
	self  string               // id of the step being compiled
	loop  string               // id of the loop whose body this is, empty outside of loops
	outer *scope
}

// stepInfo is what is known of a step's result.
type stepInfo struct {
	agent *formats.AgentInfo
	kind  resultKind
	names []string            // members of a set's result
	among []formats.AgentInfo // those of which one was called; agent is then nil
}

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
	return slices.Contains(baseVars(), "$"+name) || placeVars()["$"+name] != "" || name == "index" || name == "ENV" || name == "__loc__"
}

func newScope(task bool) *scope {
	return &scope{vars: baseVars(), task: task, steps: map[string]*stepInfo{}}
}

func (s *scope) add(name string) {
	if !slices.Contains(s.vars, name) {
		s.vars = append(s.vars, name)
	}
}

// enter opens the scope of a loop's body.
func (s *scope) enter(loop, as string) *scope {
	in := &scope{vars: slices.Clone(s.vars), task: s.task, steps: map[string]*stepInfo{}, loop: loop, outer: s}
	if as != "" {
		in.add("$" + as)
	}
	in.add("$index")
	return in
}

// between is the scope of a step that runs around another one: it may read whatever any step sets.
func (s *scope) between(sets []string) *scope {
	in := &scope{vars: slices.Clone(s.vars), task: s.task, steps: map[string]*stepInfo{}, outer: s}
	for _, name := range append([]string{"$it"}, sets...) {
		in.add(name)
	}
	return in
}

// inErrors is the scope of Error Handling: it sees what the workflow left.
func (s *scope) inErrors() *scope {
	return &scope{vars: slices.Clone(s.vars), task: s.task, steps: map[string]*stepInfo{}, outer: s}
}

func (s *scope) find(id string) *stepInfo {
	for at := s; at != nil; at = at.outer {
		if info := at.steps[id]; info != nil {
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

// index gives every step of the file its id before anything is compiled: the one that is written, else the slug of the title,
// made unique. It notes in which loops each stands, and which steps are sent back to.
func (c *compiler) index() {
	count := 0
	c.walk(func(*syntax.Step) { count++ })
	c.ids, c.loops, c.redoable = make(map[*syntax.Step]string, count), make(map[string][]string, count), map[string]bool{}
	c.gotos = map[string]bool{}
	first := make(map[string]syntax.Pos, count)
	c.walk(func(s *syntax.Step) {
		id := s.ID.Text
		switch at, twice := first[id]; {
		case id == "":
		case id == itself:
			c.report(s.ID.Pos, CodeName, "choose another id", "'%s' stands for the step itself", itself)
		case twice:
			c.report(s.ID.Pos, CodeStepTwice, "give one of them another id", "two steps have the id '%s', the first is on line %d", id, at.Line)
		default:
			first[id], c.ids[s] = s.ID.Pos, id
		}
	})
	taken, last := map[string]bool{itself: true, "": true}, map[string]int{}
	for id := range first {
		taken[id] = true
	}
	c.walk(func(s *syntax.Step) {
		if c.ids[s] != "" {
			return
		}
		base := slug(s.Title)
		if base == "" {
			base = "step"
		}
		id := base
		for n := max(last[base], 1) + 1; taken[id]; n++ {
			id, last[base] = fmt.Sprintf("%s_%d", base, n), n
		}
		taken[id], c.ids[s] = true, id
	})
	c.chains(c.file.Steps, nil)
	c.chains(c.file.Errors, nil)
	c.walk(func(s *syntax.Step) {
		for _, t := range targetsOf(s) {
			c.comesBack(t)
		}
	})
	if d := c.file.Defaults; d != nil {
		for _, t := range targetsOf(&syntax.Step{On: d.On}) {
			c.comesBack(t)
		}
	}
	c.walk(func(s *syntax.Step) {
		if _, ok := s.Action.(*syntax.Group); ok && c.redoable[c.ids[s]] {
			for _, inner := range s.Body {
				c.redoable[c.ids[inner]] = true
			}
		}
	})
}

// comesBack notes the steps that a target runs again.
func (c *compiler) comesBack(t *syntax.Target) {
	for _, id := range t.Steps {
		switch {
		case t.Kind == syntax.ToGoto:
			c.gotos[id.Text] = true
		case id.Text != itself:
			c.redoable[id.Text] = true
		}
	}
}

// walk visits every step of the file, bodies behind their loop.
func (c *compiler) walk(visit func(*syntax.Step)) {
	var each func([]*syntax.Step)
	each = func(list []*syntax.Step) {
		for _, s := range list {
			visit(s)
			if p, ok := s.Action.(*syntax.Parallel); ok {
				each(p.Children)
			}
			each(s.Body)
		}
	}
	each(c.file.Steps)
	each(c.file.Between)
	each(c.file.Errors)
}

func (c *compiler) chains(list []*syntax.Step, around []string) {
	for _, s := range list {
		id := c.ids[s]
		c.loops[id] = around
		switch a := s.Action.(type) {
		case *syntax.Group:
			c.chains(s.Body, around)
		case *syntax.Parallel:
			inner := append(slices.Clone(around), id)
			c.chains(a.Children, inner)
			c.chains(s.Body, inner)
		default:
			if len(s.Body) > 0 {
				c.chains(s.Body, append(slices.Clone(around), id))
			}
		}
		if f, ok := s.Action.(*syntax.Foreach); ok && f.Delegate != nil {
			if _, ok := c.loops[bodyID(f)]; !ok {
				c.loops[bodyID(f)] = append(slices.Clone(around), id)
			}
		}
	}
}

// bodyID is the id of the delegation that stands in the same block as its loop.
func bodyID(f *syntax.Foreach) string { return slug(f.Delegate.Agent.Text) }

// outsideLoop gives the loops in which a step stands but the present place does not, outermost first.
func (c *compiler) outsideLoop(id string) []string {
	for i, loop := range c.loops[id] {
		if !c.scope.inside(loop) {
			return c.loops[id][i:]
		}
	}
	return nil
}

func (c *compiler) stepNames() []string {
	out := make([]string, 0, len(c.loops))
	for id := range c.loops {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// targetsOf lists where a step's rules and choices lead.
func targetsOf(s *syntax.Step) []*syntax.Target {
	var out []*syntax.Target
	add := func(g *syntax.Gate) {
		for _, ch := range g.Choices {
			if ch.Target != nil {
				out = append(out, ch.Target)
			}
		}
	}
	for _, r := range s.On {
		for _, t := range r.Targets {
			out = append(out, t)
			if t.Gate != nil {
				add(t.Gate)
			}
		}
	}
	if g, ok := s.Action.(*syntax.Gate); ok {
		add(g)
	}
	return out
}

// maxSlug is the most bytes of an id that is made from a title.
const maxSlug = 40

func slug(title string) string {
	out := make([]byte, 0, len(title))
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
