package documents

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
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
	return []PhaseStatus{
		PhaseNotStarted, PhaseInProgress, PhaseCompleted, PhasePartial, PhaseBlocked,
	}
}

// ParsePhaseStatus parses a status word; any other word is a *ValueError.
func ParsePhaseStatus(word string) (PhaseStatus, error) {
	return formats.OneOf("phase status", word, PhaseStatuses())
}

// Mark is the status as written in brackets in a phase's heading: NOT STARTED.
func (s PhaseStatus) Mark() string {
	return strings.ToUpper(strings.ReplaceAll(string(s), "_", " "))
}

// ChecklistItem is one line of a checklist, its text without the box.
type ChecklistItem struct {
	Text string `json:"text"`
	Done bool   `json:"done"`
	Line int    `json:"line"`
}

// Phase is one phase of a plan.
type Phase struct {
	Number int             `json:"number"`
	Name   string          `json:"name"`
	Status PhaseStatus     `json:"status"`
	Goal   string          `json:"goal"`
	Tasks  []ChecklistItem `json:"tasks"`
	// sh fences under Commands, Tasks, Goal or no label
	Commands     []string        `json:"commands"`
	Verification []string        `json:"verification"` // sh fences under Verification
	Checks       []ChecklistItem `json:"checks"`
	DependsOn    []int           `json:"depends_on"`
	Timing       string          `json:"timing"`
	Line         int             `json:"line"` // of the heading
	// Source is the phase's text in its plan, heading included. Render writes it verbatim; clear it
	// to render the fields instead.
	Source string `json:"-"`
}

// Plan is a document of the profile plan.
type Plan = Document

// ParsePlan reads a plan. The plan is never nil and holds what could be read. The diagnostics are
// nil if there are no findings; if HasErrors is false, all are warnings.
func ParsePlan(file string, src []byte) (*Plan, *formats.Diagnostics) {
	return Parse(ProfilePlan, file, src)
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

// Phase returns the phase with a number, or nil.
func (p *Plan) Phase(number int) *Phase {
	for i := range p.Phases {
		if p.Phases[i].Number == number {
			return &p.Phases[i]
		}
	}
	return nil
}

// CommandDigest is the SHA-256 (hex) of all command and verification blocks with their phases, in
// order. It does not depend on statuses.
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
	return formats.Sum(h.Bytes())
}

// SetPhase changes the status in the heading of one phase, and what follows from it: a completed
// phase has its boxes ticked, one that is no longer completed and not started has them empty, and
// the status among the plan's metadata says how far its phases are. NOT_FOUND means that no phase,
// or more than one, has the number; other faults of the document do not matter.
func SetPhase(src []byte, number int, to PhaseStatus) ([]byte, error) {
	return (*ProjectProfiles)(nil).SetPhase(src, number, to)
}

// SetPhase is the function SetPhase by the project's profile of plans.
func (p *ProjectProfiles) SetPhase(src []byte, number int, to PhaseStatus) ([]byte, error) {
	rules, err := p.rules(ProfilePlan)
	if err != nil {
		return nil, err
	}
	parse := func(src []byte) *Plan {
		//nolint:errcheck // other findings do not matter here
		plan, _ := Options{Profiles: p}.Parse(ProfilePlan, "", src)
		return plan
	}
	if _, err := ParsePhaseStatus(string(to)); err != nil {
		return nil, err
	}
	plan := parse(src)
	var phase *Phase
	found := 0
	for i := range plan.Phases {
		if plan.Phases[i].Number == number {
			found++
			phase = &plan.Phases[i]
		}
	}

	switch {
	case found > 1:
		return nil, formats.Fail(formats.CodeNotFound, "",
			"expected one phase %d in the plan, got %d", number, found)
	case found == 0:
		return nil, formats.Fail(
			formats.CodeNotFound,
			"",
			"expected phase %d in the plan, got none",
			number,
		)
	}

	heading := lineAt(src, phase.Line)
	marked := replaceLine(src, phase.Line, rules.Phase.setMark(heading, to))
	after := parse(marked)
	if now := after.Phase(number); now == nil || now.Status != to || !sameShape(plan, after) {
		return nil, &formats.ValueError{
			What: fmt.Sprintf("heading of the form '%s %d: name [%s]'",
				rules.Phase.phaseWord(), number, rules.Phase.markOf(to)),
			Got: strings.TrimSpace(heading),
		}
	}

	out := marked
	switch {
	case to == PhaseCompleted:
		out = setBoxes(out, phase, true)
	case to == PhaseNotStarted && phase.Status == PhaseCompleted:
		out = setBoxes(out, phase, false)
	}

	out = setStatus(out, after.progress())
	if after = parse(out); !sameShape(plan, after) {
		return marked, nil // the form of the plan allows to change only its heading
	}
	return out, nil
}

