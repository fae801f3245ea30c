package syntax

import (
	"tercet/internal/md"
)

func (p *parser) status(n *md.Node) *Status {
	s := &Status{Pos: n.Pos}
	if n.Kind != md.Map {
		s.To = p.statusWord(n)
		return s
	}
	for key, v := range p.entries(n, p.keys("status")) {
		switch key {
		case "to":
			s.To = p.statusWord(v)
		case "task":
			s.Task = p.value(v)
		case "phase":
			s.Phase = p.value(v)
		case "artifacts":
			s.Artifacts = p.value(v)
		case "reason":
			s.Reason = p.value(v)
		}
	}
	if n.Get("to") == nil {
		p.report(CodeValue, s.Pos, "add 'to: ...'", "expected 'to' in 'status'")
	}
	return s
}

func (p *parser) publish(n *md.Node) *Publish {
	out := &Publish{Pos: n.Pos}
	for key, v := range p.entries(n, p.keys("publish")) {
		if !isScalar(v) {
			p.wrong(v, "text")
			continue
		}
		switch key {
		case "to":
			out.To = p.value(v)
		case "as":
			out.As = p.value(v)
		}
	}
	return out
}

func (p *parser) statusWord(n *md.Node) *Value {
	if !isScalar(n) {
		p.wrong(n, "a status")
		return nil
	}
	return p.value(n)
}

func (p *parser) checkOf(n *md.Node) *Check {
	c := &Check{Pos: n.Pos}
	if n.Kind != md.Map {
		c.Expr = p.jq(n)
		return c
	}
	forms := 0
	for key, v := range p.entries(n, p.keys("check")) {
		switch key {
		case "document":
			w := p.word(v, "a document profile")
			c.Document = &w
			forms++
		case "path":
			c.Path = p.value(v)
		case "file":
			c.File = p.value(v)
			forms++
		case "nonempty":
			c.Nonempty = p.boolean(v)
		case "command":
			c.Command = p.argv(v)
			forms++
		case "project":
			c.Project = p.someWords(v, "build, lint or test")
			forms++
		}
	}
	switch {
	case forms != 1:
		p.report(CodeValue, c.Pos, "write {document: PROFILE}, {file: PATH, nonempty: true}, {command: [...]}, {project: [...]}, or jq", "expected one of document, file, command and project in 'check'")
	case c.Path != nil && c.Document == nil:
		p.report(CodeCompanion, c.Path.Pos, "", "'path' belongs to 'document'")
	case n.Get("nonempty") != nil && c.File == nil:
		p.report(CodeCompanion, n.Get("nonempty").Pos, "", "'nonempty' belongs to 'file'")
	}
	return c
}

// argv reads a program and its arguments: a list, never a shell line.
func (p *parser) argv(n *md.Node) []*Value {
	if n.Kind != md.List || len(n.Items) == 0 {
		p.reject(n, "a list of the program and its arguments", "write [go, test, ./...]")
		return []*Value{}
	}
	return p.value(n).Items
}

func (p *parser) set(n *md.Node) *Set {
	s := &Set{Pos: n.Pos}
	if n.Kind != md.Map || len(n.Entries) == 0 {
		p.reject(n, "a map from names to jq", "write {name: jq}")
		return s
	}
	for _, e := range n.Entries {
		name := Word{e.Key.Pos, e.Key.Value}
		switch {
		case e.Value.Absent():
			p.report(CodeAbsent, name.Pos, "write a value, or remove the key", "key '%s' has no value", name.Text)
			continue
		case !isVariable(name.Text):
			p.report(CodeID, name.Pos, "", "expected a name of letters, digits and '_', got %q", name.Text)
		}
		s.Values = append(s.Values, SetValue{Name: name, Expr: p.jq(e.Value)})
	}
	return s
}

func (b *block) table(n *md.Node) *Table {
	t := &Table{Pos: n.Pos, Rows: b.jq(n)}
	if v := b.node.Get("columns"); v != nil && !v.Absent() {
		t.Columns = b.someWords(v, "the name of a column")
	}
	if v := b.node.Get("title"); v != nil && !v.Absent() {
		t.Title = b.text(v)
	}
	return t
}

