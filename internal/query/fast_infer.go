package query

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// infer finds out what a query needs of its input, by following where the values of the input can go. It is careful in one
// direction: what it does not know asks for everything. Two things let it be simple. An error of a run on a part of the
// input is never shown, the run is repeated on the whole; so only what is caught inside the query matters, and that
// depends on types, which are always known. And what is printed is asked for in full.
//
// ok is false for queries that can tell the difference: they read inputs, print on their own, or look at error messages.
func infer(q *gojq.Query, globals map[string]any) (root *need, ok bool) {
	root = &need{}
	a := inference{globals: globals}
	out := a.query(q, flow{at: []*need{root}})
	demand(out)
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

func (a *inference) scope() func() {
	n := len(a.vars)
	return func() { a.vars = a.vars[:n] }
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
	if q.Term != nil {
		return a.term(q.Term, in)
	}
	switch op := q.Op; {
	case op == gojq.OpPipe:
		return a.pipe(q, in)
	case op == gojq.OpComma, op == gojq.OpAlt:
		return join(a.query(q.Left, in.plain()), a.query(q.Right, in.plain()))
	case op == gojq.OpAnd, op == gojq.OpOr:
		a.query(q.Left, in.plain())
		a.query(q.Right, in.plain())
		return flow{}
	case comparing(op):
		l, r := a.query(q.Left, in.plain()), a.query(q.Right, in.plain())
		// Beside a scalar only the type of an array or object counts.
		if !scalar(q.Right) {
			demand(l)
		}
		if !scalar(q.Left) {
			demand(r)
		}
		return flow{}
	case slices.Contains([]gojq.Operator{gojq.OpAdd, gojq.OpSub, gojq.OpMul, gojq.OpDiv, gojq.OpMod}, op):
		demand(a.query(q.Left, in.plain()))
		demand(a.query(q.Right, in.plain()))
		return flow{}
	}
	// Assignments change their input at any place.
	demand(in)
	demand(a.query(q.Left, in.plain()))
	demand(a.query(q.Right, in.plain()))
	return flow{}
}

func comparing(op gojq.Operator) bool {
	return slices.Contains([]gojq.Operator{gojq.OpEq, gojq.OpNe, gojq.OpLt, gojq.OpLe, gojq.OpGt, gojq.OpGe}, op)
}

// scalar tells whether a query is the literal of a scalar.
func scalar(q *gojq.Query) bool {
	for q != nil && q.Term != nil && len(q.FuncDefs) == 0 && q.Term.Type == gojq.TermTypeQuery && len(q.Term.SuffixList) == 0 {
		q = q.Term.Query
	}
	return q != nil && literal(q)
}

func (a *inference) pipe(q *gojq.Query, in flow) flow {
	defer a.scope()()
	if len(q.Patterns) > 0 {
		a.bind(q.Patterns, a.query(q.Left, in.plain()))
		return a.query(q.Right, in.plain())
	}
	return a.query(q.Right, a.query(q.Left, in))
}

// bind enters the variables of patterns. One that is a name has the flow of the value; what is taken apart is asked for.
func (a *inference) bind(ps []*gojq.Pattern, from flow) {
	if len(ps) == 1 && ps[0].Name != "" {
		a.vars = append(a.vars, variable{ps[0].Name, from.plain()})
		return
	}
	demand(from)
	for _, p := range ps {
		a.pattern(p)
	}
}

func (a *inference) pattern(p *gojq.Pattern) {
	if p == nil {
		return
	}
	if p.Name != "" {
		a.vars = append(a.vars, variable{name: p.Name})
	}
	for _, e := range p.Array {
		a.pattern(e)
	}
	for _, o := range p.Object {
		if o.KeyQuery != nil || o.KeyString != nil && o.KeyString.Queries != nil {
			a.lost = true
		}
		if strings.HasPrefix(o.Key, "$") {
			a.vars = append(a.vars, variable{name: o.Key})
		}
		a.pattern(o.Val)
	}
}

func (a *inference) term(t *gojq.Term, in flow) flow {
	// A selection of elements hands on the elements, nothing else does.
	if t.Type == gojq.TermTypeFunc && t.Func.Name == "select" && len(t.Func.Args) == 1 && len(t.SuffixList) == 0 {
		a.query(t.Func.Args[0], in.plain())
		if in.site != nil {
			in.site.pred = both(in.site.pred, a.predicate(t.Func.Args[0]))
		}
		return in
	}
	if t.Type == gojq.TermTypeQuery && len(t.SuffixList) == 0 {
		defer a.scope()()
		return a.query(t.Query, in)
	}
	if t.Type == gojq.TermTypeIdentity && len(t.SuffixList) == 0 {
		return in
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
	defer a.scope()()
	switch t.Type {
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
		elems := a.query(t.Array.Query, in).plain()
		return flow{list: &elems}
	case gojq.TermTypeUnary:
		demand(a.term(t.Unary.Term, in))
	case gojq.TermTypeFormat:
		if t.Str == nil {
			demand(in)
		}
		a.text(t.Str, in)
	case gojq.TermTypeString:
		a.text(t.Str, in)
	case gojq.TermTypeIf:
		return a.branches(t.If, in)
	case gojq.TermTypeTry:
		// A handler sees the message, which may show a value.
		a.lost = a.lost || t.Try.Catch != nil
		return a.query(t.Try.Body, in).plain()
	case gojq.TermTypeReduce:
		a.bindLoop(t.Reduce.Patterns, a.query(t.Reduce.Query, in), t.Reduce.Start, in)
		demand(a.query(t.Reduce.Update, flow{}))
	case gojq.TermTypeForeach:
		a.bindLoop(t.Foreach.Patterns, a.query(t.Foreach.Query, in), t.Foreach.Start, in)
		demand(a.query(t.Foreach.Update, flow{}))
		return a.query(t.Foreach.Extract, flow{}).plain()
	case gojq.TermTypeLabel:
		return a.query(t.Label.Body, in).plain()
	case gojq.TermTypeQuery:
		return a.query(t.Query, in).plain()
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber, gojq.TermTypeBreak:
	}
	return flow{}
}

// bindLoop binds the variables of reduce and foreach. What becomes the state of the loop is asked for, so that the state
// holds nothing that is not.
func (a *inference) bindLoop(ps []*gojq.Pattern, source flow, start *gojq.Query, in flow) {
	demand(a.query(start, in))
	a.bind(ps, source.plain())
}

func (a *inference) branches(f *gojq.If, in flow) flow {
	a.query(f.Cond, in)
	out := a.query(f.Then, in).plain()
	for _, e := range f.Elif {
		a.query(e.Cond, in)
		out = join(out, a.query(e.Then, in))
	}
	if f.Else == nil {
		return join(out, in)
	}
	return join(out, a.query(f.Else, in))
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
		demand(a.query(kv.KeyQuery, in))
		if kv.Val != nil {
			demand(a.query(kv.Val, in))
			continue
		}
		switch {
		case strings.HasPrefix(kv.Key, "$"):
			v, _ := a.lookup(kv.Key)
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
	demand(a.query(i.Start, in))
	demand(a.query(i.End, in))
	if i.IsSlice {
		elems := base.element()
		return flow{list: &elems, at: nil}
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

func (a *inference) call(f *gojq.Func, in flow) flow {
	if f.Name[0] == '$' {
		v, _ := a.lookup(f.Name)
		return v
	}
	if out, ok := a.known(f, in); ok {
		return out
	}
	if slices.Contains(observers(), f.Name) {
		a.lost = true
	}
	// Of any other function: whatever it does, it does to values that are known in full.
	demand(in)
	for _, arg := range f.Args {
		demand(a.query(arg, flow{}))
	}
	return flow{}
}

// observers are functions whose effect is not only their result.
func observers() []string {
	return []string{"input", "inputs", "debug", "stderr", "input_filename", "halt", "halt_error"}
}

// known is the flow of functions that hand on values without looking at them in full.
func (a *inference) known(f *gojq.Func, in flow) (flow, bool) {
	var arg [2]*gojq.Query
	if len(f.Args) > len(arg) {
		return flow{}, false
	}
	copy(arg[:], f.Args)
	switch (Function{f.Name, len(f.Args)}) {
	case Function{readyName, 0}:
		return in.ready(), true
	case Function{"empty", 0}, Function{"not", 0}, Function{"type", 0}:
		return flow{}, true
	case Function{"values", 0}, Function{"nulls", 0}, Function{"booleans", 0}, Function{"numbers", 0}, Function{"strings", 0},
		Function{"arrays", 0}, Function{"objects", 0}, Function{"iterables", 0}, Function{"scalars", 0}:
		return in, true
	case Function{"select", 1}:
		a.query(arg[0], in)
		return in, true
	case Function{"map", 1}:
		elems := a.query(arg[0], in.iterate()).plain()
		return flow{list: &elems}, true
	case Function{"length", 0}:
		in.counted()
		return flow{}, true
	case Function{"first", 0}, Function{"last", 0}:
		return in.element(), true
	case Function{"reverse", 0}:
		elems := in.element()
		return flow{list: &elems}, true
	case Function{"has", 1}:
		if arg[0].Term == nil || arg[0].Term.Type != gojq.TermTypeString || !literal(arg[0]) {
			return flow{}, false
		}
		in.key(arg[0].Term.Str.Str)
		return flow{}, true
	case Function{"first", 1}, Function{"last", 1}:
		return a.query(arg[0], in).plain(), true
	case Function{"isempty", 1}:
		a.query(arg[0], in)
		return flow{}, true
	case Function{"limit", 2}, Function{"skip", 2}, Function{"nth", 2}:
		demand(a.query(arg[0], in))
		return a.query(arg[1], in).plain(), true
	case Function{"any", 0}, Function{"all", 0}:
		in.iterate()
		return flow{}, true
	case Function{"any", 1}, Function{"all", 1}:
		a.query(arg[0], in.iterate().plain())
		return flow{}, true
	case Function{"any", 2}, Function{"all", 2}:
		a.query(arg[1], a.query(arg[0], in).plain())
		return flow{}, true
	}
	return a.ordered(f, in)
}

// ordered is the flow of functions that sort elements by something of them.
func (a *inference) ordered(f *gojq.Func, in flow) (flow, bool) {
	if len(f.Args) != 1 || !slices.Contains([]string{"sort_by", "group_by", "unique_by", "min_by", "max_by"}, f.Name) {
		return flow{}, false
	}
	elems := in.element()
	demand(a.query(f.Args[0], elems))
	switch f.Name {
	case "min_by", "max_by":
		return elems, true
	case "group_by":
		return flow{list: &flow{list: &elems}}, true
	}
	return flow{list: &elems}, true
}
