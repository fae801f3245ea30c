package query

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/itchyny/gojq"
)

// A context stops a query between two of its steps. Some single steps can take minutes or all memory: they are guarded,
// which means that a call of a check is put into the tree before the step. The checks are functions of ours that hand on
// their input or end the query.

// bounds says how large the values of a single step may be.
type bounds struct {
	text  int // bytes of a string that is added, repeated or joined
	items int // elements of an array that is added
	index int // of an array that is assigned to
	regex int // bytes of a string that is searched for every match, which takes quadratic time
	test  int // bytes of a string that is tested against a regular expression
	bits  int // of an integer that is multiplied
	deep  int // bytes, as JSON, of values that a step looks at in full; 0 leaves those steps alone
}

func strictBounds() bounds {
	return bounds{text: 8 << 20, items: 1 << 20, index: 100_000, regex: 16 << 10, test: 1 << 20, bits: 1 << 16, deep: 8 << 20}
}

func looseBounds() bounds {
	return bounds{text: 256 << 20, items: 1 << 24, index: 1 << 24, regex: 256 << 10, test: 256 << 20, bits: 1 << 20}
}

// The names of the checks. No query can call a name that starts with an underscore.
const (
	guardSmall  = "_tercet_small"  // the string or array may be added
	guardDeep   = "_tercet_deep"   // the value is small in full
	guardIndex  = "_tercet_index"  // the index, or every index of the path, may be assigned to
	guardEvent  = "_tercet_event"  // the path of an event of a stream, its first element, may be assigned to
	guardRegex  = "_tercet_regex"  // the string may be searched
	guardTest   = "_tercet_test"   // the string may be tested
	guardRepeat = "_tercet_repeat" // the two arguments may be multiplied
	guardJoin   = "_tercet_join"   // the input may be joined with the argument
)

func guardFunctions(b bounds) []gojq.CompilerOption {
	check := func(name string, args int, bad func(v any, args []any) string) gojq.CompilerOption {
		return gojq.WithFunction(name, args, args, func(v any, args []any) any {
			if msg := bad(v, args); msg != "" {
				return &guardError{msg}
			}
			return v
		})
	}
	return []gojq.CompilerOption{
		check(guardSmall, 0, func(v any, _ []any) string { return b.small(v) }),
		check(guardDeep, 0, func(v any, _ []any) string { return b.whole(v) }),
		check(guardIndex, 0, func(v any, _ []any) string { return b.place(v) }),
		check(guardEvent, 0, func(v any, _ []any) string {
			if event, ok := v.([]any); ok && len(event) > 0 {
				return b.place(event[0])
			}
			return ""
		}),
		check(guardRegex, 0, func(v any, _ []any) string { return longer(v, b.regex, "string to search") }),
		check(guardTest, 0, func(v any, _ []any) string { return longer(v, b.test, "string to test") }),
		check(guardRepeat, 2, func(_ any, args []any) string { return b.product(args[0], args[1]) }),
		check(guardJoin, 1, func(v any, args []any) string { return b.joined(v, args[0]) }),
	}
}

// guardError is a check that fails.
type guardError struct{ msg string }

func (e *guardError) Error() string { return e.msg }

func longer(v any, limit int, what string) string {
	if s, ok := v.(string); ok && len(s) > limit {
		return fmt.Sprintf("%s has %d bytes, over the limit of %d", what, len(s), limit)
	}
	return ""
}

func (b bounds) small(v any) string {
	switch v := v.(type) {
	case string:
		return longer(v, b.text, "string")
	case []any:
		if len(v) > b.items {
			return fmt.Sprintf("array has %d elements, over the limit of %d", len(v), b.items)
		}
	}
	return ""
}

func (b bounds) whole(v any) string {
	if b.deep > 0 && measure(v, b.deep) < 0 {
		return fmt.Sprintf("value is over the limit of %d bytes", b.deep)
	}
	return ""
}

func (b bounds) place(v any) string {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if _, nested := e.([]any); nested {
				continue
			}
			if msg := b.place(e); msg != "" {
				return msg
			}
		}
	case map[string]any:
	default:
		if n, ok := gojq.ToInt(v); ok && n > b.index {
			return fmt.Sprintf("index %d is over the limit of %d", n, b.index)
		}
	}
	return ""
}

