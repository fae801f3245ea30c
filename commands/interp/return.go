package interp

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// describedReturn ends the command with the return that the file describes.
func (tr transition) describedReturn(t *syntax.Return) (_ *ending, err error) {
	s := tr.step
	r := s.run
	res := tr.result
	ret := formats.Return{Status: formats.StatusCompleted, Artifacts: r.artifacts.newest()}
	ret.Summary, err = s.env().dryText(t.Message, res.value)
	if err != nil {
		return nil, err
	}

	ret.Summary = cmp.Or(ret.Summary, r.defaultSummary())
	ret.NextSteps, err = s.env().dryText(t.NextSteps, res.value)
	if err != nil {
		return nil, err
	}
	text, err := s.env().value(t.Text, res.value)
	if err != nil && !r.dry.on {
		return nil, err
	}
	if text != nil {
		ret.Text = query.Text(text)
	}
	if r.dry.on {
		return final(ret), nil // what else it has, and how it ends, is known at run time
	}
	if t.Artifacts != nil {
		ret.Artifacts, err = s.env().artifactsOf(t.Artifacts, res.value)
		if err != nil {
			return nil, err
		}
	}
	if t.Fields != nil {
		ret.Fields, err = s.env().fields(t.Fields, res.value)
		if err != nil {
			return nil, err
		}
	}
	if t.Status == nil {
		return final(ret), nil
	}

	v, err := s.env().value(t.Status, res.value)
	if err == nil {
		err = setOutcome(&ret, v)
	}
	if err != nil {
		return nil, err
	}
	if !ret.Outcome().Passes() {
		ret.Issues = r.report.openIssues // why the answer is no
	}
	return final(ret), nil
}

// dryText fills a text. In a dry run an expression over stubs may fail; the text then says that it
// is known at run time.
func (in env) dryText(t *syntax.Text, input any) (string, error) {
	s, err := in.text(t, input)
	if err != nil && in.frame.run.dry.on {
		return "(known at run time)", nil
	}
	return s, err
}

// setOutcome sets the status that the file names for the return.
func setOutcome(ret *formats.Return, v any) error {
	outcome := formats.Outcome(formats.As[string](v))
	if v == nil {
		return nil
	}
	if !slices.Contains(formats.Outcomes(), outcome) {
		return formats.Fail(formats.CodeValidationFailed,
			"the statuses are "+joinWords(formats.Outcomes()),
			"expected a status to return, got %s", query.Text(v))
	}

	switch outcome {
	case formats.OutcomeApproved, formats.OutcomeConditional, formats.OutcomeRejected:
		ret.Verdict = formats.Verdict(outcome)
	case formats.OutcomePartial:
		ret.Status = formats.StatusPartial
	case formats.OutcomeBlocked, formats.OutcomeSuspended:
		ret.Status = formats.StatusBlocked
		ret.Said = outcome
		ret.BlockedReason = ret.Summary
	case formats.OutcomeFailed:
		ret.Status = formats.StatusFailed
		ret.Errors = []formats.ReturnError{{
			Type:           formats.ErrorExecution,
			Code:           formats.CodeUnknown,
			Message:        ret.Summary,
			Recommendation: ret.NextSteps,
		}}
	case formats.OutcomeCompleted, formats.OutcomeSkipped:
	}

	return nil
}

func (in env) artifactsOf(v *syntax.Value, input any) ([]formats.Artifact, error) {
	got, err := in.value(v, input)
	if err != nil || got == nil {
		return nil, err
	}

	all, ok := got.([]any)
	if !ok {
		all = []any{got}
	}
	var out []formats.Artifact
	for _, one := range all {
		m := formats.As[object](one)
		a := formats.Artifact{
			Type:    formats.ArtifactType(formats.As[string](m["type"])),
			Path:    formats.As[string](m["path"]),
			Summary: formats.As[string](m["summary"]),
		}
		const code = formats.CodeValidationFailed
		switch {
		case a.Path == "":
			return nil, formats.Fail(code, "such as $steps.ID.artifacts",
				"expected artifacts with type and path to return, got %s", query.Text(one))
		case !filepath.IsLocal(filepath.FromSlash(a.Path)):
			return nil, formats.Fail(code, "write it relative to the project root",
				"expected the path of an artifact inside the project, got %q", a.Path)
		case !slices.Contains(formats.ArtifactTypes(), a.Type):
			return nil, formats.Fail(code, fmt.Sprintf("the types are %v", formats.ArtifactTypes()),
				"expected an artifact type for %s to return, got %q", a.Path, a.Type)
		}
		out = append(out, a)
	}

	return out, nil
}

// fieldsOf are the fields of a return as a schema sees them: an empty object if there are none.
func fieldsOf(ret formats.Return) object {
	if ret.Fields == nil {
		return object{}
	}
	return ret.Fields
}

// checkOutput validates the return of the command against the output_schema of the file. If it does
// not fit, the command has failed, because callers read it by that schema; the issues name every
// violation.
func (r *run) checkOutput(ret formats.Return) formats.Return {
	if r.prog.Output == nil || r.dry.on || !ret.Outcome().Passes() {
		return ret
	}
	found := r.prog.Output.Validate(".fields", fieldsOf(ret))
	if found == nil {
		return ret
	}

	message := found[0].String()
	if len(found) > 1 {
		message = fmt.Sprintf("%s, and %d more violations of output_schema", message, len(found)-1)
	}

	out := formats.Failed(formats.Fail(formats.CodeInvalidReturn,
		"give the fields in 'return', or change output_schema of "+r.prog.File.Name, "%s", message))
	out.Artifacts = ret.Artifacts
	out.Text = ret.Text
	for _, v := range found {
		out.Issues = append(out.Issues, errorIssue(v.String()))
	}
	return out
}
