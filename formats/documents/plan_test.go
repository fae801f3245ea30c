package documents_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/documents"
)

func draft() documents.Draft {
	return documents.Draft{
		Profile: documents.ProfilePlan,
		Title:   "Fix the range loop",
		Texts: map[string]string{
			"Task":     "196 - Fix the range loop",
			"Effort":   "1h",
			"Priority": "high",
			"Type":     "go",
			"Status":   "[IN PROGRESS]", "Dependencies": "None", "Research Inputs": "None",
			"Artifacts": "None", "Standards": "None",
			"Testing & Validation": "None.",
			"Artifacts & Outputs":  "None.",
			"Rollback/Contingency": "Revert it.",
			"Overview": "# The last page is lost\n\nSee `pages.go`.\n\n" +
				"## Phase 9: not one [COMPLETED]\n\nText.",
			"Goals & Non-Goals": "**Goals**:\n\n" + documents.List([]string{"All pages"}) +
				"\n**Non-Goals**:\n\n" + documents.List(nil),
			"Risks & Mitigations": documents.List([]string{"# none", "1. x", "- y", "---"}),
		},
		Phases: []documents.Phase{
			{
				Number:   1,
				Name:     "apply the patch",
				Status:   documents.PhaseCompleted,
				Goal:     "The loop\nincludes the end",
				Timing:   "5m",
				Tasks:    []documents.ChecklistItem{{Text: "apply it", Done: true}},
				Commands: []string{"git apply <<'EOF'\n```sh\nrm -rf x\n```\nEOF\n"},
			},
			{
				Number:       3,
				Name:         "prove it",
				Status:       documents.PhaseNotStarted,
				Goal:         "It is proved.",
				Timing:       "5m",
				Tasks:        []documents.ChecklistItem{{Text: "prove it"}},
				DependsOn:    []int{1, 2},
				Checks:       []documents.ChecklistItem{{Text: "the test passes"}},
				Verification: []string{"go test ./...\n", "go vet ./...\n"},
			},
		},
	}
}

func TestRenderPlanReadsBack(t *testing.T) {
	t.Parallel()

	src := draft().Render()
	plan, found := documents.ParsePlan("plan.md", src)
	if found != nil {
		t.Fatalf("ParsePlan(draft.Render()) found\n%v\nin\n%s", found, src)
	}

	if len(plan.Phases) != 2 {
		t.Fatalf("phases = %d, want 2 in\n%s", len(plan.Phases), src)
	}

	one := plan.Phases[0]
	two := plan.Phases[1]
	want := draft().Phases[0]

	if one.Name != want.Name || one.Status != want.Status ||
		one.Goal != "The loop includes the end" || one.Timing != "5m" {
		t.Errorf("phase 1 = %+v, want the draft's", one)
	}

	if diff := cmp.Diff(want.Commands, one.Commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(draft().Phases[1].Verification, two.Verification); diff != "" {
		t.Errorf("verification (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]int{1}, two.DependsOn); diff != "" {
		t.Errorf("depends on (-want +got):\n%s", diff)
	}

	if len(two.Commands) != 0 || len(one.Verification) != 0 || len(two.Checks) != 1 ||
		len(one.Tasks) != 1 || !one.Tasks[0].Done {
		t.Errorf("phases = %+v, want commands in 1 and verification in 2 only", plan.Phases)
	}

	if got := plan.Next(); got == nil || got.Number != 3 {
		t.Errorf("Next() = %+v, want phase 3", got)
	}
}

func TestRenderPlanKeepsSource(t *testing.T) {
	t.Parallel()

	src := string(draft().Render())
	src = strings.Replace(src, "- [x] apply it\n", "- [x] apply it\n\n> a note of a person\n", 1)

	plan, found := documents.ParsePlan("plan.md", []byte(src))
	if found != nil {
		t.Fatalf("ParsePlan = %v, want nothing found", found)
	}

	d := draft()
	d.Phases = plan.Phases
	again := string(d.Render())

	if !strings.Contains(again, "> a note of a person\n") {
		t.Errorf("Render lost the text of a kept phase:\n%s", again)
	}

	d.Phases[0].Status = documents.PhaseBlocked
	d.Phases[1].Source += "\n```sh\nopen"

	changed, found := documents.ParsePlan("plan.md", d.Render())
	if found != nil || changed.Phases[0].Status != documents.PhaseBlocked {
		t.Errorf("a source that does not stand for its phase was written: %v", found)
	}
}

func TestSetPhase(t *testing.T) {
	t.Parallel()
	src := draft().Render()
	crlf := []byte("\ufeff" + strings.ReplaceAll(string(src), "\n", "\r\n"))
	for name, in := range map[string][]byte{"lf": src, "crlf with mark": crlf} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := documents.SetPhase(in, 3, documents.PhaseInProgress)
			if err != nil {
				t.Fatalf("SetPhase = %v, want nil", err)
			}

			want := strings.Replace(
				string(in),
				"Phase 3: prove it [NOT STARTED]",
				"Phase 3: prove it [IN PROGRESS]",
				1,
			)

			if diff := cmp.Diff(want, string(out)); diff != "" {
				t.Errorf("SetPhase (-want +got):\n%s", diff)
			}

			a, _ := documents.ParsePlan("", in)
			b, _ := documents.ParsePlan("", out)
			if a.CommandDigest() != b.CommandDigest() || len(a.CommandDigest()) != 64 {
				t.Errorf("CommandDigest changed with a status: %s, %s",
					a.CommandDigest(), b.CommandDigest())
			}
		})
	}

	headings := []struct{ in, want string }{
		{"### Phase 7: x", "### Phase 7: x [PARTIAL]"},
		{"### Phase 7: x [DONE]", "### Phase 7: x [PARTIAL]"},
		{"### Phase 7: x [see][NOT STARTED] ##", "### Phase 7: x [see] [PARTIAL] ##"},
		{"### **Phase 7: x [NOT STARTED]**", "### **Phase 7: x [PARTIAL]**"},
	}
	for _, h := range headings {
		in := "## Implementation Phases\n\n```md\n### Phase 7: in a fence [NOT STARTED]\n```\n\n" +
			h.in + "\n\ntext\n"
		out, err := documents.SetPhase([]byte(in), 7, documents.PhasePartial)
		want := strings.Replace(in, h.in+"\n", h.want+"\n", 1)
		if err != nil || string(out) != want {
			t.Errorf("SetPhase(%q) = %q, %v, want %q", h.in, out, err, want)
		}
	}
}

