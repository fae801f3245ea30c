package interp

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// scope is one sequence of steps that is being run: the file's, or one iteration of a loop's body. The values in it are
// prepared once, so that an expression does not look through them again.
type scope struct {
	outer *scope
	list  []*syntax.Step
	path  string // prefix of the step paths, "phases[2]/"
	vars  map[string]any
	steps map[string]any // results by id
	// through marks the scope of a step between others: what it leaves belongs to the scope around it.
	through bool
}

func newScope(outer *scope, list []*syntax.Step, path string) *scope {
	return &scope{outer: outer, list: list, path: path, vars: map[string]any{}, steps: map[string]any{}}
}

// find gives the scope in which a step stands, from the inside out.
func (s *scope) find(id string) (*scope, *syntax.Step) {
	for at := s; at != nil; at = at.outer {
		for _, top := range at.list {
			if step := within(top, id); step != nil {
				return at, step
			}
		}
	}
	return nil, nil
}

// set gives a variable its value.
func (s *scope) set(name string, v any) { s.lasting().vars["$"+name] = query.Prepare(v) }

// done keeps the result of a step.
func (s *scope) done(id string, v any) { s.lasting().steps[id] = query.Prepare(v) }

// lasting is the scope in which what a step leaves is kept.
func (s *scope) lasting() *scope {
	for s.through {
		s = s.outer
	}
	return s
}

// result is that of a step, of this iteration or of a sequence around it.
func (s *scope) result(id string) (any, bool) {
	for at := s; at != nil; at = at.outer {
		if v, ok := at.steps[id]; ok {
			return v, true
		}
	}
	return nil, false
}

// results is what $steps shows to an expression.
func (s *scope) results(reads compile.Reads) map[string]any {
	out := map[string]any{}
	for _, id := range reads.Steps {
		if v, ok := s.result(id); ok {
			out[id] = v
		}
	}
	if !reads.AllSteps {
		return out
	}
	for at := s; at != nil; at = at.outer {
		for id, v := range at.steps {
			if _, ok := out[id]; !ok {
				out[id] = v
			}
		}
	}
	return out
}

// vars gives the variables that an expression reads, and no other: what it does not read is neither loaded nor built.
func (r *run) vars(ctx context.Context, sc *scope, e *syntax.Expr) (map[string]any, error) {
	reads := r.prog.Reads(e)
	out := make(map[string]any, len(reads.Vars))
	for _, name := range reads.Vars {
		switch name {
		case "$steps":
			out[name] = sc.results(reads)
		case "$run":
			about, err := r.about(ctx, reads)
			if err != nil {
				return nil, err
			}
			out[name] = about
		case "$board":
			out[name] = r.boards()
		case "$feedback":
			if r.feedback != nil {
				out[name] = r.feedback
			}
		case "$state":
			v, err := r.snapshot(ctx)
			if err != nil {
				return nil, err
			}
			out[name] = v
		default:
			out[name] = r.variable(sc, name)
		}
	}
	return out, nil
}

func (r *run) variable(sc *scope, name string) any {
	for at := sc; at != nil; at = at.outer {
		if v, ok := at.vars[name]; ok {
			return v
		}
	}
	return r.base[name]
}

// snapshot is the state at the start of the present step, read when it is first used. A document that was seen before
// is not looked through again.
func (r *run) snapshot(ctx context.Context) (any, error) {
	if r.stateRead {
		return r.state, nil
	}
	doc := r.stateSeen
	if doc == nil {
		fresh, _, err := r.cfg.State.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		doc = fresh
	}
	if r.stateDoc == nil || !sameMap(doc, r.stateDoc) {
		r.stateDoc, r.state = doc, query.Prepare(doc)
	}
	r.stateRead = true
	return r.state, nil
}

func sameMap(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.Kind() == reflect.Map && y.Kind() == reflect.Map && x.Pointer() == y.Pointer()
}

