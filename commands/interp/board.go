package interp

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// post puts the result of a step on its board. It is called in the order of the file, so that what stands there does
// not depend on who was first.
func (f finished) post() {
	topic := f.Terms.Board
	if f.Call == nil && !f.checks() { // what stands inside posts
		return
	}
	if topic == "" || f.outcome == formats.OutcomeSkipped {
		return
	}
	round := 1
	for _, e := range f.board[topic] {
		if as[map[string]any](e)["by"] == f.ID {
			round++
		}
	}
	f.board[topic] = append(f.board[topic], map[string]any{
		"by": f.ID, "round": round, "summary": f.ret.Summary, "issues": listOf(f.ret.Issues),
		"artifacts": listOf(f.ret.Artifacts),
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
