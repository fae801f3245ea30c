package query

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
)

// truth is what a condition comes to for an element that is looked at as bytes.
type truth uint8

const (
	unknown truth = iota // it takes the interpreter to tell, or it would be an error
	no
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (t truth) not() truth {
	switch t {
	case no:
		return yes
	case yes:
		return no
	case unknown:
	}
	return unknown
}

type predKind uint8

const (
	predUnknown predKind = iota
	predAnd              // l and r
	predOr               // l or r
	predNot              // l
	predIs               // the truth of a field
	predCompare          // a field and a scalar
	predOneOf            // a field is one of some scalars
	predText             // a field has a text at its start, at its end or inside
	predHas              // there is a field
	predConst
)

// pred is a condition on an element of an array that is an object.
type pred struct {
	kind  predKind
	l, r  *pred
	field string
	slot  int // of the field among those of the element
	op    gojq.Operator
	args  []operand
	where string // of predText: startswith, endswith or contains
	is    bool   // of predConst
}

// operand is a scalar that a field is compared with.
type operand struct {
	value any
	text  string // how it is written most simply, if it is a string or a small integer
}

// both is the condition of two selections one after the other; nil stands for none.
func both(a, b *pred) *pred {
	if a == nil {
		return b
	}
	return &pred{kind: predAnd, l: a, r: b}
}

// resolve finds the slots of the fields.
func (p *pred) resolve(n *need) {
	if p == nil {
		return
	}
	p.l.resolve(n)
	p.r.resolve(n)
	if p.field != "" || p.kind >= predIs && p.kind <= predHas {
		n.field(p.field)
		p.slot = n.index(p.field)
	}
}

// predicate is the condition that a query makes of an element.
func (a *inference) predicate(q *gojq.Query) *pred {
	if len(q.FuncDefs) > 0 {
		return &pred{}
	}
	if q.Term != nil {
		return a.predicateTerm(q)
	}
	switch op := q.Op; {
	case op == gojq.OpAnd:
		return &pred{kind: predAnd, l: a.predicate(q.Left), r: a.predicate(q.Right)}
	case op == gojq.OpOr:
		return &pred{kind: predOr, l: a.predicate(q.Left), r: a.predicate(q.Right)}
	case comparing(op):
		return a.comparison(q)
	case op == gojq.OpPipe:
		return a.predicatePipe(q)
	}
	return &pred{}
}

func (a *inference) predicateTerm(q *gojq.Query) *pred {
	t := q.Term
	if name, ok := fieldOf(q); ok {
		return &pred{kind: predIs, field: name}
	}
	if len(t.SuffixList) > 0 {
		return &pred{}
	}
	if t.Type == gojq.TermTypeQuery {
		return a.predicate(t.Query)
	}
	if t.Type == gojq.TermTypeTrue || t.Type == gojq.TermTypeFalse {
		return &pred{kind: predConst, is: t.Type == gojq.TermTypeTrue}
	}
	if t.Type == gojq.TermTypeFunc && t.Func.Name == "has" && len(t.Func.Args) == 1 {
		if arg := t.Func.Args[0]; literal(arg) && arg.Term.Type == gojq.TermTypeString {
			return &pred{kind: predHas, field: arg.Term.Str.Str}
		}
	}
	return &pred{}
}

// predicatePipe knows `C | not`, `.f | IN("a", "b")` and `.f | startswith("a")` with its kin.
func (a *inference) predicatePipe(q *gojq.Query) *pred {
	r := q.Right
	if len(q.Patterns) > 0 || r.Term == nil || r.Term.Type != gojq.TermTypeFunc || len(r.FuncDefs) > 0 || len(r.Term.SuffixList) > 0 {
		return &pred{}
	}
	f := r.Term.Func
	if f.Name == "not" && len(f.Args) == 0 {
		return &pred{kind: predNot, l: a.predicate(q.Left)}
	}
	name, ok := fieldOf(q.Left)
	if !ok || len(f.Args) != 1 {
		return &pred{}
	}
	args, ok := a.operands(f.Args[0])
	if !ok {
		return &pred{}
	}
	if f.Name == "IN" {
		return &pred{kind: predOneOf, field: name, args: args}
	}
	word, isText := args[0].value.(string)
	if len(args) != 1 || !isText {
		return &pred{}
	}
	switch f.Name {
	case "startswith", "endswith", "contains":
		return &pred{kind: predText, field: name, args: args, where: f.Name}
	case "test":
		if re, err := syntax.Parse(word, syntax.Perl); err == nil && plainWord(re, word) {
			return &pred{kind: predText, field: name, args: args, where: "contains"}
		}
	}
	return &pred{}
}

// plainWord tells whether a regular expression finds a word and nothing else.
func plainWord(re *syntax.Regexp, word string) bool {
	return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0 && string(re.Rune) == word && !strings.ContainsAny(word, "\\#")
}

// fieldOf gives the name of .name, which may have a question mark.
func fieldOf(q *gojq.Query) (string, bool) {
	if q.Term == nil || q.Term.Type != gojq.TermTypeIndex || len(q.FuncDefs) > 0 {
		return "", false
	}
	for _, s := range q.Term.SuffixList {
		if !s.Optional {
			return "", false
		}
	}
	return indexKey(q.Term.Index)
}

func (a *inference) comparison(q *gojq.Query) *pred {
	name, ok := fieldOf(q.Left)
	arg, op := q.Right, q.Op
	if !ok {
		if name, ok = fieldOf(q.Right); !ok {
			return &pred{}
		}
		arg, op = q.Left, mirrored(op)
	}
	args, ok := a.operands(arg)
	if !ok || len(args) != 1 {
		return &pred{}
	}
	return &pred{kind: predCompare, field: name, op: op, args: args}
}

func mirrored(op gojq.Operator) gojq.Operator {
	for _, pair := range [][2]gojq.Operator{{gojq.OpLt, gojq.OpGt}, {gojq.OpLe, gojq.OpGe}} {
		if i := slices.Index(pair[:], op); i >= 0 {
			return pair[1-i]
		}
	}
	return op
}

// operands gives the scalars that a query is, one or several with commas: literals, and variables from outside.
func (a *inference) operands(q *gojq.Query) ([]operand, bool) {
	if len(q.FuncDefs) > 0 {
		return nil, false
	}
	if q.Term == nil {
		if q.Op != gojq.OpComma {
			return nil, false
		}
		l, ok := a.operands(q.Left)
		if !ok {
			return nil, false
		}
		r, ok := a.operands(q.Right)
		return append(l, r...), ok
	}
	v, ok := a.scalar(q.Term)
	if !ok {
		return nil, false
	}
	o := operand{value: v}
	switch v := v.(type) {
	case string:
		if text := jsonx.AppendString(nil, v); len(text) == len(v)+2 {
			o.text = string(text)
		}
	case int:
		o.text = string(appendValue(nil, v, nil))
	}
	return []operand{o}, true
}

func (a *inference) scalar(t *gojq.Term) (any, bool) {
	if len(t.SuffixList) > 0 {
		return nil, false
	}
	if t.Type == gojq.TermTypeFunc {
		if _, bound := a.lookup(t.Func.Name); bound {
			return nil, false
		}
		v, ok := a.globals[t.Func.Name]
		return v, ok && plain(v)
	}
	if q := t.Query; t.Type == gojq.TermTypeQuery && q.Term != nil && len(q.FuncDefs) == 0 {
		return a.scalar(q.Term)
	}
	return constant(t)
}

// constant gives the value of the literal of a scalar. Of numbers it knows integers.
func constant(t *gojq.Term) (any, bool) {
	if t.Type == gojq.TermTypeUnary {
		n, ok := number(t.Unary.Term.Number).(int)
		if t.Unary.Op == gojq.OpSub {
			n = -n
		}
		return n, ok && n != 0 && t.Unary.Term.Type == gojq.TermTypeNumber && len(t.Unary.Term.SuffixList) == 0
	}
	n, ok := number(t.Number).(int)
	if t.Type == gojq.TermTypeNumber {
		return n, ok
	}
	if t.Type == gojq.TermTypeString {
		return t.Str.Str, t.Str.Queries == nil
	}
	if t.Type == gojq.TermTypeTrue || t.Type == gojq.TermTypeFalse {
		return t.Type == gojq.TermTypeTrue, true
	}
	return nil, t.Type == gojq.TermTypeNull
}

// span is where a value stands in the bytes of its element; start is 0 if there is none, since an element starts before it.
type span struct{ start, end int }

// test decides for an element whose fields stand at spans of b.
func (p *pred) test(b []byte, spans []span) truth {
	switch p.kind {
	case predAnd:
		l := p.l.test(b, spans)
		if l == no {
			return no
		}
		r := p.r.test(b, spans)
		if l == yes {
			return r
		}
		// What is left of the and may be an error: then the right side does not count.
		return unknown
	case predOr:
		l := p.l.test(b, spans)
		if l != no {
			return l
		}
		return p.r.test(b, spans)
	case predNot:
		return p.l.test(b, spans).not()
	case predConst:
		return truthOf(p.is)
	case predHas:
		return truthOf(spans[p.slot].end > 0)
	case predIs:
		raw := at(b, spans[p.slot])
		return truthOf(len(raw) > 0 && raw[0] != 'n' && raw[0] != 'f')
	case predCompare:
		return p.compare(at(b, spans[p.slot]))
	case predOneOf:
		raw := at(b, spans[p.slot])
		for _, o := range p.args {
			if o.compare(raw, gojq.OpEq) == yes {
				return yes
			}
		}
		return no
	case predText:
		return p.text(at(b, spans[p.slot]))
	case predUnknown:
	}
	return unknown
}

func at(b []byte, s span) []byte { return b[s.start:s.end] }

func (p *pred) compare(raw []byte) truth { return p.args[0].compare(raw, p.op) }

// compare does what the operator does of the value that raw is, null if it is empty, and of the operand.
func (o operand) compare(raw []byte, op gojq.Operator) truth {
	if (op == gojq.OpEq || op == gojq.OpNe) && len(raw) > 0 {
		if same, ok := o.same(raw); ok {
			return truthOf(same == (op == gojq.OpEq))
		}
	}
	v, ok := shallow(raw)
	if !ok {
		return unknown
	}
	holds := [][]gojq.Operator{{gojq.OpNe, gojq.OpLt, gojq.OpLe}, {gojq.OpEq, gojq.OpLe, gojq.OpGe}, {gojq.OpNe, gojq.OpGt, gojq.OpGe}}
	return truthOf(slices.Contains(holds[1+gojq.Compare(v, o.value)], op))
}

// same compares as bytes what is written in the simplest way. ok is false if it is not.
func (o operand) same(raw []byte) (is, ok bool) {
	switch {
	case o.text == "":
		return false, false
	case string(raw) == o.text:
		return true, true
	case o.text[0] == '"':
		return false, raw[0] != '"' || bytes.IndexByte(raw, '\\') < 0
	case raw[0] == '"':
		return false, true
	case raw[0] >= '1' && raw[0] <= '9' && len(raw) <= maxIntDigits:
		for _, c := range raw {
			if !digit(c) {
				return false, false
			}
		}
		return false, true
	}
	return false, false
}

// shallow decodes a scalar; of an array or object it gives an empty one, of which only the type counts.
func shallow(raw []byte) (any, bool) {
	if len(raw) == 0 {
		return nil, true
	}
	switch raw[0] {
	case '{':
		return map[string]any{}, true
	case '[':
		return []any{}, true
	}
	return decodeScalar(raw)
}

// decodeScalar decodes a scalar that was scanned.
func decodeScalar(raw []byte) (any, bool) {
	switch raw[0] {
	case 'n':
		return nil, true
	case 't', 'f':
		return raw[0] == 't', true
	case '"':
		if body := raw[1 : len(raw)-1]; bytes.IndexByte(body, '\\') < 0 {
			return string(body), true
		}
		v, err := jsonx.Parse(raw, limits())
		if err != nil {
			return nil, false
		}
		return v.Str()
	}
	return number(string(raw)), true
}

func (p *pred) text(raw []byte) truth {
	if len(raw) == 0 || raw[0] != '"' || len(raw) > maxTested {
		return unknown
	}
	v, ok := decodeScalar(raw)
	s, isText := v.(string)
	if !ok || !isText {
		return unknown
	}
	word, isWord := p.args[0].value.(string)
	if !isWord {
		return unknown
	}
	switch p.where {
	case "startswith":
		return truthOf(strings.HasPrefix(s, word))
	case "endswith":
		return truthOf(strings.HasSuffix(s, word))
	}
	return truthOf(strings.Contains(s, word))
}

// maxTested is up to what length a string is looked into here, in bytes.
const maxTested = 1 << 20
