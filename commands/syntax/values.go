package syntax

import (
	"slices"
	"strconv"
	"strings"

	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/strict"
)

// isScalar reports a scalar that is not null.
func isScalar(n *md.Node) bool {
	return n.Kind == md.Scalar && n.Type != md.Null
}

// word reads one plain word; want names it in the message.
func (p *parser) word(n *md.Node, want string) Word {
	if !isScalar(n) || n.Value == "" || strings.ContainsAny(n.Value, " \t\n,[]{}") {
		p.Wrong(n, want, "")
		return Word{}
	}
	return Word{Pos: n.ValuePos(0), Text: n.Value}
}

// itemsOf gives the elements of a list, or a value that stands without brackets.
func itemsOf(n *md.Node) []*md.Node {
	if n.Kind == md.List {
		return n.Items
	}
	return []*md.Node{n}
}

// words reads a list of words; one word may stand without brackets.
func (p *parser) words(n *md.Node, want string) []Word {
	var out []Word
	for _, item := range itemsOf(n) {
		if w := p.word(item, want); w.Text != "" {
			out = append(out, w)
		}
	}
	if out == nil && n.Kind == md.List {
		return []Word{}
	}
	return out
}

// someWords reads a list of at least one word.
func (p *parser) someWords(n *md.Node, want string) []Word {
	if n.Kind == md.List && len(n.Items) == 0 {
		p.Wrong(n, want, "")
	}
	return p.words(n, want)
}

// oneOf reads a word of a closed list.
func (p *parser) oneOf(n *md.Node, list ...string) Word {
	w := p.word(n, "one of "+strings.Join(list, ", "))
	p.checkMember(w, list)
	return w
}

func (p *parser) checkMember(w Word, list []string) {
	if w.Text == "" || slices.Contains(list, w.Text) {
		return
	}
	p.report(CodeWord, w.Pos, nearest.Help(w.Text, list), "expected one of %s, got %q",
		strings.Join(list, ", "), w.Text)
}

// str reads a text without expressions, such as a description.
func (p *parser) str(n *md.Node) string {
	if !isScalar(n) {
		p.Wrong(n, "text", "")
		return ""
	}
	return n.Value
}

func (p *parser) strs(n *md.Node) []string {
	out := []string{}
	for _, item := range itemsOf(n) {
		out = append(out, p.str(item))
	}
	return out
}

// integer reads a number of at least low.
func (p *parser) integer(n *md.Node, low int) int {
	v, ok := strict.As(&p.Decoder, n, "an integer", strict.Int)
	if ok && v < low {
		p.Wrong(n, "an integer of at least "+strconv.Itoa(low), "")
	}
	return max(v, low)
}

func (p *parser) number(n *md.Node) *float64 {
	if v, ok := strict.As(&p.Decoder, n, "a number", strict.Number); ok {
		return &v
	}
	return nil
}

// duration reads a text such as 30m and gives seconds.
func (p *parser) duration(n *md.Node) float64 {
	d, ok := strict.Duration(n)
	if !ok {
		p.Wrong(n, "a duration", "write it like 30s, 10m or 2h")
		return 0
	}
	return d.Seconds()
}

// label reads the label of a choice, which may have spaces.
func (p *parser) label(n *md.Node) Word {
	if !isScalar(n) || n.Value == "" {
		p.Wrong(n, "a choice", "")
		return Word{}
	}
	return Word{Pos: n.ValuePos(0), Text: n.Value}
}

// jq reads a scalar that is jq as a whole.
func (p *parser) jq(n *md.Node) *Expr {
	if !isScalar(n) {
		help := ""
		if n.Kind != md.Scalar {
			help = "put the expression in quotes"
		}
		p.Wrong(n, "jq", help)
		return nil
	}

	if strings.HasPrefix(n.Value, "${{") {
		p.report(
			CodeValue,
			n.ValuePos(0),
			"write the expression alone",
			"expected jq without '${{ }}' here",
		)
		return nil
	}

	if strings.TrimSpace(n.Value) == "" {
		p.Wrong(n, "jq", "")
		return nil
	}
	return p.exprAt(n, 0, n.Value)
}

