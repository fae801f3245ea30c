package syntax

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"tercet/internal/md"
	"tercet/internal/nearest"
)

// keySet is what may stand in one kind of map.
type keySet struct {
	what    string   // for messages: "the frontmatter"
	known   []string // read here
	later   []string // of the grammar, refused by name
	foreign []string // of other tools, accepted and left alone
}

// entries yields the known keys of a map in file order and reports all others, and keys without a value.
func (p *parser) entries(n *md.Node, set *keySet) iter.Seq2[string, *md.Node] {
	return func(yield func(string, *md.Node) bool) {
		if n.Kind != md.Map {
			p.wrong(n, "a map of keys")
			return
		}
		seen := map[string]bool{}
		for _, e := range n.Entries {
			key, pos := e.Key.Value, e.Key.Pos
			twice := seen[key]
			seen[key] = true
			switch {
			case twice: // reported as a duplicate
			case slices.Contains(set.later, key):
				p.report(CodeUnsupported, pos, "", "'%s' is not supported yet", key)
			case slices.Contains(set.foreign, key):
			case !slices.Contains(set.known, key):
				p.unknown(e.Key, set)
			case e.Value.Absent():
				p.report(CodeAbsent, pos, "write a value, or remove the key", "key '%s' has no value", key)
			case !yield(key, e.Value):
				return
			}
		}
	}
}

func (p *parser) unknown(key *md.Node, set *keySet) {
	if p.full() {
		return
	}
	code := CodeStepKey
	if p.inFront {
		code = CodeKey
	}
	all := append(append([]string{}, set.known...), set.later...)
	help := nearest.Help(key.Value, all)
	if help == "" {
		help = "the keys are " + strings.Join(set.known, ", ")
	}
	p.report(code, key.Pos, help, "unknown key '%s' in %s", key.Value, set.what)
}

// wrong reports a value of another type than expected.
func (p *parser) wrong(n *md.Node, want string) {
	p.reject(n, want, "")
}

func (p *parser) reject(n *md.Node, want, help string) {
	code := CodeValue
	if p.inFront {
		code = CodeFrontValue
	}
	p.reportSpan(diagnosticAt(code, n), help, "expected %s, got %s", want, describe(n))
}

func describe(n *md.Node) string {
	switch {
	case n.Kind == md.Map:
		return "a map"
	case n.Kind == md.List:
		return "a list"
	case n.Absent():
		return "nothing"
	case n.Type == md.Null:
		return "null"
	case n.Type == md.Str:
		return fmt.Sprintf("%.40q", n.Value)
	default:
		return n.Value
	}
}

// isScalar reports a scalar that is not null.
func isScalar(n *md.Node) bool { return n.Kind == md.Scalar && n.Type != md.Null }

// word reads one plain word; want names it in the message.
func (p *parser) word(n *md.Node, want string) Word {
	if !isScalar(n) || n.Value == "" || !oneWord(n.Value) {
		p.wrong(n, want)
		return Word{}
	}
	return Word{Pos: n.ValuePos(0), Text: n.Value}
}

// oneWord tells whether a text has neither white space nor the marks of a list or a map.
func oneWord(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\n', ',', '[', ']', '{', '}':
			return false
		}
	}
	return true
}

// words reads a list of words; one word may stand without brackets.
func (p *parser) words(n *md.Node, want string) []Word {
	if n.Kind != md.List {
		w := p.word(n, want)
		if w.Text == "" {
			return nil
		}
		return []Word{w}
	}
	out := make([]Word, 0, len(n.Items))
	for _, item := range n.Items {
		if w := p.word(item, want); w.Text != "" {
			out = append(out, w)
		}
	}
	return out
}

// someWords reads a list of at least one word.
func (p *parser) someWords(n *md.Node, want string) []Word {
	if n.Kind == md.List && len(n.Items) == 0 {
		p.reject(n, want, "")
	}
	return p.words(n, want)
}

// oneOf reads a word of a closed list.
func (p *parser) oneOf(n *md.Node, list ...string) Word {
	w := p.word(n, "one of "+strings.Join(list, ", "))
	p.member(w, list)
	return w
}

