package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// walker visits a tree in source order and tracks which variables and functions are bound.
type walker struct {
	mentions

	toks     []token
	next     int        // the first token not yet visited
	vars     []string   // bound here, innermost last
	funcs    []Function // defined here, innermost last
	ownInput bool       // the present subtree gets the query's own input
	// the present subtree gets the value of a variable's path, or its elements, as input
	input   varInput
	formats []token
	bounds  bounds
	defs    map[string]string // definitions that the guarded query calls
}

// mentions are what a query refers to.
type mentions struct {
	refs    []Ref
	calls   []Call
	paths   []Ref // static paths into the query's own input
	members []Member
	// assigned are uses of variables that stand left of =; a value of a variable never changes
	assigned []Ref
	keys     []string // members read of any value, "" for a computed name
	risky    bool     // a single step may take all time or memory
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

// varInput is the input of a subquery: the value of a reference, or its elements one by one.
type varInput struct {
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

// locate finds the next token with this text. The walk follows the source, so an earlier one is
// never meant.
func (w *walker) locate(text string) int {
	for i := w.next; i < len(w.toks); i++ {
		if w.toks[i].text == text {
			w.next = i + 1
			return w.toks[i].offset
		}
	}
	return -1
}

// scope returns a function that ends the scope of what is bound from here on.
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
		w.walkDef(d)
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
		// It may repeat a string.
		w.risky = w.risky || !isSmallNumber(q.Left) && !isSmallNumber(q.Right)
	}

	from := len(w.refs)
	w.query(q.Left)
	if q.Op == gojq.OpAssign && from < len(w.refs) && q.Left.Term != nil &&
		q.Left.Term.Type == gojq.TermTypeFunc && strings.HasPrefix(q.Left.Term.Func.Name, "$") {
		w.assigned = append(w.assigned, w.refs[from])
	}

	w.patterns(q.Patterns)
	w.query(q.Right)
	w.guardOperator(q)
}

// isSmallNumber reports whether a query is the literal of a number of at most two digits.
func isSmallNumber(q *gojq.Query) bool {
	return isNumber(q) && len(q.Term.Number) <= 2
}

// mayBacktrack reports whether a function may search a string in quadratic time.
func mayBacktrack(f *gojq.Func) bool {
	switch f.Name {
	case "match", "capture", "scan", "splits", "sub", "gsub":
		return true
	case "test":
		return len(f.Args) == 0 || !isLiteral(f.Args[0])
	}
	return f.Name == "split" && len(f.Args) == 2
}

// withoutInput walks a subquery that has another input than its surroundings.
func (w *walker) withoutInput(q *gojq.Query) {
	w.withInput(varInput{}, q)
}

// withInput walks a subquery whose input is part of a variable, or unknown.
func (w *walker) withInput(of varInput, q *gojq.Query) {
	own := w.ownInput
	outer := w.input

	w.ownInput = false
	w.input = of
	w.query(q)

	w.ownInput = own
	w.input = outer
}

// pipe extends the path of a variable on the left by the path that the right side starts with:
// $steps | .plan.
func (w *walker) pipe(q *gojq.Query) {
	var of varInput
	if l := q.Left; l != nil && l.Term != nil && len(l.FuncDefs) == 0 {
		before := len(w.refs)
		w.term(l.Term, leadingPath(q.Right))
		of = w.pipeInput(l.Term, before)
	} else {
		w.query(l)
	}
	w.withInput(of, q.Right)
}

// pipeInput is what the term on the left of a pipe passes on, if that is part of a variable. ref is
// its index in refs.
func (w *walker) pipeInput(t *gojq.Term, ref int) varInput {
	keys, rest := staticPath(suffixes(t))
	each := onlyElements(rest)
	switch {
	case t.Type == gojq.TermTypeFunc && t.Func.Name[0] == '$' && (len(rest) == 0 || each):
		r := w.refs[ref]
		r.Path = keys
		return varInput{r, each}
	case (t.Type == gojq.TermTypeIdentity || t.Type == gojq.TermTypeIndex) && each &&
		len(keys) == 0 && !w.input.each:
		return varInput{w.input.ref, true}
	case w.input.each && isCall(t, "select", 1) && len(t.SuffixList) == 0:
		return w.input
	}
	return varInput{}
}

// suffixes are the suffixes of a term, in order.
func suffixes(t *gojq.Term) []*gojq.Suffix {
	if t.Type == gojq.TermTypeIndex {
		return append([]*gojq.Suffix{{Index: t.Index}}, t.SuffixList...)
	}
	return t.SuffixList
}

// onlyElements reports whether suffixes select only elements of a list: all of them, or one by its
// number.
func onlyElements(list []*gojq.Suffix) bool {
	if len(list) == 0 || !selectsElement(list[0]) {
		return false
	}
	path, rest := staticPath(list[1:])
	return len(path)+len(rest) == 0
}

func selectsElement(s *gojq.Suffix) bool {
	return s.Iter ||
		s.Index != nil && !s.Index.IsSlice && s.Index.Start != nil && isNumber(s.Index.Start)
}

// addMember records what suffixes read of the elements of a list.
func (w *walker) addMember(of varInput, take []*gojq.Suffix) {
	if !of.each {
		if len(take) == 0 || !selectsElement(take[0]) {
			return
		}
		take = take[1:]
	}
	if path, _ := staticPath(take); of.ref.Var != "" && len(path) > 0 {
		from := len(of.ref.Path)
		of.ref.Path = slices.Concat(of.ref.Path, path)
		w.members = append(w.members, Member{of.ref, from})
	}
}