func (b bounds) product(l, r any) string {
	s, text := l.(string)
	n := r
	if !text {
		s, text = r.(string)
		n = l
	}
	if text {
		times, ok := gojq.ToFloat64(n)
		if ok && times > 1 && times*float64(len(s)) > float64(b.text) {
			return fmt.Sprintf("string repeated to more than %d bytes", b.text)
		}
		return ""
	}
	for _, v := range []any{l, r} {
		if i, ok := v.(*big.Int); ok && i.BitLen() > b.bits {
			return fmt.Sprintf("integer has %d bits, over the limit of %d", i.BitLen(), b.bits)
		}
		if msg := b.whole(v); msg != "" {
			return msg
		}
	}
	return ""
}

func (b bounds) joined(v, sep any) string {
	list, ok := v.([]any)
	if !ok {
		return ""
	}
	total := 0
	for _, e := range list {
		if s, ok := e.(string); ok {
			total += len(s)
		}
		if s, ok := sep.(string); ok {
			total += len(s)
		}
		if total > b.text {
			return fmt.Sprintf("strings joined to more than %d bytes", b.text)
		}
	}
	return ""
}

// guard puts the checks into a tree that w has walked.
func guard(q *gojq.Query, b bounds, w *walker) {
	g := guarder{bounds: b, global: w.global, defines: w.defines}
	g.query(q)
}

type guarder struct {
	bounds  bounds
	global  map[*gojq.Term]bool
	defines bool
}

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func pipe(l, r *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: l, Op: gojq.OpPipe, Right: r}
}

func bind(value *gojq.Query, name string, body *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: value, Op: gojq.OpPipe, Right: body, Patterns: []*gojq.Pattern{{Name: name}}}
}

// paren makes a query one operand, whatever operator it has and whatever it defines.
func paren(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
}

func identity() *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}
}

// checked is q | check. A literal needs none.
func checked(q *gojq.Query, check string) *gojq.Query {
	if q == nil || literal(q) {
		return q
	}
	return paren(pipe(paren(q), call(check)))
}

func literal(q *gojq.Query) bool {
	if q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 {
		return false
	}
	if q.Term.Type == gojq.TermTypeString {
		return q.Term.Str.Queries == nil
	}
	return slices.Contains([]gojq.TermType{gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber}, q.Term.Type)
}

func (g guarder) queries(list []*gojq.Query) {
	for _, q := range list {
		g.query(q)
	}
}

func (g guarder) query(q *gojq.Query) {
	if q == nil {
		return
	}
	for _, d := range q.FuncDefs {
		g.query(d.Body)
	}
	if q.Term != nil {
		g.term(q.Term)
		return
	}
	g.query(q.Left)
	g.query(q.Right)
	for _, p := range q.Patterns {
		g.pattern(p)
	}
	g.operator(q)
}

func (g guarder) operator(q *gojq.Query) {
	compares := []gojq.Operator{gojq.OpEq, gojq.OpNe, gojq.OpLt, gojq.OpLe, gojq.OpGt, gojq.OpGe, gojq.OpSub}
	switch op := q.Op; {
	case op == gojq.OpAdd:
		q.Left, q.Right = checked(q.Left, guardSmall), checked(q.Right, guardSmall)
	case op == gojq.OpUpdateAdd:
		g.update(q, &gojq.Query{Left: checked(identity(), guardSmall), Op: gojq.OpAdd, Right: checked(call(rightVar), guardSmall)})
	case op == gojq.OpMul:
		g.multiply(q)
	case op == gojq.OpUpdateMul:
		g.update(q, pipe(call(guardRepeat, identity(), call(rightVar)), &gojq.Query{Left: identity(), Op: gojq.OpMul, Right: call(rightVar)}))
	case g.bounds.deep > 0 && slices.Contains(compares, op):
		q.Left, q.Right = checked(q.Left, guardDeep), checked(q.Right, guardDeep)
	}
}

// The variables that a guarded product binds. No query can refer to them: they are unknown to check.
const (
	leftVar  = "$_tercet_left"
	rightVar = "$_tercet_right"
)

