package query

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// A context stops a query between two of its steps, but some single steps can take minutes or all
// memory. Before such a step the tree gets a check: a function of this package that passes its
// input on or ends the query.

// bounds limits the values of single steps.
type bounds struct {
	text  int // bytes of a string that is added, repeated or joined
	items int // elements of an array that is added
	index int // index of an array that is assigned to
	regex int // bytes of a string that is searched for every match, which takes quadratic time
	test  int // bytes of a string that is tested against a regular expression
	bits  int // bits of an integer that is multiplied
	deep  int // bytes, as JSON, of values that a step reads in full; 0: unlimited
}

var (
	strictBounds = bounds{
		text:  8 << 20,
		items: 1 << 20,
		index: 100_000,
		regex: 16 << 10,
		test:  1 << 20,
		bits:  1 << 16,
		deep:  8 << 20,
	}
	looseBounds = bounds{
		text:  256 << 20,
		items: 1 << 24,
		index: 1 << 24,
		regex: 256 << 10,
		test:  256 << 20,
		bits:  1 << 20,
	}
)

// The names of the checks. A query cannot call a name that begins with an underscore.
const (
	guardSmall = "_t_small" // the string or array may be added
	guardDeep  = "_t_deep"  // the value is small in full
	guardIndex = "_t_index" // the index, or every index of the path, may be assigned to
	// the path of an event of a stream, its first element, may be assigned to
	guardEvent  = "_t_event"
	guardRegex  = "_t_regex"  // the string may be searched
	guardTest   = "_t_test"   // the string may be tested
	guardRepeat = "_t_repeat" // the two arguments may be multiplied
	guardJoin   = "_t_joined" // the input may be joined with the argument
)

// guardedDefs are definitions that replace functions and operators that need a check. INDEX is
// replaced because gojq's copies the table for each element.
var guardedDefs = map[string]string{
	"*":            "def NAME(l; r): r as $r | l as $l | _t_repeat($l; $r) | $l * $r;",
	"*=":           "def NAME(l; r): r as $r | l |= (_t_repeat(.; $r) | . * $r);",
	"+=":           "def NAME(l; r): r as $r | l |= (_t_small + ($r | _t_small));",
	"join/1":       "def NAME(s): s as $s | _t_joined($s) | join($s);",
	"add/0":        "def NAME: _t_joined(null) | add;",
	"add/1":        "def NAME(f): [f] | _t_joined(null) | add;",
	"setpath/2":    "def NAME(p; v): setpath(p | _t_index; v);",
	"fromstream/1": "def NAME(f): fromstream(f | _t_event);",
	"INDEX/1":      "def NAME(f): ([.[] | {(f | tostring): .}] | add) // {};",
	"INDEX/2":      "def NAME(s; f): ([s | {(f | tostring): .}] | add) // {};",
	"split/2":      "def NAME(a; b): _t_regex | split(a; b);",
}

// checkedInput maps further functions, of any arity, to the check of their input.
var checkedInput = map[string]string{
	"test":    guardTest,
	"match":   guardRegex,
	"capture": guardRegex,
	"scan":    guardRegex,
	"splits":  guardRegex,
	"sub":     guardRegex,
	"gsub":    guardRegex,
}

// deepInput are functions that read their whole input; deepArgs also read their whole arguments.
var (
	deepInput = []string{
		"tojson", "tostring", "flatten", "sort", "unique", "min", "max", "implode", "transpose",
		"ascii",
	}
	deepArgs = []string{
		"contains", "inside", "index", "rindex", "indices", "bsearch", "sort_by", "group_by",
		"unique_by", "min_by", "max_by", "IN",
	}
)

func guardFunctions(b bounds) []gojq.CompilerOption {
	check := func(name string, args int, bad func(v any, args []any) string) gojq.CompilerOption {
		return gojq.WithFunction(name, args, args, func(v any, args []any) any {
			if msg := bad(v, args); msg != "" {
				return errors.New(msg)
			}
			return v
		})
	}
	return []gojq.CompilerOption{
		check(guardSmall, 0, func(v any, _ []any) string { return b.checkSize(v) }),
		check(guardDeep, 0, func(v any, _ []any) string { return b.checkDeepSize(v) }),
		check(guardIndex, 0, func(v any, _ []any) string { return b.checkIndex(v) }),
		check(guardEvent, 0, func(v any, _ []any) string {
			if event, ok := v.([]any); ok && len(event) > 0 {
				return b.checkIndex(event[0])
			}
			return ""
		}),
		check(guardRegex, 0, func(v any, _ []any) string {
			return checkLength(v, b.regex, "string to search")
		}),
		check(guardTest, 0, func(v any, _ []any) string {
			return checkLength(v, b.test, "string to test")
		}),
		check(guardRepeat, 2, func(_ any, args []any) string {
			return b.checkProduct(args[0], args[1])
		}),
		check(guardJoin, 1, func(v any, args []any) string {
			return b.checkJoined(v, args[0])
		}),
	}
}

func checkLength(v any, limit int, what string) string {
	if s, ok := v.(string); ok && len(s) > limit {
		return fmt.Sprintf("%s has %d bytes, over the limit of %d", what, len(s), limit)
	}
	return ""
}

func (b bounds) checkSize(v any) string {
	switch v := v.(type) {
	case string:
		return checkLength(v, b.text, "string")
	case []any:
		if len(v) > b.items {
			return fmt.Sprintf("array has %d elements, over the limit of %d", len(v), b.items)
		}
	}
	return ""
}

