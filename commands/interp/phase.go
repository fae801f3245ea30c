package interp

import (
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
	"tercet/internal/trace"
)

// A command with tiers has phases: each step of its sequence in which a worker does something,
// directly, in a loop or in parallel. A loop that picks its worker for each element has a phase for
// each element.

// addPhase adds to the event of a step the number of the phase that begins with it, how many there
// are, and its subagents.
func addPhase(s step, e *trace.Event) {
	r := s.run
	if r.prog.Tiers == nil || r.cfg.Prefix != "" || s.info.Host != "" ||
		r.finishing || r.dry.on || s.frame.journal.replayed {
		return
	}

	// what asks the journal, or may be another at each step
	unsure := []string{"$state", "$run", "$board"}
	names, picks := s.run.workers(s.info.Step)
	if pick := pickOf(s.info.Step); pick != nil {
		vague := func(p syntax.Part) bool {
			return p.Expr != nil && !s.scope.isKnown(p.Expr, unsure)
		}
		if slices.ContainsFunc(pick.Parts, vague) {
			return
		}
		one, err := s.chooseAgent(pick)
		if err != nil {
			return // the step says so itself
		}
		names = []string{one.Agent}
		picks = false
	}
	if len(names) == 0 || picks {
		return
	}

	top := s.run.root.env(s.frame.withFeedback(nil))
	inside := s.scope != top.scope
	id, _, _ := strings.Cut(s.path, "[")
	at := indexOf(top.scope.list, id)
	if at < 0 {
		return
	}

	if _, picks := s.run.workers(top.scope.list[at]); inside && !picks {
		return // it is part of a phase
	}

	unsure = top.uncertainVars(top.scope.list, unsure)
	tiers := []string{formats.As[string](normalize(s.scope.variable("$tier")))}
	if tiers[0] == "" || slices.Contains(unsure, "$tier") {
		tiers = s.run.prog.Tiers
	}

	nth := 0
	of := 0
	for _, tier := range tiers {
		if n, all := top.phases(top.scope.list, id, tier, unsure); all > of {
			nth = n
			of = all
		}
	}

	if i, ok := number(normalize(s.scope.variable("$index"))); ok && inside {
		nth += i
	}
	e.Attrs = object{
		"phase":  nth,
		"phases": of,
		"agent":  strings.Join(names, ", "),
	}
}

// phases counts the phases that ran, run or may yet run, and gives the number of the one with the
// step.
func (in env) phases(list []*syntax.Step, id, tier string, unsure []string) (number, of int) {
	for _, one := range list {
		names, picks := in.frame.run.workers(one)
		here := findIn(one, id) != nil
		if len(names) == 0 || !here && !in.mayRun(one, tier, unsure) {
			continue
		}

		if one.Kind().Body == syntax.Inline {
			n, all := in.phases(one.Body, id, tier, unsure)
			if n > 0 {
				number = of + n
			}
			of += all
			continue
		}
		if here {
			number = of + 1
		}
		of++

		elements := elementsOf(one)
		if elements != nil && picks && in.scope.isKnown(elements, unsure) {
			if v, err := in.compute(elements, nil); err == nil {
				of += max(1, len(formats.As[[]any](normalize(v)))) - 1
			}
		}
	}
	return number, of
}

// mayRun tells whether a step ran or may yet run. Only a condition whose value is known now
// excludes it.
func (in env) mayRun(s *syntax.Step, tier string, unsure []string) bool {
	was := in.scope.shownResult(s.ID.Text) // of one that was left out it has nothing but the status
	if was["agent"] != nil || was != nil && was["status"] != formats.OutcomeSkipped.String() {
		return true
	}

	tiers := in.frame.run.prog.Info(s).Tiers
	if tiers != nil && !slices.Contains(tiers, tier) {
		return false
	}

	if s.When == nil || !in.scope.isKnown(s.When, unsure) {
		return true
	}
	v, err := in.compute(s.When, nil)
	return err != nil || query.Truth(v)
}

// isKnown tells whether an expression has the value now that it will have when its step is reached.
func (sc *scope) isKnown(e *syntax.Expr, unsure []string) bool {
	reads := sc.run.prog.Reads(e)
	return !reads.AllSteps &&
		!slices.ContainsFunc(reads.Steps, func(id string) bool {
			return sc.results[id] == nil
		}) &&
		!slices.ContainsFunc(reads.Vars, func(name string) bool {
			return slices.Contains(unsure, name)
		})
}

// uncertainVars adds the variables that a later step may set.
func (in env) uncertainVars(list []*syntax.Step, names []string) []string {
	for _, one := range list {
		set := one.Binds()
		if set != nil && in.scope.results[one.ID.Text] == nil && in.mayRun(one, "", names) {
			for _, name := range set {
				names = append(names, "$"+name)
			}
		}
		names = in.uncertainVars(one.Body, names)
	}
	return names
}

// workers are the subagents, built-in ones excepted, that a step or the steps in it call. picks
// tells that an expression picks one of them at the call.
func (r *run) workers(s *syntax.Step) (names []string, picks bool) {
	if call := r.prog.Info(s).Call; call != nil {
		for _, one := range append([]*compile.Call{call}, call.Among...) {
			if one.Agent != "" && !one.Info.Builtin && !slices.Contains(names, one.Agent) {
				names = append(names, one.Agent)
			}
		}
		picks = call.Among != nil && names != nil
	}

	for _, inner := range s.Body {
		more, also := r.workers(inner)
		names = append(names, more...)
		picks = picks || also
	}
	return names, picks
}
