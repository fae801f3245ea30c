package query

import (
	"bytes"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
)

// need says how much of one place of an input a query looks at. What it does not look at need not be decoded: a
// scalar always is, an array or object only as far as it says. The zero value is a query that asks at most for the
// type.
type need struct {
	all    bool // everything below
	fixed  bool // if it is an array: how many elements it has, and which one stands where
	fields []field
	elems  *need // of each element, if it is an array; nil if the query does not look at them
	sites  int   // in how many places the query goes through the elements
	test   *test // fails for elements that the one site has no use for; may be nil
	ready  bool  // the one site is the function ready
}

type field struct {
	name string
	need *need
}

// find gives the need of a key, nil if there is none.
func (n *need) find(name string) *need {
	if i := slices.IndexFunc(n.fields, func(f field) bool { return f.name == name }); i >= 0 {
		return n.fields[i].need
	}
	return nil
}

func (n *need) field(name string) *need {
	if f := n.find(name); f != nil {
		return f
	}
	n.fields = append(n.fields, field{name, &need{}})
	return n.fields[len(n.fields)-1].need
}

// drops tells whether elements that fail the test, or are not ready, may be left out.
func (n *need) drops() bool { return !n.all && !n.fixed && n.sites == 1 }

// flow is where the values of one place of a query can come from: places of the input, or, with depth, arrays that
// the query made, nested so often, of values from there. A flow without places is of values that hold nothing of the
// input that is not asked for in full.
type flow struct {
	at    []*need
	depth int
	site  *need // the array whose elements come here one by one, and nothing else has looked at them yet
}

func (f flow) plain() flow { return flow{at: f.at, depth: f.depth} }

// list is the flow of an array that is made of the values.
func (f flow) list() flow { return flow{at: f.at, depth: f.depth + 1} }

func join(a, b flow) flow {
	switch {
	case len(a.at) == 0:
		return b.plain()
	case len(b.at) > 0 && a.depth != b.depth:
		demand(a, b)
		return flow{}
	}
	return flow{at: slices.Concat(a.at, b.at), depth: a.depth}
}

// demand asks for all of the values.
func demand(flows ...flow) {
	for _, f := range flows {
		for _, n := range f.at {
			n.all = true
		}
	}
}

// key is the flow of .name.
func (f flow) key(name string) flow {
	var out flow
	if f.depth > 0 {
		return out
	}
	for _, n := range f.at {
		out.at = append(out.at, n.field(name))
	}
	return out
}

// iterate is the flow of .[].
func (f flow) iterate() flow {
	if f.depth > 0 {
		return flow{at: f.at, depth: f.depth - 1}
	}
	var out flow
	for _, n := range f.at {
		if n.elems == nil {
			n.elems = &need{}
		}
		n.sites++
		out.at = append(out.at, n.elems)
	}
	if len(f.at) == 1 {
		out.site = f.at[0]
	}
	return out
}

// element is the flow of .[0] and its like: the place of an element counts.
func (f flow) element() flow {
	f.counted()
	return f.iterate().plain()
}

// counted asks for the number of elements.
func (f flow) counted() {
	if f.depth > 0 {
		return
	}
	for _, n := range f.at {
		n.fixed = true
		if n.elems == nil {
			n.elems = &need{}
		}
	}
}

// infer finds out what a query needs of its input, by following where the values of the input can go. It is careful
// in one direction: what it does not know asks for everything. Two things let it be simple. An error of a run on a
// part of the input is never shown, the run is repeated on the whole; so only what is caught inside the query
// matters, and that depends on types, which are always known. And what is printed is asked for in full.
//
// ok is false for queries that can tell the difference: they read inputs, print on their own, or look at error
// messages.
func infer(q *gojq.Query, globals map[string]any) (root *need, ok bool) {
	root = &need{}
	a := inference{globals: globals}
	demand(a.query(q, flow{at: []*need{root}}))
	return root, !a.lost
}

type inference struct {
	globals map[string]any // values of the variables that are given from outside
	vars    []variable     // bound by the query, innermost last
	lost    bool
}