func (p *parser) member(w Word, list []string) {
	if w.Text == "" || slices.Contains(list, w.Text) {
		return
	}
	p.report(CodeWord, w.Pos, nearest.Help(w.Text, list), "expected one of %s, got %q", strings.Join(list, ", "), w.Text)
}

// str reads a text without expressions, such as a description.
func (p *parser) str(n *md.Node) string {
	if !isScalar(n) {
		p.wrong(n, "text")
		return ""
	}
	return n.Value
}

func (p *parser) strs(n *md.Node) []string {
	if n.Kind != md.List {
		return []string{p.str(n)}
	}
	out := make([]string, 0, len(n.Items))
	for _, item := range n.Items {
		out = append(out, p.str(item))
	}
	return out
}

func (p *parser) boolean(n *md.Node) bool {
	v, ok := n.Any().(bool)
	if !ok {
		p.wrong(n, "true or false")
	}
	return v
}

// integer reads a number of at least low.
func (p *parser) integer(n *md.Node, low int) int {
	v, ok := n.Any().(int)
	if ok && v >= low {
		return v
	}
	want := "an integer"
	if ok {
		want = "an integer of at least " + strconv.Itoa(low)
	}
	p.reject(n, want, "")
	return low
}

func (p *parser) number(n *md.Node) *float64 {
	switch v := n.Any().(type) {
	case int:
		f := float64(v)
		return &f
	case float64:
		return &v
	default:
		p.wrong(n, "a number")
		return nil
	}
}

// duration reads a text such as 30m and gives seconds.
func (p *parser) duration(n *md.Node) float64 {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != md.Scalar || err != nil || d <= 0 {
		p.reject(n, "a duration", "write it like 30s, 10m or 2h")
		return 0
	}
	return d.Seconds()
}

// jq reads a scalar that is jq as a whole.
func (p *parser) jq(n *md.Node) *Expr {
	if !isScalar(n) {
		help := ""
		if n.Kind != md.Scalar {
			help = "put the expression in quotes"
		}
		p.reject(n, "jq", help)
		return nil
	}
	if strings.HasPrefix(n.Value, "${{") {
		p.report(CodeValue, n.ValuePos(0), "write the expression alone", "expected jq without '${{ }}' here")
		return nil
	}
	if strings.TrimSpace(n.Value) == "" {
		p.wrong(n, "jq")
		return nil
	}
	return p.exprAt(n, 0, n.Value)
}

// maxMarked is the most bytes of an expression whose places are followed one by one.
const maxMarked = 4 << 10

// The most expressions of a file, and of one text in it: each is compiled with the names that stand before it.
const (
	maxExprs = 2000
	maxParts = 200
)

// exprAt makes the expression that begins at a byte of a scalar.
func (p *parser) exprAt(n *md.Node, base int, src string) *Expr {
	if p.exprs++; p.exprs == maxExprs+1 {
		p.report(CodeTooMany, n.Pos, "split the file", "more than %d expressions in one file", maxExprs)
	}
	if p.exprs > maxExprs {
		return &Expr{Pos: n.Pos, Src: src}
	}
	e := &Expr{Pos: n.ValuePos(base), Src: src}
	if end := Pos(n.ValuePos(base + len(src))); end == e.At(len(src)) || len(src) > maxMarked {
		return e
	}
	for i := 1; i <= len(src); i++ {
		if pos := n.ValuePos(base + i); pos != e.At(i) {
			e.Marks = append(e.Marks, Mark{i, pos})
		}
	}
	return e
}

// isJq tells whether a scalar is jq by its first character.
func isJq(n *md.Node) bool {
	return n.Type == md.Str && strings.HasPrefix(n.Value, "$") && !strings.HasPrefix(n.Value, "${{")
}

// text reads a text with expressions in it. A scalar that begins with $ is one expression.
func (p *parser) text(n *md.Node) *Text {
	if !isScalar(n) {
		p.wrong(n, "text")
		return nil
	}
	if isJq(n) {
		return &Text{Pos: n.ValuePos(0), Whole: true, Parts: []Part{{Expr: p.jq(n)}}}
	}
	return p.template(n)
}

