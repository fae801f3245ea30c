package interp

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// give makes the command's return from the file's return.
func (r *run) give(ctx context.Context, sc *scope, t *syntax.Return, res result) (formats.Return, error) {
	ret := formats.Return{Status: formats.StatusCompleted, Artifacts: newest(r.artifacts)}
	var err error
	if ret.Summary, err = r.dryText(ctx, sc, t.Message, res.value); err != nil {
		return ret, err
	}
	if ret.Summary == "" {
		ret.Summary = r.done()
	}
	if ret.NextSteps, err = r.dryText(ctx, sc, t.NextSteps, res.value); err != nil {
		return ret, err
	}
	if t.Text != nil {
		v, err := r.value(ctx, sc, t.Text, res.value)
		if err != nil && !r.dry.on {
			return ret, err
		}
		if v != nil {
			ret.Text = query.Text(v)
		}
	}
	if t.Artifacts != nil && !r.dry.on {
		if ret.Artifacts, err = r.artifactsOf(ctx, sc, t.Artifacts, res.value); err != nil {
			return ret, err
		}
	}
	if t.Fields != nil && !r.dry.on {
		if ret.Fields, err = r.fields(ctx, sc, t.Fields, res.value); err != nil {
			return ret, err
		}
	}
	if t.Status == nil {
		return ret, nil
	}
	v, err := r.value(ctx, sc, t.Status, res.value)
	if r.dry.on {
		return ret, nil // how it ends is known at run time
	}
	if err != nil {
		return ret, err
	}
	if ret, err = withOutcome(ret, v); err == nil && !ret.Outcome().Passes() {
		ret.Issues = r.open // why the answer is no
	}
	return ret, err
}

// dryText fills a text; in a dry run an expression over stubbed results may fail, and the text then says so.
func (r *run) dryText(ctx context.Context, sc *scope, t *syntax.Text, input any) (string, error) {
	s, err := r.text(ctx, sc, t, input)
	if err != nil && r.dry.on {
		return "(known at run time)", nil
	}
	return s, err
}

// withOutcome gives the return the status that the file names.
func withOutcome(ret formats.Return, v any) (formats.Return, error) {
	word := as[string](v)
	outcome := formats.Outcome(word)
	if v == nil {
		return ret, nil
	}
	if !slices.Contains(formats.Outcomes(), outcome) {
		return ret, &formats.Failure{
			Code:    formats.CodeValidationFailed,
			Message: fmt.Sprintf("expected a status to return, got %s", query.Text(v)), Help: outcomeHelp(),
		}
	}
	switch outcome {
	case formats.OutcomeApproved, formats.OutcomeConditional, formats.OutcomeRejected:
		ret.Verdict = formats.Verdict(outcome)
	case formats.OutcomePartial:
		ret.Status = formats.StatusPartial
	case formats.OutcomeBlocked, formats.OutcomeSuspended:
		ret.Status, ret.Said, ret.BlockedReason = formats.StatusBlocked, outcome, ret.Summary
	case formats.OutcomeFailed:
		ret.Status = formats.StatusFailed
		ret.Errors = []formats.ReturnError{{
			Type: formats.ErrorExecution, Code: formats.CodeUnknown, Message: ret.Summary,
			Recommendation: ret.NextSteps,
		}}
	case formats.OutcomeCompleted, formats.OutcomeSkipped:
	}
	return ret, nil
}

func outcomeHelp() string {
	var names []string
	for _, o := range formats.Outcomes() {
		names = append(names, string(o))
	}
	return "the statuses are " + strings.Join(names, ", ")
}

func (r *run) artifactsOf(ctx context.Context, sc *scope, v *syntax.Value, input any) ([]formats.Artifact, error) {
	got, err := r.value(ctx, sc, v, input)
	if err != nil || got == nil {
		return nil, err
	}
	list, ok := got.([]any)
	if !ok {
		list = []any{got}
	}
	var out []formats.Artifact
	for _, one := range list {
		m := as[map[string]any](one)
		path := as[string](m["path"])
		kind := as[string](m["type"])
		summary := as[string](m["summary"])
		if path == "" {
			return nil, &formats.Failure{
				Code: formats.CodeValidationFailed, Message: "expected artifacts with type and path to return, got " +
					query.Text(one), Help: "such as $steps.ID.artifacts",
			}
		}
		if !filepath.IsLocal(filepath.FromSlash(path)) {
			return nil, &formats.Failure{
				Code:    formats.CodeValidationFailed,
				Message: fmt.Sprintf("expected the path of an artifact inside the project, got %q", path),
				Help:    "write it relative to the project root",
			}
		}
		if !slices.Contains(formats.ArtifactTypes(), formats.ArtifactType(kind)) {
			return nil, &formats.Failure{
				Code:    formats.CodeValidationFailed,
				Message: fmt.Sprintf("expected an artifact type for %s to return, got %q", path, kind),
				Help:    fmt.Sprintf("the types are %v", formats.ArtifactTypes()),
			}
		}
		out = append(out, formats.Artifact{Type: formats.ArtifactType(kind), Path: path, Summary: summary})
	}
	return out, nil
}