type variable struct {
	name string
	flow flow
}

func (a *inference) lookup(name string) (flow, bool) {
	for _, v := range slices.Backward(a.vars) {
		if v.name == name {
			return v.flow, true
		}
	}
	return flow{}, false
}

// query gives the flow of the results of q for an input. Only a pipe keeps the site of its input.
func (a *inference) query(q *gojq.Query, in flow) flow {
	if q == nil {
		return flow{}
	}
	if len(q.FuncDefs) > 0 {
		a.lost = true
		return flow{}
	}
	defer func(n int) { a.vars = a.vars[:n] }(len(a.vars))
	if q.Term != nil {
		return a.term(q.Term, in)
	}
	if q.Op == gojq.OpPipe && len(q.Patterns) == 0 {
		return a.query(q.Right, a.query(q.Left, in))
	}
	in = in.plain()
	l := a.query(q.Left, in)
	if q.Op == gojq.OpPipe {
		a.bind(q.Patterns, l)
		return a.query(q.Right, in)
	}
	r := a.query(q.Right, in)
	_, compares := holds[q.Op]
	switch op := q.Op; {
	case op == gojq.OpComma, op == gojq.OpAlt:
		return join(l, r)
	case op == gojq.OpAnd, op == gojq.OpOr:
		return flow{}
	case compares && (literal(inner(q.Left)) || literal(inner(q.Right))):
		return flow{} // beside a scalar only the type of an array or object counts
	case !compares && op > gojq.OpMod:
		demand(in) // assignments change their input at any place
	}
	demand(l, r)
	return flow{}
}

// inner takes the parentheses off a query.
func inner(q *gojq.Query) *gojq.Query {
	for q.Term != nil && len(q.FuncDefs) == 0 && q.Term.Type == gojq.TermTypeQuery && len(q.Term.SuffixList) == 0 {
		q = q.Term.Query
	}
	return q
}

// bind enters the variable of a pattern. What is taken apart, or bound in several ways, is left to the whole input.
func (a *inference) bind(ps []*gojq.Pattern, from flow) {
	a.lost = a.lost || len(ps) > 1 || ps[0].Name == ""
	a.vars = append(a.vars, variable{ps[0].Name, from.plain()})
}

func (a *inference) term(t *gojq.Term, in flow) flow {
	if len(t.SuffixList) == 0 {
		// These hand on the elements that come in, nothing else does.
		switch {
		case t.Type == gojq.TermTypeIdentity:
			return in
		case t.Type == gojq.TermTypeQuery:
			return a.query(t.Query, in)
		case t.Type == gojq.TermTypeFunc && t.Func.Name == "select" && len(t.Func.Args) == 1 && in.site != nil:
			in.site.test = a.leading(t.Func.Args[0], in.at[0])
		}
	}
	in = in.plain()
	out := a.head(t, in)
	for _, s := range t.SuffixList {
		switch {
		case s.Iter:
			out = out.iterate()
		case s.Index != nil:
			out = a.index(s.Index, out.plain(), in)
		}
	}
	return out
}

// head is the flow of a term without its suffixes.
func (a *inference) head(t *gojq.Term, in flow) flow {
	switch t.Type { //nolint:exhaustive // the others are taken together
	case gojq.TermTypeIdentity:
		return in
	case gojq.TermTypeRecurse:
		demand(in)
	case gojq.TermTypeIndex:
		return a.index(t.Index, in, in)
	case gojq.TermTypeFunc:
		return a.call(t.Func, in)
	case gojq.TermTypeObject:
		a.object(t.Object, in)
	case gojq.TermTypeArray:
		return a.query(t.Array.Query, in).list()
	case gojq.TermTypeFormat, gojq.TermTypeString:
		if t.Str == nil {
			demand(in)
		}
		a.text(t.Str, in)
	case gojq.TermTypeIf:
		return a.branches(t.If, in)
	case gojq.TermTypeTry:
		// A handler sees the message, which may show a value.
		a.lost = a.lost || t.Try.Catch != nil
		return a.query(t.Try.Body, in).plain()
	case gojq.TermTypeReduce:
		// The state of the loop holds nothing that is not asked for in full.
		source := a.query(t.Reduce.Query, in)
		demand(a.query(t.Reduce.Start, in))
		a.bind(t.Reduce.Patterns, source)
		demand(a.query(t.Reduce.Update, flow{}))
	case gojq.TermTypeQuery:
		return a.query(t.Query, in).plain()
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
	default:
		a.lost = true // foreach, label, break, a sign: the whole input
	}
	return flow{}
}

