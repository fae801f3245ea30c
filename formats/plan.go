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

// ParsePhaseStatus parses a status word; any other word is a *ValueError.
func ParsePhaseStatus(word string) (PhaseStatus, error) {
	return OneOf("phase status", word, PhaseStatuses())
}

// Mark is the status between the brackets of a phase's heading: NOT STARTED.
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
	Commands     []string        `json:"commands"`     // sh fences under Commands, Tasks, Goal or no label
	Verification []string        `json:"verification"` // sh fences under Verification
	Checks       []ChecklistItem `json:"checks"`
	DependsOn    []int           `json:"depends_on"`
	Timing       string          `json:"timing"`
	Line         int             `json:"line"` // of the heading
	// Source is the phase's text in its plan, heading included. Render writes it verbatim; clear it to render the fields
	// instead.
	Source string `json:"-"`
}

// Plan is a document of the profile plan.
type Plan = Document

// ParsePlan reads a plan. The plan is never nil and holds what could be read. The diagnostics are nil if there are no
// findings; if HasErrors is false, all are warnings.
func ParsePlan(file string, src []byte) (*Plan, *Diagnostics) {
	return ParseDocument(ProfilePlan, file, src)
}

// Next is the first phase that is not completed; nil if there is none.
func (p *Plan) Next() *Phase {
	for i := range p.Phases {
		if p.Phases[i].Status != PhaseCompleted {
			return &p.Phases[i]
		}
	}
	return nil
}

// Phase gives the phase with a number; nil if the plan has none.
func (p *Plan) Phase(number int) *Phase {
	for i := range p.Phases {
		if p.Phases[i].Number == number {
			return &p.Phases[i]
		}
	}
	return nil
}

// CommandDigest is the SHA-256 (hex) of all command and verification blocks with their phases, in order. It does not
// depend on statuses.
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

// SetPhase changes only the status in the heading of one phase. NOT_FOUND means that no phase, or more than one, has
// the number; other faults of the document do not matter.
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
