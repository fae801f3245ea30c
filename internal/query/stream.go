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

// An input is read in one pass, value by value, and an array element by element. The parser's
// checks also apply to what the query does not need (infer), but it is left out, and so are
// elements that the selection certainly drops (test). The same code runs on the rest; for a query
// `PATH[] | BODY`, on some elements at a time. Nothing is printed before the input was read to its
// end. Whatever this cannot decide, including an error of the run, is left to a run on the whole
// input. This mode reports no errors of its own.

const (
	// how much of an input is read at a time at least; one element may make it larger
	windowSize = 256 << 10
	partSize   = 512 // elements per batch
	maxNested  = 500 // maximum nesting of values
)

// plan is the analysis of a query.
type plan struct {
	root *need
	// the array whose elements the query handles one by one, independently; may be nil
	perElement *need
	name       string // of that member of the input, empty if the input is the array
}

// newPlan returns nil if the query needs its input in full.
func newPlan(q *gojq.Query, globals map[string]any) *plan {
	root, ok := inferNeeds(q, globals)
	if !ok || root.all || len(root.fields) == 0 && root.elems == nil {
		return nil
	}

	p := &plan{root: root}
	if name, ok := perElementQuery(q); ok {
		p.name = name
		p.perElement = root
		if name != "" {
			p.perElement = root.field(name)
		}
	}
	return p
}

// perElementQuery reports whether a query is `.[] | BODY`, `.name[] | BODY` or `ready | BODY`. Its
// results are then those of BODY for each element in turn.
func perElementQuery(q *gojq.Query) (name string, ok bool) {
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

// wrap makes an input with only these elements.
func (p *plan) wrap(elems []any) any {
	if p.name == "" {
		return elems
	}
	return map[string]any{p.name: elems}
}

// runStreamed runs a query in one pass. ok is false if that is impossible; then nothing was
// printed.
func (r *cli) runStreamed(ctx context.Context) (exit int, err error, ok bool) {
	var kept bytes.Buffer
	out := r.out
	args := len(r.origins.all)
	r.out = bufio.NewWriter(&kept)

	ok = true
	for r.file = 0; ok && r.file < len(r.req.Inputs); r.file++ {
		ok = r.streamInput(ctx)
	}

	ok = r.out.Flush() == nil && ok
	r.out = out
	r.origins.reset(args)

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
	exit, err = r.exitStatus()
	return exit, err, true
}

// streamInput runs the query for one input.
func (r *cli) streamInput(ctx context.Context) bool {
	args := len(r.origins.all)
	s := r.newStream(ctx, r.plan, r.origins)
	if tasks := r.plan.root.fields[readyTasks]; tasks != nil && tasks.ready && tasks.canSkip() {
		var ok bool
		s.ready, ok = r.readReady(ctx)
		if !ok {
			return false
		}
	}

	s.emit = func(doc any) bool {
		for v, err := range r.code.each(ctx, doc, r.values) {
			if err != nil || r.print(v) != nil {
				return false
			}
		}
		r.origins.reset(args)
		return true
	}

	return s.read() && (!r.req.Strict || s.values == 1)
}

// readReady reads an input and computes, for each of its values, which tasks are ready.
func (r *cli) readReady(ctx context.Context) (ready []readiness, ok bool) {
	root := &need{}
	flow{at: []*need{root}}.readyElements()
	s := r.newStream(ctx, &plan{
		root:       root,
		perElement: root.field(readyTasks),
		name:       readyTasks,
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
// everything that is not strict JSON, and on some that is. Then the parser decides.
type stream struct {
	window
	*plan

	skimmer *jsonx.Skimmer
	emit    func(doc any) bool // receives a value, or a part of one
	from    *origins
	depth   int
	values  int         // number of values read
	ready   []readiness // of each value, if only ready tasks are needed
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

// read passes all values to emit.
func (s *stream) read() bool {
	s.fill()
	if bytes.HasPrefix(s.text, []byte("\xef\xbb\xbf")) {
		s.at = 3
	}
	for ; s.peek() != 0; s.values++ {
		if doc, ok := s.readValue(s.root); !ok || !s.emit(doc) {
			return false
		}
	}
	return s.at == len(s.text) && s.err == nil
}

// readValue reads the next value; without a need it is skipped.
func (s *stream) readValue(n *need) (any, bool) {
	c := s.peek()
	switch {
	case c == '{' && (n == nil || !n.all && n.elems == nil):
		return s.readMembers(n)
	case c == '[' && (n == nil || !n.all):
		return s.readElements(n)
	}

	v := s.skim()
	if n == nil || v == nil {
		return nil, v != nil
	}
	return s.decode(v)
}

func (s *stream) readMembers(n *need) (any, bool) {
	s.depth++
	if s.depth > maxNested {
		return nil, false
	}
	defer func() { s.depth-- }()

	m := map[string]any{}
	seen := map[string]bool{}
	for {
		if closed, ok := s.skipSeparator('}', len(seen) == 0); closed || !ok {
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
		v, ok := s.readValue(inner)
		if !ok {
			return nil, false
		}
		if inner != nil {
			m[key] = v
		}
	}
}

func (s *stream) readElements(n *need) (any, bool) {
	n = cmp.Or(n, &need{})
	var wanted []string
	if n.elems != nil {
		wanted = slices.Collect(maps.Keys(n.elems.fields))
	}

	list := []any{}
	for at := 0; ; at++ {
		if closed, ok := s.skipSeparator(']', at == 0); closed || !ok {
			return list, ok
		}

		v := s.skim(wanted...)
		switch {
		case v == nil:
			return nil, false
		case n.elems == nil, n.canSkip() && n.test != nil && n.test.rejects(v):
			continue
		case s.ready != nil && n.ready && !s.ready[s.values].isReady(at):
			continue
		}

		e, ok := s.decodeElement(v, n.elems)
		if !ok {
			return nil, false
		}
		list = append(list, e)
		if n == s.perElement && len(list) == partSize {
			if !s.emit(s.wrap(list)) {
				return nil, false
			}
			list = []any{}
		}
	}
}

// decodeElement decodes an element as far as needed.
func (s *stream) decodeElement(v *jsonx.Value, n *need) (any, bool) {
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

// decode decodes a skimmed value in full. It retains no part of the window.
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

// skim skips the next value and returns its kind, with the wanted members; nil if there is none.
func (s *stream) skim(wanted ...string) *jsonx.Value {
	s.peek()
	for {
		v := s.skimmer.Skim(s.text, s.at, wanted...)
		if v != nil && (v.End < len(s.text) || s.end) {
			s.at = v.End
			return v
		}
		if !s.fill() {
			return nil
		}
	}
}

// window is the part of an input that is in memory; text before at is consumed.
type window struct {
	ctx  context.Context
	file io.ReaderAt
	next int64 // next offset in the file
	text []byte
	at   int
	end  bool  // text reaches the end of the file
	err  error // of the file, or of the context
}

// fill reads more of the file; false at its end. Unconsumed text moves to another offset.
func (w *window) fill() bool {
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

// peek skips white space and returns the next byte, or 0 at the end.
func (w *window) peek() byte {
	for {
		for w.at < len(w.text) {
			c := w.text[w.at]
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return c
			}
			w.at++
		}
		if !w.fill() {
			return 0
		}
	}
}

// skipSeparator skips what precedes a member or an element; closed means that there is none.
func (w *window) skipSeparator(closing byte, first bool) (closed, ok bool) {
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