// multiply makes l * r into r as $r | l as $l | check($l; $r) | $l * $r, the order in which jq computes operands. What the
// query defines stays around all of it.
func (g guarder) multiply(q *gojq.Query) {
	l, r := call(leftVar), call(rightVar)
	body := pipe(call(guardRepeat, l, r), &gojq.Query{Left: call(leftVar), Op: gojq.OpMul, Right: call(rightVar)})
	*q = gojq.Query{Meta: q.Meta, Imports: q.Imports, FuncDefs: q.FuncDefs, Term: paren(bind(paren(q.Right), rightVar, bind(paren(q.Left), leftVar, body))).Term}
}

// update makes l op= r into r as $r | l |= value, where value is of . and $r.
func (g guarder) update(q, value *gojq.Query) {
	change := &gojq.Query{Left: q.Left, Op: gojq.OpModify, Right: paren(value)}
	*q = gojq.Query{Meta: q.Meta, Imports: q.Imports, FuncDefs: q.FuncDefs, Term: paren(bind(paren(q.Right), rightVar, change)).Term}
}

func (g guarder) pattern(p *gojq.Pattern) {
	if p == nil {
		return
	}
	for _, e := range p.Array {
		g.pattern(e)
	}
	for _, o := range p.Object {
		g.str(o.KeyString)
		g.query(o.KeyQuery)
		g.pattern(o.Val)
	}
}

func (g guarder) term(t *gojq.Term) {
	switch t.Type {
	case gojq.TermTypeIndex:
		g.index(t.Index)
	case gojq.TermTypeObject:
		for _, kv := range t.Object.KeyVals {
			g.str(kv.KeyString)
			g.query(kv.KeyQuery)
			g.query(kv.Val)
		}
	case gojq.TermTypeArray:
		g.query(t.Array.Query)
	case gojq.TermTypeUnary:
		g.term(t.Unary.Term)
	case gojq.TermTypeString:
		g.str(t.Str)
	case gojq.TermTypeIf:
		g.queries([]*gojq.Query{t.If.Cond, t.If.Then, t.If.Else})
		for _, e := range t.If.Elif {
			g.queries([]*gojq.Query{e.Cond, e.Then})
		}
	case gojq.TermTypeTry:
		g.queries([]*gojq.Query{t.Try.Body, t.Try.Catch})
	case gojq.TermTypeReduce:
		g.queries([]*gojq.Query{t.Reduce.Query, t.Reduce.Start, t.Reduce.Update})
	case gojq.TermTypeForeach:
		g.queries([]*gojq.Query{t.Foreach.Query, t.Foreach.Start, t.Foreach.Update, t.Foreach.Extract})
	case gojq.TermTypeLabel:
		g.query(t.Label.Body)
	case gojq.TermTypeQuery:
		g.query(t.Query)
	case gojq.TermTypeFunc:
		g.call(t)
	case gojq.TermTypeFormat:
		g.format(t)
	case gojq.TermTypeIdentity, gojq.TermTypeRecurse, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber, gojq.TermTypeBreak:
	}
	for _, s := range t.SuffixList {
		g.index(s.Index)
	}
}

func (g guarder) index(i *gojq.Index) {
	if i == nil {
		return
	}
	g.str(i.Str)
	g.query(i.Start)
	g.query(i.End)
	if i.Start == nil || i.IsSlice {
		return
	}
	if t := i.Start.Term; t != nil && len(i.Start.FuncDefs) == 0 && len(t.SuffixList) == 0 {
		switch {
		case t.Type == gojq.TermTypeUnary && t.Unary.Op == gojq.OpSub && t.Unary.Term.Type == gojq.TermTypeNumber && len(t.Unary.Term.SuffixList) == 0:
			return // -1: the last elements are never far away
		case t.Type == gojq.TermTypeNumber && len(t.Number) < 5, t.Type == gojq.TermTypeString && t.Str.Queries == nil:
			return
		}
	}
	i.Start = paren(pipe(paren(i.Start), call(guardIndex)))
}

func (g guarder) str(s *gojq.String) {
	if s == nil {
		return
	}
	g.queries(s.Queries)
	for i, q := range s.Queries {
		if q.Term != nil && q.Term.Type == gojq.TermTypeQuery {
			check := guardSmall
			if g.bounds.deep > 0 {
				check = guardDeep
			}
			s.Queries[i] = checked(q, check)
		}
	}
}