func (p *parser) texts(n *md.Node) []*Text {
	if n.Kind != md.List {
		return []*Text{p.text(n)}
	}
	out := make([]*Text, 0, len(n.Items))
	for _, item := range n.Items {
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
	from, count := 0, 0
	for {
		open := strings.Index(v[from:], "${{")
		if open < 0 {
			break
		}
		open += from
		if count++; count > maxParts {
			p.report(CodeTooMany, n.ValuePos(0), "compute it in one expression", "more than %d expressions in one text", maxParts)
			return t
		}
		end := templateEnd(v, open+3)
		if end < 0 {
			p.report(CodeTemplate, n.ValuePos(open), "end the expression with }}", "'${{' is not closed")
			return t
		}
		if open > from {
			t.Parts = append(t.Parts, p.literal(n, from, open))
		}
		src := v[open+3 : end]
		lead := len(src) - len(strings.TrimLeft(src, " \t\n"))
		expr := p.exprAt(n, open+3+lead, strings.TrimSpace(src))
		if expr.Src == "" {
			p.report(CodeTemplate, n.ValuePos(open), "write jq between them, or remove them", "nothing between '${{' and '}}'")
		}
		t.Parts = append(t.Parts, Part{Expr: expr})
		from = end + 2
	}
	if from < len(v) || len(t.Parts) == 0 {
		t.Parts = append(t.Parts, p.literal(n, from, len(v)))
	}
	t.Whole = isWhole(t.Parts)
	if t.Whole {
		for _, part := range t.Parts {
			if part.Expr != nil {
				t.Parts = []Part{part}
				break
			}
		}
	}
	return t
}

// literal is a piece of a text without expressions. An expression that lost a character of its opening is reported.
func (p *parser) literal(n *md.Node, from, to int) Part {
	lit := n.Value[from:to]
	if before, _, ok := strings.Cut(lit, "}}"); ok {
		open := max(strings.LastIndex(before, "${"), strings.LastIndex(before, "{{ $"))
		if open >= 0 {
			p.report(CodeTemplate, n.ValuePos(from+open), "write ${{ ... }}", "expected '${{' before '}}', got '%s'", lit[open:open+2])
		}
	}
	return Part{Lit: lit}
}

// isWhole tells whether a text is one expression and nothing but line ends around it, as a block scalar has them.
func isWhole(parts []Part) bool {
	exprs := 0
	for _, part := range parts {
		if part.Expr != nil {
			exprs++
		} else if strings.TrimSpace(part.Lit) != "" {
			return false
		}
	}
	return exprs == 1
}

// templateEnd returns the offset of the }} that ends the expression, or -1: jq strings and brackets are followed, so that
// "}}" inside an object or a text does not end it.
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

// jqString returns the offset after the string whose first character is at i, with its interpolations, or -1.
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
			if paren[len(paren)-1]--; paren[len(paren)-1] == 0 {
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
				p.report(CodeAbsent, item.Pos, "write a value, or remove the item", "list item without a value")
				continue
			}
			v.Items = append(v.Items, p.value(item))
		}
	case md.Scalar:
		switch {
		case isJq(n):
			v.Kind, v.Expr = Jq, p.jq(n)
			return v
		case n.Type != md.Str:
		case strings.Contains(n.Value, "${{"):
			v.Kind, v.Text = Template, p.template(n)
			return v
		case strings.Contains(n.Value, "}}"):
			p.literal(n, 0, len(n.Value))
		}
		v.Lit = n.Any()
	}
	return v
}

// fields reads a map with free keys.
func (p *parser) fields(n *md.Node) []Field {
	if n.Kind != md.Map {
		p.wrong(n, "a map")
		return nil
	}
	out := make([]Field, 0, len(n.Entries))
	for _, e := range n.Entries {
		if e.Value.Absent() {
			p.report(CodeAbsent, e.Key.Pos, "write a value, or remove the key", "key '%s' has no value", e.Key.Value)
			continue
		}
		out = append(out, Field{Key: Word{e.Key.Pos, e.Key.Value}, Value: p.value(e.Value)})
	}
	return out
}
