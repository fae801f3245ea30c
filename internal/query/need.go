package query

import (
	"cmp"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
)

// need says which part of a place of the input a query reads. The rest need not be decoded: a
// scalar always is, an array or object only as far as needed. The zero value means at most its
// type.
type need struct {
	all        bool // everything below
	fixed      bool // if it is an array: its length and the positions of elements
	fields     map[string]*need
	elems      *need // of each element of an array; nil if the query does not read them
	iterations int   // number of places where the query iterates over the elements
	test       *test // rejects elements that the only iteration discards; may be nil
	ready      bool  // the only iteration is the function ready

	sources []*need // of an array that the query builds: the places of its elements
}

func (n *need) field(name string) *need {
	if n.fields == nil {
		n.fields = map[string]*need{}
	}
	if n.fields[name] == nil {
		n.fields[name] = &need{}
	}
	return n.fields[name]
}

// canSkip reports whether elements that fail the test, or are not ready, may be left out.
func (n *need) canSkip() bool {
	return !n.all && !n.fixed && n.iterations == 1
}

// flow is the set of places that a value of the query can come from. A flow without places is a
// value with nothing of the input that is not needed in full.
type flow struct {
	at []*need
	// the array whose elements this is, one by one, if nothing else has read them
	site *need
}

// asList is the flow of an array of the values.
func (f flow) asList() flow {
	if len(f.at) == 0 {
		return flow{}
	}
	return flow{at: []*need{{sources: f.at}}}
}

func joinFlows(a, b flow) flow {
	return flow{at: slices.Concat(a.at, b.at)}
}

// demand requires all of the values.
func demand(flows ...flow) {
	for _, f := range flows {
		for _, n := range f.at {
			n.all = true
			demand(flow{at: n.sources})
		}
	}
}

// key is the flow of .name.
func (f flow) key(name string) (out flow) {
	for _, n := range f.at {
		if n.sources == nil {
			out.at = append(out.at, n.field(name))
		}
	}
	return out
}

// iterate is the flow of .[].
func (f flow) iterate() (out flow) {
	for _, n := range f.at {
		if n.sources != nil {
			out.at = append(out.at, n.sources...)
			continue
		}
		n.elems = cmp.Or(n.elems, &need{})
		n.iterations++
		out.at = append(out.at, n.elems)
		if len(f.at) == 1 {
			out.site = n
		}
	}
	return out
}

// element is the flow of .[0] and the like: positions of elements matter.
func (f flow) element() flow {
	for _, n := range f.at {
		n.fixed = true
	}
	return flow{at: f.iterate().at}
}

// inferNeeds computes what a query needs of its input, by following where values of the input can
// go. It is conservative: what it does not know needs everything. Two facts keep it simple. An
// error of a run on a part of the input is never shown, because the run is repeated on the whole;
// so only errors caught inside the query matter, and they depend on types, which are always known.
// And what is printed is needed in full.
//
// ok is false for queries that can tell the difference: they read inputs, print on their own, or
// read error messages.
func inferNeeds(q *gojq.Query, globals map[string]any) (root *need, ok bool) {
	root = &need{}
	a := inference{globals: globals}
	demand(a.query(q, flow{at: []*need{root}}))
	return root, !a.needsAll
}

type inference struct {
	globals  map[string]any  // values of external variables
	vars     map[string]flow // bound by the query at this place
	needsAll bool
}

func (a *inference) query(q *gojq.Query, in flow) flow {
	if q == nil {
		return flow{}
	}
	if len(q.FuncDefs) > 0 {
		a.needsAll = true
		return flow{}
	}
	defer func(vars map[string]flow) { a.vars = vars }(a.vars)
	if q.Term != nil {
		return a.term(q.Term, in)
	}

	l := a.query(q.Left, in)
	if q.Op == gojq.OpPipe {
		if len(q.Patterns) > 0 {
			a.bind(q.Patterns, l)
			return a.query(q.Right, in)
		}
		a.selectTest(q.Right, l)
		return a.query(q.Right, flow{at: l.at})
	}

	r := a.query(q.Right, in)
	_, compares := comparisonHolds[q.Op]
	op := q.Op
	switch {
	case op == gojq.OpComma, op == gojq.OpAlt:
		return joinFlows(l, r)
	case op == gojq.OpAnd, op == gojq.OpOr:
		return flow{}
	case compares && (isLiteral(unparen(q.Left)) || isLiteral(unparen(q.Right))):
		return flow{} // compared with a scalar, only the type matters
	case !compares && op > gojq.OpMod:
		demand(in) // assignments change their input anywhere
	}

	demand(l, r)
	return flow{}
}

