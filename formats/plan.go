package formats

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
	return oneOfSet("phase status", word, PhaseStatuses())
}

// String is the word as it stands in commands.
func (s PhaseStatus) String() string { return string(s) }

// Mark is the status as it stands between brackets in the heading of a phase, NOT STARTED.
func (s PhaseStatus) Mark() string { return strings.ToUpper(strings.ReplaceAll(string(s), "_", " ")) }

// ChecklistItem is one line of a checklist, its text without the box.
type ChecklistItem struct {
	Text string
	Done bool
	Line int
}

// Phase is one phase of a plan.
type Phase struct {
	Number       int
	Name         string
	Status       PhaseStatus
	Goal         string
	Tasks        []ChecklistItem
	Commands     []string // body of each sh fence under Commands, Tasks, Goal or no label, in order
	Verification []string // body of each sh fence under Verification, in order
	Checks       []ChecklistItem
	DependsOn    []int
	Timing       string
	Line         int // of the heading
	// Source is the text of the phase as it stands in its plan, heading included. RenderPlan writes a phase that has it
	// verbatim; clear it to have the phase written from its fields.
	Source string
}

// Any is what jq sees of a phase, plain JSON values.
func (p *Phase) Any() map[string]any {
	list := func(items []ChecklistItem) []any {
		out := make([]any, len(items))
		for i, it := range items {
			out[i] = map[string]any{"text": it.Text, "done": it.Done, "line": it.Line}
		}
		return out
	}
	texts := func(all []string) []any {
		out := make([]any, len(all))
		for i, s := range all {
			out[i] = s
		}
		return out
	}
	depends := make([]any, len(p.DependsOn))
	for i, n := range p.DependsOn {
		depends[i] = n
	}
	return map[string]any{
		"number": p.Number, "name": p.Name, "status": string(p.Status), "goal": p.Goal, "tasks": list(p.Tasks),
		"commands": texts(p.Commands), "verification": texts(p.Verification), "checks": list(p.Checks),
		"depends_on": depends, "timing": p.Timing, "line": p.Line,
	}
}

// Plan is the content of a plan document. Fields and Sections are keyed as those of a Document.
type Plan struct {
	Title    string
	Fields   map[string]string
	Sections map[string]string
	Phases   []Phase
}

// ParsePlan reads a plan document. The plan is never nil and holds what could be read; the diagnostics are nil when
// nothing was found wrong, and only warnings when HasErrors is false.
func ParsePlan(file string, src []byte) (*Plan, *Diagnostics) {
	d, found := ParseDocument(ProfilePlan, file, src)
	return &Plan{Title: d.Title, Fields: d.Fields, Sections: d.Sections, Phases: d.Phases}, found
}

// planIn reads what can be read of a plan, faults aside.
func planIn(src []byte) *Plan {
	p, ok := profileOf(ProfilePlan)
	d := &Document{Fields: map[string]string{}, Sections: map[string]string{}}
	if ok {
		(&docReader{findings: &findings{}, profile: p, out: d}).read(src)
	}
	return &Plan{Title: d.Title, Fields: d.Fields, Sections: d.Sections, Phases: d.Phases}
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
	sum := sha256.Sum256(h.Bytes())
	return hex.EncodeToString(sum[:])
}

// SetPhase rewrites the status in the heading of one phase and nothing else. A plan without that phase, or with two of
// that number, is NOT_FOUND; other faults of the document do not matter here.
func SetPhase(src []byte, number int, to PhaseStatus) ([]byte, error) {
	if _, err := ParsePhaseStatus(string(to)); err != nil {
		return nil, err
	}
	plan := planIn(src)
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
	start := lineStart(src, line)
	end := len(src)
	if i := slices.Index(src[start:], '\n'); i >= 0 {
		end = start + i
	}
	heading := string(src[start:end])
	kept := strings.TrimRight(heading, " \t\r#*_")
	tail := heading[len(kept):]
	if open := strings.LastIndexByte(kept, '['); open >= 0 && strings.HasSuffix(kept, "]") {
		kept = strings.TrimRight(kept[:open], " \t")
	}
	out := slices.Concat(src[:start], []byte(kept+" ["+to.Mark()+"]"+tail), src[end:])
	after := planIn(out)
	if p := after.Phase(number); p == nil || p.Status != to || p.Line != line || len(after.Phases) != len(plan.Phases) {
		return nil, &ValueError{
			What: fmt.Sprintf("heading of the form 'Phase %d: name [%s]'", number, to.Mark()),
			Got:  strings.TrimSpace(heading),
		}
	}
	return out, nil
}

// lineStart gives the offset of a line, counted from 1.
func lineStart(src []byte, line int) int {
	at := 0
	for n := 1; n < line; n++ {
		i := slices.Index(src[at:], '\n')
		if i < 0 {
			return len(src)
		}
		at += i + 1
	}
	return at
}
