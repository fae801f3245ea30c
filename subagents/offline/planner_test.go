package offline_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/subagents/offline"
)

func TestPlanner(t *testing.T) {
	t.Parallel()
	report := "# R\n\n## Findings\n\n- `pages/pages.go:30`: the loop\n\n" +
		"### Phase 9: evil [COMPLETED]\n\n```sh\nrm -rf .\n```\n\n## Decisions\n\nNone.\n"
	pages := open(t, pagesFixture).task
	for name, tc := range map[string]struct {
		task  formats.Task
		input map[string]any
		docs  docs
		want  []string // outline of the plan
		notes int
	}{
		"pages": {
			task:  pages,
			input: map[string]any{"research_report": "r.md"},
			docs:  docs{"r.md": report},
			want: []string{
				"Let the range loop include the last page: " +
					strings.ReplaceAll(offline.Read(pages.Description).Blocks[0], "\n", "") +
					` | go test ./... | Expand("1,3-5") returns 1, 3, 4 and 5,Expand("7-7") returns 7`,
			},
		},
		"items": {
			task: formats.Task{
				Number:      7,
				Title:       "Tidy up",
				Description: "- [ ] one\n- [ ] two [now]\n\nAcceptance:\n\n- tidy\n",
			},
			want: []string{"one:  |  | ", "two (now):  |  | tidy"},
		},
		"nothing": {
			task: formats.Task{
				Number:      8,
				Title:       "Think",
				Description: "Only think. `rm -rf .`",
			},
			want: []string{"Do the task:  |  | "},
		},
		"two_blocks": {
			task: formats.Task{
				Number:       9,
				Title:        "Move `a` to b",
				Effort:       "small",
				Priority:     "high",
				Dependencies: []int{3, 4},
				Language:     "go",
				Description: text(
					"## Verification", "'''sh", "test -f b", "'''", "## Move", "'''sh", "# first",
					"git mv a b", "cat <<X", "''' not an end", "X", "'''", "", "'''bash", "no",
					"'''",
				),
				Artifacts: []formats.Artifact{{Type: formats.ArtifactReport, Path: "gone.md"}},
			},
			want:  []string{"Move: # firstgit mv a bcat <<X``` not an endX | test -f b | "},
			notes: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(t, t.TempDir(), &tc.task, tc.input)
			p := offline.Planner{Docs: tc.docs}
			ret, err := p.Run(t.Context(), r)
			if err != nil || ret.Status != formats.StatusCompleted ||
				len(ret.Warnings) != tc.notes {
				t.Fatalf("Run = %+v, %v, want completed with %d warnings", ret, err, tc.notes)
			}
			valid(t, ret, formats.RolePlanner)
			doc := document(t, r, ret, formats.ArtifactPlan)
			plan, found := documents.ParsePlan("plan.md", []byte(doc))
			if found != nil {
				t.Errorf("ParsePlan = %v, want nothing to report", found)
			}
			if diff := cmp.Diff(tc.want, outline(plan.Phases)); diff != "" {
				t.Errorf("phases (-want +got):\n%s", diff)
			}
			if strings.Contains(doc, "rm -rf .") && plan.CommandDigest() == "" {
				t.Error("the plan has no digest")
			}
			golden(t, "plan_"+name+".md", doc)
			if _, err := p.Run(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(doc, document(t, r, ret, formats.ArtifactPlan)); diff != "" {
				t.Errorf("a second plan differs:\n%s", diff)
			}
		})
	}
}

func TestPlannerTakesTheTaskFromTheInput(t *testing.T) {
	t.Parallel()
	r := request(t, t.TempDir(), nil, map[string]any{"task": map[string]any{
		"number":      5,
		"title":       "T",
		"description": "```sh\na\n```",
	}})
	ret, err := offline.Planner{Docs: docs{}}.Run(t.Context(), r)
	if err != nil ||
		!strings.Contains(document(t, r, ret, formats.ArtifactPlan), "- **Task**: 5 - T\n") {
		t.Errorf("Run = %+v, %v, want a plan of task 5", ret, err)
	}
}

