package interp

import (
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
)

// reviews are what the judges before the gate said, unless the gate shows it. They are for who is
// asked, as the words about its choices: the journal holds neither.
func (q fileGate) reviews(shown []string) (out []string) {
	sc := q.step.scope
	for _, step := range sc.list {
		if step == q.step.info.Step {
			break
		}
		v, ok := sc.results[step.ID.Text]
		if !ok {
			continue
		}
		for _, r := range reviewsIn(step.Title, v) {
			isShown := func(text string) bool { return strings.Contains(text, r.summary) }
			if !slices.ContainsFunc(shown, isShown) {
				out = append(out, r.String())
			}
		}
	}
	return out
}

// describeTarget says where an answer leads.
func (q fileGate) describeTarget(t *syntax.Target) string {
	sc := q.step.scope
	title := func() string {
		if len(t.Steps) == 0 {
			return ""
		}
		if _, step := sc.find(t.Steps[0].Text); step != nil {
			return q.step.title(step)
		}
		return t.Steps[0].Text
	}

	switch t.Kind { //nolint:exhaustive // a gate leads nowhere else
	case syntax.ToNext:
		at := slices.Index(sc.list, q.step.info.Step)
		if at >= 0 && at+1 < len(sc.list) {
			return "goes on with '" + q.step.title(sc.list[at+1]) + "'"
		}
		return "goes on"
	case syntax.ToFail:
		return "ends the command as rejected"
	case syntax.ToReturn:
		return "ends the command"
	case syntax.ToRedo:
		return "does '" + title() + "' again, with your note"
	case syntax.ToRollback:
		return "goes back to '" + title() + "', with your note"
	case syntax.ToGoto:
		return "goes to '" + title() + "'"
	}
	return ""
}

// review is what a judge said.
type review struct{ name, status, summary string }

func (r review) String() string {
	return r.name + ": " + r.status + ": " + r.summary
}

// reviewsIn is what judges said in a result: of a step itself, or of those that ran in it.
func reviewsIn(title string, v any) (out []review) {
	if r, ok := reviewOf(title, v); ok {
		return []review{r}
	}
	for _, child := range listIn(v, "children") {
		name := formats.As[string](objectOf(child)["id"])
		if r, ok := reviewOf(name, child); ok {
			out = append(out, r)
		}
	}
	return out
}

// reviewOf is what a judge said; not ok for who judges nothing.
func reviewOf(name string, v any) (r review, ok bool) {
	o := objectOf(v)
	r = review{
		name:    name,
		status:  formats.As[string](o["status"]),
		summary: formats.As[string](o["summary"]),
	}
	switch formats.Outcome(r.status) { //nolint:exhaustive // the others are no verdicts
	case formats.OutcomeApproved, formats.OutcomeConditional, formats.OutcomeRejected:
		_, group := o["children"]
		return r, !group && r.summary != "" && name != ""
	}
	return r, false
}