func (g guarder) format(t *gojq.Term) {
	if t.Str != nil {
		g.str(t.Str)
		return
	}
	if g.bounds.deep > 0 {
		before(t, call(guardDeep))
	}
}

// before makes a term into (check | term), its suffixes after it.
func before(t *gojq.Term, check *gojq.Query) {
	inner := *t
	inner.SuffixList = nil
	*t = gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(check, &gojq.Query{Term: &inner}), SuffixList: t.SuffixList}
}

func (g guarder) call(t *gojq.Term) {
	f := t.Func
	g.queries(f.Args)
	if !g.global[t] {
		return
	}
	switch f.Name {
	case "test":
		before(t, call(guardTest))
	case "match", "capture", "scan", "splits", "sub", "gsub":
		before(t, call(guardRegex))
	case "split":
		if len(f.Args) == 2 {
			before(t, call(guardRegex))
		}
	case "join":
		if len(f.Args) == 1 {
			sep := f.Args[0]
			f.Args = []*gojq.Query{call(rightVar)}
			inner := *t
			inner.SuffixList = nil
			body := bind(paren(sep), rightVar, pipe(call(guardJoin, call(rightVar)), &gojq.Query{Term: &inner}))
			*t = gojq.Term{Type: gojq.TermTypeQuery, Query: body, SuffixList: t.SuffixList}
		}
	case "setpath":
		if len(f.Args) == 2 {
			f.Args[0] = checked(f.Args[0], guardIndex)
		}
	case "fromstream":
		if len(f.Args) == 1 {
			f.Args[0] = paren(pipe(paren(f.Args[0]), call(guardEvent)))
		}
	case "add":
		g.add(t)
	case "INDEX":
		g.table(t)
	case "tojson", "tostring", "flatten", "sort", "unique", "min", "max", "implode", "transpose", "ascii":
		if g.bounds.deep > 0 {
			before(t, call(guardDeep))
		}
	case "contains", "inside", "index", "rindex", "indices", "bsearch", "sort_by", "group_by", "unique_by", "min_by", "max_by", "IN":
		g.compares(t)
	}
}

// compares checks the input and the arguments of a function that compares values in full.
func (g guarder) compares(t *gojq.Term) {
	if g.bounds.deep == 0 {
		return
	}
	for i, arg := range t.Func.Args {
		t.Func.Args[i] = checked(arg, guardDeep)
	}
	before(t, call(guardDeep))
}

// table makes INDEX(s; f) into ([s | {(f | tostring): .}] | add) // {}, which gives the same and does not copy the
// table for each element. A query that defines functions is left alone: it may give one of these names.
func (g guarder) table(t *gojq.Term) {
	args := t.Func.Args
	if g.defines || len(args) == 0 || len(args) > 2 {
		return
	}
	source := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: []*gojq.Suffix{{Iter: true}}}}
	if len(args) == 2 {
		source = paren(args[0])
	}
	key := paren(pipe(paren(args[len(args)-1]), call("tostring")))
	row := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeObject, Object: &gojq.Object{KeyVals: []*gojq.ObjectKeyVal{{KeyQuery: key, Val: identity()}}}}}
	rows := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: pipe(source, row)}}}
	none := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeObject, Object: &gojq.Object{}}}
	*t = gojq.Term{Type: gojq.TermTypeQuery, Query: &gojq.Query{Left: paren(pipe(rows, call("add"))), Op: gojq.OpAlt, Right: none}, SuffixList: t.SuffixList}
}

// add checks the sum of an array beforehand: its parts may be one long string many times.
func (g guarder) add(t *gojq.Term) {
	check := guardJoin
	switch len(t.Func.Args) {
	case 0:
		before(t, call(check, &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}))
	case 1:
		list := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: t.Func.Args[0]}}}
		t.Func.Args = nil
		inner := *t
		inner.SuffixList = nil
		body := pipe(list, pipe(call(check, &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}), &gojq.Query{Term: &inner}))
		*t = gojq.Term{Type: gojq.TermTypeQuery, Query: body, SuffixList: t.SuffixList}
	}
}