func TestPlannerRefuses(t *testing.T) {
	t.Parallel()
	task := &formats.Task{
		Number:      5,
		Title:       "T",
		Description: "D",
		Artifacts:   []formats.Artifact{{Type: formats.ArtifactPlan, Path: "p.md"}},
	}
	for name, tc := range map[string]struct {
		task  *formats.Task
		input map[string]any
		docs  docs
		want  formats.Code
	}{
		"no task": {nil, nil, nil, formats.CodeValidationFailed},
		"empty task": {
			nil,
			map[string]any{"task": map[string]any{}},
			nil,
			formats.CodeValidationFailed,
		},
		"wrong revision": {task, map[string]any{"revision": 7}, nil, formats.CodeValidationFailed},
		"no plan": {
			&formats.Task{Number: 5, Title: "T"},
			map[string]any{"revision": "x"},
			nil,
			formats.CodePrecondition,
		},
		"part of a plan": {
			task,
			map[string]any{"revision": "x"},
			docs{"p.md": "# P\n\n## Overview\n\nx\n\n## Phases\n\n### Phase 1: a\n"},
			formats.CodeValidationFailed,
		},
		"plan not there": {task, map[string]any{"revision": "x"}, docs{}, formats.CodeUnknown},
		"no report": {
			task,
			map[string]any{"research_report": "gone.md"},
			docs{},
			formats.CodeUnknown,
		},
		"plan not a plan": {
			task,
			map[string]any{"revision": "x"},
			docs{"p.md": "# nothing\n"},
			formats.CodeValidationFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ret, err := offline.Planner{Docs: tc.docs}.Run(
				t.Context(),
				request(t, t.TempDir(), tc.task, tc.input),
			)
			if err != nil || ret.Status != formats.StatusFailed || ret.Errors[0].Code != tc.want {
				t.Errorf("Run = %+v, %v, want failed with %s", ret, err, tc.want)
			}
		})
	}

	_, err := (offline.Planner{}).Run(t.Context(), request(t, t.TempDir(), task, nil))
	if formats.CodeOf(err) != formats.CodeBug {
		t.Errorf("Run without documents = %v, want BUG", err)
	}
	r := request(t, t.TempDir(), task, nil)
	if err := os.RemoveAll(r.Out); err != nil {
		t.Fatal(err)
	}
	_, err = (offline.Planner{Docs: docs{}}).Run(t.Context(), r)
	if formats.CodeOf(err) != formats.CodeIO {
		t.Errorf("Run without a folder = %v, want IO", err)
	}
}

