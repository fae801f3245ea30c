package query

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
)

// An input is read in one pass, value by value and of an array element by element. What the query cannot look at
// (infer) is checked as strictly as the parser does and left out; elements that its selection is sure to drop (test)
// are left out as well. The same code runs on what is left, for a query `PATH[] | BODY` on some elements at a time.
// Nothing is printed before the input was read to its end. Whatever cannot be told this way, an error of the run
// included, is left to the parser and the whole input: this way shows no error of its own.

// How much of an input is read at a time at least. One element that is looked at in one piece may make it larger.
const windowSize = 256 << 10

// partSize is how many elements are handed on at a time.
const partSize = 512

// plan is what is known of a query before it runs.
type plan struct {
	root *need
	path []string // to the array whose elements the query treats one by one, independently
	part *need    // that array, nil if there is none
}

// newPlan gives nil if the query needs its input in full.
func newPlan(q *gojq.Query, globals map[string]any) *plan {
	root, ok := infer(q, globals)
	if !ok || root.all || len(root.fields) == 0 && root.elems == nil {
		return nil
	}
	p := &plan{root: root}
	if path, ok := eachOf(q); ok {
		p.part, p.path = root, path
		for _, name := range path {
			p.part = p.part.field(name)
		}
	}
	return p
}

// eachOf tells whether a query is `.a.b[] | BODY`, or `ready | BODY`: then its results are those of BODY for each
// element, one after the other.
func eachOf(q *gojq.Query) (path []string, ok bool) {
	for q.Term == nil && q.Op == gojq.OpPipe && len(q.Patterns) == 0 && len(q.FuncDefs) == 0 {
		q = q.Left
	}
	if q.Term == nil || len(q.FuncDefs) > 0 {
		return nil, false
	}
	switch q.Term.Type { //nolint:exhaustive // every other term has no path
	case gojq.TermTypeIdentity:
	case gojq.TermTypeIndex:
		path = []string{""}
		path[0], ok = indexKey(q.Term.Index)
	case gojq.TermTypeFunc:
		return []string{readyTasks}, q.Term.Func.Name == readyName && len(q.Term.Func.Args) == 0
	default:
		return nil, false
	}
	for _, s := range q.Term.SuffixList {
		if s.Iter {
			return path, ok || path == nil
		}
		if s.Index != nil {
			return nil, false
		}
	}
	return nil, false
}

// wrap makes a document that has nothing but these elements.
func (p *plan) wrap(elems []any) any {
	var doc any = elems
	for _, name := range slices.Backward(p.path) {
		doc = map[string]any{name: doc}
	}
	return doc
}

// streamed answers a query in one pass. ok is false if that cannot be done; then nothing was printed.
func (r *cli) streamed(ctx context.Context) (exit int, err error, ok bool) {
	var kept bytes.Buffer
	out, args := r.out, len(r.from.all)
	r.out = bufio.NewWriter(&kept)
	for r.file = 0; r.file < len(r.req.Inputs); r.file++ {
		if err, ok = r.streamedInput(ctx); !ok || err != nil {
			break
		}
	}
	if err == nil {
		err = r.out.Flush() // to memory: it does not fail
	}
	r.out = out
	r.from.reset(args)
	switch {
	case err != nil:
		return exitRuntime, err, true
	case !ok:
		r.file, r.results, r.last = 0, 0, nil
		return 0, nil, false
	}
	if _, err := out.Write(kept.Bytes()); err != nil {
		return ExitInput, err, true
	}
	exit, err = r.status()
	return exit, err, true
}

// streamedInput answers for one input. The error is that of a context that ended.
func (r *cli) streamedInput(ctx context.Context) (err error, ok bool) {
	args := len(r.from.all)
	s := newStream(ctx, r.req.Inputs[r.file], r.plan, r.from)
	if tasks := r.plan.root.find(readyTasks); tasks != nil && tasks.ready && tasks.drops() {
		if s.ready, ok = r.readyOnes(ctx); !ok {
			return context.Cause(ctx), ctx.Err() != nil
		}
	}
	s.emit = func(doc any) bool {
		for v, rerr := range r.code.each(ctx, doc, r.values) {
			if rerr == nil {
				rerr = r.print(v)
			}
			if rerr != nil {
				if ctx.Err() != nil {
					err = rerr
				}
				return false
			}
		}
		r.from.reset(args)
		return true
	}
	ok = s.read() && (!r.req.Strict || s.values == 1)
	if !ok && ctx.Err() != nil {
		return context.Cause(ctx), true
	}
	return err, ok || err != nil
}

