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

// flow is what a run keeps of the routes that it took. Counters only grow.
type flow struct {
	rollbacks int             // of the run, shared by all routes
	asked     map[string]int  // questions by the path of the step that asked
	questions map[string]bool // asked before, by path, target and text
	jumps     map[string]int  // entries by goto, by step path
	spent     spending        // by workers, theirs included
	overrides []any           // what a person accepted against a rule
	board     map[string][]any
	undo      []undo // steps whose effect can be taken back, oldest first
	opened    bool   // the run opened its worktree
	co        *branch
	linked    map[string]bool    // paths of artifacts that a task has
	made      []formats.Artifact // what the present element, child or run brought
}

func newFlow() flow {
	return flow{asked: map[string]int{}, questions: map[string]bool{}, jumps: map[string]int{}, board: map[string][]any{}, linked: map[string]bool{}}
}

// undo is one step whose effect can be taken back.
type undo struct {
	sc   *scope
	op   *compile.Op
	path string
}

// walk runs steps of one scope in order, from the one with the id on (empty: from the first). A jump to one of them goes on
// there; any other is the caller's.
func (r *run) walk(ctx context.Context, sc *scope, ops []*compile.Op, from string) (*ending, error) {
	i := max(0, holder(ops, from))
	for i < len(ops) {
		var end *ending
		var err error
		if g, ok := ops[i].Do.(*compile.Group); ok && from != "" && ops[i].ID != from {
			end, err = r.walk(ctx, sc, g.Body, from)
		} else {
			end, err = r.step(ctx, sc, ops[i])
		}
		from = ""
		if err == nil && end != nil && end.jump != "" {
			if at := holder(ops, end.jump); at >= 0 {
				i, from = at, end.jump
				continue
			}
		}
		if err != nil || end != nil {
			return end, err
		}
		i++
	}
	return nil, nil
}

// holder is the place of the step with the id, or of the group that holds it; -1 if there is none.
func holder(ops []*compile.Op, id string) int {
	return slices.IndexFunc(ops, func(op *compile.Op) bool { return id != "" && within(op, id) != nil })
}

// within finds a step by its id: the op itself, or one of its group's body.
func within(op *compile.Op, id string) *compile.Op {
	if op.ID == id {
		return op
	}
	if g, ok := op.Do.(*compile.Group); ok {
		for _, inner := range g.Body {
			if found := within(inner, id); found != nil {
				return found
			}
		}
	}
	return nil
}

// group runs the body in the sequence around it.
func (r *run) group(ctx context.Context, sc *scope, op *compile.Op, g *compile.Group) (result, error) {
	end, err := r.walk(ctx, sc, g.Body, "")
	if err != nil {
		return result{}, err
	}
	out := result{outcome: formats.OutcomeCompleted, end: end}
	if end != nil && end.jump == "" && !end.over {
		out.outcome, out.ret = end.ret.Outcome(), end.ret
	}
	if r.dry.on {
		r.dry.add(sc, op, "group")
	}
	out.value = map[string]any{"status": out.outcome.String()}
	return out, nil
}

// skip marks a step as skipped, with what stands inside it.
func (r *run) skip(sc *scope, op *compile.Op) {
	sc.done(op.ID, map[string]any{"status": formats.OutcomeSkipped.String()})
	switch a := op.Do.(type) {
	case *compile.Group:
		for _, inner := range a.Body {
			r.skip(sc, inner)
		}
	case *compile.Parallel:
		for _, inner := range a.Children {
			r.skip(sc, inner)
		}
	}
}

// again runs a step that a rule named. In a group that was skipped it stays skipped: one route serves every tier.
func (r *run) again(ctx context.Context, home *scope, op *compile.Op) (*ending, error) {
	list := home.ops
	for {
		at := holder(list, op.ID)
		if at < 0 || list[at] == op {
			return r.step(ctx, home, op)
		}
		if v, ok := home.steps[list[at].ID]; ok && wasSkipped(v) {
			r.skip(home, op)
			return nil, nil
		}
		list = list[at].Bodies()
	}
}

func wasSkipped(v any) bool {
	m, ok := query.Normalize(v).(map[string]any)
	return ok && m["status"] == formats.OutcomeSkipped.String()
}

// inTier tells whether the step runs in the present tier.
func (r *run) inTier(sc *scope, op *compile.Op) (bool, error) {
	if op.Tiers == nil {
		return true, nil
	}
	tier := as[string](query.Normalize(r.variable(sc, "$tier")))
	if tier == "" && r.dry.on {
		r.dry.add(sc, op, "in tier "+strings.Join(op.Tiers, ", ")+" (decided at run time)")
		return true, nil
	}
	if tier == "" {
		return false, &formats.Failure{
			Code: formats.CodePrecondition, Message: "the tier is not known yet", Help: "give it in load: {tier: ...} or in a set step before this one",
		}
	}
	return slices.Contains(op.Tiers, tier), nil
}

