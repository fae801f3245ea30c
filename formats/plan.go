package formats

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// PhaseStatus is the status word of a phase of a plan.
type PhaseStatus string

// The statuses of a phase.
const (
	PhaseNotStarted PhaseStatus = "not_started"
	PhaseInProgress PhaseStatus = "in_progress"
	PhaseCompleted  PhaseStatus = "completed"
	PhasePartial    PhaseStatus = "partial"
	PhaseBlocked    PhaseStatus = "blocked"
)

// PhaseStatuses lists every status of a phase.
func PhaseStatuses() []PhaseStatus {
	return []PhaseStatus{PhaseNotStarted, PhaseInProgress, PhaseCompleted, PhasePartial, PhaseBlocked}
}

// ParsePhaseStatus reads a status word; a word outside the set is a *ValueError.
func ParsePhaseStatus(word string) (PhaseStatus, error) {
	return OneOf("phase status", word, PhaseStatuses())
}

// Mark is the status as it stands between brackets in the heading of a phase, NOT STARTED.
func (s PhaseStatus) Mark() string { return strings.ToUpper(strings.ReplaceAll(string(s), "_", " ")) }

// ChecklistItem is one line of a checklist, its text without the box.
type ChecklistItem struct {
	Text string `json:"text"`
	Done bool   `json:"done"`
	Line int    `json:"line"`
}

// Phase is one phase of a plan.
type Phase struct {
	Number       int             `json:"number"`
	Name         string          `json:"name"`
	Status       PhaseStatus     `json:"status"`
	Goal         string          `json:"goal"`
	Tasks        []ChecklistItem `json:"tasks"`
	Commands     []string        `json:"commands"`     // the sh fences under Commands, Tasks, Goal or no label
	Verification []string        `json:"verification"` // the sh fences under Verification
	Checks       []ChecklistItem `json:"checks"`
	DependsOn    []int           `json:"depends_on"`
	Timing       string          `json:"timing"`
	Line         int             `json:"line"` // of the heading
	// Source is the text of the phase as it stands in its plan, heading included. Render writes a phase that has it
	// verbatim; clear it to have the phase written from its fields.
	Source string `json:"-"`
}

// Plan is a document of the profile plan.
type Plan = Document

// ParsePlan reads a plan document. The plan is never nil and holds what could be read; the diagnostics are nil when
// nothing was found wrong, and only warnings when HasErrors is false.
func ParsePlan(file string, src []byte) (*Plan, *Diagnostics) {
	return ParseDocument(ProfilePlan, file, src)
}

// Next is the phase to go on with: the first that is not completed, nil if there is none.
func (p *Plan) Next() *Phase {
	for i := range p.Phases {
		if p.Phases[i].Status != PhaseCompleted {
			return &p.Phases[i]
		}
	}
	return nil
}

// Phase gives the phase of a number, nil if the plan has none.
func (p *Plan) Phase(number int) *Phase {
	for i := range p.Phases {
		if p.Phases[i].Number == number {
			return &p.Phases[i]
		}
	}
	return nil
}

// CommandDigest is the sha256 (hex) of every command and verification block of the plan with its phase, in order. It
// does not change with the statuses of the phases.
func (p *Plan) CommandDigest() string {
	var h bytes.Buffer
	for _, phase := range p.Phases {
		for _, blocks := range [][]string{phase.Commands, phase.Verification} {
			fmt.Fprintf(&h, "phase %d: %d blocks\n", phase.Number, len(blocks))
			for _, body := range blocks {
				fmt.Fprintf(&h, "%d bytes\n", len(body))
				h.WriteString(body)
			}
		}
	}
	return Sum(h.Bytes())
}

// SetPhase rewrites the status in the heading of one phase and nothing else. A plan without that phase, or with two of
// that number, is NOT_FOUND; other faults of the document do not matter here.
func SetPhase(src []byte, number int, to PhaseStatus) ([]byte, error) {
	if _, err := ParsePhaseStatus(string(to)); err != nil {
		return nil, err
	}
	plan, _ := ParsePlan("", src) //nolint:errcheck // other faults do not matter here
	found, line := 0, 0
	for _, p := range plan.Phases {
		if p.Number == number {
			found++
			line = p.Line
		}
	}
	switch {
	case found > 1:
		return nil, Fail(CodeNotFound, "", "expected one phase %d in the plan, got %d", number, found)
	case found == 0:
		return nil, Fail(CodeNotFound, "", "expected phase %d in the plan, got none", number)
	}
	start := offsetOf(src, Pos{Line: line, Col: 1})
	end := len(src)
	if i := slices.Index(src[start:], '\n'); i >= 0 {
		end = start + i
	}
	heading := string(src[start:end])
	out := slices.Concat(src[:start], []byte(remark(heading, to)), src[end:])
	after, _ := ParsePlan("", out) //nolint:errcheck // other faults do not matter here
	if p := after.Phase(number); p == nil || p.Status != to || p.Line != line || len(after.Phases) != len(plan.Phases) {
		return nil, &ValueError{
			What: fmt.Sprintf("heading of the form 'Phase %d: name [%s]'", number, to.Mark()),
			Got:  strings.TrimSpace(heading),
		}
	}
	return out, nil
}
