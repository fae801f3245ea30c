package documents_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/formats/documents"
)

// TestPhaseHeadings holds how the headings of others are read, and what becomes of each when its
// phase is done.
func TestPhaseHeadings(t *testing.T) {
	t.Parallel()
	for heading, want := range map[string]string{
		"### Phase 1: Setup [NOT STARTED]":   "Setup|not_started|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup [in progress]":   "Setup|in_progress|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup [In-Progress]":   "Setup|in_progress|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup [DONE]":          "Setup|completed|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup (blocked)":       "Setup|blocked|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup [✅ Completed]":   "Setup|completed|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup ✅ [COMPLETED]":   "Setup|completed|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup ✅":               "Setup|completed|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup ⚠️":              "Setup|partial|### Phase 1: Setup [COMPLETED]",
		"### ✅ Phase 1: Setup":               "Setup|completed|### Phase 1: Setup [COMPLETED]",
		"### 🔄 Phase 1 – Setup":              "Setup|in_progress|### Phase 1 – Setup [COMPLETED]",
		"### [x] Phase 1: Setup":             "Setup|completed|### Phase 1: Setup [COMPLETED]",
		"### [ ] Phase 1: Setup":             "Setup|not_started|### Phase 1: Setup [COMPLETED]",
		"### Phase 1 [PARTIAL]: Setup":       "Setup|partial|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup - in progress":   "Setup|in_progress|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup — Done":          "Setup|completed|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup **COMPLETED**":   "Setup|completed|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup **[COMPLETED]**": "Setup|completed|### Phase 1: Setup **[COMPLETED]**",
		"### Phase 1: Setup BLOCKED":         "Setup|blocked|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup":                 "Setup|not_started|### Phase 1: Setup [COMPLETED]",
		"### Phase 1: Setup [2h]": "Setup|not_started|### Phase 1: Setup [2h] " +
			"[COMPLETED]",
		"### Phase 1 Setup": "Setup|not_started|### Phase 1 Setup [COMPLETED]",
		"### PHASE 1. Setup ##": "Setup|not_started|### PHASE 1. Setup " +
			"[COMPLETED] ##",
		"### Phase 1":                     "Phase 1|not_started|### Phase 1 [COMPLETED]",
		"### Phase 1: Completed":          "Phase 1|completed|### Phase 1 [COMPLETED]",
		"#### Phase 1: Setup [COMPLETED]": "Setup|completed|#### Phase 1: Setup [COMPLETED]",
		"### **Phase 1: Setup**": "Setup|not_started|### **Phase 1: Setup " +
			"[COMPLETED]**",
		"### Phase 1: Say what is completed": "Say what is completed|not_started|### Phase 1: " +
			"Say what is completed [COMPLETED]",
		"### Phase 1: Make []string of f()": "Make []string of f()|not_started|### Phase 1: " +
			"Make []string of f() [COMPLETED]",
		"### Phase 1: Tasks In Progress": "Tasks In Progress|not_started|### Phase 1: Tasks " +
			"In Progress [COMPLETED]",
		"### Phase 1: Read [x] in the middle": "Read [x] in the middle|not_started|### Phase 1: " +
			"Read [x] in the middle [COMPLETED]",
	} {
		src := "# Plan\n\n## Steps\n\n" + heading + "\n\ntext\n"
		plan, found := documents.Read(documents.ProfilePlan, "p.md", []byte(src))
		if found.HasErrors() || len(plan.Phases) != 1 {
			t.Errorf("%s: Read = %d phases, %v", heading, len(plan.Phases), found)
			continue
		}
		out, err := documents.SetPhase([]byte(src), 1, documents.PhaseCompleted)
		p := plan.Phases[0]
		got := fmt.Sprintf("%s|%s|%s", p.Name, p.Status, strings.Split(string(out), "\n")[4])
		if err != nil || got != want {
			t.Errorf("%s\n got %s, %v\nwant %s", heading, got, err, want)
		}
		again, _ := documents.Read(documents.ProfilePlan, "p.md", out)
		if len(again.Phases) != 1 || again.Phases[0].Status != documents.PhaseCompleted {
			t.Errorf("%s: read again = %+v", string(out), again.Phases)
		}
	}
}

// TestPhasesToldApart holds which plans cannot be worked on.
func TestPhasesToldApart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ src, want string }{
		"none":        {"# P\n\n## Overview\n\nx\n", "E450"},
		"twice":       {"### Phase 1: a\n\n### Phase 1: b\n", "E452"},
		"letter":      {"### Phase 1: a\n\n### Phase 2b: b\n", "E451"},
		"fraction":    {"### Phase 1: a\n\n### Phase 1.5: b\n", "E451"},
		"other level": {"### Phase 1: a\n\n## Phase 2: b [NOT STARTED]\n", "E451"},
		"swallowed":   {"### Phase 1: a\n\n```sh\nx\n\n### Phase 2: b\n", "E447"},
		"empty":       {"", "E440"},
		"open fence":  {"### Phase 1: a\n\n```sh\nx\n", ""},
		"parts": {
			"### Phase 1: a\n\n#### Phase 1.1: b\n\n#### Phase 1 checks\n\n### Phase 2: c\n",
			"",
		},
		"two levels":   {"### Phase 1: a\n\n#### Phase 2: b\n", ""},
		"out of order": {"### Phase 2: a\n\n### Phase 1: b\n", ""},
		"in a section": {
			"## Implementation Phases\n\n### Phase 1: a\n\n## Rollback\n\n### Phase 1: undo\n",
			"",
		},
	} {
		_, found := documents.Read(documents.ProfilePlan, "p.md", []byte(tt.src))
		var got []string
		for _, d := range found.List {
			if d.Severity == formats.SeverityError && !slices.Contains(got, d.Code) {
				got = append(got, d.Code)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: errors = %v, want %s", name, got, tt.want)
		}
	}
}