// tiered checks a value that is given to $tier.
func (r *run) tiered(name string, v any) error {
	if name != "tier" || r.prog.Tiers == nil || v == nil {
		return nil
	}
	if word := as[string](v); !slices.Contains(r.prog.Tiers, word) {
		return &formats.Failure{
			Code: formats.CodeValidationFailed, Message: "expected one of " + strings.Join(r.prog.Tiers, ", ") + " as the tier, got " + query.Text(v),
			Help: "run 'tercet explain E128'; what gives $tier stands in load or set of " + r.prog.File,
		}
	}
	return nil
}

// around runs the steps of Between Steps at one side of their host. They see no feedback, which is the host's, but for the
// one that sent the host back.
func (r *run) around(ctx context.Context, sc *scope, op *compile.Op, list []*compile.Op) (*ending, error) {
	before := r.feedback
	defer func() { r.feedback = before }()
	for _, b := range list {
		r.feedback = nil
		if before != nil && before.From == b.ID {
			mine := *before
			mine.Own = true
			r.feedback = &mine
		}
		in := newScope(sc, []*compile.Op{b}, sc.path)
		in.through = true
		in.vars["$it"] = r.it(sc, op)
		end, err := r.step(ctx, in, b)
		if err != nil || end != nil {
			return end, err
		}
	}
	return nil, nil
}

// it is what a step of Between Steps sees of its host.
func (r *run) it(sc *scope, op *compile.Op) any {
	out := map[string]any{"id": op.ID, "agent": nil, "tools": []any{}}
	if d, ok := op.Do.(*compile.Delegate); ok {
		out["agent"], out["tools"] = d.Agent, normal(d.Info.Tools)
		if d.Pick != nil {
			out["agent"], out["tools"] = nil, []any{} // nobody yet
		}
	}
	if v, ok := sc.result(op.ID); ok {
		if m, ok := query.Normalize(v).(map[string]any); ok {
			for _, key := range []string{"status", "summary", "artifacts", "fields", "issues"} {
				out[key] = m[key]
			}
			if name, ok := m["agent"].(string); ok {
				out["agent"], out["tools"] = name, normal(toolsOf(op, name))
			}
		}
	}
	return query.Prepare(out)
}

// toolsOf lists the tools of the subagent that did a step: the one that is named, one of those that might have been, or the
// fallback.
func toolsOf(op *compile.Op, agent string) []string {
	d, ok := op.Do.(*compile.Delegate)
	switch {
	case !ok:
		return nil
	case d.Agent == agent:
		return d.Info.Tools
	}
	for _, one := range d.Among {
		if one.Agent == agent {
			return one.Info.Tools
		}
	}
	if op.Fallback == agent {
		return op.FallbackInfo.Tools
	}
	return nil
}

// goOn is where a step that is done with leads on: what runs after it, then the return beside it.
func (r *run) goOn(ctx context.Context, sc *scope, op *compile.Op, res result) (*ending, error) {
	end, err := r.around(ctx, sc, op, op.After)
	switch {
	case err != nil:
		return nil, err
	case end != nil && end.over:
		return nil, nil // the step was run again, with everything after it
	case end != nil:
		return end, nil
	}
	return r.beside(ctx, sc, op, res)
}

// takeBack runs the compensations of the steps named, newest first.
func (r *run) takeBack(ctx context.Context, sc *scope, ids []string) error {
	return r.compensate(ctx, func(u undo) bool {
		return slices.ContainsFunc(ids, func(id string) bool {
			home, op := sc.find(id)
			if op == nil {
				return false
			}
			at := home.path + id
			return u.path == at || strings.HasPrefix(u.path, at+"[") || strings.HasPrefix(u.path, at+"/") || u.sc == home && within(op, u.op.ID) != nil
		})
	})
}

// compensate takes back the effects of those steps that are wanted, newest first. One that does not work is a warning: the
// others are taken back all the same.
func (r *run) compensate(ctx context.Context, wanted func(undo) bool) error {
	before := r.feedback
	r.feedback = nil
	defer func() { r.feedback = before }()
	list := r.undo
	r.undo = nil
	for _, u := range slices.Backward(list) {
		if !wanted(u) {
			continue
		}
		end, err := r.step(ctx, u.sc, u.op.Compensate)
		if err != nil && ctx.Err() != nil {
			return err
		}
		switch {
		case err != nil:
			r.warn("%s was not taken back: %s", u.op.Title, err)
		case end != nil && !end.ret.Outcome().Passes():
			r.warn("%s was not taken back: %s", u.op.Title, end.ret.Summary)
		}
	}
	r.undo = slices.DeleteFunc(list, wanted)
	return nil
}

// workflow prepares what the steps of a subagent read: its input, and the task of the command.
func (r *run) workflow() {
	input := r.cfg.Input
	if input == nil {
		input = map[string]any{}
	}
	r.base["$input"], r.task = query.Prepare(input), r.cfg.Task
	if r.task != nil {
		r.base["$task"] = query.Prepare(r.task)
	}
}

// Within is what the step paths of a subagent with steps begin with: where it was called, and which time. A step that is run
// again changes the state by transactions of its own.
func Within(r formats.Request) string {
	return fmt.Sprintf("%s#%d.%d/", r.Step, r.Visit, r.Attempt)
}