// progress is the status of a plan derived from its phases.
func (p *Plan) progress() PhaseStatus {
	first := p.Phases[0].Status
	same := !slices.ContainsFunc(p.Phases, func(one Phase) bool {
		return one.Status != first
	})
	if same && (first == PhaseCompleted || first == PhaseNotStarted) {
		return first
	}
	return PhaseInProgress
}

// sameShape reports whether two versions of a plan have the same phases at the same lines, with the
// same commands.
func sameShape(a, b *Plan) bool {
	same := func(p, q Phase) bool {
		return p.Number == q.Number && p.Line == q.Line && len(p.Tasks) == len(q.Tasks) &&
			len(p.Checks) == len(q.Checks)
	}
	return slices.EqualFunc(a.Phases, b.Phases, same) && a.CommandDigest() == b.CommandDigest()
}

// setBoxes ticks or empties the boxes of a phase's checklists.
func setBoxes(src []byte, p *Phase, ticked bool) []byte {
	for _, item := range slices.Concat(p.Tasks, p.Checks) {
		if item.Done == ticked {
			continue
		}
		line := lineAt(src, item.Line)
		if ticked {
			line = strings.Replace(line, "[ ]", "[x]", 1)
		} else {
			line = strings.NewReplacer("[x]", "[ ]", "[X]", "[ ]").Replace(line)
		}
		src = replaceLine(src, item.Line, line)
	}
	return src
}

// setStatus sets the status in the metadata of a plan, before its first section. A plan without
// one, or with an unknown word, stays unchanged.
func setStatus(src []byte, to PhaseStatus) []byte {
	for number := 1; ; number++ {
		if formats.OffsetOf(src, formats.Pos{Line: number, Col: 1}) < 0 {
			return src
		}
		line := lineAt(src, number)
		if strings.HasPrefix(line, "##") {
			return src
		}
		m := statusLine().FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		word := strings.ToLower(strings.ReplaceAll(line[m[2]:m[3]], " ", "_"))
		if _, err := ParsePhaseStatus(word); err != nil {
			return src
		}
		return replaceLine(src, number, line[:m[2]]+to.Mark()+line[m[3]:])
	}
}

// statusLine matches a metadata line with the status; the group is the word without brackets.
var statusLine = lazy.Regexp(
	`(?i)^[ \t]*[-*+]?[ \t]*(?:\*\*|__)?status(?:\*\*|__)?[ \t]*:(?:\*\*|__)?` +
		`[ \t]*\[?([a-z_ ]*[a-z])\]?[ \t\r]*$`,
)

// lineAt is a line without its line feed.
func lineAt(src []byte, number int) string {
	start, end := lineBounds(src, number)
	return string(src[start:end])
}

func replaceLine(src []byte, number int, line string) []byte {
	start, end := lineBounds(src, number)
	return slices.Concat(src[:start], []byte(line), src[end:])
}

func lineBounds(src []byte, number int) (start, end int) {
	start = formats.OffsetOf(src, formats.Pos{Line: number, Col: 1})
	if i := bytes.IndexByte(src[start:], '\n'); i >= 0 {
		return start, start + i
	}
	return start, len(src)
}