// TestSetPhaseFollows: boxes and the status of the plan follow its phases, and nothing else
// changes.
func TestSetPhaseFollows(t *testing.T) {
	t.Parallel()
	const text = "# Plan\r\n\n- **Task**: 1\n- **Status**: [%s]\n\n## Implementation Phases\n\n" +
		"### Phase 1: a [%s]\n\n- **Tasks**:\n  - [%s] one [ ]\n  - [x] two\n\n```sh\n" +
		"echo '- [ ] no box'\n```\n\n" +
		"- **Verification**:\n  - [%s] seen\n\n### Phase 2: b [%s]\n\n- **Tasks**:\n  - [ ] three\n"
	plan := func(whole, first, one, seen, second string) string {
		return fmt.Sprintf(text, whole, first, one, seen, second)
	}
	for name, c := range map[string]struct {
		before, after string
		number        int
		to            documents.PhaseStatus
	}{
		"the first of two": {
			plan("NOT STARTED", "NOT STARTED", " ", " ", "NOT STARTED"),
			plan("IN PROGRESS", "COMPLETED", "x", "x", "NOT STARTED"),
			1,
			documents.PhaseCompleted,
		},
		"the last one": {
			plan("IN PROGRESS", "NOT STARTED", " ", " ", "COMPLETED"),
			plan("COMPLETED", "COMPLETED", "x", "x", "COMPLETED"),
			1,
			documents.PhaseCompleted,
		},
		"begun": {
			plan("NOT STARTED", "NOT STARTED", " ", " ", "NOT STARTED"),
			plan("IN PROGRESS", "IN PROGRESS", " ", " ", "NOT STARTED"),
			1,
			documents.PhaseInProgress,
		},
		"a status of others": {
			plan("given up", "NOT STARTED", " ", " ", "COMPLETED"),
			plan("given up", "COMPLETED", "x", "x", "COMPLETED"),
			1,
			documents.PhaseCompleted,
		},
	} {
		out, err := documents.SetPhase([]byte(c.before), c.number, c.to)
		if diff := cmp.Diff(c.after, string(out)); diff != "" || err != nil {
			t.Errorf("%s: SetPhase = %v (-want +got):\n%s", name, err, diff)
		}
	}

	done := plan("COMPLETED", "COMPLETED", "x", "x", "COMPLETED")
	out, err := documents.SetPhase([]byte(done), 1, documents.PhaseNotStarted)
	want := strings.Replace(
		plan("IN PROGRESS", "NOT STARTED", " ", " ", "COMPLETED"),
		"[x] two",
		"[ ] two",
		1,
	)
	if diff := cmp.Diff(want, string(out)); diff != "" || err != nil {
		t.Errorf("back: SetPhase = %v (-want +got):\n%s", err, diff)
	}
}

func TestSetPhaseRefuses(t *testing.T) {
	t.Parallel()

	src := draft().Render()
	_, err := documents.SetPhase(src, 2, documents.PhaseCompleted)
	if formats.CodeOf(err) != formats.CodeNotFound {
		t.Errorf("SetPhase of a missing phase = %v, want NOT_FOUND", err)
	}

	twice := strings.ReplaceAll(string(src), "Phase 3:", "Phase 1:")
	_, err = documents.SetPhase([]byte(twice), 1, documents.PhaseCompleted)
	if err == nil || !strings.Contains(err.Error(), "got 2") {
		t.Errorf("SetPhase of a doubled phase = %v, want an error with got 2", err)
	}

	if _, err := documents.SetPhase(src, 1, "done"); err == nil {
		t.Error("SetPhase to an unknown status = nil, want an error")
	}
}

