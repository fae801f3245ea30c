package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// MaxSource bounds a query, in bytes.
const MaxSource = 64 << 10

// FuncSet is a set of functions beyond jq's.
type FuncSet uint8

// The sets of functions.
const (
	NoFuncs  FuncSet = iota
	Workflow         // default(x), passed, approved, rejected, failed, quorum(n)
)

// Options says what a query may refer to.
type Options struct {
	Vars  []string // with their $
	Funcs FuncSet
	// Strict is for workflow expressions. It rejects functions whose result depends on time or
	// place (now, localtime, input, halt, debug, ...), and tightly limits what cannot be
	// interrupted.
	Strict bool
}

// Code is a checked query.
type Code struct {
	mentions

	vars []string
	code *gojq.Code
}

// Compile parses and checks src. The error is an *Error, or Errors if there are several. Do not
// change the variables of opt afterwards.
func Compile(src string, opt Options) (*Code, error) {
	c := compiler{
		src:    src,
		vars:   opt.Vars,
		funcs:  opt.Funcs,
		strict: opt.Strict,
		bounds: looseBounds,
	}
	if opt.Strict {
		c.bounds = strictBounds
	}
	return c.compile()
}

// compiler is one compilation. The last fields are for RunCLI, which offers more than Compile.
type compiler struct {
	src    string
	vars   []string
	funcs  FuncSet
	strict bool
	bounds bounds

	empty   bool                  // a query of nothing is the identity
	picks   bool                  // the query is a condition of a task: see CLIRequest.PickTasks
	allowed []string              // functions that extra adds
	extra   []gojq.CompilerOption // their code
}

// compile parses the query, checks it by our rules, and lets gojq compile it.
func (c *compiler) compile() (*Code, error) {
	if len(c.src) > MaxSource {
		return nil, c.fail(
			-1,
			fmt.Sprintf("query of %d bytes is over the limit of %d", len(c.src), MaxSource),
			"",
		)
	}

	q, err := gojq.Parse(c.src)
	if err != nil {
		return nil, c.syntaxError(err)
	}
	if q.Term == nil && q.Op == 0 {
		if !c.empty {
			return nil, c.fail(len(c.src), "query is empty", ".")
		}
		q.Term = &gojq.Term{Type: gojq.TermTypeIdentity}
	}

	toks, _ := tokens(c.src)
	w := walker{
		toks:     toks,
		ownInput: true,
		bounds:   c.bounds,
		defs:     map[string]string{},
	}

	w.query(q)
	if err := c.check(q, &w); err != nil {
		return nil, err
	}

	if err := c.addDefinitions(q, &w); err != nil {
		return nil, err
	}
	// Only pass the variables that the query names: the compiler's cost grows with the square of
	// their number.
	out := &Code{vars: slices.Clip(c.vars), mentions: w.mentions}
	known := slices.DeleteFunc(slices.Clone(c.vars), func(name string) bool {
		return !out.mentionsVar(name)
	})
	if c.picks {
		q, err = pickTasks(q)
	}
	var code *gojq.Code
	if err == nil {
		code, err = c.compileTree(q, known)
	}
	if err != nil {
		return nil, c.translate(err, &w)
	}

	out.code = code
	return out, nil
}

// usesVar reports whether the query refers to a given variable.
func (c *Code) usesVar(name string) bool {
	return slices.ContainsFunc(c.refs, func(r Ref) bool { return r.Var == name && !r.Bound })
}

// mentionsVar reports whether a variable occurs in the query; only then is its value normalized.
func (c *Code) mentionsVar(name string) bool {
	return slices.ContainsFunc(c.refs, func(r Ref) bool { return r.Var == name })
}

// pickTasks wraps a query of one task into a query of the state for the numbers of the tasks for
// which it is true. It wraps the parsed query, whose positions stay those of its own text.
func pickTasks(condition *gojq.Query) (*gojq.Query, error) {
	q, err := gojq.Parse("def condition: .; .tasks[] | select(condition) | .number")
	if err != nil {
		return nil, err
	}
	q.FuncDefs[0].Body = condition
	return q, nil
}

func (c *compiler) compileTree(q *gojq.Query, vars []string) (code *gojq.Code, err error) {
	// recover, because this foreign compiler gets arbitrary input.
	defer func() {
		if r := recover(); r != nil {
			code = nil
			err = fmt.Errorf("query cannot be compiled: %v", r)
		}
	}()
	opts := append(guardFunctions(c.bounds), gojq.WithVariables(vars))
	return gojq.Compile(q, append(opts, c.extra...)...)
}

func (c *compiler) fail(offset int, msg, didYouMean string) *Error {
	return &Error{
		Src:        c.src,
		Offset:     offset,
		Msg:        msg,
		DidYouMean: didYouMean,
	}
}

func (c *compiler) syntaxError(err error) error {
	var pe *gojq.ParseError
	if !errors.As(err, &pe) {
		return c.fail(-1, err.Error(), "")
	}

	msg := err.Error()
	if strings.HasPrefix(msg, "unterminated") {
		_, unclosed := tokens(c.src)
		return c.fail(unclosed, "string without its closing quote", "")
	}
	if pe.Token == "" {
		// not on the line below
		return c.fail(len(strings.TrimRight(c.src, "\r\n")), "unexpected end of the query", "")
	}

	at := max(pe.Offset-len(pe.Token), 0)
	return c.fail(at, msg, c.jqHint(at, pe.Token))
}

