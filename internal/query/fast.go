package query

import (
	"bufio"
	"bytes"
	"context"
	"slices"

	"github.com/itchyny/gojq"
)

// A query of the command line is answered in one of two ways. The slow one decodes the input in full and runs the query.
// The fast one finds out beforehand what the query can look at (infer), decodes only that (partial), leaves out elements of
// arrays that a selection of the query is sure to drop (pred), and runs the same code on what is left. It reads the input to
// its end and checks all of it as strictly as the parser before anything is printed. Whatever it does not understand, an
// error of the run included, sends the query the slow way, from the start: the fast way shows no error of its own.

// way says how a query may be answered.
type way uint8

const (
	wayFast way = iota
	wayPart     // only what is needed is decoded, but every element
	waySlow
)

// plan is what is known of a query before it runs.
type plan struct {
	root *need
	path []string // to the array whose elements the query treats one by one, independently
	part *need    // that array, nil if there is none
	pin  *pin     // of its elements only those of one number are looked at; may be nil

	group  *grouping // what the query begins with, may be nil
	rest   *Code     // what comes behind it, nil for nothing
	counts bool      // the query is linear in its input if it counts while it reads
}

// newPlan gives nil if the query needs its input in full.
func newPlan(q *gojq.Query, globals map[string]any) *plan {
	root, ok := infer(q, globals)
	if !ok || root.all || len(root.fields) == 0 && root.elems == nil && !root.count {
		return nil
	}
	root.settle()
	p := &plan{root: root, group: groupingOf(q)}
	if g := p.group; g != nil {
		g.array = root
		for _, name := range g.path {
			g.array = g.array.field(name)
		}
		if g.array.elems == nil {
			p.group = nil
		} else {
			for _, name := range []string{readyNumber, readyStatus, readyDeps} {
				if g.kind == groupReady {
					g.array.elems.field(name)
				}
			}
			g.array.elems.field(g.field)
			g.slot = g.array.elems.index(g.field)
		}
	}
	if path, ok := eachOf(q); ok {
		p.part, p.path = root, path
		for _, name := range path {
			p.part = p.part.field(name)
		}
		if p.group == nil {
			p.pin = pinOf(p.part)
		}
	}
	return p
}

// settle finds the slots of the fields that conditions look at.
func (n *need) settle() {
	for _, s := range n.sites {
		s.pred.resolve(n.elems)
	}
	for _, f := range n.fields {
		f.need.settle()
	}
	if n.elems != nil {
		n.elems.settle()
	}
}

// eachOf tells whether a query is `.a.b[] | BODY`: then its results are those of BODY for each element, one after the other.
func eachOf(q *gojq.Query) ([]string, bool) {
	for q.Term == nil && q.Op == gojq.OpPipe && len(q.Patterns) == 0 && len(q.FuncDefs) == 0 {
		q = q.Left
	}
	if q.Term == nil || len(q.FuncDefs) > 0 {
		return nil, false
	}
	var path []string
	if q.Term.Type != gojq.TermTypeIdentity {
		name, ok := indexKey(q.Term.Index)
		if q.Term.Type != gojq.TermTypeIndex || !ok {
			return nil, false
		}
		path = append(path, name)
	}
	for _, s := range q.Term.SuffixList {
		switch {
		case s.Iter:
			return path, true
		case s.Index != nil:
			name, ok := indexKey(s.Index)
			if !ok {
				return nil, false
			}
			path = append(path, name)
		}
	}
	return nil, false
}

// fast answers a query the fast way. ok is false if that cannot be done; then nothing happened.
func (r *cli) fast(ctx context.Context) (exit int, err error, ok bool) {
	var kept bytes.Buffer
	out, args := r.out, len(r.from.all)
	r.out = bufio.NewWriter(&kept)
	for r.file = 0; r.file < len(r.req.Inputs); r.file++ {
		if err, ok = r.fastInput(ctx); !ok || err != nil {
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
	case !ok && len(r.req.Inputs) > 0:
		r.file, r.results, r.last = 0, 0, nil
		return 0, nil, false
	}
	if _, err := out.Write(kept.Bytes()); err != nil {
		return exitInput, err, true
	}
	exit, err = r.status()
	return exit, err, true
}

// fastInput answers for one input. The error is that of a context that ended.
func (r *cli) fastInput(ctx context.Context) (err error, ok bool) {
	args := len(r.from.all)
	code := r.code
	if r.way == wayFast && r.plan.group != nil {
		code = r.plan.rest
	}
	run := func(doc any) bool {
		if code == nil {
			return r.print(doc) == nil
		}
		for v, rerr := range code.each(ctx, doc, r.values) {
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
	in := partial{window: newWindow(ctx, r.req.Inputs[r.file]), need: r.plan.root, from: r.from, empty: map[string]any{}, whole: r.way == wayPart}
	if r.way == wayFast {
		in.part, in.emit = r.plan.part, func(elems []any) bool { return run(r.plan.wrap(elems)) }
	}
	grouped := r.way == wayFast && r.plan.group != nil
	source := r.req.Inputs[r.file]
	if in.pin = r.plan.pin; r.way == wayFast && in.pin != nil {
		if elems, ok := in.marked(source, r.plan); ok {
			ok = run(r.plan.wrap(elems))
			return err, ok || err != nil
		}
		in.window = newWindow(ctx, source)
		if source.Keep != nil {
			in.marks = &marks{key: r.plan.markKey()}
		}
	}
	in.skipMark()
	for values := 0; ; values++ {
		if grouped {
			in.groups = r.plan.group.start(r.req.Statuses)
		}
		doc, done, ok := in.read()
		if !ok && ctx.Err() != nil {
			return context.Cause(ctx), true
		}
		if done && ok && in.marks != nil && values == 1 && !in.marks.broken && in.marks.count > markEvery {
			source.Keep(in.marks.bytes())
		}
		if done || !ok {
			return err, ok || err != nil
		}
		if grouped {
			if !in.seen {
				return nil, false
			}
			if in.groups.kind == groupReady {
				if ok = in.found(func(elems []any) bool { return run(elems) }); !ok {
					return err, err != nil
				}
				continue
			}
			if doc, ok = in.groups.result(); !ok {
				return nil, false
			}
		}
		if !run(doc) {
			return err, err != nil
		}
	}
}

// wrap makes a document that has nothing but these elements.
func (p *plan) wrap(elems []any) any {
	var doc any = elems
	for _, name := range slices.Backward(p.path) {
		doc = map[string]any{name: doc}
	}
	return doc
}
