package journal

import (
	"encoding/json"

	"tercet/formats"
)

// AnsweredGate is a gate with its decision.
type AnsweredGate struct {
	Gate     formats.Gate
	Decision formats.Decision
}

// Gates returns the open gate of a run, or nil, and the answered gates in order.
func Gates(records []Record) (open *formats.Gate, done []AnsweredGate) {
	for i, r := range records {
		var d formats.Decision
		switch {
		case r.Type == formats.EntryGateOpened:
			g := formats.Gate{}
			if json.Unmarshal(r.Raw(), &g) == nil {
				g.Step = r.Step
				open = &g
			}
		case r.Type == formats.EntryStopped && i < len(records)-1,
			r.Type == formats.EntryRunFinished && r.Step == "":
			open = nil
		case open == nil || r.Key != open.ID:
		case r.Type == formats.EntryGateRefused:
			open = nil
		case json.Unmarshal(r.Raw(), &d) != nil:
		case r.Type == formats.EntryGateVoted:
			open.Votes = append(open.Votes, d)
		case r.Type == formats.EntryGateDecided:
			done = append(done, AnsweredGate{*open, d})
			open = nil
		}
	}
	return open, done
}
