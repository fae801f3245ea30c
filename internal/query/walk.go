package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// walker goes through a tree in the order of its source and finds out which variables and functions
// are bound inside it.
type walker struct {
	mentions

	toks  []token
	next  int        // the first token that is not behind the walk
	vars  []string   // bound here, innermost last
	funcs []Function // defined here, innermost last
	own   bool       // what is walked has the query's own input
	// what is walked has the value of a variable's path for its input, or its elements
	of      list
	formats []token
	bounds  bounds
	defs    map[string]string // definitions that the guarded query calls
}

// mentions are what a query refers to.
type mentions struct {
	refs    []Ref
	calls   []Call
	paths   []Ref // static paths that are taken from the query's own input
	members []Member
	keys    []string // members that are taken of anything, "" for one that only a run knows
	risky   bool     // a single step may take all time or memory
}

// Ref is one use of a variable with the static path after it: $steps.plan["artifacts"][0] is $steps
// with plan and artifacts.
type Ref struct {
	Var    string // with its $
	Path   []string
	Offset int  // of the $ in the source, -1 if unknown
	Bound  bool // bound by the query itself: as, reduce, foreach or a parameter
}

// Member is a static path into each element of a variable's list. For example, `$steps.l.children |
// map(.x)` is $steps with l, children and x; x is the element's part.
type Member struct {
	Ref

	From int // length of the prefix of Path that leads to the list
}

// list is the input of a piece of the query: the value of a reference, or its elements one by one.
type list struct {
	ref  Ref
	each bool
}

// Function is a function name with its arity.
type Function struct {
	Name string
	Args int
}

// Call is a call of a function that the query does not define itself.
type Call struct {
	Function

	Offset int // of the name in the source, -1 if unknown
}

// place finds the next token with this text. The walk follows the order of the source, so an
// earlier one is never meant.
func (w *walker) place(text string) int {
	for i := w.next; i < len(w.toks); i++ {
		if w.toks[i].text == text {
			w.next = i + 1
			return w.toks[i].offset
		}
	}
	return -1
}

// scope gives a function that forgets what is bound from here on.
func (w *walker) scope() func() {
	v := len(w.vars)
	f := len(w.funcs)
	return func() {
		w.vars = w.vars[:v]
		w.funcs = w.funcs[:f]
	}
}

func (w *walker) query(q *gojq.Query) {
	if q == nil {
		return
	}
	defer w.scope()()
	for _, d := range q.FuncDefs {
		w.def(d)
	}
	if q.Term != nil {
		w.term(q.Term, nil)
		return
	}
	if q.Op == gojq.OpPipe && len(q.Patterns) == 0 {
		w.pipe(q)
		return
	}
	if q.Op == gojq.OpMul || q.Op == gojq.OpUpdateMul {
		w.risky = w.risky || !small(q.Left) && !small(q.Right) // it may repeat a string
	}
	w.query(q.Left)
	w.patterns(q.Patterns)
	w.query(q.Right)
	w.guardOperator(q)
}

// small tells whether a query is the literal of a number of at most two digits.
func small(q *gojq.Query) bool {
	return wholeNumber(q) && len(q.Term.Number) <= 2
}

// risky tells whether a function may search a string in quadratic time.
func risky(f *gojq.Func) bool {
	switch f.Name {
	case "match", "capture", "scan", "splits", "sub", "gsub":
		return true
	case "test":
		return len(f.Args) == 0 || !literal(f.Args[0])
	}
	return f.Name == "split" && len(f.Args) == 2
}

// apart walks a query that has another input than what stands around it.
func (w *walker) apart(q *gojq.Query) {
	w.on(list{}, q)
}

// on walks a query whose input is something of a variable, or nothing that is known.
func (w *walker) on(of list, q *gojq.Query) {
	own := w.own
	outer := w.of
	w.own = false
	w.of = of
	w.query(q)
	w.own = own
	w.of = outer
}

// pipe lets the path of a variable on the left go on with the path that the right side starts with:
// $steps | .plan.
func (w *walker) pipe(q *gojq.Query) {
	var of list
	if l := q.Left; l != nil && l.Term != nil && len(l.FuncDefs) == 0 {
		before := len(w.refs)
		w.term(l.Term, leading(q.Right))
		of = w.given(l.Term, before)
	} else {
		w.query(l)
	}
	w.on(of, q.Right)
}

// given is what the term on the left of a pipe gives to its right, if that is part of a variable.
// ref is the place of its use in refs.
func (w *walker) given(t *gojq.Term, ref int) list {
	keys, rest := static(suffixes(t))
	each := elements(rest)
	switch {
	case t.Type == gojq.TermTypeFunc && t.Func.Name[0] == '$' && (len(rest) == 0 || each):
		r := w.refs[ref]
		r.Path = keys
		return list{r, each}
	case (t.Type == gojq.TermTypeIdentity || t.Type == gojq.TermTypeIndex) && each &&
		len(keys) == 0 && !w.of.each:
		return list{w.of.ref, true}
	case w.of.each && isCall(t, "select", 1) && len(t.SuffixList) == 0:
		return w.of
	}
	return list{}
}

