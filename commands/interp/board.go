package interp

import (
	"fmt"
	"strings"

	"tercet/commands/compile"
	"tercet/commands/syntax"
	"tercet/formats"
)

// post puts the result of a step on its board. It is called in the order of the file, so that what stands there does
// not depend on who was first.
func (r *run) post(op *compile.Info, res result) {
	if _, checks := op.Action.(*syntax.Check); op.Call == nil && !checks {
		return // what stands inside posts
	}
	if op.Terms.Board == "" || res.outcome == formats.OutcomeSkipped {
		return
	}
	round := 1
	for _, e := range r.board[op.Terms.Board] {
		if as[map[string]any](e)["by"] == op.ID {
			round++
		}
	}
	r.board[op.Terms.Board] = append(r.board[op.Terms.Board], map[string]any{
		"by": op.ID, "round": round, "summary": res.ret.Summary, "issues": listOf(res.ret.Issues),
		"artifacts": listOf(res.ret.Artifacts),
	})
}

// boards is $board: what was posted before the present step started.
func (r *run) boards() map[string]any {
	out := make(map[string]any, len(r.board))
	for topic, list := range r.board {
		out[topic] = append([]any{}, list...)
	}
	return out
}

// knowledge is what stands on a board, as text for the prompt.
func (r *run) knowledge(topic string) []string {
	list := r.board[topic]
	if topic == "" || len(list) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Board '%s', oldest first:\n", topic)
	for _, e := range list {
		m := as[map[string]any](e)
		fmt.Fprintf(&b, "\n- %v, round %v: %v\n", m["by"], m["round"], m["summary"])
		for _, one := range as[[]any](m["issues"]) {
			issue := as[map[string]any](one)
			fmt.Fprintf(&b, "  - [%v] %v\n", issue["level"], issue["description"])
		}
	}
	return []string{strings.TrimRight(b.String(), "\n")}
}

func listOf(v any) any {
	if list := as[[]any](normal(v)); list != nil {
		return list
	}
	return []any{}
}