// readyOnes reads an input and finds out of the tasks of each of its values which ones are ready.
func (r *cli) readyOnes(ctx context.Context) (ready []readiness, ok bool) {
	root := &need{}
	flow{at: []*need{root}}.ready()
	p := &plan{root: root, part: root.find(readyTasks), path: []string{readyTasks}}
	s := newStream(ctx, r.req.Inputs[r.file], p, nil)
	s.emit = func(doc any) bool {
		for len(ready) <= s.values {
			ready = append(ready, readiness{Statuses: r.req.Statuses, open: map[int]bool{}})
		}
		m, _ := doc.(map[string]any) //nolint:errcheck // nil has no tasks
		list, ok := m[readyTasks].([]any)
		return ok && !slices.ContainsFunc(list, func(task any) bool { return !ready[s.values].add(task) })
	}
	return ready, s.read()
}

// stream reads the values of an input as far as a query needs them. It gives up, with false, on everything that is not
// strict JSON, and on some that is: then the parser has to say what it is.
type stream struct {
	window
	*scanner
	*plan

	emit   func(doc any) bool // takes a value, or a part of one
	from   *origins
	depth  int
	values int         // how many were read
	ready  []readiness // if only tasks that are ready are looked at: of each value
	twins  map[string]map[string]any
	twin   []byte
}

func newStream(ctx context.Context, in Input, p *plan, from *origins) *stream {
	w := window{ctx: ctx, file: in.File}
	if in.File == nil {
		w.file = bytes.NewReader(in.Data)
	}
	return &stream{window: w, scanner: newScanner(), plan: p, from: from, twins: map[string]map[string]any{}}
}

// read hands all values to emit.
func (s *stream) read() bool {
	s.more()
	if bytes.HasPrefix(s.b, []byte(mark)) {
		s.i = len(mark)
	}
	for ; s.peek() != 0; s.values++ {
		if doc, ok := s.take(s.root); !ok || !s.emit(doc) {
			return false
		}
	}
	return s.i == len(s.b) && s.err == nil
}

const mark = "\xef\xbb\xbf"

// take reads the value at i; one without a need is only stepped over.
func (s *stream) take(n *need) (any, bool) {
	switch c := s.peek(); {
	case c == '{' && (n == nil || !n.all && n.elems == nil):
		return s.members(n)
	case c == '[' && (n == nil || !n.all):
		return s.elements(n)
	}
	raw, ok := s.whole()
	if n == nil || !ok {
		return nil, ok
	}
	return s.decode(raw)
}