// The most expressions in a file, and in one text: each compiles with all names before it.
const (
	maxExprs = 2000
	maxParts = 200
)

// exprAt makes the expression that begins at a byte of a scalar.
func (p *parser) exprAt(n *md.Node, base int, src string) *Expr {
	p.exprs++
	if p.exprs == maxExprs+1 {
		p.report(CodeTooMany, n.Pos, "split the file",
			"more than %d expressions in one file", maxExprs)
	}

	if p.exprs > maxExprs {
		return &Expr{Pos: n.Pos, Src: src}
	}
	return &Expr{
		Pos:  n.ValuePos(base),
		Src:  src,
		node: n,
		base: base,
	}
}

// isJq tells whether a scalar is jq by its first character.
func isJq(n *md.Node) bool {
	return n.Type == md.Str && strings.HasPrefix(n.Value, "$") && !strings.HasPrefix(n.Value, "${{")
}

// text reads a text with expressions in it. A scalar that begins with $ is one expression.
func (p *parser) text(n *md.Node) *Text {
	if !isScalar(n) {
		p.Wrong(n, "text", "")
		return nil
	}

	if isJq(n) {
		return &Text{
			Pos:   n.ValuePos(0),
			Whole: true,
			Parts: []Part{{Expr: p.jq(n)}},
		}
	}
	return p.template(n)
}