// about is $run.
func (r *run) about(ctx context.Context, reads compile.Reads) (map[string]any, error) {
	approval := "interactive"
	if r.cfg.AutoApprove {
		approval = "autonomous"
	}
	if r.listed == nil {
		list := []any{}
		for _, i := range newestAt(r.artifacts) {
			list = append(list, r.plain[i])
		}
		r.listed = query.Prepare(list)
	}
	var worktree any
	if r.worktree != "" {
		worktree = r.worktree
	}
	out := map[string]any{
		"id": r.cfg.IDs.Run, "session_id": r.cfg.IDs.Session, "command": r.cfg.IDs.Command, "depth": r.depth.Int(),
		"started_at": r.started.UTC().Format("2006-01-02T15:04:05Z"), "worktree": worktree, "rollbacks": r.rollbacks,
		"auto_approve": r.cfg.AutoApprove, "approval": approval, "artifacts": r.listed,
		"overrides": append([]any{}, r.overrides...), "diff": "", "diffstat": "",
	}
	if r.cfg.Diff == nil || r.dry.on || !slices.Contains(reads.Run, "diff") && !slices.Contains(reads.Run, "diffstat") {
		return out, nil
	}
	dir := r.worktree
	if dir == "" {
		dir = r.cfg.Dir
	}
	diff, stat, err := r.cfg.Diff(ctx, dir)
	out["diff"], out["diffstat"] = diff, stat
	return out, err
}

// brought keeps an artifact of the run.
func (r *run) brought(a formats.Artifact) {
	r.artifacts, r.plain, r.listed = append(r.artifacts, a), append(r.plain, normal(a)), nil
	r.made = append(r.made, a)
}

// newest keeps the last artifact of each type and path, in order.
func newest(list []formats.Artifact) []formats.Artifact {
	var out []formats.Artifact
	for _, i := range newestAt(list) {
		out = append(out, list[i])
	}
	return out
}

func newestAt(list []formats.Artifact) []int {
	type key struct {
		kind formats.ArtifactType
		path string
	}
	last := map[key]int{}
	for i, a := range list {
		last[key{a.Type, a.Path}] = i
	}
	out := make([]int, 0, len(last))
	for i, a := range list {
		if last[key{a.Type, a.Path}] == i {
			out = append(out, i)
		}
	}
	return out
}

// eval gives the first result of an expression, null without one. A nil expression is true.
func (r *run) eval(ctx context.Context, sc *scope, e *syntax.Expr, input any) (any, error) {
	if e == nil {
		return true, nil
	}
	vars, err := r.vars(ctx, sc, e)
	if err != nil {
		return nil, err
	}
	v, err := r.prog.Code(e).One(ctx, input, vars)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &formats.Failure{
			Code:    formats.CodeValidationFailed,
			Message: r.placeOf(e.Pos) + ": " + e.Src, Err: err,
			Help: "the expression compiled but does not fit the values it met",
		}
	}
	return v, nil
}

// text fills a text's expressions; null prints as nothing.
func (r *run) text(ctx context.Context, sc *scope, t *syntax.Text, input any) (string, error) {
	if t == nil {
		return "", nil
	}
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Expr == nil {
			b.WriteString(p.Lit)
			continue
		}
		v, err := r.eval(ctx, sc, p.Expr, input)
		if err != nil {
			return "", err
		}
		if v != nil {
			b.WriteString(query.Text(v))
		}
	}
	return b.String(), nil
}

// value evaluates a value of a block.
func (r *run) value(ctx context.Context, sc *scope, v *syntax.Value, input any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch v.Kind {
	case syntax.Jq:
		return r.eval(ctx, sc, v.Expr, input)
	case syntax.Template:
		if v.Text.Whole && len(v.Text.Parts) == 1 && v.Text.Parts[0].Expr != nil {
			return r.eval(ctx, sc, v.Text.Parts[0].Expr, input)
		}
		return r.text(ctx, sc, v.Text, input)
	case syntax.Map:
		return r.fields(ctx, sc, v.Fields, input)
	case syntax.List:
		out := make([]any, 0, len(v.Items))
		for _, item := range v.Items {
			one, err := r.value(ctx, sc, item, input)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	case syntax.Literal:
	}
	return normal(v.Lit), nil
}

// fields evaluates the members of a map.
func (r *run) fields(ctx context.Context, sc *scope, list []syntax.Field, input any) (map[string]any, error) {
	out := make(map[string]any, len(list))
	for _, f := range list {
		one, err := r.value(ctx, sc, f.Value, input)
		if err != nil {
			return nil, err
		}
		out[f.Key.Text] = one
	}
	return out, nil
}

// as is a value of a type, the zero value for anything else.
func as[T any](v any) T {
	out, ok := v.(T)
	if !ok {
		var zero T
		return zero
	}
	return out
}

func truth(v any) bool { return query.Truth(v) }

func normal(v any) any { return query.Normalize(v) }

// number reads a value as a whole number.
func number(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case float64:
		return int(v), v == float64(int(v))
	case json.Number:
		n, err := v.Int64()
		return int(n), err == nil
	}
	return 0, false
}