// jqHint says how jq writes what other languages write differently.
func (c *compiler) jqHint(at int, token string) string {
	rest := c.src[at:]
	switch {
	case strings.HasPrefix(rest, "&&"):
		return "and"
	case token == "|" && (strings.HasPrefix(rest, "||") || strings.HasSuffix(c.src[:at], "|")):
		return "or"
	case token == "'":
		return `"`
	case token == "!":
		return "| not"
	case token == "=" && strings.HasPrefix(rest, "==="),
		token == "=" && strings.HasSuffix(c.src[:at], "=="):
		return "=="
	case token == "else" || token == "elif":
		return "then"
	}
	return ""
}

// check finds every forbidden or unknown reference.
func (c *compiler) check(q *gojq.Query, w *walker) error {
	var list Errors
	if q.Meta != nil || len(q.Imports) > 0 {
		list = append(list, c.fail(0, "modules are not available", ""))
	}
	for _, r := range w.refs {
		if r.Bound || slices.Contains(c.vars, r.Var) {
			continue
		}
		if r.Var == "$ENV" || r.Var == "$__loc__" || r.Var == "$__prog_args" {
			list = append(list, c.fail(r.Offset, r.Var+" is not available", ""))
			continue
		}
		list = append(list, c.fail(
			r.Offset,
			"unknown variable "+r.Var,
			suggest(r.Var, append(boundNames(w), c.vars...)),
		))
	}

	for _, r := range w.assigned {
		list = append(list, c.fail(
			r.Offset,
			"'=' assigns, and "+r.Var+" cannot be changed; to compare, write '=='",
			"",
		))
	}

	for _, f := range w.calls {
		if why := c.refusal(f.Function); why != "" {
			list = append(list, c.fail(f.Offset, why, ""))
		}
	}

	for _, f := range w.formats {
		if !slices.Contains(formats, f.text) {
			list = append(
				list, c.fail(f.offset, "unknown format "+f.text, suggest(f.text, formats)),
			)
		}
	}

	return list.asError()
}

// boundNames lists the variables that the query binds anywhere: one that is used outside its scope
// is a likely suggestion.
func boundNames(w *walker) []string {
	var names []string
	for _, r := range w.refs {
		if r.Bound {
			names = append(names, r.Var)
		}
	}
	return names
}

func (l Errors) asError() error {
	switch len(l) {
	case 0:
		return nil
	case 1:
		return l[0]
	}
	slices.SortStableFunc(l, func(a, b *Error) int {
		return a.Offset - b.Offset
	})
	return l
}

// translate rewrites an error of gojq's compiler.
func (c *compiler) translate(err error, w *walker) error {
	msg := err.Error()
	if sig, ok := strings.CutPrefix(msg, "function not defined: "); ok {
		return c.unknownFunction(sig, w)
	}

	if strings.HasPrefix(msg, "input(s)/0 ") {
		msg = "input is not available"
	}
	if name, ok := strings.CutPrefix(msg, "label not defined: "); ok {
		return c.fail(strings.Index(c.src, name), "unknown label "+name, "")
	}
	return c.fail(-1, msg, "")
}

func (c *compiler) unknownFunction(sig string, w *walker) error {
	at := -1
	if i := slices.IndexFunc(w.calls, func(f Call) bool { return f.String() == sig }); i >= 0 {
		at = w.calls[i].Offset
	}

	name, _, _ := strings.Cut(sig, "/")
	known := builtins()
	if c.funcs == Workflow {
		for _, d := range workflowFuncs {
			known = append(known, d.String())
		}
	}
	known = append(known, c.allowed...)

	var arities, names []string
	for _, k := range known {
		n, _, _ := strings.Cut(k, "/")
		if n == name {
			arities = append(arities, k)
		}
		names = append(names, n)
	}

	if len(arities) > 0 {
		slices.Sort(arities)
		return c.fail(
			at,
			fmt.Sprintf("unknown function %s, known: %s", sig, strings.Join(arities, ", ")),
			"",
		)
	}
	return c.fail(at, "unknown function "+sig, suggest(name, names))
}

// String is name/arity.
func (f Function) String() string {
	return fmt.Sprintf("%s/%d", f.Name, f.Args)
}

// Refs returns every use of a variable in source order. Do not change them.
func (c *Code) Refs() []Ref {
	return c.refs
}

// Paths returns the static paths into the query's own input, as references to ".", in source order.
// Do not change them.
func (c *Code) Paths() []Ref {
	return c.paths
}

// Members returns the paths into the elements of lists that a variable leads to. Do not change
// them.
func (c *Code) Members() []Member {
	return c.members
}

// Calls returns every call of a function that the query does not define itself, in source order. Do
// not change them.
func (c *Code) Calls() []Call {
	return c.calls
}

// Keys returns the name of every member that the query reads, in source order; an empty one is
// known only at run time. Do not change them.
func (c *Code) Keys() []string {
	return c.keys
}