// suffixes are all that a term takes of its input, or of its value, one after the other.
func suffixes(t *gojq.Term) []*gojq.Suffix {
	if t.Type == gojq.TermTypeIndex {
		return append([]*gojq.Suffix{{Index: t.Index}}, t.SuffixList...)
	}
	return t.SuffixList
}

// elements tells whether suffixes take elements of a list and nothing of them: all, or one by its
// number.
func elements(list []*gojq.Suffix) bool {
	if len(list) == 0 || !element(list[0]) {
		return false
	}
	path, rest := static(list[1:])
	return len(path)+len(rest) == 0
}

func element(s *gojq.Suffix) bool {
	return s.Iter ||
		s.Index != nil && !s.Index.IsSlice && s.Index.Start != nil && wholeNumber(s.Index.Start)
}

// member notes what suffixes take from the elements of a list.
func (w *walker) member(of list, take []*gojq.Suffix) {
	if !of.each {
		if len(take) == 0 || !element(take[0]) {
			return
		}
		take = take[1:]
	}
	if path, _ := static(take); of.ref.Var != "" && len(path) > 0 {
		from := len(of.ref.Path)
		of.ref.Path = slices.Concat(of.ref.Path, path)
		w.members = append(w.members, Member{of.ref, from})
	}
}

// eachTakers are the functions that give their argument the elements of their input.
const eachTakers = "all any group_by map max_by min_by sort_by unique_by"

// leading gives the static path that a query takes from its input first of all.
func leading(q *gojq.Query) []string {
	for q != nil && q.Term == nil && q.Op == gojq.OpPipe && len(q.FuncDefs) == 0 {
		q = q.Left
	}
	if q == nil || q.Term == nil || q.Term.Type != gojq.TermTypeIndex || len(q.FuncDefs) > 0 {
		return nil
	}
	key, ok := indexKey(q.Term.Index)
	if !ok {
		return nil
	}
	path, _ := static(q.Term.SuffixList)
	return append([]string{key}, path...)
}

// static gives the keys that suffixes take one after the other, and those suffixes that are behind
// them.
func static(list []*gojq.Suffix) (path []string, rest []*gojq.Suffix) {
	for i, s := range list {
		if s.Optional {
			continue
		}
		key := ""
		ok := false
		if s.Index != nil {
			key, ok = indexKey(s.Index)
		}
		if !ok {
			return path, list[i:]
		}
		path = append(path, key)
	}
	return path, nil
}

func indexKey(i *gojq.Index) (string, bool) {
	switch {
	case i == nil || i.IsSlice:
		return "", false
	case i.Name != "":
		return i.Name, true
	case i.Str != nil:
		return i.Str.Str, i.Str.Queries == nil
	}
	q := i.Start
	if q != nil && q.Term != nil && q.Term.Type == gojq.TermTypeString &&
		len(q.Term.SuffixList) == 0 {
		return q.Term.Str.Str, q.Term.Str.Queries == nil
	}
	return "", false
}

// wholeNumber tells whether a query is the literal of a number, or of one with a sign.
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

// isCall tells whether a term begins with a call of a function.
func isCall(t *gojq.Term, name string, args int) bool {
	return t.Type == gojq.TermTypeFunc && t.Func.Name == name && len(t.Func.Args) == args
}

func (w *walker) def(d *gojq.FuncDef) {
	w.place(d.Name)
	f := Function{Name: d.Name, Args: len(d.Args)}
	w.funcs = append(w.funcs, f)
	leave := w.scope()
	for _, arg := range d.Args {
		w.place(arg)
		if arg[0] == '$' {
			w.vars = append(w.vars, arg)
			arg = arg[1:]
		}
		w.funcs = append(w.funcs, Function{Name: arg})
	}
	w.apart(d.Body)
	leave()
}

func (w *walker) patterns(ps []*gojq.Pattern) {
	for _, p := range ps {
		w.pattern(p)
	}
}

func (w *walker) pattern(p *gojq.Pattern) {
	if p == nil {
		return
	}
	if p.Name != "" {
		w.bind(p.Name)
	}
	w.patterns(p.Array)
	for _, o := range p.Object {
		w.keys = append(w.keys, strings.TrimPrefix(o.Key, "$"))
		switch {
		case o.Key != "" && o.Key[0] == '$':
			w.bind(o.Key)
		case o.Key != "":
			w.place(o.Key)
		}
		w.str(o.KeyString)
		w.query(o.KeyQuery)
		w.pattern(o.Val)
	}
}

func (w *walker) bind(name string) {
	w.place(name)
	w.vars = append(w.vars, name)
}

