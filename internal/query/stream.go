package query

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
)

// An input is read in one pass, value by value and of an array element by element. The parser's
// checks apply to what the query cannot look at (infer), but it is left out. So are elements that
// the selection is sure to drop (test). The same code runs on what is left, for a query `PATH[] |
// BODY` on some elements at a time. Nothing is printed before the input was read to its end.
// Whatever cannot be told this way, also an error of the run, is left to the whole input. This way
// shows no error of its own.

const (
	// how much of an input is read at a time at least; one element may make it larger
	windowSize = 256 << 10
	partSize   = 512 // how many elements are handed on at a time
	maxNested  = 500 // how deep values may be nested here
)

// plan is what is known of a query before it runs.
type plan struct {
	root *need
	// the array whose elements the query treats one by one, independently; nil if there is none
	part *need
	name string // of that member of the input, empty if the input is the array
}

// newPlan gives nil if the query needs its input in full.
func newPlan(q *gojq.Query, globals map[string]any) *plan {
	root, ok := infer(q, globals)
	if !ok || root.all || len(root.fields) == 0 && root.elems == nil {
		return nil
	}
	p := &plan{root: root}
	if name, ok := eachOf(q); ok {
		p.name = name
		p.part = root
		if name != "" {
			p.part = root.field(name)
		}
	}
	return p
}

// eachOf tells whether a query is `.[] | BODY`, `.name[] | BODY` or `ready | BODY`. Its results are
// then those of BODY for each element, one after the other.
func eachOf(q *gojq.Query) (name string, ok bool) {
	t := head(q)
	switch {
	case t == nil:
		return "", false
	case isCall(t, readyName, 0):
		return readyTasks, true
	case t.Type == gojq.TermTypeIndex:
		name, ok = indexKey(t.Index)
		ok = ok && name != ""
	}
	i := slices.IndexFunc(t.SuffixList, func(s *gojq.Suffix) bool {
		return s.Iter || s.Index != nil
	})
	return name, (ok || t.Type == gojq.TermTypeIdentity) && i >= 0 && t.SuffixList[i].Iter
}

// wrap makes an input that has nothing but these elements.
func (p *plan) wrap(elems []any) any {
	if p.name == "" {
		return elems
	}
	return map[string]any{p.name: elems}
}

// streamed answers a query in one pass. ok is false if that cannot be done; then nothing was
// printed.
func (r *cli) streamed(ctx context.Context) (exit int, err error, ok bool) {
	var kept bytes.Buffer
	out := r.out
	args := len(r.from.all)
	r.out = bufio.NewWriter(&kept)
	ok = true
	for r.file = 0; ok && r.file < len(r.req.Inputs); r.file++ {
		ok = r.streamedInput(ctx)
	}
	ok = r.out.Flush() == nil && ok
	r.out = out
	r.from.reset(args)
	switch {
	case ctx.Err() != nil:
		return exitRuntime, context.Cause(ctx), true
	case !ok:
		r.file = 0
		r.results = 0
		r.last = nil
		return 0, nil, false
	}
	if _, err := out.Write(kept.Bytes()); err != nil {
		return ExitInput, err, true
	}
	exit, err = r.status()
	return exit, err, true
}

// streamedInput answers for one input.
func (r *cli) streamedInput(ctx context.Context) bool {
	args := len(r.from.all)
	s := r.newStream(ctx, r.plan, r.from)
	if tasks := r.plan.root.fields[readyTasks]; tasks != nil && tasks.ready && tasks.drops() {
		var ok bool
		if s.ready, ok = r.readyOnes(ctx); !ok {
			return false
		}
	}
	s.emit = func(doc any) bool {
		for v, err := range r.code.each(ctx, doc, r.values) {
			if err != nil || r.print(v) != nil {
				return false
			}
		}
		r.from.reset(args)
		return true
	}
	return s.read() && (!r.req.Strict || s.values == 1)
}

// readyOnes reads an input and finds out of the tasks of each of its values which ones are ready.
func (r *cli) readyOnes(ctx context.Context) (ready []readiness, ok bool) {
	root := &need{}
	flow{at: []*need{root}}.ready()
	s := r.newStream(ctx, &plan{
		root: root,
		part: root.field(readyTasks),
		name: readyTasks,
	}, nil)
	s.emit = func(doc any) bool {
		for len(ready) <= s.values {
			ready = append(ready, readiness{Statuses: r.req.Statuses, open: map[int]bool{}})
		}
		return ready[s.values].addAll(doc)
	}
	return ready, s.read()
}

// stream reads the values of an input as far as a query needs them. It gives up, with false, on
// everything that is not strict JSON, and on some that is. Then the parser has to decide.
type stream struct {
	window
	*plan

	skimmer *jsonx.Skimmer
	emit    func(doc any) bool // takes a value, or a part of one
	from    *origins
	depth   int
	values  int         // how many were read
	ready   []readiness // if only tasks that are ready are looked at: of each value
}

func (r *cli) newStream(ctx context.Context, p *plan, from *origins) *stream {
	in := r.req.Inputs[r.file]
	w := window{ctx: ctx, file: in.File}
	if in.File == nil {
		w.file = bytes.NewReader(in.Data)
	}
	lim := limits()
	lim.Depth = maxNested
	lim.Duplicates = !r.req.Strict
	return &stream{
		window:  w,
		plan:    p,
		skimmer: jsonx.NewSkimmer(lim),
		from:    from,
	}
}