// elementFuncs are the functions that call their argument with the elements of their input.
const elementFuncs = "all any group_by map max_by min_by sort_by unique_by"

// leadingPath returns the static path that a query first reads of its input.
func leadingPath(q *gojq.Query) []string {
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
	path, _ := staticPath(q.Term.SuffixList)
	return append([]string{key}, path...)
}

// staticPath returns the keys that suffixes read in turn, and the remaining suffixes.
func staticPath(list []*gojq.Suffix) (path []string, rest []*gojq.Suffix) {
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

// isNumber reports whether a query is the literal of a number, or of one with a sign.
func isNumber(q *gojq.Query) bool {
	if q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 {
		return false
	}
	t := q.Term
	if t.Type == gojq.TermTypeUnary && len(t.Unary.Term.SuffixList) == 0 {
		t = t.Unary.Term
	}
	return t.Type == gojq.TermTypeNumber
}

// isCall reports whether a term begins with a call of a function.
func isCall(t *gojq.Term, name string, args int) bool {
	return t.Type == gojq.TermTypeFunc && t.Func.Name == name && len(t.Func.Args) == args
}

func (w *walker) walkDef(d *gojq.FuncDef) {
	w.locate(d.Name)
	f := Function{Name: d.Name, Args: len(d.Args)}
	w.funcs = append(w.funcs, f)

	leave := w.scope()
	for _, arg := range d.Args {
		w.locate(arg)
		if arg[0] == '$' {
			w.vars = append(w.vars, arg)
			arg = arg[1:]
		}
		w.funcs = append(w.funcs, Function{Name: arg})
	}

	w.withoutInput(d.Body)
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
			w.locate(o.Key)
		}
		w.str(o.KeyString)
		w.query(o.KeyQuery)
		w.pattern(o.Val)
	}
}

func (w *walker) bind(name string) {
	w.locate(name)
	w.vars = append(w.vars, name)
}

// term walks a term; then is the path by which a pipe continues.
func (w *walker) term(t *gojq.Term, then []string) {
	switch t.Type {
	case gojq.TermTypeFunc:
		w.call(t, then)
	case gojq.TermTypeIndex:
		at := w.locate(".")
		if key, ok := indexKey(t.Index); ok && w.ownInput {
			path, _ := staticPath(t.SuffixList)
			w.paths = append(w.paths, Ref{
				Var:    ".",
				Path:   append([]string{key}, path...),
				Offset: at,
			})
		}
		w.addMember(w.input, suffixes(t))
		w.index(t.Index)
	case gojq.TermTypeIdentity:
		w.locate(".")
		w.addMember(w.input, suffixes(t))
	case gojq.TermTypeObject:
		w.object(t.Object)
	case gojq.TermTypeArray:
		w.query(t.Array.Query)
	case gojq.TermTypeUnary:
		w.term(t.Unary.Term, nil)
	case gojq.TermTypeFormat:
		w.formats = append(w.formats, token{text: t.Format, offset: w.locate(t.Format)})
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
		w.withoutInput(t.Try.Catch)
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
		w.locate(t.Label.Ident)
		w.query(t.Label.Body)
	case gojq.TermTypeBreak:
		w.locate(t.Break)
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

// loop walks reduce and foreach. The start is outside the scope of the variables, though it follows
// them.
func (w *walker) loop(source *gojq.Query, ps []*gojq.Pattern, start, update, extract *gojq.Query) {
	w.query(source)
	before := len(w.vars)
	w.patterns(ps)
	bound := w.vars[before:len(w.vars):len(w.vars)]
	w.vars = w.vars[:before:before]

	w.query(start)
	w.vars = append(w.vars, bound...)
	w.withoutInput(update)
	w.withoutInput(extract)
	w.vars = w.vars[:before]
}

func (w *walker) call(t *gojq.Term, then []string) {
	f := t.Func
	at := w.locate(f.Name)
	if f.Name[0] == '$' {
		path, rest := staticPath(t.SuffixList)
		if len(rest) == 0 {
			path = append(path, then...)
		}
		w.ref(f.Name, path, at)
		w.addMember(varInput{ref: w.refs[len(w.refs)-1]}, rest)
		return
	}

	if sig := (Function{Name: f.Name, Args: len(f.Args)}); !slices.Contains(w.funcs, sig) {
		w.calls = append(w.calls, Call{sig, at})
		w.risky = w.risky || mayBacktrack(f)
		defer w.guardCall(f)
	}
	var of varInput // most functions call their arguments with other inputs
	switch {
	case slices.Contains(w.funcs, Function{Name: f.Name, Args: len(f.Args)}) || len(f.Args) != 1:
	case w.input.each && f.Name == "select":
		of = w.input
	case !w.input.each && slices.Contains(strings.Fields(elementFuncs), f.Name):
		of = varInput{w.input.ref, true}
	}

	for _, arg := range f.Args {
		w.withInput(of, arg)
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
			w.ref(kv.Key, nil, w.locate(kv.Key))
		default:
			w.locate(kv.Key)
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
	if q := i.Start; q != nil && isNumber(q) && q.Term.Number != "" {
		n, err := strconv.Atoi(q.Term.Number)
		w.risky = w.risky || err != nil || n > 100_000
	}

	if key, ok := indexKey(i); ok {
		w.keys = append(w.keys, key)
	} else if i.Start == nil || !isNumber(i.Start) {
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
