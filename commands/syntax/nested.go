package syntax

import (
	"slices"
	"strings"

	"tercet/internal/md"
)

// items reads a list of steps.
func (p *parser) items(n *md.Node) []*Step {
	if n.Kind != md.List {
		p.Wrong(n, "a list of steps", "write - {delegate: ...} lines")
		return nil
	}
	form := stepForm.only("a step", func(key string) bool {
		return key != "after" && key != "before" && key != "always"
	})

	out := []*Step{}
	for _, item := range n.Items {
		s := &Step{Pos: item.Pos, Block: item.Pos}
		if item.Kind != md.Map || len(item.Entries) == 0 {
			p.Wrong(item, "a step", "write {delegate: ...}")
			continue
		}
		p.stepMap(s, item, form)
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
	for _, key := range slices.Concat(actions, []string{"table", "return", "do"}) {
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
		p.Wrong(n, "a map from names to steps", "write {correctness: {delegate: reviewer}}")
		return nil
	}

	form := stepForm.only("a child of 'parallel'", func(key string) bool {
		return slices.Contains(childKeys, key)
	})
	out := []*Step{}
	for _, e := range n.Entries {
		s := &Step{
			Pos:   e.Key.Pos,
			Block: e.Value.Pos,
			ID:    Word{e.Key.Pos, e.Key.Value},
			Title: e.Key.Value,
		}
		switch {
		case e.Value.Absent():
			p.report(CodeAbsent, s.Pos, "write {delegate: ...}",
				"child '%s' has no step", e.Key.Value)
			continue
		case e.Value.Kind != md.Map:
			p.Wrong(e.Value, "a step", "write {delegate: ...}")
			continue
		}
		p.checkID(s.ID)
		p.stepMap(s, e.Value, form)
		if s.Action == nil && !p.invalid[s] {
			p.report(CodeAction, s.Pos, "write {delegate: ...} or {check: ...}",
				"child '%s' has no action", e.Key.Value)
			continue
		}
		out = append(out, s)
	}

	return out
}

// compensation reads the step that takes another one's effect back.
func (p *parser) compensation(n *md.Node) *Step {
	form := stepForm.only("'compensate'", func(key string) bool {
		return slices.Contains(compensationKeys, key)
	})
	s := &Step{
		Pos:   n.Pos,
		Block: n.Pos,
		Title: "compensate",
	}
	if n.Kind != md.Map {
		p.Wrong(n, "a step", "write {delegate: ...} or {status: ...}")
		return nil
	}

	p.stepMap(s, n, form)
	if s.Action == nil {
		p.report(
			CodeAction,
			s.Pos,
			"write {delegate: ...} or {status: ...}",
			"'compensate' has no action",
		)
	}
	return s
}

// tier reads Light+, Minor or [Patch, Minor].
func (p *parser) tier(n *md.Node) *Tier {
	t := &Tier{Pos: n.Pos}
	if n.Kind == md.Scalar && strings.HasSuffix(n.Value, "+") {
		w := p.word(n, "the name of a tier")
		w.Text = strings.TrimSuffix(w.Text, "+")
		t.OrLater = true
		t.Names = []Word{w}
		return t
	}
	t.Names = p.someWords(n, "the name of a tier")
	return t
}

// around reads the ids of `after` and `before`, or each.
func (p *parser) around(key string, n *md.Node) *Around {
	a := &Around{Pos: n.Pos}

	if !p.inBetween {
		p.report(CodeCompanion, n.Pos, "move the step below '## "+sectionBetween+"'",
			"'%s' belongs to the section '%s'", key, sectionBetween)
	}

	if n.Kind == md.Scalar && n.Value == "each" {
		a.Each = true
		return a
	}
	a.IDs = p.words(n, "the id of a step, or each")
	if n.Kind == md.List && len(n.Items) == 0 {
		p.Wrong(n, "the ids of steps, or each", "")
	}
	return a
}
