package syntax

import (
	"strings"

	"tercet/internal/md"
)

// items reads a list of steps.
func (p *parser) items(n *md.Node) []*Step {
	if n.Kind != md.List {
		p.reject(n, "a list of steps", "write - {delegate: ...} lines")
		return nil
	}
	out := make([]*Step, 0, len(n.Items))
	steps := make([]Step, len(n.Items))
	for i, item := range n.Items {
		s := &steps[i]
		s.Pos, s.Block = item.Pos, item.Pos
		if item.Kind != md.Map || len(item.Entries) == 0 {
			p.reject(item, "a step", "write {delegate: ...}")
			continue
		}
		p.stepMap(s, item, p.keysBut("item", "step", []string{"after", "before", "always"}))
		s.Title = itemTitle(s, item)
		out = append(out, s)
	}
	return out
}

// itemTitle names a step that has no heading: by its id, else by what it does.
func itemTitle(s *Step, n *md.Node) string {
	if s.ID.Text != "" {
		return s.ID.Text
	}
	for _, key := range append(actionNames(), "table", "return", "do") {
		v := n.Get(key)
		switch {
		case v == nil:
		case key == "delegate" && v.Kind == md.Scalar && !strings.Contains(v.Value, "$"):
			return v.Value
		case key == "check" && v.Get("document") != nil:
			return "check " + v.Get("document").Value
		case key == "do":
			return "group"
		default:
			return key
		}
	}
	return "step"
}

// children reads the map of a parallel step: name -> step.
func (p *parser) children(n *md.Node) []*Step {
	if n.Kind != md.Map {
		p.reject(n, "a map from names to steps", "write {correctness: {delegate: reviewer}}")
		return nil
	}
	keys := p.keysBut("child", "step", []string{
		"id", "on", "after", "before", "always", "return", "table", "columns", "title", "foreach", "parallel", "until", "do", "as", "max_parallel", "max",
		"merge", "gate", "show", "choices", "auto", "status", "set", "publish", "fail", "code", "compensate",
	})
	keys.what = "a child of 'parallel'"
	out := make([]*Step, 0, len(n.Entries))
	steps := make([]Step, len(n.Entries))
	for i, e := range n.Entries {
		s := &steps[i]
		s.Pos, s.Block, s.ID, s.Title = e.Key.Pos, e.Value.Pos, Word{e.Key.Pos, e.Key.Value}, e.Key.Value
		switch {
		case e.Value.Absent():
			p.report(CodeAbsent, s.Pos, "write {delegate: ...}", "child '%s' has no step", e.Key.Value)
			continue
		case e.Value.Kind != md.Map:
			p.reject(e.Value, "a step", "write {delegate: ...}")
			continue
		case !isName(e.Key.Value, '_'):
			p.report(CodeID, s.Pos, "", "expected an id of lower case letters, digits and '_', got %q", e.Key.Value)
		}
		p.stepMap(s, e.Value, keys)
		if s.Action == nil && !p.refused[s] {
			p.report(CodeAction, s.Pos, "write {delegate: ...} or {check: ...}", "child '%s' has no action", e.Key.Value)
			continue
		}
		out = append(out, s)
	}
	return out
}

// compensation reads the step that takes another one's effect back.
func (p *parser) compensation(n *md.Node) *Step {
	keys := p.keysBut("compensation", "step", []string{
		"id", "on", "after", "before", "always", "return", "table", "columns", "title", "foreach", "parallel", "until", "do", "as", "max_parallel", "max",
		"merge", "gate", "show", "choices", "auto", "set", "fail", "code", "compensate", "tier", "board", "expect",
	})
	keys.what = "'compensate'"
	s := &Step{Pos: n.Pos, Block: n.Pos, Title: "compensate"}
	if n.Kind != md.Map {
		p.reject(n, "a step", "write {delegate: ...} or {status: ...}")
		return nil
	}
	p.stepMap(s, n, keys)
	if s.Action == nil {
		p.report(CodeAction, s.Pos, "write {delegate: ...} or {status: ...}", "'compensate' has no action")
	}
	return s
}

// tier reads Light+, Minor or [Patch, Minor].
func (p *parser) tier(n *md.Node) *Tier {
	t := &Tier{Pos: n.Pos}
	if n.Kind == md.Scalar && strings.HasSuffix(n.Value, "+") {
		w := p.word(n, "the name of a tier")
		w.Text, t.OrLater = strings.TrimSuffix(w.Text, "+"), true
		t.Names = []Word{w}
		return t
	}
	t.Names = p.someWords(n, "the name of a tier")
	return t
}

// around reads the ids of `after` and `before`, or each.
func (b *block) around(key string, n *md.Node) *Around {
	a := &Around{Pos: n.Pos}
	if !b.between {
		b.report(CodeCompanion, n.Pos, "move the step below '## "+sectionBetween+"'", "'%s' belongs to the section '%s'", key, sectionBetween)
	}
	if n.Kind == md.Scalar && n.Value == "each" {
		a.Each = true
		return a
	}
	a.IDs = b.words(n, "the id of a step, or each")
	if n.Kind == md.List && len(n.Items) == 0 {
		b.reject(n, "the ids of steps, or each", "")
	}
	return a
}
