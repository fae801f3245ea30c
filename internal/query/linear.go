package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// maxWeight is how many times as large as its input what a linear query makes may be.
const maxWeight = 64

// linear tells whether the time and the memory that a query takes are bounded by a multiple of the size of its input, as far
// as its tree shows it: it has no loop, no recursion, no state that grows, no two lists that are gone through within one
// another. What is not known is not linear. big tells which variables from outside hold more than a scalar.
func linear(q *gojq.Query, big func(name string) bool) bool {
	g := growth{big: big}
	g.query(q, 0)
	return !g.lost
}

// extent is what a query makes of one input: of what size, in multiples of the input, and whether as several results.
type extent struct {
	weight int
	many   bool
}

// growth finds extents. The depth of a place in a query is how many times its input may have been split up since the start.
type growth struct {
	big  func(name string) bool
	vars []scoped
	lost bool
}

type scoped struct {
	name  string
	depth int
	extent
}

// refuse loses if something is so. Its argument is computed first, and may lose by itself.
func (g *growth) refuse(so bool) {
	if so {
		g.lost = true
	}
}

func (g *growth) lose() extent {
	g.lost = true
	return extent{weight: 1}
}

// sum is the extent of results that are made of both, one beside the other. Two lists beside one another make every pair.
func (g *growth) sum(a, b extent) extent {
	g.refuse(a.many && b.many)
	return extent{min(a.weight+b.weight, maxWeight+1), a.many || b.many}
}

func (g *growth) query(q *gojq.Query, depth int) extent {
	if q == nil {
		return extent{weight: 1}
	}
	out := g.shape(q, depth)
	g.refuse(out.weight > maxWeight)
	return out
}

func (g *growth) shape(q *gojq.Query, depth int) extent {
	if len(q.FuncDefs) > 0 {
		return g.lose()
	}
	if q.Term != nil {
		return g.term(q.Term, depth)
	}
	if q.Op == gojq.OpPipe {
		return g.pipe(q, depth)
	}
	l, r := g.query(q.Left, depth), g.query(q.Right, depth)
	if q.Op == gojq.OpComma || q.Op == gojq.OpAlt {
		return extent{min(l.weight+r.weight, maxWeight+1), q.Op == gojq.OpComma || l.many || r.many}
	}
	out := g.sum(l, r)
	switch op := q.Op; {
	case comparing(op), op == gojq.OpAnd, op == gojq.OpOr:
		out.weight = 1
	case op == gojq.OpAdd, op == gojq.OpDiv, op == gojq.OpMod:
	case op == gojq.OpSub:
		// Arrays are compared each with each.
		g.refuse(!scalar(q.Left) && !scalar(q.Right))
	case op == gojq.OpMul:
		// A string is repeated.
		n := max(factor(q.Left), factor(q.Right))
		g.refuse(n == 0)
		out.weight = min(out.weight*n, maxWeight+1)
	default:
		return g.lose()
	}
	return out
}

// factor gives the value of a small number, 0 for everything else.
func factor(q *gojq.Query) int {
	if q.Term == nil || q.Term.Type != gojq.TermTypeNumber || !literal(q) {
		return 0
	}
	n, err := strconv.ParseFloat(q.Term.Number, 64)
	if err != nil || n > maxWeight {
		return 0
	}
	return max(int(n), 1)
}

func (g *growth) pipe(q *gojq.Query, depth int) extent {
	n := len(g.vars)
	defer func() { g.vars = g.vars[:n] }()
	l := g.query(q.Left, depth)
	if len(q.Patterns) > 0 {
		if l.many || len(q.Patterns) > 1 || q.Patterns[0].Name == "" {
			return g.lose() // what stands behind it sees the same input for each value
		}
		g.vars = append(g.vars, scoped{q.Patterns[0].Name, depth, l})
		return g.query(q.Right, depth)
	}
	if l.many {
		depth++
	}
	r := g.query(q.Right, depth)
	return extent{min(l.weight*r.weight, maxWeight+1), l.many || r.many}
}

func (g *growth) term(t *gojq.Term, depth int) extent {
	out := g.head(t, depth)
	for _, s := range t.SuffixList {
		switch {
		case s.Iter:
			out.many = true
		case s.Index != nil:
			g.index(s.Index, out, depth)
		}
	}
	return out
}

