package syntax

import (
	"strings"

	"tercet/internal/lazy"
	"tercet/internal/md"
)

// argsBlock reads a block `yaml args`.
func (p *parser) argsBlock(b *md.Block) {
	p.file.Args.Pos = b.BodyPos
	if n := p.block(b); n != nil {
		p.fill(&p.file.Args, argsForm, n, nil)
	}
}

func (p *parser) loads(n *md.Node) (out []Load) {
	for key, v := range p.Free(n, "a map from names to values") {
		name, optional := strings.CutSuffix(key.Value, "?")
		l := Load{Name: Word{key.Pos, name}, Optional: optional}
		p.checkName(l.Name, "a name")
		p.load(&l, v)
		out = append(out, l)
	}
	return out
}

// isVariable reports a name that jq takes after a $.
func isVariable(s string) bool {
	return variableForm().MatchString(s)
}

var variableForm = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// load reads one value of a load: jq, or a document, files, a task.
func (p *parser) load(l *Load, n *md.Node) {
	if n.Kind != md.Map {
		l.Expr = p.jq(n)
		return
	}

	doc := &LoadDocument{Pos: n.Pos}
	p.fill(l, loadForm, n, func(key string, v *md.Node) bool {
		if key == "document" {
			doc.Profile = p.word(v, "a document profile")
			l.Document = doc
		}
		return key == "document" || key == "path"
	})
	path := n.Get("path")
	if path.Absent() {
		path = nil
	}

	sources := len(presentKeys(n, "document", "files", "task"))
	switch {
	case sources == 2 && l.Document != nil && l.Files != nil && path == nil:
	case sources != 1:
		p.report(CodeValue, doc.Pos,
			"write {document: PROFILE, path: ...}, {document: PROFILE, files: [...]}, {files: "+
				"[...]} or {task: ...}; "+
				"an object in jq needs quotes",
			"expected one of document, files and task in a load")
	case path != nil && l.Document == nil:
		p.report(CodeCompanion, path.Pos, "", "'path' belongs to 'document'")
	case l.Document != nil && path == nil:
		p.report(CodeValue, doc.Pos, "add path: [candidates]", "expected 'path' beside 'document'")
	case path != nil && isJq(path):
		doc.Expr = p.jq(path)
	case path != nil:
		doc.Path = p.texts(path)
	}
}

func (p *parser) requires(n *md.Node) (out []Require) {
	for _, item := range itemsOf(n) {
		r := record[Require](p, requirementForm, item)
		if item.Kind == md.Map && item.Get("when") == nil {
			continue
		}
		if len(out) > 0 && sameExpr(r.When, out[len(out)-1].When) {
			p.report(CodeRepeated, r.Pos, "keep one of the two",
				"the same requirement stands twice")
		}
		out = append(out, *r)
	}
	return out
}

func sameExpr(a, b *Expr) bool {
	return a != nil && b != nil && a.Src == b.Src
}
