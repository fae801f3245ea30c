package interp

import (
	"fmt"
	"slices"
	"strings"

	"tercet/commands/syntax"
	"tercet/formats"
	"tercet/internal/query"
	"tercet/internal/trace"
)

// events tells the trace of the run.
type events struct {
	sink  trace.Sink
	clock Clock
	ids   IDs
	depth int
	off   bool // nothing is done: a dry run

	pendingPasses []trace.Event // passes of loops in which no step has begun yet
}

// emit emits an event, with the pending events of the loop passes that it is in. What is only
// replayed was emitted by an earlier process.
func (fr frame) emit(e trace.Event) {
	if !fr.journal.replayed {
		fr.run.events.emit(e)
	}
}

func (v *events) emit(e trace.Event) {
	v.pendingPasses = slices.DeleteFunc(v.pendingPasses, func(pass trace.Event) bool {
		inside := strings.HasPrefix(e.Step, pass.Step+"/")
		if inside {
			v.send(pass)
		}
		return inside
	})
	v.send(e)
}

func (v *events) send(e trace.Event) {
	if v.off {
		return
	}
	e.Time = v.clock.Now()
	e.Run = v.ids.Run
	e.FromDepth = v.depth
	e.ToDepth = v.depth
	e.Path = slices.Clone(v.ids.Path)
	v.sink.Emit(e)
}

// dropPass drops the event of a pass in which no step began in this process.
func (v *events) dropPass(path string) {
	v.pendingPasses = slices.DeleteFunc(v.pendingPasses, func(pass trace.Event) bool {
		return pass.Step == path
	})
}

// emitRunStart tells that the run begins, or goes on, and what it may use. The run of a workflow
// subagent is a part of a step, and has no such event.
func (r *run) emitRunStart() {
	if r.cfg.Prefix != "" {
		return
	}
	r.events.send(trace.Event{
		Kind:    trace.Run,
		Name:    "/" + r.prog.Name,
		Message: r.cfg.IDs.Command,
		Attrs: object{
			"limits": formats.Budget{
				Tokens:  r.limits.Tokens,
				Cost:    r.limits.Cost,
				Seconds: r.limits.Duration.Seconds(),
			},
		},
	})
}

// maxIssues is how many issues of a step an event has.
const maxIssues = 20

// emitStep tells that a step began (without an outcome) or ended.
func (s step) emitStep(outcome formats.Outcome, ret formats.Return) {
	e := trace.Event{
		Kind:    trace.Step,
		Name:    s.title(s.info.Step),
		Step:    s.path,
		Outcome: outcome.String(),
		Message: ret.Summary,
	}

	n := min(len(ret.Issues), maxIssues)
	switch {
	case outcome == "":
		addPhase(s, &e)
	case outcome.Passes() && s.run.prog.Tiers != nil && len(ret.Artifacts) > 0:
		e.Attrs = object{"artifacts": ret.Artifacts}
	case n > 0 && !outcome.Passes():
		e.Attrs = object{"issues": ret.Issues[:n]}
	}

	s.frame.emit(e)
}

// title is the title of a step of this run, as the user sees it. A step that sets the status of the
// run's own task names it: a line may have several.
func (s step) title(of *syntax.Step) string {
	status, ok := of.Action.(*syntax.Status)
	if !ok || status.Task != nil || status.Phase != nil || s.run.tasks.current() == nil {
		return of.Title
	}
	task := fmt.Sprintf("task %d", s.run.tasks.current().Number)
	return strings.Replace(of.Title, "the task", task, 1)
}

// emitWarnings shows the warnings of a built-in subagent at once, because the user may want to stop
// the run before the next worker costs something. The return of the run has them too.
func (c call) emitWarnings(ret formats.Return) {
	if !c.to.Info.Builtin {
		return
	}
	for _, text := range ret.Warnings {
		c.step.frame.emit(trace.Event{
			Kind:    trace.Warning,
			Name:    c.to.Agent,
			Step:    c.step.path,
			Message: text,
		})
	}
}

// queuePass keeps the event of a pass of a loop until the first step in it begins.
func (s step) queuePass(e trace.Event, i, of int) {
	e.Kind = trace.Pass
	e.Step = fmt.Sprintf("%s[%d]", s.path, i)
	e.Attrs = object{
		"number":  i + 1,
		"of":      of,
		"steps":   len(s.info.Step.Body),
		"abreast": s.frame.concurrent,
	}
	s.run.events.pendingPasses = append(s.run.events.pendingPasses, e)
}

// labelOf is a short name for an element of a loop, empty if it has none.
func labelOf(item any) string {
	for _, key := range []string{"name", "title", "path", "id", "number"} {
		if v := formats.As[object](item)[key]; v != nil {
			item = v
		}
	}
	switch item.(type) {
	case nil, bool, []any, object:
		return ""
	}
	text, _, _ := strings.Cut(query.Text(item), "\n")
	return text
}

// emitRound tells that steps are run once more, and how often that may be.
func (tr transition) emitRound(t *syntax.Target, attempt int, ids []string) {
	r := tr.step.run
	more := r.limits.Rollbacks - r.counts.rollbacks
	if t.Kind != syntax.ToRollback {
		more = tr.maxUses(t) - attempt
	}

	e := trace.Event{
		Kind:    trace.Round,
		Step:    tr.step.path,
		Message: strings.Join(ids, ", "),
	}
	e.Attrs = object{"number": attempt + 1}
	if tr.maxUses(t) > 0 || t.Kind == syntax.ToRollback {
		e.Attrs["of"] = attempt + 1 + max(0, more)
	}

	tr.step.frame.emit(e)
}