func (g *growth) index(i *gojq.Index, base extent, depth int) {
	for _, q := range []*gojq.Query{i.Start, i.End} {
		g.refuse(q != nil && !literal(q) && !wholeNumber(q) && (base.many || g.query(q, depth).many))
	}
	if i.Str != nil {
		g.text(i.Str, depth)
	}
}

func (g *growth) head(t *gojq.Term, depth int) extent {
	one := extent{weight: 1}
	switch t.Type {
	case gojq.TermTypeIdentity, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber, gojq.TermTypeBreak:
	case gojq.TermTypeRecurse:
		return extent{16, true}
	case gojq.TermTypeIndex:
		g.index(t.Index, one, depth)
	case gojq.TermTypeFunc:
		return g.call(t.Func, depth)
	case gojq.TermTypeObject:
		return g.object(t.Object, depth)
	case gojq.TermTypeArray:
		return extent{weight: g.query(t.Array.Query, depth).weight}
	case gojq.TermTypeUnary:
		return g.term(t.Unary.Term, depth)
	case gojq.TermTypeFormat:
		if t.Str == nil {
			return extent{weight: 8}
		}
		return g.text(t.Str, depth)
	case gojq.TermTypeString:
		return g.text(t.Str, depth)
	case gojq.TermTypeIf:
		return g.branches(t.If, depth)
	case gojq.TermTypeTry:
		body, catch := g.query(t.Try.Body, depth), g.query(t.Try.Catch, depth)
		return extent{min(body.weight+catch.weight, maxWeight+1), body.many || catch.many}
	case gojq.TermTypeLabel:
		return g.query(t.Label.Body, depth)
	case gojq.TermTypeQuery:
		return g.query(t.Query, depth)
	case gojq.TermTypeReduce, gojq.TermTypeForeach:
		return g.lose()
	}
	return one
}

func (g *growth) branches(f *gojq.If, depth int) extent {
	out := g.query(f.Then, depth)
	conds, rest := []*gojq.Query{f.Cond}, []*gojq.Query{f.Else}
	for _, e := range f.Elif {
		conds, rest = append(conds, e.Cond), append(rest, e.Then)
	}
	for _, q := range conds {
		g.refuse(g.query(q, depth).many)
	}
	for _, q := range rest {
		e := g.query(q, depth)
		out = extent{min(out.weight+e.weight, maxWeight+1), out.many || e.many}
	}
	return out
}

func (g *growth) text(s *gojq.String, depth int) extent {
	out := extent{weight: 1}
	for _, q := range s.Queries {
		out = g.sum(out, g.query(q, depth))
	}
	return out
}

func (g *growth) object(o *gojq.Object, depth int) extent {
	out := extent{}
	for _, kv := range o.KeyVals {
		if kv.KeyString != nil {
			out = g.sum(out, g.text(kv.KeyString, depth))
		}
		if kv.KeyQuery != nil {
			out = g.sum(out, g.query(kv.KeyQuery, depth))
		}
		if strings.HasPrefix(kv.Key, "$") {
			out = g.sum(out, g.variable(kv.Key, depth))
			continue
		}
		out = g.sum(out, g.query(kv.Val, depth))
	}
	return extent{max(out.weight, 1), out.many}
}

func (g *growth) variable(name string, depth int) extent {
	for _, v := range slices.Backward(g.vars) {
		if v.name == name {
			g.refuse(v.depth != depth)
			return v.extent
		}
	}
	g.refuse(depth > 0 && g.big(name))
	return extent{weight: 1}
}

// plainFunctions gives how much larger than its input the result of a function without arguments can be, and of functions
// with one argument if that is a literal.
func plainFunctions() map[Function]int {
	m := map[Function]int{
		{"tojson", 0}: 8, {"tostring", 0}: 8, {"to_entries", 0}: 3, {"from_entries", 0}: 3, {"explode", 0}: 32, {"fromjson", 0}: 8, {"paths", 0}: 16, {"leaf_paths", 0}: 16,
	}
	for _, name := range []string{
		"empty", "not", "type", "values", "nulls", "booleans", "numbers", "strings", "arrays", "objects", "iterables", "scalars", "length", "first", "last", "keys",
		"reverse", "sort", "unique", "min", "max", "add", "any", "all", "flatten", "floor", "ceil", "round", "sqrt", "abs", "fabs", "tonumber", "ascii_downcase",
		"ascii_upcase", "ltrim", "rtrim", "trim", "utf8bytelength", "implode", "now", "todate", "fromdate", "todateiso8601", "fromdateiso8601", "error", "halt",
		"halt_error", "input", "debug", "stderr", "input_filename", "infinite", "nan", "isnan", "isinfinite", "mktime", "gmtime",
	} {
		m[Function{name, 0}] = 1
	}
	for _, name := range []string{
		"has", "contains", "inside", "startswith", "endswith", "test", "ltrimstr", "rtrimstr", "trimstr", "join", "index", "rindex", "indices", "nth", "strftime",
		"strptime", "flatten", "error", "halt_error",
	} {
		m[Function{name, 1}] = 1
	}
	m[Function{"split", 1}] = 32
	return m
}