func (s *stream) members(n *need) (any, bool) {
	if s.depth++; s.depth > maxScanned {
		return nil, false
	}
	defer func() { s.depth-- }()
	m, seen := map[string]any{}, map[string]bool{}
	for {
		if closed, ok := s.comma('}', len(seen) == 0); closed || !ok {
			return m, ok
		}
		raw, ok := s.member()
		key := string(raw)
		if !ok || seen[key] || !unescaped(raw) {
			return nil, false
		}
		seen[key] = true
		var inner *need
		if n != nil {
			inner = n.find(key)
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

// elements reads the array at i.
func (s *stream) elements(n *need) (any, bool) {
	if n == nil {
		n = &need{}
	}
	var check *test
	fields := []field(nil)
	if n.elems != nil && !n.elems.all {
		fields = n.elems.fields
	}
	if n.elems != nil && n.drops() {
		check = n.test
		fields = n.elems.fields
	}
	s.looksFor(fields)
	list := []any{}
	for at := 0; ; at++ {
		if closed, ok := s.comma(']', at == 0); closed || !ok {
			return list, ok
		}
		raw, ok := s.whole()
		if !ok {
			return nil, false
		}
		switch {
		case n.elems == nil, check != nil && raw[0] == '{' && check.fails(s.wanted(check.slot)):
			continue
		case s.ready != nil && n.ready && !s.ready[s.values].ready(at):
			continue
		}
		v, ok := s.elem(raw, n.elems)
		if !ok {
			return nil, false
		}
		list = append(list, v)
		if n == s.part && len(list) == partSize {
			if !s.emit(s.wrap(list)) {
				return nil, false
			}
			list = []any{}
		}
	}
}

// wanted gives the bytes of a wanted member of the element that was read last.
func (s *stream) wanted(slot int) []byte {
	p := s.spans[slot]
	return s.b[p.start:p.end]
}

// maxTwins is how many objects are kept that may come again, and maxTwin how long they may be.
const (
	maxTwins = 256
	maxTwin  = 96
)

// elem makes an element as far as it is needed. Elements that are the same as far as they are needed are one object,
// which nobody changes: of a status there are few values.
func (s *stream) elem(raw []byte, n *need) (any, bool) {
	if raw[0] != '{' || n.all || n.elems != nil {
		return s.decode(raw)
	}
	s.twin = s.twin[:0]
	for i := range n.fields {
		s.twin = append(append(s.twin, s.wanted(i)...), 0) // no value holds a NUL
	}
	if m, ok := s.twins[string(s.twin)]; ok {
		return m, true
	}
	m := make(map[string]any, len(n.fields))
	for i, f := range n.fields {
		if raw := s.wanted(i); len(raw) > 0 {
			v, ok := s.decode(raw)
			if !ok {
				return nil, false
			}
			m[f.name] = v
		}
	}
	if len(s.twins) < maxTwins && len(s.twin) <= maxTwin {
		s.twins[string(s.twin)] = m
	}
	return m, true
}

// decode makes a value of its bytes, which were scanned.
func (s *stream) decode(raw []byte) (any, bool) {
	if raw[0] != '{' && raw[0] != '[' {
		return decodeScalar(raw)
	}
	v, err := jsonx.Parse(raw, limits())
	if err != nil {
		return nil, false
	}
	return decode(v, s.from), true
}

// window is the part of an input that is in memory: b from i on is not taken yet.
type window struct {
	b    []byte
	i    int
	file io.ReaderAt
	next int64 // where in the file to read on
	end  bool  // there is nothing behind b
	err  error // of the file, or of the context
	ctx  context.Context
}

// more reads on. What is not taken yet stays, at another place.
func (w *window) more() bool {
	if w.err == nil {
		w.err = w.ctx.Err()
	}
	if w.end || w.err != nil {
		return false
	}
	rest := w.b[w.i:]
	if len(rest) > cap(w.b)/2 || w.b == nil {
		w.b = append(make([]byte, 0, max(2*cap(w.b), windowSize)), rest...)
	} else {
		w.b = w.b[:copy(w.b, rest)]
	}
	w.i = 0
	n, err := w.file.ReadAt(w.b[len(w.b):cap(w.b)], w.next)
	w.b, w.next = w.b[:len(w.b)+n], w.next+int64(n)
	if errors.Is(err, io.EOF) {
		w.end, err = true, nil
	}
	w.err = err
	return n > 0
}

// peek skips white space and gives the next byte, 0 at the end.
func (w *window) peek() byte {
	for {
		if w.i = scanSpace(w.b, w.i); w.i < len(w.b) {
			return w.b[w.i]
		}
		if !w.more() {
			return 0
		}
	}
}

// comma steps over what stands before a member or an element; closed says that there is none.
func (w *window) comma(closing byte, first bool) (closed, ok bool) {
	if first {
		w.i++ // the bracket
	}
	c := w.peek()
	switch {
	case c == closing:
		w.i++
		return true, true
	case first:
		return false, c != 0
	case c != ',':
		return false, false
	}
	w.i++
	return false, w.peek() != closing
}

// member steps over a key and its colon.
func (w *window) member() (key []byte, ok bool) {
	for {
		key, end := scanKey(w.b, w.i)
		if end >= 0 {
			w.i = end
			return key, true
		}
		if end == wrong || !w.more() {
			return nil, false
		}
	}
}

// whole steps over a value and gives all of it.
func (s *stream) whole() ([]byte, bool) {
	s.peek()
	for {
		end := s.element(s.b, s.i)
		if end >= 0 {
			raw := s.b[s.i:end]
			s.i = end
			return raw, true
		}
		if end == wrong || !s.more() {
			return nil, false
		}
	}
}