func (a *inference) branches(f *gojq.If, in flow) flow {
	out := in
	if f.Else != nil {
		out = a.query(f.Else, in)
	}
	for _, e := range append(f.Elif, &gojq.IfElif{Cond: f.Cond, Then: f.Then}) {
		a.query(e.Cond, in)
		out = join(out, a.query(e.Then, in))
	}
	return out
}

func (a *inference) text(s *gojq.String, in flow) {
	if s == nil {
		return
	}
	for _, q := range s.Queries {
		demand(a.query(q, in))
	}
}

func (a *inference) object(o *gojq.Object, in flow) {
	for _, kv := range o.KeyVals {
		a.text(kv.KeyString, in)
		demand(a.query(kv.KeyQuery, in), a.query(kv.Val, in))
		switch v, _ := a.lookup(kv.Key); {
		case kv.Val != nil:
		case strings.HasPrefix(kv.Key, "$"):
			demand(v)
		case kv.Key != "":
			demand(in.key(kv.Key))
		case kv.KeyString != nil && kv.KeyString.Queries == nil:
			demand(in.key(kv.KeyString.Str))
		default:
			demand(in)
		}
	}
}

// index is the flow of an index of base; the expressions of it see the input of the term.
func (a *inference) index(i *gojq.Index, base, in flow) flow {
	if name, ok := indexKey(i); ok {
		return base.key(name)
	}
	a.text(i.Str, in)
	demand(a.query(i.Start, in), a.query(i.End, in))
	if i.IsSlice {
		return base.element().list()
	}
	if i.Start != nil && wholeNumber(i.Start) {
		return base.element()
	}
	demand(base)
	return flow{}
}

func wholeNumber(q *gojq.Query) bool {
	if q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 {
		return false
	}
	t := q.Term
	if t.Type == gojq.TermTypeUnary && len(t.Unary.Term.SuffixList) == 0 {
		t = t.Unary.Term
	}
	return t.Type == gojq.TermTypeNumber
}

// effects are functions whose effect is not only their result.
var effects = []string{"input", "inputs", "debug", "stderr", "input_filename", "halt", "halt_error"}

// passing gives what functions without arguments make of the flow of their input, which they do not look at in full.
var passing = map[string]func(flow) flow{
	"empty": nothing, "not": nothing, "type": nothing, "values": itself, "nulls": itself, "booleans": itself,
	"numbers": itself, "strings": itself, "arrays": itself, "objects": itself, "iterables": itself, "scalars": itself,
	"first": flow.element, "last": flow.element, readyName: flow.ready,
	"length": func(f flow) flow { f.counted(); return flow{} },
	"any":    func(f flow) flow { f.iterate(); return flow{} },
	"all":    func(f flow) flow { f.iterate(); return flow{} },
}

func nothing(flow) flow { return flow{} }

func itself(f flow) flow { return f }

// call is the flow of functions that hand on values without looking at them in full.
func (a *inference) call(f *gojq.Func, in flow) flow {
	if f.Name[0] == '$' {
		v, _ := a.lookup(f.Name)
		return v
	}
	if pass := passing[f.Name]; pass != nil && len(f.Args) == 0 {
		return pass(in)
	}
	switch (Function{f.Name, len(f.Args)}) {
	case Function{"select", 1}:
		a.query(f.Args[0], in)
		return in
	case Function{"map", 1}:
		return a.query(f.Args[0], in.iterate()).list()
	case Function{"any", 1}, Function{"all", 1}:
		a.query(f.Args[0], in.iterate().plain())
		return flow{}
	case Function{"sort_by", 1}, Function{"unique_by", 1}, Function{"group_by", 1}, Function{"min_by", 1},
		Function{"max_by", 1}:
		elems := in.element()
		demand(a.query(f.Args[0], elems))
		switch f.Name {
		case "min_by", "max_by":
			return elems
		case "group_by":
			return elems.list().list()
		}
		return elems.list()
	}
	a.lost = a.lost || slices.Contains(effects, f.Name)
	// Of any other function: whatever it does, it does to values that are known in full.
	demand(in)
	for _, arg := range f.Args {
		demand(a.query(arg, flow{}))
	}
	return flow{}
}

