package project

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/subagents/agentcli"
)

// Passage is a part of a run as a person reads it: an event in words, or what an agent said and
// did.
type Passage struct {
	Time   time.Time // zero of what an agent did
	Step   string    // the path of an event; the call of an agent
	Text   string    // of an event
	Spoken []Spoken  // of an agent, in order; nil of an event
}

// String is an event in one line, with its time.
func (p Passage) String() string {
	parts := []string{p.Time.Local().Format(time.TimeOnly), p.Step, p.Text}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

// Passages gives what is new in the log, and whether the run has ended. Entries that only the
// engine needs are left out.
func (l *RunLog) Passages() (list []Passage, over bool, err error) {
	lines, over, err := l.Lines()
	if err != nil {
		return nil, over, err
	}
	for i := 0; i < len(lines); i++ {
		e := lines[i]
		if e.Type != LogOutput {
			if text := describeEntry(e); text != "" {
				list = append(list, Passage{Time: e.Time, Step: e.Step, Text: text})
			}
			continue
		}

		var printed strings.Builder
		for ; i < len(lines) && lines[i].Type == LogOutput && lines[i].File == e.File; i++ {
			printed.WriteString(lines[i].Text + "\n")
		}
		i--
		spoken := agentcli.Transcript(l.project.Mask.Line([]byte(printed.String())))
		if len(spoken) > 0 {
			list = append(list, Passage{Step: path.Dir(e.File), Spoken: spoken})
		}
	}
	return list, over, nil
}

// entryData are the members of an entry that a person reads.
type entryData struct {
	Status   string           `json:"status"`
	Summary  string           `json:"summary"`
	Blocked  string           `json:"blocked_reason"`
	Metadata formats.Metadata `json:"metadata"`

	Command  string `json:"command"`
	Question string `json:"question"`
	Choice   string `json:"choice"`
	By       string `json:"by"`
	Note     string `json:"note"`
	Target   string `json:"target"`
	Why      string `json:"why"`
	Until    string `json:"until"`
}

// describeEntry puts an entry of the journal in words; empty for one that only the engine needs.
// Data of another shape has no words.
func describeEntry(e LogLine) string {
	var d entryData
	if len(e.Data) > 0 && json.Unmarshal(e.Data, &d) != nil {
		d = entryData{}
	}

	status := d.Status
	switch formats.EntryType(e.Type) { //nolint:exhaustive // the others are the engine's
	case formats.EntryRunStarted:
		return "begins: " + d.Command
	case formats.EntryDelegationResult:
		return d.Metadata.Agent + ": " + status + formats.Prefixed(": ", d.Summary) +
			formats.Prefixed(": ", d.Blocked) + usageText(d.Metadata)
	case formats.EntryDelegationCut:
		return "was cut off"
	case formats.EntryStepFinished:
		if formats.Outcome(status).Passes() {
			return ""
		}
		return status + formats.Prefixed(": ", d.Summary)
	case formats.EntryGateOpened:
		return "asks: " + d.Question
	case formats.EntryGateVoted, formats.EntryGateDecided:
		return "answer: " + d.Choice + formats.Prefixed(" by ", d.By) +
			formats.Prefixed(": ", d.Note)
	case formats.EntryGateRefused:
		return "asks again: what it is about has changed"
	case formats.EntryRedo:
		return "again" + formats.Prefixed(": ", d.Why)
	case formats.EntryRollback, formats.EntryWentBack:
		return "goes back" + formats.Prefixed(" to ", d.Target)
	case formats.EntrySuspended:
		return "is suspended" + formats.Prefixed(": ", d.Why) + formats.Prefixed(" until ", d.Until)
	case formats.EntryStopped:
		return "is stopped" + formats.Prefixed(": ", d.Why)
	case formats.EntryResumed:
		return "goes on"
	case formats.EntryQueued:
		return "waits for its turn"
	case formats.EntryReopened:
		return "is opened again"
	case formats.EntryRunFinished:
		return "ends: " + status + formats.Prefixed(": ", d.Summary)
	}
	return ""
}

// usageText says what a worker has used, in brackets; empty for one that reported nothing.
func usageText(m formats.Metadata) string {
	var parts []string
	if n := m.Tokens.Total(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", n))
	}
	if m.Cost > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", m.Cost))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