// term walks a term; then is the path that a pipe goes on with.
func (w *walker) term(t *gojq.Term, then []string) {
	switch t.Type {
	case gojq.TermTypeFunc:
		w.call(t, then)
	case gojq.TermTypeIndex:
		at := w.place(".")
		if key, ok := indexKey(t.Index); ok && w.own {
			path, _ := static(t.SuffixList)
			w.paths = append(w.paths, Ref{
				Var:    ".",
				Path:   append([]string{key}, path...),
				Offset: at,
			})
		}
		w.member(w.of, suffixes(t))
		w.index(t.Index)
	case gojq.TermTypeIdentity:
		w.place(".")
		w.member(w.of, suffixes(t))
	case gojq.TermTypeObject:
		w.object(t.Object)
	case gojq.TermTypeArray:
		w.query(t.Array.Query)
	case gojq.TermTypeUnary:
		w.term(t.Unary.Term, nil)
	case gojq.TermTypeFormat:
		w.formats = append(w.formats, token{text: t.Format, offset: w.place(t.Format)})
		w.str(t.Str)
	case gojq.TermTypeString:
		w.str(t.Str)
	case gojq.TermTypeIf:
		w.query(t.If.Cond)
		w.query(t.If.Then)
		for _, e := range t.If.Elif {
			w.query(e.Cond)
			w.query(e.Then)
		}
		w.query(t.If.Else)
	case gojq.TermTypeTry:
		w.query(t.Try.Body)
		w.apart(t.Try.Catch)
	case gojq.TermTypeReduce:
		w.loop(t.Reduce.Query, t.Reduce.Patterns, t.Reduce.Start, t.Reduce.Update, nil)
	case gojq.TermTypeForeach:
		w.loop(
			t.Foreach.Query,
			t.Foreach.Patterns,
			t.Foreach.Start,
			t.Foreach.Update,
			t.Foreach.Extract,
		)
	case gojq.TermTypeLabel:
		w.place(t.Label.Ident)
		w.query(t.Label.Body)
	case gojq.TermTypeBreak:
		w.place(t.Break)
	case gojq.TermTypeQuery:
		w.query(t.Query)
	case gojq.TermTypeRecurse:
		w.keys = append(w.keys, "")
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
	}

	for _, s := range t.SuffixList {
		w.index(s.Index)
	}
	if t.Type == gojq.TermTypeFormat {
		w.guardFormat(t)
	}
}

// loop walks reduce and foreach. The start does not see the variables, though they stand before it.
func (w *walker) loop(source *gojq.Query, ps []*gojq.Pattern, start, update, extract *gojq.Query) {
	w.query(source)
	before := len(w.vars)
	w.patterns(ps)
	bound := w.vars[before:len(w.vars):len(w.vars)]
	w.vars = w.vars[:before:before]
	w.query(start)
	w.vars = append(w.vars, bound...)
	w.apart(update)
	w.apart(extract)
	w.vars = w.vars[:before]
}

func (w *walker) call(t *gojq.Term, then []string) {
	f := t.Func
	at := w.place(f.Name)
	if f.Name[0] == '$' {
		path, rest := static(t.SuffixList)
		if len(rest) == 0 {
			path = append(path, then...)
		}
		w.ref(f.Name, path, at)
		w.member(list{ref: w.refs[len(w.refs)-1]}, rest)
		return
	}

	if sig := (Function{Name: f.Name, Args: len(f.Args)}); !slices.Contains(w.funcs, sig) {
		w.calls = append(w.calls, Call{sig, at})
		w.risky = w.risky || risky(f)
		defer w.guardCall(f)
	}
	var of list // most functions give their arguments inputs of their own
	switch {
	case slices.Contains(w.funcs, Function{Name: f.Name, Args: len(f.Args)}) || len(f.Args) != 1:
	case w.of.each && f.Name == "select":
		of = w.of
	case !w.of.each && slices.Contains(strings.Fields(eachTakers), f.Name):
		of = list{w.of.ref, true}
	}

	for _, arg := range f.Args {
		w.on(of, arg)
	}
}

func (w *walker) ref(name string, path []string, at int) {
	w.refs = append(w.refs, Ref{
		Var:    name,
		Path:   path,
		Offset: at,
		Bound:  slices.Contains(w.vars, name),
	})
}

func (w *walker) object(o *gojq.Object) {
	for _, kv := range o.KeyVals {
		switch {
		case kv.Key == "":
		case kv.Key[0] == '$':
			w.ref(kv.Key, nil, w.place(kv.Key))
		default:
			w.place(kv.Key)
		}
		w.str(kv.KeyString)
		w.query(kv.KeyQuery)
		w.query(kv.Val)
	}
}

func (w *walker) index(i *gojq.Index) {
	if i == nil {
		return
	}
	if q := i.Start; q != nil && wholeNumber(q) && q.Term.Number != "" {
		n, err := strconv.Atoi(q.Term.Number)
		w.risky = w.risky || err != nil || n > 100_000
	}
	if key, ok := indexKey(i); ok {
		w.keys = append(w.keys, key)
	} else if i.Start == nil || !wholeNumber(i.Start) {
		w.keys = append(w.keys, "")
	}
	w.str(i.Str)
	w.query(i.Start)
	w.query(i.End)
	w.guardIndex(i)
}

func (w *walker) str(s *gojq.String) {
	if s == nil {
		return
	}
	for _, q := range s.Queries {
		w.query(q)
	}
	w.guardText(s)
}
