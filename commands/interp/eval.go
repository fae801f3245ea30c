package interp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/query"
)

// env is what expressions see: the values of a scope, and what the frame of their step adds.
type env struct {
	scope *scope
	frame frame
}

// env is what expressions in the scope see.
func (sc *scope) env(fr frame) env {
	return env{sc, fr}
}

// env is what the expressions of the step see.
func (s step) env() env {
	return s.scope.env(s.frame)
}

// env is what expressions outside of the steps see.
func (r *run) env() env {
	return r.root.env(r.main)
}

// variables gives the variables that an expression reads. The others are neither loaded nor built.
func (in env) variables(e *syntax.Expr) (_ object, err error) {
	reads := in.frame.run.prog.Reads(e)
	out := make(object, len(reads.Vars))
	for _, name := range reads.Vars {
		switch name {
		case "$steps":
			out[name] = in.scope.stepResults(reads)
		case "$run":
			out[name], err = in.runValue(reads)
		case "$board":
			out[name] = in.frame.run.board
		case "$feedback":
			out[name] = in.frame.feedback
		case "$state":
			out[name], err = in.frame.snapshot()
		default:
			out[name] = in.scope.variable(name)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// stepResults is what $steps shows to an expression.
func (sc *scope) stepResults(reads compile.Reads) object {
	out := object{}
	for _, id := range reads.Steps {
		if v, ok := sc.result(id); ok {
			out[id] = v
		}
	}

	for at := sc; reads.AllSteps && at != nil; at = at.outer {
		for id, v := range at.results {
			if _, ok := out[id]; !ok {
				out[id] = v
			}
		}
	}
	return out
}

// stateMemo is the state that was read last, as it was read and as expressions see it.
type stateMemo struct{ doc, prepared any }

// prepare gives the state as expressions see it. A document that was seen before is not prepared
// again.
func (m *stateMemo) prepare(doc any) any {
	last := reflect.ValueOf(m.doc)
	now := reflect.ValueOf(doc)
	both := now.Kind() == reflect.Map && last.Kind() == reflect.Map
	if !both || now.Pointer() != last.Pointer() {
		m.doc = doc
		m.prepared = query.Prepare(doc)
	}
	return m.prepared
}

// snapshot is the state at the start of the present step, read when it is first used.
func (fr frame) snapshot() (any, error) {
	if fr.state.doc == nil {
		doc, _, err := fr.run.cfg.State.Snapshot(fr.ctx)
		if err != nil {
			return nil, err
		}
		fr.state.doc = fr.run.state.prepare(doc)
	}
	return fr.state.doc, nil
}

// runValue is $run.
func (in env) runValue(reads compile.Reads) (any, error) {
	r := in.frame.run
	approval := in.scope.variable("$approval")
	switch {
	case r.prog.Tiers != nil && approval != nil: // a flow settles it by its tier
	case r.cfg.AutoApprove:
		approval = documents.Autonomous
	default:
		approval = documents.Interactive
	}

	out := object{
		"id":           r.cfg.IDs.Run,
		"session_id":   r.cfg.IDs.Session,
		"command":      r.cfg.IDs.Command,
		"depth":        r.depth.Int(),
		"started_at":   r.started.UTC().Format("2006-01-02T15:04:05Z"),
		"worktree":     nil,
		"rollbacks":    r.counts.rollbacks,
		"auto_approve": r.cfg.AutoApprove,
		"approval":     approval,
		"commit":       r.cfg.Commit,
		"artifacts":    r.artifacts.exprValue(),
		"overrides":    listOf(r.report.overrides),
		"diff":         "",
		"diffstat":     "",
	}

	if slices.Contains(reads.Run, "repo_state") {
		if r.tree.repoState == "" {
			look := func() (formats.RepoState, error) {
				return r.cfg.RepoState(in.frame.ctx)
			}
			r.tree.repoState = formats.RepoNone
			if r.cfg.RepoState != nil {
				state, err := observe(in.frame, "", "repo_state", look)
				if err != nil {
					return nil, err
				}
				r.tree.repoState = state
			}
		}
		out["repo_state"] = string(r.tree.repoState)
	}

	if in.frame.dir() != "" {
		out["worktree"] = in.frame.dir()
	}
	if r.cfg.Diff == nil || r.dry.on ||
		!slices.Contains(reads.Run, "diff") && !slices.Contains(reads.Run, "diffstat") {
		return out, nil
	}

	patch, stat, err := in.frame.diff()
	out["diff"] = patch
	out["diffstat"] = stat
	return out, err
}

// eval gives the first result of an expression, null without one. A nil expression is true.
func (in env) eval(e *syntax.Expr, input any) (any, error) {
	if e == nil {
		return true, nil
	}
	// what may be another the next time: the state, or what changed in a tree
	reads := in.frame.run.prog.Reads(e)
	if slices.Contains(reads.Vars, "$state") || slices.Contains(reads.Run, "diff") ||
		slices.Contains(reads.Run, "diffstat") {
		v, err := observe(
			in.frame,
			in.scope.journalPrefix,
			fmt.Sprintf("%d:%d", e.Pos.Line, e.Pos.Col),
			func() (any, error) {
				return in.compute(e, input)
			},
		)
		return normalize(v), err
	}
	return in.compute(e, input)
}

func (in env) compute(e *syntax.Expr, input any) (any, error) {
	vars, err := in.variables(e)
	if err != nil {
		return nil, err
	}

	v, err := in.frame.run.prog.Code(e).One(in.frame.ctx, input, vars)
	if err != nil {
		if in.frame.ctx.Err() != nil {
			return nil, context.Cause(in.frame.ctx)
		}
		return nil, &formats.Failure{
			Code:    formats.CodeValidationFailed,
			Message: in.frame.run.placeOf(e.Pos) + ": " + e.Src,
			Err:     err,
			Help:    "the expression compiled but does not fit the values it met",
		}
	}
	return v, nil
}

// text fills a text's expressions; null prints as nothing.
func (in env) text(t *syntax.Text, input any) (string, error) {
	if t == nil {
		return "", nil
	}
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Expr == nil {
			b.WriteString(p.Lit)
			continue
		}
		v, err := in.eval(p.Expr, input)
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
func (in env) value(v *syntax.Value, input any) (any, error) {
	if v == nil {
		return nil, nil
	}
	switch v.Kind {
	case syntax.Jq:
		return in.eval(v.Expr, input)
	case syntax.Template:
		if v.Text.Whole {
			return in.eval(v.Text.Parts[0].Expr, input)
		}
		return in.text(v.Text, input)
	case syntax.Map:
		return in.fields(v.Fields, input)
	case syntax.List:
		out := make([]any, 0, len(v.Items))
		for _, item := range v.Items {
			one, err := in.value(item, input)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	case syntax.Literal:
	}

	return normalize(v.Lit), nil
}

// fields evaluates the members of a map.
func (in env) fields(list []syntax.Field, input any) (object, error) {
	out := make(object, len(list))
	for _, f := range list {
		one, err := in.value(f.Value, input)
		if err != nil {
			return nil, err
		}
		out[f.Key.Text] = one
	}
	return out, nil
}

// object is a map as expressions see it.
type object = map[string]any

// objectOf is a value that is an object, nil for anything else.
func objectOf(v any) object {
	return formats.As[object](normalize(v))
}

// listIn is the list in a member of an object, nil without one.
func listIn(v any, member string) []any {
	return formats.As[[]any](objectOf(v)[member])
}

// holds tells whether an expression is true; a nil one is.
func (in env) holds(e *syntax.Expr, input any) (bool, error) {
	v, err := in.eval(e, input)
	return query.Truth(v), err
}

func normalize(v any) any {
	return query.Normalize(v)
}

// listOf is a list as expressions see it, also an empty one.
func listOf[T any](list []T) any {
	if len(list) == 0 {
		return emptyList // as most are
	}
	return normalize(list)
}

// emptyList is the list without members. Most lists are empty, so they share it.
var emptyList any = []any{}

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

// nonNil is a copy of a list that is never nil, because an expression must be able to iterate over
// it.
func nonNil[T any](list []T) []T {
	return append([]T{}, list...)
}

// decode reads a value of an expression, or of the state, as a wire type.
func decode(v, into any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