func (p *parser) texts(n *md.Node) []*Text {
	out := []*Text{}
	for _, item := range itemsOf(n) {
		if t := p.text(item); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// template cuts a scalar into literal pieces and expressions.
func (p *parser) template(n *md.Node) *Text {
	t := &Text{Pos: n.ValuePos(0)}
	v := n.Value
	from := 0
	count := 0
	for {
		open := strings.Index(v[from:], "${{")
		if open < 0 {
			break
		}
		open += from
		count++
		if count > maxParts {
			p.report(CodeTooMany, n.ValuePos(0), "compute it in one expression",
				"more than %d expressions in one text", maxParts)
			return t
		}
		end := templateEnd(v, open+3)
		if end < 0 {
			p.report(
				CodeTemplate,
				n.ValuePos(open),
				"end the expression with }}",
				"'${{' is not closed",
			)
			return t
		}
		if open > from {
			t.Parts = append(t.Parts, p.literalPart(n, from, open))
		}

		src := v[open+3 : end]
		lead := len(src) - len(strings.TrimLeft(src, " \t\n"))
		expr := p.exprAt(n, open+3+lead, strings.TrimSpace(src))
		if expr.Src == "" {
			p.report(
				CodeTemplate,
				n.ValuePos(open),
				"write jq between them, or remove them",
				"nothing between '${{' and '}}'",
			)
		}
		t.Parts = append(t.Parts, Part{Expr: expr})
		from = end + 2
	}

	if from < len(v) || len(t.Parts) == 0 {
		t.Parts = append(t.Parts, p.literalPart(n, from, len(v)))
	}
	if at := onlyExpr(t.Parts); at >= 0 {
		t.Whole = true
		t.Parts = t.Parts[at : at+1]
	}
	return t
}

// literalPart is a piece of a text without expressions. An expression that lost a character of its
// opening is reported.
func (p *parser) literalPart(n *md.Node, from, to int) Part {
	lit := n.Value[from:to]
	if before, _, ok := strings.Cut(lit, "}}"); ok {
		open := max(strings.LastIndex(before, "${"), strings.LastIndex(before, "{{ $"))
		if open >= 0 {
			p.report(CodeTemplate, n.ValuePos(from+open), "write ${{ ... }}",
				"expected '${{' before '}}', got '%s'", lit[open:open+2])
		} else if m := otherTemplate().FindStringSubmatchIndex(lit); m != nil {
			p.report(CodeTemplate, n.ValuePos(from+m[0]), "write ${{ $"+lit[m[2]:m[3]]+" }}",
				"expected '${{' before '}}', got '{{'")
		}
	}
	return Part{Lit: lit}
}

// otherTemplate matches an expression as other tools write it.
var otherTemplate = lazy.Regexp(
	`\{\{\s*((?:args|steps|task|run|env|state|input)\.[\w.\[\]]+)\s*\}\}`,
)

// onlyExpr is the place of the one expression of a text with nothing but line ends around it, such
// as a block scalar. It is -1 for any other text.
func onlyExpr(parts []Part) int {
	at := -1
	for i, part := range parts {
		switch {
		case part.Expr != nil && at < 0:
			at = i
		case part.Expr != nil || strings.TrimSpace(part.Lit) != "":
			return -1
		}
	}
	return at
}

// templateEnd returns the offset of the }} that ends the expression, or -1. It follows jq strings
// and brackets, so a "}}" inside an object or a text does not end it.

func templateEnd(v string, i int) int {
	depth := 0
	for i < len(v) {
		switch v[i] {
		case '"':
			if i = jqString(v, i+1); i < 0 {
				return -1
			}
			continue
		case '(', '[', '{':
			depth++
		case ')', ']':
			depth = max(depth-1, 0)
		case '}':
			if depth == 0 {
				if strings.HasPrefix(v[i:], "}}") {
					return i
				}
				break
			}
			depth--
		}
		i++
	}
	return -1
}

// jqString returns the offset after the string whose first character is at i, with its
// interpolations, or -1.
func jqString(v string, i int) int {
	var paren []int // open brackets of each interpolation

	for i < len(v) {
		inText := len(paren) == 0 || paren[len(paren)-1] == 0
		c := v[i]
		switch {
		case inText && c == '\\' && i+1 < len(v):
			if v[i+1] == '(' {
				paren = append(paren, 1)
			}
			i++
		case inText && c == '"':
			if len(paren) == 0 {
				return i + 1
			}
			paren = paren[:len(paren)-1]
		case inText:
		case c == '"':
			paren = append(paren, 0)
		case c == '(':
			paren[len(paren)-1]++
		case c == ')':
			paren[len(paren)-1]--
			if paren[len(paren)-1] == 0 {
				paren = paren[:len(paren)-1]
			}
		}
		i++
	}

	return -1
}

// value reads any value.
func (p *parser) value(n *md.Node) *Value {
	v := &Value{Pos: n.Pos, End: n.End}
	switch n.Kind {
	case md.Map:
		v.Kind = Map
		v.Fields = p.fields(n)
	case md.List:
		v.Kind = List
		v.Items = make([]*Value, 0, len(n.Items))
		for _, item := range n.Items {
			if item.Absent() {
				p.report(
					CodeAbsent,
					item.Pos,
					"write a value, or remove the item",
					"list item without a value",
				)
				continue
			}
			v.Items = append(v.Items, p.value(item))
		}
	case md.Scalar:
		switch {
		case isJq(n):
			v.Kind = Jq
			v.Expr = p.jq(n)
			return v
		case n.Type != md.Str:
		case strings.Contains(n.Value, "${{"):
			v.Kind = Template
			v.Text = p.template(n)
			return v
		case strings.Contains(n.Value, "}}"):
			p.literalPart(n, 0, len(n.Value))
		}
		v.Lit = n.Any()
	}

	return v
}

// fields reads a map with free keys.
func (p *parser) fields(n *md.Node) []Field {
	out := []Field{}
	for key, v := range p.Free(n, "a map") {
		out = append(out, Field{Key: Word{key.Pos, key.Value}, Value: p.value(v)})
	}
	return out
}
