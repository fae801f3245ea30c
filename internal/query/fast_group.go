package query

import (
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// Counting and grouping by a field are what aggregations of a state mostly are. Where a query begins with one of them, the
// elements are put into groups by the bytes of the field while the input is read, and the rest of the query runs on the
// groups. Known are `PATH | group_by(.f) | REST`, `[PATH[].f] | group_by(.) | REST` in its spellings, and
// `reduce PATH[] as $t ({}; .[$t.f] += 1) | REST`.

type groupKind uint8

const (
	groupElems  groupKind = iota // of each group its elements
	groupValues                  // of each group the values of the field
	groupCounts                  // an object: how many elements have which value
	groupReady                   // the tasks that are ready
)

// grouping is the first part of a query.
type grouping struct {
	kind  groupKind
	path  []string // of the array
	field string
	rest  string // what comes behind it, empty for nothing

	array *need
	slot  int
}

// groupingOf gives nil if a query does not begin with one.
func groupingOf(q *gojq.Query) *grouping {
	if rest, ok := readyFirst(q); ok {
		return &grouping{kind: groupReady, path: []string{readyTasks}, field: readyStatus, rest: rest}
	}
	list, last := stages(q)
	if len(list) == 0 {
		return nil
	}
	if t := list[0].Term; t != nil && t.Type == gojq.TermTypeReduce && len(t.SuffixList) == 0 && len(list[0].FuncDefs) == 0 {
		g := countingOf(t.Reduce)
		if g != nil {
			g.rest = behind(list[1:], last)
		}
		return g
	}
	g := &grouping{}
	path, iter, _, ok := route(list[0])
	switch by, isGroup := groupedBy(list, 1); {
	case ok && !iter && isGroup && by != "":
		// .tasks | group_by(.status)
		g.kind, g.path, g.field, list = groupElems, path, by, list[2:]
	case ok && !iter && mapped(list) != "":
		// .tasks | map(.status) | group_by(.)
		g.kind, g.path, g.field, list = groupValues, path, mapped(list), list[3:]
	default:
		// [.tasks[].status] | group_by(.)
		t := list[0].Term
		if !isGroup || by != "" || t == nil || t.Type != gojq.TermTypeArray || len(t.SuffixList) > 0 || t.Array.Query == nil {
			return nil
		}
		path, iter, field, ok := route(t.Array.Query)
		if !ok || !iter || field == "" {
			return nil
		}
		g.kind, g.path, g.field, list = groupValues, path, field, list[2:]
	}
	g.rest = behind(list, last)
	return g
}

// behind is the query of the stages that are left.
func behind(list []*gojq.Query, last *gojq.Query) string {
	if last != nil {
		list = append(list, last)
	}
	var rest []string
	for _, s := range list {
		rest = append(rest, s.String())
	}
	return strings.Join(rest, " | ")
}

// stages gives the parts of a pipe in order. What stands behind a variable that is bound comes as last.
func stages(q *gojq.Query) (list []*gojq.Query, last *gojq.Query) {
	for q.Term == nil && q.Op == gojq.OpPipe && len(q.FuncDefs) == 0 {
		if len(q.Patterns) > 0 {
			return list, q
		}
		l, rest := stages(q.Left)
		if rest != nil {
			return nil, nil
		}
		list = append(list, l...)
		q = q.Right
	}
	if len(q.FuncDefs) > 0 {
		return list, q
	}
	return append(list, q), nil
}

// groupedBy tells whether a stage is group_by, of a field or, with an empty name, of the value itself.
func groupedBy(list []*gojq.Query, i int) (field string, ok bool) {
	f := called(list, i, "group_by")
	if f == nil {
		return "", false
	}
	if f.Term != nil && f.Term.Type == gojq.TermTypeIdentity && len(f.Term.SuffixList) == 0 && len(f.FuncDefs) == 0 {
		return "", true
	}
	return fieldOf(f)
}

// mapped gives the field of `map(.f) | group_by(.)` behind the first stage.
func mapped(list []*gojq.Query) string {
	f := called(list, 1, "map")
	if by, ok := groupedBy(list, 2); f == nil || !ok || by != "" {
		return ""
	}
	field, _ := fieldOf(f)
	return field
}

// called gives the argument of a stage that is a call of name with one argument.
func called(list []*gojq.Query, i int, name string) *gojq.Query {
	if i >= len(list) || list[i].Term == nil || list[i].Term.Type != gojq.TermTypeFunc || len(list[i].Term.SuffixList) > 0 {
		return nil
	}
	if f := list[i].Term.Func; f.Name == name && len(f.Args) == 1 {
		return f.Args[0]
	}
	return nil
}

// route takes .a.b, .a.b[], .a.b[].f and .a.b[] | .f apart.
func route(q *gojq.Query) (path []string, iter bool, field string, ok bool) {
	if q.Term == nil && q.Op == gojq.OpPipe && len(q.Patterns) == 0 && len(q.FuncDefs) == 0 {
		path, iter, field, ok = route(q.Left)
		name, isField := fieldOf(q.Right)
		return path, iter, name, ok && iter && field == "" && isField
	}
	if q.Term == nil || q.Term.Type != gojq.TermTypeIndex || len(q.FuncDefs) > 0 {
		return nil, false, "", false
	}
	name, ok := indexKey(q.Term.Index)
	path = []string{name}
	for _, s := range q.Term.SuffixList {
		name, isKey := indexKey(s.Index)
		switch {
		case s.Iter && !iter:
			iter = true
		case !isKey || field != "" || s.Optional:
			return nil, false, "", false
		case iter:
			field = name
		default:
			path = append(path, name)
		}
	}
	return path, iter, field, ok
}

// countingOf knows `reduce PATH[] as $t ({}; .[$t.f] += 1)` and `reduce PATH[].f as $s ({}; .[$s] += 1)`.
func countingOf(r *gojq.Reduce) *grouping {
	path, iter, field, ok := route(r.Query)
	if !ok || !iter || len(r.Patterns) != 1 || r.Patterns[0].Name == "" || r.Start == nil || r.Start.Term == nil || r.Start.Term.Type != gojq.TermTypeObject {
		return nil
	}
	u := r.Update
	if len(r.Start.Term.Object.KeyVals) > 0 || len(r.Start.Term.SuffixList) > 0 || u == nil || len(u.FuncDefs) > 0 || u.Op != gojq.OpUpdateAdd || u.Left.Term == nil {
		return nil
	}
	if one := u.Right.Term; one == nil || one.Type != gojq.TermTypeNumber || one.Number != "1" || len(one.SuffixList) > 0 || len(u.Right.FuncDefs) > 0 {
		return nil
	}
	t := u.Left.Term
	if t.Type != gojq.TermTypeIndex || len(t.SuffixList) > 0 || t.Index.IsSlice || t.Index.Start == nil || len(u.Left.FuncDefs) > 0 {
		return nil
	}
	key := t.Index.Start
	if key.Term == nil || key.Term.Type != gojq.TermTypeFunc || key.Term.Func.Name != r.Patterns[0].Name || len(key.FuncDefs) > 0 {
		return nil
	}
	rest, all := static(key.Term.SuffixList)
	if !all || len(rest)+min(len(field), 1) != 1 {
		return nil
	}
	if len(rest) == 1 {
		field = rest[0]
	}
	return &grouping{kind: groupCounts, path: path, field: field}
}

// groups are made while an array is read.
type groups struct {
	*grouping

	index map[string]int // by the bytes of the field, "" if there is none
	list  []group
	ready *readiness // of groupReady
}

type group struct {
	raw    string
	key    any
	shared any // stands for every element, if nothing but the field is asked for
	elems  []any
	count  int
}

func (g *grouping) start(s *Statuses) *groups {
	return &groups{grouping: g, index: map[string]int{}, ready: newReadiness(s)}
}

// group gives the group of an element whose field is raw; nil if it has to be told otherwise.
func (g *groups) group(raw []byte) *group {
	i, ok := g.index[string(raw)]
	if ok {
		return &g.list[i]
	}
	n := group{raw: string(raw)}
	if len(raw) > 0 {
		if raw[0] == '{' || raw[0] == '[' {
			return nil
		}
		if n.key, ok = decodeScalar(raw); !ok {
			return nil
		}
	}
	if _, isText := n.key.(string); !isText && g.kind == groupCounts {
		return nil
	}
	switch only := !g.array.elems.all && len(g.array.elems.fields) == 1; {
	case g.kind == groupValues:
		n.shared = n.key
	case g.kind == groupElems && only && len(raw) == 0:
		n.shared = map[string]any{}
	case g.kind == groupElems && only:
		n.shared = map[string]any{g.field: n.key}
	}
	g.index[n.raw] = len(g.list)
	g.list = append(g.list, n)
	return &g.list[len(g.list)-1]
}

// result gives what the first part of the query makes; false if two groups are one after all.
func (g *groups) result() (any, bool) {
	slices.SortFunc(g.list, func(a, b group) int { return gojq.Compare(a.key, b.key) })
	for i := 1; i < len(g.list); i++ {
		if gojq.Compare(g.list[i-1].key, g.list[i].key) == 0 {
			return nil, false
		}
	}
	if g.kind == groupCounts {
		counts := make(map[string]any, len(g.list))
		for _, e := range g.list {
			name, ok := e.key.(string)
			if !ok {
				return nil, false
			}
			counts[name] = e.count
		}
		return counts, true
	}
	out := make([]any, len(g.list))
	for i, e := range g.list {
		out[i] = e.elems
	}
	return out, true
}

// grouped reads an element, which stands at start in the window, into its group.
func (p *partial) grouped(raw []byte, spans []span, start int) bool {
	if p.groups.kind == groupReady {
		return p.listed(raw, spans, p.next-int64(len(p.b)-start))
	}
	if raw[0] != '{' {
		return false
	}
	e := p.groups.group(at(p.b, spans[p.groups.slot]))
	if e == nil {
		return false
	}
	e.count++
	switch {
	case p.groups.kind == groupCounts:
		return true
	case e.shared == nil && p.groups.kind == groupElems:
		v, ok := p.member(raw, p.groups.array.elems, spans)
		if !ok {
			return false
		}
		e.elems = append(e.elems, v)
		return true
	}
	e.elems = append(e.elems, e.shared)
	return true
}