const whole = `# Implementation Plan: Count

- **Task**: 12
- **Status**: [IN PROGRESS]
- **Effort**: 2h
- **Priority**: high
- **Dependencies**: None
- **Research Inputs**: None
- **Artifacts**: None
- **Standards**: None
- **Type**: go

## Overview

It counts.

## Goals & Non-Goals

- To count.

## Risks & Mitigations

- None known.

## Implementation Phases

### Phase 1: Begin [COMPLETED]

- **Goal**: It begins.
- **Timing**: 1h

**Tasks**:

- [x] begin

### Phase 2: Go on [NOT STARTED]

- **Goal**: It goes on.
- **Timing**: 1h

**Tasks**:

- [ ] go on

**Commands**:

` + "```sh\ntrue\n```" + `

**Verification**:

- [ ] it holds

## Testing & Validation

- To test.

## Artifacts & Outputs

- One.

## Rollback/Contingency

- None.
`

// lacking gives 34 plans as others wrote them: each lacks something else that a plan of ours has,
// and its two phases can be told apart.
func lacking() map[string]string {
	out := map[string]string{}
	swap := func(name string, pairs ...string) {
		text := whole
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				panic("no " + pairs[i])
			}
			text = strings.Replace(text, pairs[i], pairs[i+1], 1)
		}
		out[name] = text
	}
	for line := range strings.Lines(whole) {
		label, _, ok := strings.Cut(line, "**: ")
		if ok && strings.HasPrefix(label, "- **") && len(out) < 9 {
			swap("no bullet "+label[4:], line, "")
		}
	}

	for _, name := range []string{
		"Overview\n\nIt counts.", "Goals & Non-Goals\n\n- To count.",
		"Risks & Mitigations\n\n- None known.", "Testing & Validation\n\n- To test.",
		"Artifacts & Outputs\n\n- One.", "Rollback/Contingency\n\n- None.",
	} {
		swap("no section "+name[:8], "## "+name+"\n", "")
	}

	const first = "### Phase 1: Begin [COMPLETED]"
	const second = "### Phase 2: Go on [NOT STARTED]"
	swap("no title", "# Implementation Plan: Count\n\n", "")
	swap("no section of phases", "## Implementation Phases\n\n", "")
	swap("other name of the section", "## Implementation Phases", "## Steps")
	swap("no goal", "- **Goal**: It goes on.\n", "")
	swap("no timing", "- **Timing**: 1h\n", "")
	swap("no checklist", "**Tasks**:\n\n- [ ] go on\n\n", "")
	swap("no mark", second, "### Phase 2: Go on")
	swap(
		"small mark",
		first,
		"### Phase 1: Begin [completed]",
		"**Status**: [IN PROGRESS]",
		"**Status**:",
	)
	swap("mark without brackets", first, "### Phase 1: Begin COMPLETED")
	swap("mark behind a dash", first, "### Phase 1: Begin - completed")
	swap("mark in parentheses", first, "### Phase 1: Begin (Completed)")
	swap("sign", first, "### Phase 1: Begin ✅")
	swap("sign in front", first, "### ✅ Phase 1: Begin")
	swap(
		"level 4",
		first,
		"#### Phase 1: Begin [COMPLETED]",
		second,
		"#### Phase 2: Go on [NOT STARTED]",
	)
	swap("two levels", second, "#### Phase 2: Go on [NOT STARTED]")
	swap("empty bullet", "- **Effort**: 2h", "- **Effort**:")
	swap("empty section", "It counts.\n\n", "")
	swap("another heading among the phases", "## Testing", "### Notes\n\nx\n\n## Testing")
	out["nothing but phases"] = "#### phase 1 begin [completed]\n#### phase 2 go on\n```sh\n" +
		"true\n```\n"
	return out
}

// TestForeignPlans: each of the 34 can be worked on, and is refused as a plan of ours.
func TestForeignPlans(t *testing.T) {
	t.Parallel()

	plans := lacking()
	if len(plans) != 34 {
		t.Fatalf("%d plans, want 34", len(plans))
	}

	if _, found := documents.ParsePlan("p.md", []byte(whole)); found != nil {
		t.Fatalf("the whole plan: %v", found)
	}

	for name, src := range plans {
		for _, text := range []string{
			src,
			strings.TrimSuffix(src, "\n"),
			strings.ReplaceAll(src, "\n", "\r\n"),
			"\ufeff" + src,
		} {
			if _, found := documents.ParsePlan("p.md", []byte(text)); found == nil &&
				name != "small mark" {
				t.Errorf("%s: nothing is lacking", name)
			}

			doc, found := documents.Read(documents.ProfilePlan, "p.md", []byte(text))
			if found.HasErrors() || len(doc.Phases) != 2 ||
				doc.Phases[0].Status != documents.PhaseCompleted || doc.Next() == nil ||
				doc.Next().Number != 2 {
				t.Errorf("%s: cannot be worked on: %v, %+v", name, found, doc.Phases)
			}
		}
	}
}