// holds gives of the operators that compare whether they hold for less, equal and greater.
var holds = map[gojq.Operator][3]bool{
	gojq.OpEq: {false, true, false}, gojq.OpNe: {true, false, true}, gojq.OpLt: {true, false, false},
	gojq.OpLe: {true, true, false}, gojq.OpGt: {false, false, true}, gojq.OpGe: {false, true, true},
}

// test is a comparison of a member of an element with a scalar.
type test struct {
	slot    int // of the member among those of the element
	holds   [3]bool
	swapped bool // the scalar stands on the left
	value   any
	text    []byte // how value is written, if it is a string without escapes and has to be equal
}

// leading gives the comparison that a condition begins with, nil if it begins otherwise: where it fails, so does the
// condition, whatever stands behind it.
func (a *inference) leading(q *gojq.Query, elem *need) *test {
	for q = inner(q); len(q.FuncDefs) == 0 && q.Op == gojq.OpAnd; {
		q = inner(q.Left)
	}
	t := &test{holds: holds[q.Op]}
	if len(q.FuncDefs) > 0 || t.holds == [3]bool{} {
		return nil
	}
	name, ok := fieldOf(q.Left)
	other := inner(q.Right)
	if !ok {
		name, t.swapped = fieldOf(q.Right)
		other = inner(q.Left)
	}
	if !ok && !t.swapped || !a.scalar(other, &t.value) {
		return nil
	}
	elem.field(name)
	t.slot = slices.IndexFunc(elem.fields, func(f field) bool { return f.name == name })
	if s, ok := t.value.(string); ok && q.Op == gojq.OpEq {
		t.text = jsonx.AppendString(nil, s)
	}
	return t
}

// fieldOf gives the name of .name, which may have a question mark.
func fieldOf(q *gojq.Query) (string, bool) {
	if q.Term == nil || q.Term.Type != gojq.TermTypeIndex || len(q.FuncDefs) > 0 {
		return "", false
	}
	if slices.ContainsFunc(q.Term.SuffixList, func(s *gojq.Suffix) bool { return !s.Optional }) {
		return "", false
	}
	return indexKey(q.Term.Index)
}

// scalar gives the value of a literal, or of a variable from outside.
func (a *inference) scalar(q *gojq.Query, v *any) (ok bool) {
	if literal(q) || wholeNumber(q) {
		*v, ok = q.Run(nil).Next()
		return ok
	}
	if q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 || q.Term.Type != gojq.TermTypeFunc {
		return false
	}
	*v, ok = a.globals[q.Term.Func.Name]
	_, bound := a.lookup(q.Term.Func.Name)
	return ok && !bound && plain(*v)
}

// fails tells whether the comparison is sure to fail for a member, which is empty if there is none.
func (t *test) fails(raw []byte) bool {
	if t.text != nil && len(raw) > 0 && unescaped(raw) && unescaped(t.text) {
		return !bytes.Equal(raw, t.text)
	}
	v, ok := any(nil), true
	switch {
	case len(raw) == 0:
	case raw[0] == '{': // of arrays and objects only the type counts
		v = map[string]any{}
	case raw[0] == '[':
		v = []any{}
	default:
		v, ok = decodeScalar(raw)
	}
	c := gojq.Compare(v, t.value)
	if t.swapped {
		c = -c
	}
	return ok && !t.holds[1+c]
}

func unescaped(raw []byte) bool { return bytes.IndexByte(raw, '\\') < 0 }
