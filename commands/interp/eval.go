package interp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/query"
)

// scope is one sequence of steps that is being run: the file's, or one iteration of a loop's body.
type scope struct {
	outer *scope
	ops   []*compile.Op
	path  string // prefix of the step paths, "phases[2]/"
	vars  map[string]any
	steps map[string]any // results by id
}

func newScope(outer *scope, ops []*compile.Op, path string) *scope {
	return &scope{outer: outer, ops: ops, path: path, vars: map[string]any{}, steps: map[string]any{}}
}

// find gives the scope in which a step stands, from the inside out.
func (s *scope) find(id string) (*scope, *compile.Op) {
	for at := s; at != nil; at = at.outer {
		for _, op := range at.ops {
			if op.ID == id {
				return at, op
			}
		}
	}
	return nil, nil
}

func (s *scope) collect(vars, steps map[string]any) {
	if s == nil {
		return
	}
	s.outer.collect(vars, steps)
	maps.Copy(vars, s.vars)
	maps.Copy(steps, s.steps)
}

// vars gives the variables that an expression of the scope may read.
func (r *run) vars(ctx context.Context, sc *scope, withState bool) (map[string]any, error) {
	out, steps := map[string]any{}, map[string]any{}
	maps.Copy(out, r.base)
	sc.collect(out, steps)
	out["$steps"] = steps
	out["$run"] = r.about()
	out["$feedback"] = nil
	if r.feedback != nil {
		out["$feedback"] = normal(r.feedback)
	}
	if withState {
		if r.state == nil {
			doc, _, err := r.cfg.State.Snapshot(ctx)
			if err != nil {
				return nil, err
			}
			r.state = doc
		}
		out["$state"] = r.state
	}
	return out, nil
}

// about is $run.
func (r *run) about() map[string]any {
	approval := "interactive"
	if r.cfg.AutoApprove {
		approval = "autonomous"
	}
	artifacts := []any{}
	for _, a := range newest(r.artifacts) {
		artifacts = append(artifacts, normal(a))
	}
	var worktree any
	if r.worktree != "" {
		worktree = r.worktree
	}
	return map[string]any{
		"id": r.cfg.IDs.Run, "session_id": r.cfg.IDs.Session, "command": r.cfg.IDs.Command, "depth": r.depth.Int(),
		"started_at": r.started.UTC().Format("2006-01-02T15:04:05Z"), "worktree": worktree, "rollbacks": 0,
		"auto_approve": r.cfg.AutoApprove, "approval": approval, "artifacts": artifacts,
	}
}

// newest keeps the last artifact of each type and path, in order.
func newest(list []formats.Artifact) []formats.Artifact {
	type key struct {
		kind formats.ArtifactType
		path string
	}
	last := map[key]int{}
	for i, a := range list {
		last[key{a.Type, a.Path}] = i
	}
	var out []formats.Artifact
	for i, a := range list {
		if last[key{a.Type, a.Path}] == i {
			out = append(out, a)
		}
	}
	return out
}

// eval gives the first result of an expression, null without one. A nil expression is true.
func (r *run) eval(ctx context.Context, sc *scope, e *compile.Expr, input any) (any, error) {
	if e == nil {
		return true, nil
	}
	vars, err := r.vars(ctx, sc, e.State)
	if err != nil {
		return nil, err
	}
	v, err := e.Code.One(ctx, input, vars)
	if err != nil {
		return nil, &formats.Failure{
			Code:    formats.CodeValidationFailed,
			Message: fmt.Sprintf("%s:%d:%d: %s", r.prog.File, e.Pos.Line, e.Pos.Col, e.Src), Err: err,
			Help: "the expression compiled but does not fit the values it met",
		}
	}
	return v, nil
}

// text fills a text's expressions; null prints as nothing.
func (r *run) text(ctx context.Context, sc *scope, t *compile.Text, input any) (string, error) {
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
func (r *run) value(ctx context.Context, sc *scope, v *compile.Value, input any) (any, error) {
	switch {
	case v == nil:
		return nil, nil
	case v.Expr != nil:
		return r.eval(ctx, sc, v.Expr, input)
	case v.Text != nil:
		if v.Text.Whole && len(v.Text.Parts) == 1 && v.Text.Parts[0].Expr != nil {
			return r.eval(ctx, sc, v.Text.Parts[0].Expr, input)
		}
		return r.text(ctx, sc, v.Text, input)
	case v.IsMap:
		out := make(map[string]any, len(v.Fields))
		for _, f := range v.Fields {
			one, err := r.value(ctx, sc, f.Value, input)
			if err != nil {
				return nil, err
			}
			out[f.Key] = one
		}
		return out, nil
	case v.IsList:
		out := make([]any, 0, len(v.Items))
		for _, item := range v.Items {
			one, err := r.value(ctx, sc, item, input)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	}
	return normal(v.Lit), nil
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