// unparen removes the parentheses of a query.
func unparen(q *gojq.Query) *gojq.Query {
	for q.Term != nil && len(q.FuncDefs) == 0 && q.Term.Type == gojq.TermTypeQuery &&
		len(q.Term.SuffixList) == 0 {
		q = q.Term.Query
	}
	return q
}

// head returns the term that first gets the input of a query, or nil.
func head(q *gojq.Query) *gojq.Term {
	for q = unparen(q); q.Op == gojq.OpPipe && len(q.Patterns)+len(q.FuncDefs) == 0; {
		q = unparen(q.Left)
	}
	if len(q.FuncDefs) > 0 {
		return nil
	}
	return q.Term
}

// bind adds the variable of a pattern. Destructuring and alternatives need the whole input.
func (a *inference) bind(ps []*gojq.Pattern, from flow) {
	a.needsAll = a.needsAll || len(ps) > 1 || ps[0].Name == ""
	vars := map[string]flow{ps[0].Name: {at: from.at}}
	for name, f := range a.vars {
		if name != ps[0].Name {
			vars[name] = f
		}
	}
	a.vars = vars
}

func (a *inference) term(t *gojq.Term, in flow) flow {
	if t.Type == gojq.TermTypeQuery && len(t.SuffixList) == 0 {
		return a.query(t.Query, in)
	}

	out := a.termHead(t, in)
	out.site = nil
	for _, s := range t.SuffixList {
		switch {
		case s.Iter:
			out = out.iterate()
		case s.Index != nil:
			out = a.index(s.Index, out, in)
		}
	}
	return out
}

// termHead is the flow of a term without its suffixes.
func (a *inference) termHead(t *gojq.Term, in flow) flow {
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
		a.demandObject(t.Object, in)
	case gojq.TermTypeArray:
		return a.query(t.Array.Query, in).asList()
	case gojq.TermTypeFormat, gojq.TermTypeString:
		if t.Str == nil {
			demand(in)
		}
		a.demandText(t.Str, in)
	case gojq.TermTypeIf:
		return a.branches(t.If, in)
	case gojq.TermTypeTry:
		// A handler gets the message, which may contain a value.
		a.needsAll = a.needsAll || t.Try.Catch != nil
		return a.query(t.Try.Body, in)
	case gojq.TermTypeReduce:
		// The state of the loop holds nothing that is not asked for in full.
		source := a.query(t.Reduce.Query, in)
		demand(a.query(t.Reduce.Start, in))
		a.bind(t.Reduce.Patterns, source)
		demand(a.query(t.Reduce.Update, flow{}))
	case gojq.TermTypeQuery:
		return a.query(t.Query, in)
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
	default:
		a.needsAll = true // foreach, label, break, a sign: the whole input
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
		out = joinFlows(out, a.query(e.Then, in))
	}
	return out
}

func (a *inference) demandText(s *gojq.String, in flow) {
	if s != nil {
		for _, q := range s.Queries {
			demand(a.query(q, in))
		}
	}
}

func (a *inference) demandObject(o *gojq.Object, in flow) {
	for _, kv := range o.KeyVals {
		a.demandText(kv.KeyString, in)
		demand(a.query(kv.KeyQuery, in), a.query(kv.Val, in))
		switch {
		case kv.Val != nil:
		case strings.HasPrefix(kv.Key, "$"):
			demand(a.vars[kv.Key])
		case kv.Key != "":
			demand(in.key(kv.Key))
		default:
			demand(in)
		}
	}
}

// index is the flow of an index of base; its expressions get the input of the term.
func (a *inference) index(i *gojq.Index, base, in flow) flow {
	if name, ok := indexKey(i); ok {
		return base.key(name)
	}
	a.demandText(i.Str, in)
	demand(a.query(i.Start, in), a.query(i.End, in))

	switch {
	case i.IsSlice:
		return base.element().asList()
	case i.Start != nil && isNumber(i.Start):
		return base.element()
	}
	demand(base)
	return flow{}
}

