package interp

import (
	"fmt"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
)

// scope is the values of one sequence of steps: the steps of the file, or one pass of a loop.
// Values are prepared once, so that expressions need not convert them again.
type scope struct {
	run           *run
	outer         *scope
	list          []*syntax.Step
	prefix        string // of the places of steps, "phases[2]/"
	journalPrefix string // the same with visits, as the journal has it, "phases#1[2]/"
	vars          object
	results       object // by id
	// transparent marks the scope of a hook, whose variables and results belong to the outer scope.
	transparent bool
}

// child is a new scope in this one; below is added to the paths of its steps.
func (sc *scope) child(list []*syntax.Step, below string) *scope {
	return &scope{
		run:           sc.run,
		outer:         sc,
		list:          list,
		prefix:        sc.prefix + below,
		journalPrefix: sc.journalPrefix + below,
		vars:          object{},
		results:       object{},
	}
}

// bodyScope is a new scope for the body of a step.
func bodyScope(s step, list []*syntax.Step, below string) *scope {
	in := s.scope.child(list, "")
	in.prefix = s.path + below
	in.journalPrefix = s.journalPath() + below
	return in
}

// journalPath is the path of the step in the journal, "phases#1[2]/commit#1": its path with the
// visit of each step in it.
func (s step) journalPath() string {
	return s.journalPathAt(s.run.counts.visit(s.path))
}

// journalPathAt is the journal path of another visit of the step.
func (s step) journalPathAt(visit int) string {
	return fmt.Sprintf("%s%s#%d",
		s.scope.journalPrefix, strings.TrimPrefix(s.path, s.scope.prefix), visit)
}

// step is a step in this scope.
func (sc *scope) step(fr frame, info *compile.Info) step {
	return step{
		run:   sc.run,
		scope: sc,
		frame: fr,
		info:  info,
		path:  sc.prefix + info.ID,
	}
}

// withFrame is the same step in another frame.
func (s step) withFrame(fr frame) step {
	s.frame = fr
	return s
}

// withFeedback is the same step with some feedback.
func (s step) withFeedback(fb *formats.Feedback) step {
	return s.withFrame(s.frame.withFeedback(fb))
}

// find finds a step, and the scope that it is in, from here outwards.
func (sc *scope) find(id string) (*scope, *syntax.Step) {
	for ; sc != nil; sc = sc.outer {
		for _, top := range sc.list {
			if step := findIn(top, id); step != nil {
				return sc, step
			}
		}
	}
	return nil, nil
}

// setVar sets a variable.
func (sc *scope) setVar(name string, v any) {
	sc.owner().vars["$"+name] = query.Prepare(v)
}

// setResult stores the result of a step.
func (sc *scope) setResult(id string, v any) {
	sc.owner().results[id] = query.Prepare(v)
}

// owner is the scope in which variables and results of these steps are stored.
func (sc *scope) owner() *scope {
	for sc.transparent {
		sc = sc.outer
	}
	return sc
}

// result is the result of a step of this scope or an outer one.
func (sc *scope) result(id string) (any, bool) {
	for ; sc != nil; sc = sc.outer {
		if v, ok := sc.results[id]; ok {
			return v, true
		}
	}
	return nil, false
}

// variable is the value of a name in this scope or an outer one.
func (sc *scope) variable(name string) any {
	for ; sc != nil; sc = sc.outer {
		if v, ok := sc.vars[name]; ok {
			return v
		}
	}
	return nil
}

// skip stores the result of a skipped step, and of the steps in it.
func (sc *scope) skip(id string, s *syntax.Step) {
	sc.setResult(id, object{"status": formats.OutcomeSkipped.String()})
	if body := s.Kind().Body; body != syntax.Inline && body != syntax.Concurrent {
		return // its steps have one result for each pass
	}
	for _, inner := range s.Body {
		sc.skip(inner.ID.Text, inner)
	}
}

// shownResult is the result of a step as expressions see it, nil without one.
func (sc *scope) shownResult(id string) object {
	return objectOf(sc.results[id])
}

// lastSummary is the summary of the last step that has one.
func (sc *scope) lastSummary() string {
	for _, s := range slices.Backward(sc.list) {
		if words := formats.As[string](sc.shownResult(s.ID.Text)["summary"]); words != "" {
			return words
		}
	}
	return ""
}

// syntheticStep is a step that is not in the file.
func (sc *scope) syntheticStep(fr frame, pos formats.Pos, id, title, in string) step {
	return sc.step(fr, &compile.Info{
		Step:  &syntax.Step{Pos: pos, Title: title},
		ID:    id,
		Terms: compile.Terms{In: in},
	})
}
