package syntax

import (
	"cmp"
	"slices"
	"strings"

	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/strict"
)

// rules reads `on: {status: target}`.
func (p *parser) rules(n *md.Node) []Rule {
	if n.Kind != md.Map {
		p.Wrong(n, "a map from statuses to targets", "write {rejected: {redo: [id], max: 2}}")
		return nil
	}

	out := make([]Rule, 0, len(n.Entries))
	for _, e := range n.Entries {
		r := Rule{Status: Word{e.Key.Pos, e.Key.Value}}
		if e.Value.Absent() {
			p.report(CodeAbsent, r.Status.Pos, "write a target such as next or fail",
				"status '%s' has no target", e.Key.Value)
			continue
		}

		items := itemsOf(e.Value)
		if len(items) == 0 {
			p.Wrong(e.Value, "a target", targetHelp)
		}
		for _, item := range items {
			t := p.target(item)
			if t == nil {
				continue
			}
			if t.Note {
				p.report(
					CodeCompanion,
					item.Get("note").Pos,
					"remove it, or ask by gate: with choices",
					"'note' belongs to a choice of a gate",
				)
			}
			r.Targets = append(r.Targets, t)
		}
		out = append(out, r)
	}

	return out
}

// target reads one target; nil when it is none, which is reported.
func (p *parser) target(n *md.Node) *Target {
	t := &Target{Pos: n.Pos, End: n.End}
	switch {
	case n.Kind == md.Map:
	case n.Kind == md.Scalar && slices.Contains(targetWords, n.Value):
		t.Kind = TargetKind(n.Value)
		return t
	default:
		help := cmp.Or(nearest.Help(n.Value, targetWords), targetHelp)
		p.reportNode(CodeTarget, n, help, "expected a target, got %s", strict.Describe(n))
		return nil
	}

	kinds := 0
	p.fill(t, targetForm, n, func(key string, v *md.Node) bool {
		switch key {
		case "if", "max", "note":
			return false
		case "show", "choices", "auto", "consent":
			if n.Get("gate") == nil || isFlag(n.Get("gate")) {
				p.report(CodeCompanion, v.Pos, "write gate: with a question",
					"'%s' belongs to a 'gate' with a question of its own", key)
			}
		default:
			p.targetKind(t, key, v)
			kinds++
		}
		return true
	})
	for _, key := range presentKeys(n, "show", "choices", "auto", "consent") {
		if t.Gate != nil {
			p.readField(t.Gate, targetForm, key, n.Get(key))
		}
	}

	if t.Gate != nil {
		t.Gate.addDefaultChoices()
	}
	if kinds != 1 {
		p.reportNode(CodeTarget, n, targetHelp, "expected one target, got %d", kinds)
		return nil
	}
	return t
}

// targetHelp lists what a target may be.
const targetHelp = "a target is next, fail, gate, {redo: [ids]}, {rollback: [ids]}, {ask: " +
	"[subagents]}, " +
	"{goto: id} or {return: ...}"

// targetWords are the targets that may stand without a map.
var targetWords = []string{"next", "fail", "gate"}

// targetKind reads the key that says where the target leads.
func (p *parser) targetKind(t *Target, key string, v *md.Node) {
	t.Kind = TargetKind(key)
	switch key {
	case "redo", "rollback":
		t.Steps = p.words(v, "the id of a step")
	case "ask":
		t.Agents = p.words(v, "a subagent")
	case "goto":
		if w := p.word(v, "the id of a step"); w.Text != "" {
			t.Steps = []Word{w}
		}
	case "return":
		t.Return = record[Return](p, returnForm, v)
	case "gate":
		if _, word := v.Any().(bool); !word {
			t.Gate = &Gate{Pos: v.Pos, Question: p.question(v)}
		}
	}

	// it has no value of its own: {next: true}
	if slices.Contains(targetWords, key) && t.Gate == nil && !isFlag(v) {
		p.Wrong(v, "true", "")
	}
	if v.Kind == md.List && len(v.Items) == 0 {
		p.Wrong(v, "at least one name", "")
	}
}

// question reads what a gate asks.
func (p *parser) question(n *md.Node) *Text {
	if isScalar(n) && strings.TrimSpace(n.Value) == "" {
		p.Wrong(n, "a question", "")
	}
	return p.text(n)
}

// isFlag tells whether a value is true.
func isFlag(n *md.Node) bool {
	b, ok := n.Any().(bool)
	return ok && b
}