func (g *growth) call(f *gojq.Func, depth int) extent {
	if f.Name[0] == '$' {
		return g.variable(f.Name, depth)
	}
	if weight, ok := plainFunctions()[Function{f.Name, len(f.Args)}]; ok {
		for _, arg := range f.Args {
			g.refuse(!g.brief(arg))
		}
		return extent{weight: weight, many: f.Name == "paths" || f.Name == "leaf_paths"}
	}
	switch (Function{f.Name, len(f.Args)}) {
	case Function{"inputs", 0}, Function{readyName, 0}:
		return extent{1, true}
	case Function{"INDEX", 1}:
		g.query(f.Args[0], depth+1)
		return extent{weight: 2}
	case Function{"INDEX", 2}:
		return extent{weight: 2 * g.pipe(&gojq.Query{Op: gojq.OpPipe, Left: f.Args[0], Right: f.Args[1]}, depth).weight}
	case Function{"select", 1}:
		g.refuse(g.query(f.Args[0], depth).many)
		return extent{weight: 1}
	case Function{"map", 1}:
		return extent{weight: g.query(f.Args[0], depth+1).weight}
	case Function{"with_entries", 1}:
		return extent{weight: 3 * g.query(f.Args[0], depth+1).weight}
	case Function{"any", 1}, Function{"all", 1}, Function{"sort_by", 1}, Function{"group_by", 1}, Function{"unique_by", 1}, Function{"min_by", 1}, Function{"max_by", 1}:
		g.query(f.Args[0], depth+1)
		return extent{weight: 1}
	case Function{"any", 2}, Function{"all", 2}:
		g.pipe(&gojq.Query{Op: gojq.OpPipe, Left: f.Args[0], Right: f.Args[1]}, depth)
		return extent{weight: 1}
	case Function{"first", 1}, Function{"last", 1}:
		return extent{weight: g.query(f.Args[0], depth).weight}
	case Function{"isempty", 1}:
		g.query(f.Args[0], depth)
		return extent{weight: 1}
	case Function{"limit", 2}, Function{"skip", 2}, Function{"nth", 2}:
		g.refuse(!g.brief(f.Args[0]))
		return g.query(f.Args[1], depth)
	case Function{"IN", 1}:
		g.refuse(!g.brief(f.Args[0]))
		return extent{weight: 1}
	case Function{"del", 1}:
		g.refuse(!fixed(f.Args[0]))
		return extent{weight: 1}
	}
	return g.lose()
}

// brief tells whether a query is a literal, a few of them in an array or with commas, or a scalar from outside.
func (g *growth) brief(q *gojq.Query) bool {
	if len(q.FuncDefs) > 0 {
		return false
	}
	if q.Term == nil {
		return q.Op == gojq.OpComma && g.brief(q.Left) && g.brief(q.Right)
	}
	t := q.Term
	if literal(q) {
		return true
	}
	if len(t.SuffixList) > 0 {
		return false
	}
	if t.Type == gojq.TermTypeFunc && t.Func.Name[0] == '$' {
		bound := slices.ContainsFunc(g.vars, func(v scoped) bool { return v.name == t.Func.Name })
		return !bound && !g.big(t.Func.Name)
	}
	return t.Type == gojq.TermTypeArray && t.Array.Query != nil && g.brief(t.Array.Query) || t.Type == gojq.TermTypeUnary && t.Unary.Term.Type == gojq.TermTypeNumber
}

// fixed tells whether a query is a field, or several with commas.
func fixed(q *gojq.Query) bool {
	if q.Term == nil {
		return len(q.FuncDefs) == 0 && q.Op == gojq.OpComma && fixed(q.Left) && fixed(q.Right)
	}
	_, ok := fieldOf(q)
	return ok
}