func (p *parser) ret(n *md.Node) *Return {
	r := &Return{Pos: n.Pos}
	if n.Kind != md.Map {
		r.Message = p.text(n)
		return r
	}
	for key, v := range p.entries(n, p.keys("return")) {
		switch key {
		case "status":
			r.Status = p.value(v)
		case "message":
			r.Message = p.text(v)
		case "text":
			r.Text = p.value(v)
		case "artifacts":
			r.Artifacts = p.value(v)
		case "fields":
			r.Fields = p.fields(v)
		case "next_steps":
			r.NextSteps = p.text(v)
		}
	}
	return r
}

func (p *parser) timeout(n *md.Node) *Timeout {
	t := &Timeout{Pos: n.Pos}
	if n.Kind != md.Map {
		t.Total = p.duration(n)
		return t
	}
	for key, v := range p.entries(n, p.keys("timeout")) {
		switch key {
		case "total":
			t.Total = p.duration(v)
		case "idle":
			t.Idle = p.duration(v)
		}
	}
	if len(n.Entries) == 0 {
		p.report(CodeValue, t.Pos, "write 30m, or {total: 30m, idle: 5m}", "expected 'total' or 'idle' in 'timeout'")
	}
	return t
}

// gateTimeout reads {after, choose}: how long a gate waits, and what it then takes.
func (p *parser) gateTimeout(n *md.Node) *GateTimeout {
	t := &GateTimeout{Pos: n.Pos}
	if n.Kind != md.Map {
		p.reject(n, "{after, choose}", "write {after: 1h, choose: LABEL}")
		return nil
	}
	for key, v := range p.entries(n, p.keys("wait")) {
		switch key {
		case "after":
			t.After = p.duration(v)
		case "choose":
			t.Choose = p.label(v)
		}
	}
	if n.Get("after") == nil || n.Get("choose") == nil {
		p.report(CodeValue, t.Pos, "write {after: 1h, choose: LABEL}", "expected 'after' and 'choose' in the 'timeout' of a gate")
	}
	return t
}

// label reads the label of a choice, which may have spaces.
func (p *parser) label(n *md.Node) *Word {
	if !isScalar(n) || n.Value == "" {
		p.wrong(n, "a choice")
		return nil
	}
	return &Word{Pos: n.ValuePos(0), Text: n.Value}
}

func (p *parser) retry(n *md.Node) *Retry {
	r := &Retry{Pos: n.Pos}
	if n.Kind != md.Map {
		r.Max = p.integer(n, 0)
		return r
	}
	for key, v := range p.entries(n, p.keys("retry")) {
		switch key {
		case "max":
			r.Max = p.integer(v, 0)
		case "on":
			r.On = p.someWords(v, "transient, timeout or invalid_return")
			for _, w := range r.On {
				p.member(w, []string{"transient", "timeout", "invalid_return"})
			}
		case "backoff":
			r.Backoff = p.duration(v)
		case "factor":
			if f := p.number(v); f != nil {
				r.Factor = *f
				if r.Factor < 1 {
					p.wrong(v, "a number of at least 1")
				}
			}
		case "cap":
			r.Cap = p.duration(v)
		}
	}
	if n.Get("max") == nil {
		p.report(CodeValue, r.Pos, "add 'max: 2'", "expected 'max' in 'retry'")
	}
	return r
}

func (p *parser) expect(n *md.Node) *Expect {
	e := &Expect{Pos: n.Pos}
	for key, v := range p.entries(n, p.keys("expect")) {
		switch key {
		case "artifact":
			w := p.word(v, "an artifact type")
			e.Artifact = &w
		case "if":
			e.If = p.jq(v)
		case "schema":
			e.Schema = p.schema(v)
		}
	}
	if n.Kind == md.Map && len(n.Entries) == 0 {
		p.report(CodeValue, e.Pos, "write what must hold: {if: jq}", "expected 'artifact', 'if' or 'schema' in 'expect'")
	}
	return e
}
