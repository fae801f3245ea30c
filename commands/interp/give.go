package interp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/formats"
	"tercet/internal/query"
)

// give makes the command's return from the file's return.
func (r *run) give(ctx context.Context, sc *scope, t *compile.Return, res result) (formats.Return, error) {
	ret := formats.Return{Status: formats.StatusCompleted, Artifacts: newest(r.artifacts)}
	var err error
	if ret.Summary, err = r.dryText(ctx, sc, t.Message, res.value); err != nil {
		return ret, err
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
		v, err := r.value(ctx, sc, t.Fields, res.value)
		if err != nil {
			return ret, err
		}
		ret.Fields, _ = v.(map[string]any)
	}
	if t.Status == nil {
		return ret, nil
	}
	v, err := r.value(ctx, sc, t.Status, res.value)
	if err != nil && !r.dry.on {
		return ret, err
	}
	if ret, err = withOutcome(ret, v); err == nil && !ret.Outcome().Passes() {
		ret.Issues = r.open // why the answer is no
	}
	return ret, err
}

// dryText fills a text; in a dry run an expression over stubbed results may fail, and the text then says so.
func (r *run) dryText(ctx context.Context, sc *scope, t *compile.Text, input any) (string, error) {
	s, err := r.text(ctx, sc, t, input)
	if err != nil && r.dry.on {
		return "(known at run time)", nil
	}
	return s, err
}

// withOutcome gives the return the status that the file names.
func withOutcome(ret formats.Return, v any) (formats.Return, error) {
	word, _ := v.(string)
	outcome := formats.Outcome(word)
	if v == nil {
		return ret, nil
	}
	if !slices.Contains(formats.Outcomes(), outcome) {
		return ret, &formats.Failure{Code: formats.CodeValidationFailed, Message: fmt.Sprintf("expected a status to return, got %s", query.Text(v))}
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
		ret.Errors = []formats.ReturnError{{Type: formats.ErrorExecution, Code: formats.CodeUnknown, Message: ret.Summary, Recommendation: ret.NextSteps}}
	case formats.OutcomeCompleted, formats.OutcomeSkipped:
	}
	return ret, nil
}

func (r *run) artifactsOf(ctx context.Context, sc *scope, v *compile.Value, input any) ([]formats.Artifact, error) {
	got, err := r.value(ctx, sc, v, input)
	if err != nil {
		return nil, err
	}
	var out []formats.Artifact
	list, _ := got.([]any)
	for _, one := range list {
		m, _ := one.(map[string]any)
		path, _ := m["path"].(string)
		kind, _ := m["type"].(string)
		summary, _ := m["summary"].(string)
		if path == "" {
			return nil, &formats.Failure{Code: formats.CodeValidationFailed, Message: fmt.Sprintf("expected artifacts with a path, got %s", query.Text(one))}
		}
		out = append(out, formats.Artifact{Type: formats.ArtifactType(kind), Path: path, Summary: summary})
	}
	return out, nil
}

// show evaluates a table and shows it at once; the rows also stand in the return.
func (r *run) show(ctx context.Context, sc *scope, t *compile.Table) error {
	v, err := r.eval(ctx, sc, t.Rows, nil)
	if err != nil {
		if r.dry.on {
			return nil
		}
		return err
	}
	rows, _ := v.([]any)
	out := formats.Table{Columns: t.Columns}
	if out.Title, err = r.text(ctx, sc, t.Title, nil); err != nil {
		return err
	}
	if out.Columns == nil {
		out.Columns = columnsOf(rows)
	}
	for _, row := range rows {
		m, isMap := row.(map[string]any)
		cells := make([]string, len(out.Columns))
		for i, col := range out.Columns {
			if isMap {
				if m[col] != nil {
					cells[i] = oneLine(query.Text(m[col]))
				}
			} else if i == 0 {
				cells[i] = oneLine(query.Text(row))
			}
		}
		out.Rows = append(out.Rows, cells)
	}
	r.tables = append(r.tables, out)
	if !r.dry.on {
		r.cfg.Show(out)
	}
	return nil
}

// columnsOf is the sorted union of the rows' members, or one column for plain values.
func columnsOf(rows []any) []string {
	seen := map[string]bool{}
	for _, row := range rows {
		if m, ok := row.(map[string]any); ok {
			for k := range m {
				seen[k] = true
			}
		}
	}
	out := make([]string, 0, len(seen))
	for k := range seen {
		out = append(out, k)
	}
	slices.Sort(out)
	if len(out) == 0 {
		return []string{"value"}
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
