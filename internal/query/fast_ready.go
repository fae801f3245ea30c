package query

import (
	"iter"

	"github.com/itchyny/gojq"
)

// Statuses are what `ready` has to know of the statuses of tasks.
type Statuses struct {
	Waiting []string // a task of these waits for work
	Done    string   // a task that others depend on has to be this
}

// readyName is the function that gives the tasks of a state that can be taken up.
const readyName = "ready"

// The members of a task that ready looks at.
const (
	readyNumber = "number"
	readyStatus = "status"
	readyDeps   = "dependencies"
	readyTasks  = "tasks"
)

// readiness decides for one list of tasks, in linear time: all of them are added, then asked for.
type readiness struct {
	*Statuses

	open  map[int]bool // by number: not done
	tasks []waiting
}

// waiting is a task that waits for work.
type waiting struct {
	task any
	deps []int
	at   int64 // where it stands in its file
	size int
}

func newReadiness(s *Statuses) *readiness { return &readiness{Statuses: s, open: map[int]bool{}} }

// add enters a task; false if it is none.
func (r *readiness) add(number, status, deps any, w waiting) bool {
	n, isInt := number.(int)
	word, isText := status.(string)
	list, isList := deps.([]any)
	if !isInt || !isText || !isList && deps != nil {
		return false
	}
	r.open[n] = word != r.Done
	for _, d := range list {
		n, isInt := d.(int)
		if !isInt {
			return false
		}
		w.deps = append(w.deps, n)
	}
	for _, s := range r.Waiting {
		if s == word {
			r.tasks = append(r.tasks, w)
		}
	}
	return true
}

// ready gives the tasks that wait for nothing else, in the order of the list.
func (r *readiness) ready() iter.Seq[waiting] {
	return func(yield func(waiting) bool) {
		for _, w := range r.tasks {
			free := true
			for _, n := range w.deps {
				free = free && !r.open[n]
			}
			if free && !yield(w) {
				return
			}
		}
	}
}

// readyFunction is `ready` for a document that was decoded.
func readyFunction(s *Statuses) gojq.CompilerOption {
	return gojq.WithIterFunction(readyName, 0, 0, func(v any, _ []any) gojq.Iter {
		doc, isDoc := v.(map[string]any)
		list, isList := doc[readyTasks].([]any)
		if !isDoc || !isList {
			return gojq.NewIter[any](&stateError{})
		}
		r := newReadiness(s)
		for _, e := range list {
			t, ok := e.(map[string]any)
			if !ok || !r.add(t[readyNumber], t[readyStatus], t[readyDeps], waiting{task: e}) {
				return gojq.NewIter[any](&stateError{})
			}
		}
		var out []any
		for w := range r.ready() {
			out = append(out, w.task)
		}
		return gojq.NewIter(out...)
	})
}

// stateError is what `ready` says of a value that is no state.
type stateError struct{}

func (*stateError) Error() string {
	return "ready needs a state: an object with tasks that have number, status and dependencies"
}

// readyFirst tells whether a query is `ready | REST` and gives REST for each of the tasks.
func readyFirst(q *gojq.Query) (rest string, ok bool) {
	list, last := stages(q)
	if len(list) == 0 || list[0].Term == nil || list[0].Term.Type != gojq.TermTypeFunc || list[0].Term.Func.Name != readyName || len(list[0].Term.Func.Args) > 0 {
		return "", false
	}
	rest = ".[]"
	for _, s := range list[0].Term.SuffixList {
		rest += s.String()
	}
	if last != nil {
		list = append(list, last)
	}
	for _, s := range list[1:] {
		rest += " | " + s.String()
	}
	return rest, true
}

// listed enters an element of the list of tasks while it is read.
func (p *partial) listed(raw []byte, spans []span, from int64) bool {
	if raw[0] != '{' {
		return false
	}
	var parts [3]any
	for i, name := range []string{readyNumber, readyStatus, readyDeps} {
		v := at(p.b, spans[p.groups.array.elems.index(name)])
		switch {
		case len(v) == 0:
		case v[0] == '[':
			var ok bool
			if parts[i], ok = p.elements(v, &need{elems: &need{}}); !ok {
				return false
			}
		case v[0] == '{':
			return false
		default:
			var ok bool
			if parts[i], ok = decodeScalar(v); !ok {
				return false
			}
		}
	}
	return p.groups.ready.add(parts[0], parts[1], parts[2], waiting{at: from, size: len(raw)})
}

// found hands on the tasks that are ready, some at a time; false if it cannot. What is needed of them is read once more.
func (p *partial) found(emit func(elems []any) bool) bool {
	n := p.groups.array.elems
	s := scanning{need: n, spans: make([]span, len(n.fields))}
	list, again := []any{}, piece{partial: p}
	for w := range p.groups.ready.ready() {
		raw, ok := again.read(w)
		if !ok {
			return false
		}
		var v any
		if !n.all && !n.object {
			clear(s.spans)
			if scanObject(raw, 0, 0, &again.layout, &s) != len(raw) {
				return false
			}
			v, ok = p.fields(raw, n, s.spans)
		} else {
			v, ok = p.decode(raw, &need{all: true})
		}
		if !ok {
			return false
		}
		if list = append(list, v); len(list) == partSize {
			if !emit(list) {
				return false
			}
			list = []any{}
		}
	}
	return emit(list)
}

// piece is a part of the input that is read once more. Every part has memory of its own, which values may refer to.
type piece struct {
	*partial

	bytes  []byte
	at     int64
	layout layout
}

// pieceSize is how much is read at a time.
const pieceSize = 64 << 10

// read gives the bytes of a task.
func (p *piece) read(w waiting) ([]byte, bool) {
	if p.file == nil {
		return p.b[w.at : int(w.at)+w.size], true
	}
	if w.at < p.at || w.at+int64(w.size) > p.at+int64(len(p.bytes)) {
		p.at, p.bytes = w.at, make([]byte, max(pieceSize, w.size))
		n, err := p.file.ReadAt(p.bytes, w.at)
		if p.bytes = p.bytes[:n]; err != nil && n < w.size {
			return nil, false
		}
	}
	return p.bytes[w.at-p.at:][:w.size], true
}
