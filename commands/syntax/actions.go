package syntax

import (
	"slices"
	"strings"

	"tercet/internal/md"
)

func (p *parser) check(n *md.Node) *Check {
	c := &Check{Pos: n.Pos}
	if n.Kind != md.Map {
		if words := shellLine(n.Value); words != nil && n.Type == md.Str {
			p.Wrong(n, "jq or a map", "write check: {command: ["+strings.Join(words, ", ")+"]}")
			return c
		}
		c.Expr = p.jq(n)
		return c
	}
	p.fill(c, checkForm, n, nil)
	if v := n.Get("project"); v != nil && v.Kind == md.List && len(v.Items) == 0 {
		p.Wrong(v, "build, lint or test", "")
	}

	switch {
	case len(presentKeys(n, "document", "file", "command", "project")) != 1:
		p.report(
			CodeValue,
			c.Pos,
			"write {document: PROFILE}, {file: PATH, nonempty: true}, {command: [...]}, "+
				"{project: [...]}, or jq",
			"expected one of document, file, command and project in 'check'",
		)
	case c.Path != nil && n.Get("document") == nil:
		p.report(CodeCompanion, c.Path.Pos, "", "'path' belongs to 'document'")
	case n.Get("nonempty") != nil && n.Get("file") == nil:
		p.report(CodeCompanion, n.Get("nonempty").Pos, "", "'nonempty' belongs to 'file'")
	}
	return c
}

// presentKeys gives those of some keys that a map has with a value.
func presentKeys(n *md.Node, keys ...string) []string {
	return slices.DeleteFunc(keys, func(key string) bool {
		return n.Get(key) == nil || n.Get(key).Absent()
	})
}

// argv reads a program and its arguments: a list, never a shell line.
func (p *parser) argv(n *md.Node) []*Value {
	if n.Kind != md.List || len(n.Items) == 0 {
		p.Wrong(n, "a list of the program and its arguments", "write [go, test, ./...]")
		return []*Value{}
	}
	return p.value(n).Items
}

func (p *parser) set(n *md.Node) *Set {
	s := &Set{Pos: n.Pos}
	if n.Kind != md.Map || len(n.Entries) == 0 {
		p.Wrong(n, "a map from names to jq", "write {name: jq}")
		return s
	}
	for key, v := range p.Free(n, "a map from names to jq") {
		name := Word{key.Pos, key.Value}
		p.checkName(name, "a name")
		s.Values = append(s.Values, SetValue{Name: name, Expr: p.jq(v)})
	}
	return s
}

func (p *parser) timeout(n *md.Node) *Timeout {
	t := record[Timeout](p, timeoutForm, n)
	if n.Kind == md.Map && len(n.Entries) == 0 {
		p.report(
			CodeValue,
			t.Pos,
			"write 30m, or {total: 30m, idle: 5m}",
			"expected 'total' or 'idle' in 'timeout'",
		)
	}
	return t
}

// gateTimeout reads {after, choose}: how long a gate waits, and what it then takes.
func (p *parser) gateTimeout(n *md.Node) *GateTimeout {
	if n.Kind != md.Map {
		p.Wrong(n, "{after, choose}", "write {after: 1h, choose: LABEL}")
		return nil
	}
	t := record[GateTimeout](p, waitForm, n)
	if n.Get("after") == nil || n.Get("choose") == nil {
		p.report(CodeValue, t.Pos, "write {after: 1h, choose: LABEL}",
			"expected 'after' and 'choose' in the 'timeout' of a gate")
	}
	return t
}

// DefaultRetry is what counts for a worker of a file without 'retry'.
func DefaultRetry() *Retry {
	return &Retry{
		Max:     2,
		Backoff: 2,
		Factor:  2,
		Cap:     60,
		On:      []Word{{Text: "transient"}},
	}
}

func (p *parser) retry(n *md.Node) *Retry {
	r := DefaultRetry()
	r.Pos = n.Pos
	r.Max = 0
	r.On = append(r.On, Word{Text: "timeout"}, Word{Text: "invalid_return"})
	if n.Kind != md.Map {
		r.Max = p.integer(n, 0)
		return r
	}

	p.fill(r, retryForm, n, func(key string, v *md.Node) bool {
		switch key {
		case "max":
			r.Max = p.integer(v, 0)
		case "on":
			r.On = p.someWords(v, "transient, timeout or invalid_return")
			for _, w := range r.On {
				p.checkMember(w, []string{"transient", "timeout", "invalid_return"})
			}
		case "factor":
			if f := p.number(v); f != nil {
				r.Factor = *f
				if r.Factor < 1 {
					p.Wrong(v, "a number of at least 1", "")
				}
			}
		default:
			return false
		}
		return true
	})
	p.checkNeeds(retryForm, n)
	return r
}

func (p *parser) expect(n *md.Node) *Expect {
	e := record[Expect](p, expectForm, n)
	if n.Kind == md.Map && len(n.Entries) == 0 {
		p.report(
			CodeValue,
			e.Pos,
			"write what must hold: {if: jq}",
			"expected 'artifact', 'if' or 'schema' in 'expect'",
		)
	}
	return e
}
