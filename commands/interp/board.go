package interp

import (
	"fmt"
	"strings"

	"tercet/formats"
)

// posting is what a step left on a board.
type posting struct {
	By        string             `json:"by"`
	Round     int                `json:"round"`
	Summary   string             `json:"summary"`
	Issues    []formats.Issue    `json:"issues"`
	Artifacts []formats.Artifact `json:"artifacts"`
}

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
	for _, p := range f.board[topic] {
		if p.By == f.ID {
			round++
		}
	}
	f.board[topic] = append(f.board[topic], posting{
		f.ID, round, f.ret.Summary, listed(f.ret.Issues), listed(f.ret.Artifacts),
	})
}

// knowledge is what stands on a board, as text for the prompt.
func (r *run) knowledge(topic string) []string {
	if topic == "" || len(r.board[topic]) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Board '%s', oldest first:\n", topic)
	for _, p := range r.board[topic] {
		fmt.Fprintf(&b, "\n- %s, round %d: %s\n", p.By, p.Round, p.Summary)
		for _, issue := range p.Issues {
			fmt.Fprintf(&b, "  - [%s] %s\n", issue.Level, issue.Description)
		}
	}
	return []string{strings.TrimRight(b.String(), "\n")}
}
