package interp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
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
	return flow{
		asked: map[string]int{}, questions: map[string]bool{}, jumps: map[string]int{}, board: map[string][]any{},
		linked: map[string]bool{},
	}
}

// undo is one step whose effect can be taken back.
type undo struct {
	sc   *scope
	op   *compile.Info
	path string
}

// walk runs steps of one scope in order, from the one with the id on (empty: from the first). A jump to one of them
// goes on there; any other is the caller's.
func (r *run) walk(ctx context.Context, sc *scope, list []*syntax.Step, from string) (*ending, error) {
	i := max(0, holder(list, from))
	for i < len(list) {
		var end *ending
		var err error
		if isGroup(list[i]) && from != "" && list[i].ID.Text != from {
			end, err = r.walk(ctx, sc, list[i].Body, from)
		} else {
			end, err = r.step(ctx, sc, r.prog.Info(list[i]))
		}
		from = ""
		if err == nil && end != nil && end.jump != "" {
			if at := holder(list, end.jump); at >= 0 {
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

// skip marks a step as skipped, with what stands inside it.
func (r *run) skip(sc *scope, id string, s *syntax.Step) {
	sc.done(id, map[string]any{"status": formats.OutcomeSkipped.String()})
	switch s.Action.(type) {
	case *syntax.Group, *syntax.Parallel:
		for _, inner := range s.Body {
			r.skip(sc, inner.ID.Text, inner)
		}
	}
}

// again runs a step that a rule named. In a group that was skipped it stays skipped: one route serves every tier.
func (r *run) again(ctx context.Context, home *scope, s *syntax.Step) (*ending, error) {
	list := home.list
	for {
		at := holder(list, s.ID.Text)
		if at < 0 || list[at] == s {
			return r.step(ctx, home, r.prog.Info(s))
		}
		if v, ok := home.steps[list[at].ID.Text]; ok && wasSkipped(v) {
			r.skip(home, s.ID.Text, s)
			return nil, nil
		}
		list = list[at].Body
	}
}

func wasSkipped(v any) bool {
	m, ok := query.Normalize(v).(map[string]any)
	return ok && m["status"] == formats.OutcomeSkipped.String()
}

// inTier tells whether the step runs in the present tier.
func (r *run) inTier(sc *scope, op *compile.Info) (bool, error) {
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
			Code: formats.CodePrecondition, Message: "the tier is not known yet",
			Help: "give it in load: {tier: ...} or in a set step before this one",
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
			Code:    formats.CodeValidationFailed,
			Message: "expected one of " + strings.Join(r.prog.Tiers, ", ") + " as the tier, got " + query.Text(v),
			Help:    "run 'tercet explain E128'; what gives $tier stands in load or set of " + r.prog.File.Name,
		}
	}
	return nil
}

// around runs the steps of Between Steps at one side of their host. They see no feedback, which is the host's, but for
// the one that sent the host back.
func (r *run) around(ctx context.Context, sc *scope, op *compile.Info, list []*compile.Info) (*ending, error) {
	before := r.feedback
	defer func() { r.feedback = before }()
	for _, b := range list {
		r.feedback = nil
		if before != nil && before.From == b.ID {
			mine := *before
			mine.Own = true
			r.feedback = &mine
		}
		in := newScope(sc, nil, sc.path)
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
func (r *run) it(sc *scope, op *compile.Info) any {
	out := map[string]any{"id": op.ID, "agent": nil, "tools": []any{}}
	if op.Call != nil && op.Call.Agent != "" { // else it is nobody yet
		out["agent"], out["tools"] = op.Call.Agent, normal(op.Call.Info.Tools)
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

// toolsOf lists the tools of the subagent that did a step: the one that is named, one of those that might have been, or
// the fallback.
func toolsOf(op *compile.Info, agent string) []string {
	if op.Call == nil {
		return nil
	}
	for _, one := range append([]*compile.Call{op.Call, op.Fallback}, op.Call.Among...) {
		if one != nil && one.Agent == agent {
			return one.Info.Tools
		}
	}
	return nil
}

// goOn is where a step that is done with leads on: what runs after it, then the return beside it.
func (r *run) goOn(ctx context.Context, sc *scope, op *compile.Info, res result) (*ending, error) {
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
			home, step := sc.find(id)
			if step == nil {
				return false
			}
			at := home.path + id
			return u.path == at || strings.HasPrefix(u.path, at+"[") || strings.HasPrefix(u.path, at+"/") || u.sc == home &&
				within(step, u.op.ID) != nil
		})
	})
}

// compensate takes back the effects of those steps that are wanted, newest first. One that does not work is a warning:
// the others are taken back all the same.
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
		end, err := r.step(ctx, u.sc, u.op.Undo)
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

// Within is what the step paths of a subagent with steps begin with: where it was called, and which time. A step that
// is run again changes the state by transactions of its own.
func Within(r formats.Request) string {
	return fmt.Sprintf("%s#%d.%d/", r.Step, r.Visit, r.Attempt)
}
