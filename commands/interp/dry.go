package interp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// dryRun collects what a run would do. A delegation gets a stub that its contract allows as its
// return. What depends on a stub is shown as known at run time only.
type dryRun struct {
	on      bool
	reads   func(*syntax.Expr) compile.Reads
	returns map[string][]formats.Return // given for steps and subagents, taken in order
	used    []string                    // keys of returns that were taken
	stubbed []string                    // ids whose results are stubs
	tainted []string                    // variables that were made of such results
	lines   []string
}

// isUnknown tells whether an expression reads a stubbed result.
func (d *dryRun) isUnknown(e *syntax.Expr) bool {
	if e == nil || !d.on {
		return false
	}
	reads := d.reads(e)
	return reads.AllSteps && len(d.stubbed) > 0 ||
		slices.ContainsFunc(reads.Steps, func(id string) bool {
			return slices.Contains(d.stubbed, id)
		}) ||
		slices.ContainsFunc(reads.Vars, func(name string) bool {
			return slices.Contains(d.tainted, name)
		})
}

// dropUncertain drops the ending of a step that may not run at all. Only a run knows whether the
// command ends there, and the dry run shows what follows if it does not.
func (s step) dropUncertain(end *ending) *ending {
	if !s.run.dry.on || end == nil || !end.final {
		return end
	}
	if s.run.dry.isUnknown(s.info.Step.When) || s.isTierUnknown() {
		return nil
	}
	if s.run.dry.isUnknown(elementsOf(s.info.Step)) {
		return nil
	}
	return end
}

// markStubbed notes that the result of a step is a stub, or that it is unknown whether there is
// one.
func (d *dryRun) markStubbed(id string) {
	d.stubbed = append(d.stubbed, id)
}

// taint notes that a variable was made of such a result.
func (d *dryRun) taint(name string) {
	d.tainted = append(d.tainted, name)
}

// plan adds a line to the tree of a dry run: the title of the step, its id if the file gives one,
// because --stubs knows it by that, and what it would do.
func (s step) plan(format string, args ...any) {
	if !s.run.dry.on {
		return
	}
	name := cmp.Or(s.title(s.info.Step), s.info.ID)
	// not one that was made of the title
	id := s.info.Step.ID
	idInFile := s.info.ID != id.Text || !id.Pos.IsZero()
	if idInFile && s.info.ID != name {
		name += " (" + s.info.ID + ")"
	}

	indent := strings.Repeat("  ", strings.Count(s.scope.prefix, "/"))
	line := indent + name + ": would " + fmt.Sprintf(format, args...)
	s.run.dry.lines = append(s.run.dry.lines, line)
}

// sourceOf is the source of an expression in one line.
func sourceOf(e *syntax.Expr) string {
	return strings.Join(strings.Fields(e.Src), " ")
}

// stub is the return of a delegation in a dry run.
func (c call) stub(req formats.Request) formats.Return {
	s := c.step
	r := s.run
	what := []string{"delegate to " + c.to.Agent}
	for _, key := range []string{
		"operation", "action", "task_number", "task_numbers", "phase", "status",
	} {
		if v, ok := req.Input[key]; ok && v != nil {
			what = append(what, key+" "+query.Text(v))
		}
	}

	s.plan("%s", strings.Join(what, ", "))
	ret, ok := c.nextStub()
	if !ok {
		r.dry.markStubbed(s.info.ID)
		ret = formats.Return{
			Status:  formats.StatusCompleted,
			Summary: "(known at run time)",
			Fields:  object{},
		}
		if s.info.Step.Kind().Judges || c.to.Info.Role == formats.RoleReviewer {
			ret.Verdict = formats.VerdictApproved
		}
		for name, f := range c.to.Info.Fields {
			ret.Fields[name] = zero(f.Type)
		}
		for _, a := range c.to.Info.Artifacts {
			ret.Artifacts = append(ret.Artifacts, formats.Artifact{
				Type: a.Type,
				Path: "(" + string(a.Type) + ")",
			})
		}
	}
	for _, a := range ret.Artifacts {
		s.frame.addArtifact(a)
	}

	return ret
}

// nextStub takes the next return that the caller gave for the path of the step, its id or its
// subagent.
func (c call) nextStub() (formats.Return, bool) {
	s := c.step
	d := &s.run.dry
	for _, key := range []string{s.path, s.info.ID, c.to.Agent} {
		list := d.returns[key]
		if len(list) == 0 {
			continue
		}
		if len(list) > 1 {
			d.returns[key] = list[1:]
		}
		d.used = append(d.used, key)
		return list[0], true
	}
	return formats.Return{}, false
}

// hasGivenResult tells whether the result of a step is known, so that a rule over it may be
// followed.
func (d *dryRun) hasGivenResult(id string) bool {
	return len(d.returns) > 0 && !slices.Contains(d.stubbed, id)
}

func zero(t formats.InputType) any {
	switch t {
	case formats.TypeString:
		return ""
	case formats.TypeInteger, formats.TypeNumber:
		return 0
	case formats.TypeBoolean:
		return false
	case formats.TypeArray, formats.TypeList:
		return []any{}
	case formats.TypeObject:
		return object{}
	case formats.TypeAny:
	}
	return nil
}

// planCheck plans a check, and tells whether it is taken to hold, because it depends on a stub or
// on a file that is not made yet.
func (s step) planCheck(a *syntax.Check) bool {
	switch {
	case a.Document != nil:
		s.plan("check the document %s", a.Document.Text)
		s.run.dry.markStubbed(s.info.ID) // its fields are not read
	case a.File != nil:
		s.plan("check a file")
	case s.run.dry.isUnknown(a.Expr):
		s.plan("check %s, which only a run knows", sourceOf(a.Expr))
	default:
		s.plan("check %s", sourceOf(a.Expr))
		return false
	}
	return true
}

// dryReturn makes the return of a dry run: the tree of steps as text.
func (r *run) dryReturn(ret formats.Return) formats.Return {
	d := &r.dry
	for _, key := range slices.Sorted(maps.Keys(d.returns)) {
		if !slices.Contains(d.used, key) {
			r.report.warn("nothing took the return given for '%s': "+
				"no such step or subagent was reached", key)
		}
	}

	ret.Artifacts = nil
	r.stamp(&ret)
	ret.Text = strings.Join(d.lines, "\n")
	if ret.Outcome().Passes() {
		ret.NextSteps = ""
		ret.Summary = "dry run: " + formats.Count(len(d.lines), "step") + ", nothing was written"
	}
	return ret
}