// read hands all values to emit.
func (s *stream) read() bool {
	s.more()
	if bytes.HasPrefix(s.text, []byte("\xef\xbb\xbf")) {
		s.at = 3
	}
	for ; s.peek() != 0; s.values++ {
		if doc, ok := s.take(s.root); !ok || !s.emit(doc) {
			return false
		}
	}
	return s.at == len(s.text) && s.err == nil
}

// take reads the next value; one without a need is only stepped over.
func (s *stream) take(n *need) (any, bool) {
	c := s.peek()
	switch {
	case c == '{' && (n == nil || !n.all && n.elems == nil):
		return s.members(n)
	case c == '[' && (n == nil || !n.all):
		return s.elements(n)
	}
	v := s.skim()
	if n == nil || v == nil {
		return nil, v != nil
	}
	return s.decode(v)
}

func (s *stream) members(n *need) (any, bool) {
	s.depth++
	if s.depth > maxNested {
		return nil, false
	}
	defer func() { s.depth-- }()
	m := map[string]any{}
	seen := map[string]bool{}
	for {
		if closed, ok := s.comma('}', len(seen) == 0); closed || !ok {
			return m, ok
		}
		key, ok := s.skim().Str()
		if key = strings.Clone(key); !ok || seen[key] || s.peek() != ':' {
			return nil, false
		}
		s.at++
		seen[key] = true
		var inner *need
		if n != nil {
			inner = n.fields[key]
		}
		v, ok := s.take(inner)
		if !ok {
			return nil, false
		}
		if inner != nil {
			m[key] = v
		}
	}
}

func (s *stream) elements(n *need) (any, bool) {
	n = cmp.Or(n, &need{})
	var wanted []string
	if n.elems != nil {
		wanted = slices.Collect(maps.Keys(n.elems.fields))
	}
	list := []any{}
	for at := 0; ; at++ {
		if closed, ok := s.comma(']', at == 0); closed || !ok {
			return list, ok
		}
		v := s.skim(wanted...)
		switch {
		case v == nil:
			return nil, false
		case n.elems == nil, n.drops() && n.test != nil && n.test.fails(v):
			continue
		case s.ready != nil && n.ready && !s.ready[s.values].ready(at):
			continue
		}
		e, ok := s.element(v, n.elems)
		if !ok {
			return nil, false
		}
		list = append(list, e)
		if n == s.part && len(list) == partSize {
			if !s.emit(s.wrap(list)) {
				return nil, false
			}
			list = []any{}
		}
	}
}

// element makes an element as far as it is needed.
func (s *stream) element(v *jsonx.Value, n *need) (any, bool) {
	if !v.Is(jsonx.Dict) || n.all || n.elems != nil {
		return s.decode(v)
	}
	m := make(map[string]any, len(n.fields))
	for name := range n.fields {
		if member := v.Get(name); member != nil {
			e, ok := s.decode(member)
			if !ok {
				return nil, false
			}
			m[name] = e
		}
	}
	return m, true
}

// decode makes all of a value that was skimmed. It keeps no part of the window.
func (s *stream) decode(v *jsonx.Value) (any, bool) {
	if v.Is(jsonx.Dict) || v.Is(jsonx.Array) {
		tree, err := jsonx.Parse(v.Raw(s.text), limits())
		return decode(tree, s.from), err == nil
	}
	switch d := decode(v, nil).(type) {
	case string:
		return strings.Clone(d), true
	case json.Number:
		return json.Number(strings.Clone(string(d))), true
	default:
		return d, true
	}
}

// skim steps over the next value and gives what it is, with the members that are wanted; nil if
// there is none.
func (s *stream) skim(wanted ...string) *jsonx.Value {
	s.peek()
	for {
		v := s.skimmer.Skim(s.text, s.at, wanted...)
		if v != nil && (v.End < len(s.text) || s.end) {
			s.at = v.End
			return v
		}
		if !s.more() {
			return nil
		}
	}
}

// window is the part of an input that is in memory: text from at on is not taken yet.
type window struct {
	ctx  context.Context
	file io.ReaderAt
	next int64 // where in the file to read on
	text []byte
	at   int
	end  bool  // there is nothing behind text
	err  error // of the file, or of the context
}

// more reads on; false if nothing can change by that. What is not taken yet stays, at another
// place.
func (w *window) more() bool {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.end || w.err != nil {
		return false
	}
	rest := w.text[w.at:]
	if len(rest) > cap(w.text)/2 || w.text == nil {
		w.text = append(make([]byte, 0, max(2*cap(w.text), windowSize)), rest...)
	} else {
		w.text = w.text[:copy(w.text, rest)]
	}
	n, err := w.file.ReadAt(w.text[len(w.text):cap(w.text)], w.next)
	w.text = w.text[:len(w.text)+n]
	w.at = 0
	w.next = w.next + int64(n)
	w.end = errors.Is(err, io.EOF)
	if !w.end {
		w.err = err
	}
	return true
}

// peek skips white space and gives the next byte, 0 at the end.
func (w *window) peek() byte {
	for {
		for w.at < len(w.text) {
			c := w.text[w.at]
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return c
			}
			w.at++
		}
		if !w.more() {
			return 0
		}
	}
}

// comma steps over what stands before a member or an element; closed says that there is none.
func (w *window) comma(closing byte, first bool) (closed, ok bool) {
	if first {
		w.at++ // the bracket
	}
	c := w.peek()
	switch {
	case c == closing:
		w.at++
		return true, true
	case first:
		return false, c != 0
	case c != ',':
		return false, false
	}
	w.at++
	return false, w.peek() != closing
}
