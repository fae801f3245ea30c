package interp

import (
	"fmt"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/query"
)

// walk runs the steps of a list in order, from the one with the id on; an empty id is the first. A
// jump to one of them goes on there; any other jump is the ending of this list. It gives no ending
// if the last step was reached.
func (sc *scope) walk(fr frame, list []*syntax.Step, from string) (_ *ending, err error) {
	for i := max(0, indexOf(list, from)); i < len(list); i++ {
		var end *ending
		s := list[i]
		within := from != "" && s.ID.Text != from
		if within && s.Kind().Body == syntax.Inline {
			end, err = sc.walk(fr, s.Body, from)
		} else {
			end, err = sc.step(fr, sc.run.prog.Info(s)).execute()
		}
		from = ""
		if err != nil {
			return nil, err
		}
		if end == nil {
			continue
		}

		at := indexOf(list, end.jump)
		if at < 0 {
			return end, nil
		}
		i = at - 1
		from = end.jump
	}
	return nil, nil
}

// rerun runs a step that a rule names. In a group that was skipped it is skipped too, so that one
// route can serve every tier.
func (sc *scope) rerun(fr frame, s *syntax.Step) (*ending, error) {
	list := sc.list
	for {
		at := indexOf(list, s.ID.Text)
		if at < 0 || list[at] == s {
			return sc.step(fr, sc.run.prog.Info(s)).execute()
		}
		if sc.shownResult(list[at].ID.Text)["status"] == formats.OutcomeSkipped.String() {
			sc.skip(s.ID.Text, s)
			return nil, nil
		}
		list = list[at].Body
	}
}

// inTier tells whether the step runs in the present tier.
func (s step) inTier() (bool, error) {
	if s.info.Tiers == nil {
		return true, nil
	}

	tier := s.tier()
	switch {
	case tier != "":
		return slices.Contains(s.info.Tiers, tier), nil
	case s.run.dry.on:
		s.plan("run only in tier %s, which only a run knows", strings.Join(s.info.Tiers, ", "))
		s.run.dry.markStubbed(s.info.ID) // whether it has a result is unknown too
		return true, nil
	}
	return false, formats.Fail(
		formats.CodePrecondition,
		"give it in load: {tier: ...} or in a set step before this one",
		"the tier is not known yet",
	)
}

// tier is the present tier of the run, empty before something sets it.
func (s step) tier() string {
	return formats.As[string](normalize(s.scope.variable("$tier")))
}

// isTierUnknown tells whether the step has tiers and $tier has no value yet.
func (s step) isTierUnknown() bool {
	return s.info.Tiers != nil && s.tier() == ""
}

// checkTier checks a value that is given to $tier, or to $approval, which says whether the tier
// asks.
func (r *run) checkTier(name string, v any) error {
	if name == "approval" && r.prog.Tiers != nil {
		asked, _ := r.args.Get(name)
		switch {
		case v != documents.Interactive && v != documents.Autonomous:
			return formats.Fail(formats.CodeValidationFailed,
				"what gives $approval stands in set of "+r.prog.File.Name,
				"expected %s or %s as the approval, got %s", documents.Interactive,
				documents.Autonomous, query.Text(v))
		case v == documents.Interactive && asked == documents.Autonomous:
			r.report.warn(
				"W467: this tier asks after every phase; --approval %s is not followed", asked,
			)
		}
	}

	if name != "tier" || r.prog.Tiers == nil || v == nil ||
		slices.Contains(r.prog.Tiers, formats.As[string](v)) {
		return nil
	}
	return formats.Fail(formats.CodeValidationFailed,
		"run 'tercet explain E128'; what gives $tier stands in load or set of "+r.prog.File.Name,
		"expected one of %s as the tier, got %s", strings.Join(r.prog.Tiers, ", "), query.Text(v))
}

// runHooks runs the steps of Between Steps before or after their host. They see no feedback,
// because that is for the host, except the hook that sent the host back.
func (s step) runHooks(list []*compile.Info) (*ending, error) {
	before := s.frame.feedback
	for _, b := range list {
		fr := s.frame.withFeedback(nil)
		if before != nil && before.From == b.ID {
			forHook := *before
			forHook.Own = true
			fr = s.frame.withFeedback(&forHook)
		}
		in := s.scope.child(nil, "")
		in.transparent = true
		in.vars["$it"] = s.hostValue()
		if end, err := in.step(fr, b).execute(); err != nil || end != nil {
			return end, err
		}
	}
	return nil, nil
}

// hostValue is $it: what a hook sees of its host.
func (s step) hostValue() any {
	out := object{
		"id":    s.info.ID,
		"agent": nil,
		"tools": []any{},
	}

	agent := ""
	if s.info.Call != nil {
		agent = s.info.Call.Agent // empty: not chosen yet
	}

	if v, ok := s.scope.result(s.info.ID); ok {
		m := objectOf(v)
		for _, key := range []string{"status", "summary", "artifacts", "fields", "issues"} {
			out[key] = m[key]
		}
		if name := formats.As[string](m["agent"]); name != "" {
			agent = name
		}
	}

	if agent != "" {
		out["agent"] = agent
		out["tools"] = normalize(s.toolsOf(agent))
	}
	return query.Prepare(out)
}

// toolsOf lists the tools of the subagent that did the step: the named one, one of several, or the
// fallback.
func (s step) toolsOf(agent string) []string {
	calls := []*compile.Call{s.info.Call, s.info.Fallback}
	for _, one := range append(calls, s.info.Call.Among...) {
		if one != nil && one.Agent == agent {
			return one.Info.Tools
		}
	}
	return nil
}

// compensateSteps compensates the steps named, and those in them, newest first.
func (s step) compensateSteps(ids []string) error {
	return s.run.compensate(s.frame, func(u step) bool {
		return slices.ContainsFunc(ids, func(id string) bool {
			home, step := s.scope.find(id)
			if step == nil {
				return false
			}
			at := home.prefix + id
			return u.path == at || strings.HasPrefix(u.path, at+"[") ||
				strings.HasPrefix(u.path, at+"/") ||
				u.scope == home && findIn(step, u.info.ID) != nil
		})
	})
}

// compensate undoes the effects of the wanted steps, newest first. One that cannot be undone is a
// warning, and the others are still undone.
func (r *run) compensate(fr frame, wanted func(step) bool) error {
	fr = fr.withFeedback(nil)
	list := r.undoable
	r.undoable = nil
	for _, u := range slices.Backward(list) {
		if !wanted(u) {
			continue
		}
		r.sessions.forget("an effect was taken back")
		end, err := u.scope.step(fr, u.info.Undo).execute()
		switch {
		case err != nil && (fr.ctx.Err() != nil || repeatsOnResume(err)):
			return err
		case err != nil:
			r.report.warn("%s was not taken back: %s", u.info.Step.Title, err)
		case end != nil && !end.ret.Outcome().Passes():
			r.report.warn("%s was not taken back: %s", u.info.Step.Title, end.ret.Summary)
		}
	}

	r.undoable = slices.DeleteFunc(list, wanted)
	return nil
}

// StepPrefix is the prefix of the step paths of a workflow subagent: the calling step with its
// visit and attempt. So a repeated call has transaction ids of its own.
func StepPrefix(r formats.Request) string {
	return fmt.Sprintf("%s.%d/", r.At, r.Attempt)
}