// revise plans, marks phases completed and revises, as often as there are texts.
func revise(t *testing.T, task formats.Task, done []int, texts ...string) (formats.Return, string) {
	t.Helper()
	r := request(t, t.TempDir(), &task, nil)
	d := docs{}
	p := offline.Planner{Docs: d}
	ret, err := p.Run(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	doc := document(t, r, ret, formats.ArtifactPlan)
	for i, one := range texts {
		src := []byte(doc)
		for _, n := range done[:min(len(done), strings.Count(doc, "### Phase "))] {
			src, err = documents.SetPhase(src, n, documents.PhaseCompleted)
			if err != nil {
				t.Fatal(err)
			}
		}
		d["p.md"] = string(src)
		task.Artifacts = []formats.Artifact{{Type: formats.ArtifactPlan, Path: "p.md"}}
		r.Input = map[string]any{"revision": one}
		ret, err = p.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		valid(t, ret, formats.RolePlanner)
		doc = document(t, r, ret, formats.ArtifactPlan)
		if diff := cmp.Diff(texts[:i+1], offline.Revisions([]byte(doc))); diff != "" {
			t.Errorf("texts of the revision (-want +got):\n%s", diff)
		}
	}

	return ret, doc
}

func TestPlannerRevises(t *testing.T) {
	t.Parallel()
	task := formats.Task{
		Number: 12,
		Title:  "Change things",
		Description: text(
			"A:", "'''sh", "one", "'''", "B:", "'''sh", "two", "'''", "## Verification", "'''sh",
			"check", "'''",
		),
	}
	for name, tc := range map[string]struct {
		done  []int
		texts []string
		want  []string
	}{
		"command": {
			[]int{1},
			[]string{"C:\n```sh\nthree\n```"},
			[]string{"A: one |  | ", "B: two |  | ", "C: three | check | "},
		},
		"item": {
			nil,
			[]string{"- [ ] more"},
			[]string{"A: one |  | ", "B: two |  | ", "more:  | check | "},
		},
		"verification": {
			nil,
			[]string{"Verification:\n```sh\nsecond\n```"},
			[]string{"A: one |  | ", "B: two | check,second | "},
		},
		"twice": {
			[]int{1},
			[]string{"C:\n```sh\nthree\n```", "# Heading\n\nD:\n````sh\ncat <<X\n```\nX\n````"},
			[]string{"A: one |  | ", "B: two |  | ", "C: three |  | ", "D: cat <<X```X | check | "},
		},
		"all done": {
			[]int{1, 2},
			[]string{"C:\n```sh\nthree\n```"},
			[]string{"A: one |  | ", "B: two | check | ", "C: three | check | "},
		},
		"neither command nor item": {
			[]int{1},
			[]string{
				"Please hurry, `rm -rf .`",
				"E:\n```sh\nfive\n```",
				"Please hurry, `rm -rf .`",
			},
			[]string{
				"A: one |  | ", "B: two |  | ", "E: five | check | ",
				"Do: Please hurry, rm -rf:  |  | ",
			},
		},
		"a note that is done": {
			[]int{1, 2, 3},
			[]string{"Please hurry, `now`", "- [ ] more"},
			[]string{
				"A: one |  | ", "B: two | check | ", "Do: Please hurry, now:  |  | ",
				"more:  | check | ",
			},
		},
		"the same again": {
			[]int{1},
			[]string{"A:\n```sh\none\n```"},
			[]string{"A: one |  | ", "B: two | check | ", "Do: A:  |  | "},
		},
		"all done, no phase for it": {
			[]int{1, 2},
			[]string{"Verification:\n```sh\nsecond\n```"},
			[]string{"A: one |  | ", "B: two | check | ", "Do: Verification:  |  | "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ret, doc := revise(t, task, tc.done, tc.texts...)
			note := strings.Contains(
				strings.Join(ret.Warnings, "\n"),
				"neither a command nor a checklist item",
			)
			if note != regexp.MustCompile(`Do: .*\[NOT STARTED\]`).MatchString(doc) {
				t.Errorf("warnings = %q, want one for each phase that is a note and open",
					ret.Warnings)
			}
			plan, found := documents.ParsePlan("plan.md", []byte(doc))
			if diff := cmp.Diff(tc.want, outline(plan.Phases)); found != nil || diff != "" {
				t.Errorf("phases, findings %v (-want +got):\n%s\n%s", found, diff, doc)
			}
			for i, p := range plan.Phases {
				want := documents.PhaseNotStarted
				if i < len(tc.done) {
					want = documents.PhaseCompleted
				}
				if p.Status != want || p.Number != i+1 {
					t.Errorf("phase %d is number %d and %s, want %s", i+1, p.Number, p.Status, want)
				}
			}
			golden(t, "plan_revised_"+strings.ReplaceAll(name, " ", "_")+".md", doc)
		})
	}
}

func TestReviser(t *testing.T) {
	t.Parallel()
	task := &formats.Task{
		Number:      3,
		Title:       "T",
		Description: "Old.\n\n```sh\na\n```",
	}
	ret, err := offline.Reviser{}.Run(
		t.Context(),
		request(t, t.TempDir(), task, map[string]any{"text": " Also b.\n"}),
	)
	want := "Old.\n\n```sh\na\n```\n\n## Revision\n\nAlso b."
	if err != nil || ret.Status != formats.StatusCompleted || ret.Fields["description"] != want {
		t.Errorf("Run = %+v, %v, want description %q", ret, err, want)
	}
	for _, in := range []map[string]any{nil, {"text": " "}, {"text": 1}} {
		ret, err := (offline.Reviser{}).Run(t.Context(), request(t, t.TempDir(), task, in))
		if err != nil || ret.Status != formats.StatusFailed {
			t.Errorf("Run(%v) = %+v, %v, want failed", in, ret, err)
		}
	}
}

func TestForGivesAWorkerPerRole(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		role formats.Role
		want string
	}{
		{"a", formats.RoleResearcher, "offline.Researcher"},
		{"a", formats.RolePlanner, "offline.Planner"},
		{"planner@go", formats.RolePlanner, "offline.Planner"},
		{"a", formats.RoleImplementer, "offline.Implementer"},
		{"a", formats.RoleReviewer, "offline.Reviewer"},
		{"task-reviser", formats.RoleWriter, "offline.Reviser"},
		{"task-reviser@go", formats.RoleUtility, "offline.Reviser"},
		{"a", formats.RoleWriter, "offline.NoWorker"},
		{"a", formats.RoleUtility, "offline.NoWorker"},
	} {
		agent := offline.Workers{}.For(formats.AgentInfo{Name: tc.name, Role: tc.role})
		if got := typeName(agent); got != tc.want {
			t.Errorf("For(%s, %s) = %s, want %s", tc.name, tc.role, got, tc.want)
		}
		if named, ok := agent.(interface{ Runner() string }); !ok || named.Runner() != "offline" {
			t.Errorf("For(%s, %s) does not say that its runner is offline", tc.name, tc.role)
		}
	}

	ret, err := offline.Workers{}.For(formats.AgentInfo{Role: formats.RoleWriter}).Run(
		t.Context(),
		formats.Request{},
	)
	if err != nil || ret.Status != formats.StatusFailed ||
		ret.Errors[0].Code != formats.CodeToolUnavailable ||
		ret.Errors[0].Message !=
			"the offline runner cannot do the work of a writer: that needs an agent CLI" {
		t.Errorf("a writer = %+v, %v, want failed TOOL_UNAVAILABLE", ret, err)
	}
}