func TestCommandDigestBindsEveryBlock(t *testing.T) {
	t.Parallel()

	base := documents.Plan{Phases: []documents.Phase{
		{Number: 1, Commands: []string{"a\n", "b\n"}},
		{Number: 2},
	}}

	others := map[string]documents.Plan{
		"joined": {Phases: []documents.Phase{
			{Number: 1, Commands: []string{"a\nb\n"}},
			{Number: 2},
		}},
		"swapped": {Phases: []documents.Phase{
			{Number: 1, Commands: []string{"b\n", "a\n"}},
			{Number: 2},
		}},
		"verification": {Phases: []documents.Phase{
			{Number: 1, Commands: []string{"a\n"}, Verification: []string{"b\n"}},
			{Number: 2},
		}},
		"moved": {Phases: []documents.Phase{
			{Number: 1, Commands: []string{"a\n"}},
			{Number: 2, Commands: []string{"b\n"}},
		}},
		"fewer": {Phases: []documents.Phase{
			{Number: 1, Commands: []string{"a\n"}},
			{Number: 2},
		}},
	}

	for name, other := range others {
		if other.CommandDigest() == base.CommandDigest() {
			t.Errorf("%s: CommandDigest is the same, want another one", name)
		}
	}
}

func TestPhaseLabels(t *testing.T) {
	t.Parallel()
	const src = "## Implementation Phases\n\n### Phase 1: x [NOT STARTED]\n\n" +
		"- **Goal:** first\n  and second\n- **Tasks:**\n  - [ ] one\n  - [x] two\n\n" +
		"```sh\nunder tasks\n```\n\n**Rollback**:\n\n```sh\nundo\n```\n\n> ```sh\n> quoted\n" +
		"> ```\n\n" +
		"**Commands**\n\n> ```sh\n> quoted command\n> ```\n\n```bash\nnot sh\n```\n\n1. step\n\n" +
		"   ```sh\n   in item\n     deeper\n   ```\n\n" +
		"#### Verification\n\n- [ ] holds\n\n```sh\nverify\n```\n\n    ```sh\n    code\n    ```\n" +
		"\n**Timing**: 1h\n"
	plan, found := documents.ParsePlan("p.md", []byte(src))
	if len(plan.Phases) != 1 {
		t.Fatalf("phases = %d, want 1", len(plan.Phases))
	}
	p := plan.Phases[0]
	if diff := cmp.Diff([]string{"under tasks\n", "in item\n  deeper\n"}, p.Commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"verify\n"}, p.Verification); diff != "" {
		t.Errorf("verification (-want +got):\n%s", diff)
	}
	if p.Goal != "first and second" || p.Timing != "1h" || len(p.Tasks) != 2 || len(p.Checks) != 1 {
		t.Errorf("phase = %+v, want goal, timing, two tasks, one check", p)
	}
	notRun := 0
	for _, d := range found.List {
		if d.Code == "W456" {
			notRun++
		}
	}

	if notRun != 4 {
		t.Errorf("warnings of fences that are not run = %d, want 4\n%v", notRun, found)
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add(draft().Render(), "name", "body")
	f.Add(
		[]byte("## Implementation Phases\n\n### Phase 1: a [PARTIAL]\n\n```sh\nx"),
		"a]",
		"```\n## Overview\n<!--",
	)
	f.Add([]byte("### Phase 2: b\n===\n"), "`", "x\n===\ny\n---\n> ```sh\n")
	f.Fuzz(func(t *testing.T, src []byte, name, body string) {
		plan, found := documents.ParsePlan("f.md", src)
		if found != nil && len(found.List) == 0 {
			t.Fatal("ParsePlan gave an empty list, want nil")
		}
		for _, p := range plan.Phases {
			if !slices.Contains(documents.PhaseStatuses(), p.Status) {
				t.Fatalf("status = %q", p.Status)
			}
			out, err := documents.SetPhase(src, p.Number, documents.PhaseBlocked)
			if err != nil {
				continue
			}
			after, _ := documents.ParsePlan("f.md", out)
			if len(after.Phases) != len(plan.Phases) ||
				after.CommandDigest() != plan.CommandDigest() {
				t.Fatalf("SetPhase(%q, %d) changed the plan: %q", src, p.Number, out)
			}
		}

		d := documents.Draft{
			Profile: documents.ProfilePlan,
			Title:   name,
			Texts: map[string]string{
				"Task":                 body,
				"Overview":             body,
				"Goals & Non-Goals":    documents.List([]string{name, body}),
				"Rollback/Contingency": body,
				"Revision":             body,
			},
			Phases: append(plan.Phases, documents.Phase{
				Number: 9999,
				Name:   name,
				Goal:   body,
				Tasks:  []documents.ChecklistItem{{Text: body}},
				Timing: name,
			}),
		}
		rendered := d.Render()
		_, bad := documents.ParsePlan("r.md", rendered)
		if bad == nil || len(rendered) >= documents.MaxSize {
			return
		}
		for _, one := range bad.List {
			lacks := []string{"E442", "E444", "E454"} // what the draft does not have
			if one.Severity == formats.SeverityError && !slices.Contains(lacks, one.Code) {
				t.Fatalf("Render breaks its profile:\n%v\n%s", bad, rendered)
			}
		}
	})
}
