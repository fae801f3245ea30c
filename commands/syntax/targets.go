package syntax

import (
	"tercet/internal/md"
	"tercet/internal/nearest"
)

func targetKeys() keySet {
	return keySet{
		what:  "a target",
		known: []string{"next", "fail", "redo", "return", "gate", "if", "max"},
		later: []string{"rollback", "ask", "goto"},
	}
}

// rules reads `on: {status: target}`.
func (p *parser) rules(n *md.Node) []Rule {
	if n.Kind != md.Map {
		p.reject(n, "a map from statuses to targets", "write {rejected: {redo: [id], max: 2}}")
		return nil
	}
	out := make([]Rule, 0, len(n.Entries))
	for _, e := range n.Entries {
		r := Rule{Status: Word{place(e.Key), e.Key.Value}}
		if e.Value.Absent() {
			p.report(CodeAbsent, r.Status.Pos, "write a target such as next or fail", "status '%s' has no target", e.Key.Value)
			continue
		}
		items := []*md.Node{e.Value}
		if e.Value.Kind == md.List {
			items = e.Value.Items
		}
		for _, item := range items {
			if t := p.target(item); t != nil {
				r.Targets = append(r.Targets, t)
			}
		}
		out = append(out, r)
	}
	return out
}

// target reads one target; nil when it is none, which is reported.
func (p *parser) target(n *md.Node) *Target {
	t := &Target{Pos: place(n)}
	if n.Kind != md.Map {
		return p.targetWord(t, n)
	}
	kinds := 0
	for key, v := range p.entries(n, targetKeys()) {
		switch key {
		case "if":
			t.If = p.jq(v)
		case "max":
			t.Max = p.integer(v, 1)
		case "redo":
			t.Kind, t.Steps = ToRedo, p.words(v, "the id of a step")
			kinds++
		case "return":
			t.Kind, t.Return = ToReturn, p.ret(v)
			kinds++
		case "next":
			t.Kind = ToNext
			p.flag(v)
			kinds++
		case "fail":
			t.Kind = ToFail
			p.flag(v)
			kinds++
		case "gate":
			t.Kind = ToGate
			kinds++
			if b, ok := v.Any().(bool); !ok || !b {
				p.report(CodeUnsupported, place(v), "write gate for the engine's own question", "a gate with a question of its own in a target is not supported yet")
			}
		}
	}
	refused := false
	for _, key := range targetKeys().later {
		refused = refused || n.Get(key) != nil
	}
	switch {
	case refused:
		return nil
	case kinds != 1:
		p.reportSpan(diagnosticAt(CodeTarget, n), "a target is next, fail, gate, {redo: [ids]} or {return: ...}", "expected one target, got %d", kinds)
		return nil
	default:
		return t
	}
}

// flag checks the value of a target that has none of its own: {next: true, if: ...}.
func (p *parser) flag(n *md.Node) {
	if b, ok := n.Any().(bool); !ok || !b {
		p.wrong(n, "true")
	}
}

func (p *parser) targetWord(t *Target, n *md.Node) *Target {
	words := []string{"next", "fail", "gate"}
	if n.Kind == md.Scalar {
		switch n.Value {
		case "next":
			t.Kind = ToNext
			return t
		case "fail":
			t.Kind = ToFail
			return t
		case "gate":
			t.Kind = ToGate
			return t
		}
	}
	help := "a target is next, fail, gate, {redo: [ids]} or {return: ...}"
	if near := nearest.Help(n.Value, words); near != "" {
		help = near
	}
	p.reportSpan(diagnosticAt(CodeTarget, n), help, "expected a target, got %s", describe(n))
	return nil
}