func (b bounds) checkDeepSize(v any) string {
	if b.deep > 0 && spendBudget(v, b.deep) < 0 {
		return fmt.Sprintf("value is over the limit of %d bytes", b.deep)
	}
	return ""
}

func (b bounds) checkIndex(v any) string {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if _, nested := e.([]any); nested {
				continue
			}
			if msg := b.checkIndex(e); msg != "" {
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

func (b bounds) checkProduct(l, r any) string {
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
		if msg := b.checkDeepSize(v); msg != "" {
			return msg
		}
	}
	return ""
}

func (b bounds) checkJoined(v, sep any) string {
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

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{
		Type: gojq.TermTypeFunc,
		Func: &gojq.Func{Name: name, Args: args},
	}}
}

// paren puts a query in parentheses.
func paren(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
}

// guarded is q | check. A literal needs none.
func guarded(q *gojq.Query, check string) *gojq.Query {
	if q == nil || isLiteral(q) {
		return q
	}
	return pipeTo(q, check)
}

func pipeTo(q *gojq.Query, check string) *gojq.Query {
	return paren(&gojq.Query{
		Left:  paren(q),
		Op:    gojq.OpPipe,
		Right: call(check),
	})
}

func isLiteral(q *gojq.Query) bool {
	if q.Term == nil || len(q.FuncDefs) > 0 || len(q.Term.SuffixList) > 0 {
		return false
	}
	switch q.Term.Type { //nolint:exhaustive // every other term is computed
	case gojq.TermTypeString:
		return q.Term.Str.Queries == nil
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
		return true
	}
	return false
}

// define adds a guarded definition to the query and returns its name.
func (w *walker) define(key, def string) string {
	name := "_g_" +
		strings.NewReplacer("*", "times", "+", "plus", "=", "_to", "/", "_").Replace(key)
	w.defs[name] = strings.Replace(def, "NAME", name, 1)
	return name
}

// guardOperator guards an operator after its operands were walked.
func (w *walker) guardOperator(q *gojq.Query) {
	_, compares := comparisonHolds[q.Op]
	key := q.Op.String()
	switch {
	case q.Op == gojq.OpAdd:
		q.Left = guarded(q.Left, guardSmall)
		q.Right = guarded(q.Right, guardSmall)
	case q.Op == gojq.OpUpdateAdd && isLiteral(q.Right) && q.Right.Term.Type == gojq.TermTypeNumber:
	case guardedDefs[key] != "":
		t := call(w.define(key, guardedDefs[key]), q.Left, q.Right).Term
		*q = gojq.Query{
			Meta:     q.Meta,
			Imports:  q.Imports,
			FuncDefs: q.FuncDefs,
			Term:     t,
		}
	case w.bounds.deep > 0 && (compares || q.Op == gojq.OpSub):
		q.Left = guarded(q.Left, guardDeep)
		q.Right = guarded(q.Right, guardDeep)
	}
}

// guardCall guards a call of a function that the query does not define itself.
func (w *walker) guardCall(f *gojq.Func) {
	key := f.Name + "/" + strconv.Itoa(len(f.Args))
	if def := guardedDefs[key]; def != "" {
		f.Name = w.define(key, def)
		return
	}

	check := checkedInput[f.Name]
	arg := "%s"
	if w.bounds.deep > 0 && slices.Contains(deepArgs, f.Name) {
		check = guardDeep
		arg = "%s | " + guardDeep
	} else if w.bounds.deep > 0 && slices.Contains(deepInput, f.Name) {
		check = guardDeep
	}

	if check == "" || len(f.Args) > 3 { // no checked function has more
		return
	}

	params := []string{"", "(a)", "(a; b)", "(a; b; c)"}[len(f.Args)]
	args := strings.NewReplacer("a", fmt.Sprintf(arg, "a"), "b", fmt.Sprintf(arg, "b")).Replace(
		params,
	)
	f.Name = w.define(key, "def NAME"+params+": "+check+" | "+f.Name+args+";")
}

// guardIndex guards an array index, unless it is a small literal.
func (w *walker) guardIndex(i *gojq.Index) {
	if i.Start == nil || i.IsSlice {
		return
	}
	q := i.Start
	if isLiteral(q) && len(q.Term.Number) < 5 || isNumber(q) && q.Term.Type == gojq.TermTypeUnary {
		return // the last elements are never far away
	}
	i.Start = pipeTo(i.Start, guardIndex)
}

// guardText guards the parts of a string interpolation.
func (w *walker) guardText(s *gojq.String) {
	check := guardSmall
	if w.bounds.deep > 0 {
		check = guardDeep
	}
	for i, q := range s.Queries {
		if q.Term != nil && q.Term.Type == gojq.TermTypeQuery {
			s.Queries[i] = guarded(q, check)
		}
	}
}

// guardFormat guards a format that converts its input to a string.
func (w *walker) guardFormat(t *gojq.Term) {
	if t.Str == nil && w.bounds.deep > 0 {
		inner := &gojq.Query{Term: &gojq.Term{Type: t.Type, Format: t.Format}}
		q := &gojq.Query{
			Left:  call(guardDeep),
			Op:    gojq.OpPipe,
			Right: inner,
		}
		*t = gojq.Term{
			Type:       gojq.TermTypeQuery,
			Query:      q,
			SuffixList: t.SuffixList,
		}
	}
}