// call is the flow of functions that pass values on without reading them in full.
func (a *inference) call(f *gojq.Func, in flow) flow {
	if f.Name[0] == '$' {
		return a.vars[f.Name]
	}
	switch sig := (Function{f.Name, len(f.Args)}).String(); sig {
	case "empty/0", "not/0", "type/0":
		return flow{}
	case "values/0", "nulls/0", "scalars/0", "strings/0", "objects/0":
		return in
	case "first/0", "last/0":
		return in.element()
	case "length/0":
		in.element()
		return flow{}
	case "any/0", "all/0":
		in.iterate()
		return flow{}
	case readyName + "/0":
		return in.readyElements()
	case "select/1":
		a.query(f.Args[0], in)
		return in
	case "map/1":
		elems := in.iterate()
		a.selectTest(f.Args[0], elems)
		return a.query(f.Args[0], flow{at: elems.at}).asList()
	case "any/1", "all/1":
		a.query(f.Args[0], in.iterate())
		return flow{}
	case "sort_by/1", "unique_by/1", "group_by/1", "min_by/1", "max_by/1":
		elems := in.element()
		demand(a.query(f.Args[0], elems))
		switch f.Name {
		case "min_by", "max_by":
			return elems
		case "group_by":
			return elems.asList().asList()
		}
		return elems.asList()
	}

	switch f.Name {
	case "input", "inputs", "debug", "stderr", "input_filename", "halt", "halt_error":
		a.needsAll = true // they have side effects
	}
	// Any other function gets values that are known in full.
	demand(in)
	for _, arg := range f.Args {
		demand(a.query(arg, flow{}))
	}
	return flow{}
}

// comparisonHolds says for each comparison operator whether it holds for less, equal and greater.
var comparisonHolds = map[gojq.Operator][3]bool{
	gojq.OpEq: {false, true, false},
	gojq.OpNe: {true, false, true},
	gojq.OpLt: {true, false, false},
	gojq.OpLe: {true, true, false},
	gojq.OpGt: {false, false, true},
	gojq.OpGe: {false, true, true},
}

// test is a comparison of a member of an element with a scalar.
type test struct {
	name    string
	holds   [3]bool
	swapped bool // the scalar is on the left
	value   any
}

// selectTest records the first comparison in the condition of a leading select that gets the
// elements of an array one by one. If that comparison fails, so does the condition.
func (a *inference) selectTest(q *gojq.Query, in flow) {
	first := head(q)
	if in.site == nil || first == nil || !isCall(first, "select", 1) {
		return
	}

	for q = unparen(first.Func.Args[0]); len(q.FuncDefs) == 0 && q.Op == gojq.OpAnd; {
		q = unparen(q.Left)
	}

	t := &test{holds: comparisonHolds[q.Op]}
	if len(q.FuncDefs) > 0 || t.holds == [3]bool{} {
		return
	}

	other := unparen(q.Right)
	t.name = fieldOf(q.Left)
	if t.name == "" {
		t.name = fieldOf(q.Right)
		t.swapped = true
		other = unparen(q.Left)
	}

	if t.name != "" && a.scalarValue(other, &t.value) {
		in.at[0].field(t.name)
		in.site.test = t
	}
}

// fieldOf returns the name of .name, also with a question mark; empty for anything else.
func fieldOf(q *gojq.Query) string {
	if q.Term == nil || q.Term.Type != gojq.TermTypeIndex || len(q.FuncDefs) > 0 ||
		slices.ContainsFunc(q.Term.SuffixList, func(s *gojq.Suffix) bool {
			return !s.Optional
		}) {
		return ""
	}
	name, _ := indexKey(q.Term.Index)
	return name
}

// scalarValue returns the value of a literal or of an external variable.
func (a *inference) scalarValue(q *gojq.Query, v *any) (ok bool) {
	if isLiteral(q) || isNumber(q) {
		*v, ok = q.Run(nil).Next()
		return ok
	}

	if q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 ||
		q.Term.Type != gojq.TermTypeFunc {
		return false
	}

	*v, ok = a.globals[q.Term.Func.Name]
	_, bound := a.vars[q.Term.Func.Name]
	return ok && !bound && isScalar(*v)
}

// rejects reports whether the comparison certainly fails for a skimmed element. Of a member that is
// an array or an object only the type matters.
func (t *test) rejects(v *jsonx.Value) bool {
	if !v.Is(jsonx.Dict) {
		return false
	}
	c := gojq.Compare(decode(v.Get(t.name), nil), t.value)
	if t.swapped {
		c = -c
	}
	return !t.holds[1+c]
}
