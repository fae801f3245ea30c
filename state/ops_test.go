package state_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/state"
	"tercet/state/statefile"
)

const plan = `# Plan

- **Task**: 1
- **Status**: [IN PROGRESS]

## Implementation Phases

### Phase 1: first [COMPLETED]

**Goal**: a

### Phase 2: second [NOT STARTED]

**Goal**: b

**Tasks**:

- [ ] begin
- [x] look
`

func TestCreate(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	res := w.do(state.CreateTasks{Tasks: []state.NewTask{
		{Title: " Fix the parser ", Description: "all\nof it", Language: "go", Effort: "2h"},
		{Title: "Größe messen", Priority: "high", Dependencies: []int{1}},
	}})

	if diff := cmp.Diff([]int{1, 2}, res.Numbers); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}

	if res.Serial != 1 || !res.Changed || len(res.Verdicts) != 2 || res.Txn == "" {
		t.Errorf("Result = %+v, want serial 1 with two verdicts", res)
	}

	want := `{
  "version": "1",
  "lineage": "LINEAGE",
  "serial": 1,
  "next_number": 3,
  "tasks": [
    {
      "number": 1,
      "title": "Fix the parser",
      "slug": "fix_the_parser",
      "status": "not_started",
      "language": "go",
      "priority": "medium",
      "effort": "2h",
      "description": "all\nof it",
      "dependencies": [],
      "parent": null,
      "created": "2026-01-05T10:46:40Z",
      "updated": "2026-01-05T10:46:40Z",
      "artifacts": [],
      "prior": null,
      "blocked_reason": null,
      "lease": null,
      "session_id": "sess_1767610000_aaaaaa"
    },
    {
      "number": 2,
      "title": "Größe messen",
      "slug": "grosse_messen",
      "status": "not_started",
      "language": "",
      "priority": "high",
      "effort": "",
      "description": "",
      "dependencies": [
        1
      ],
      "parent": null,
      "created": "2026-01-05T10:46:40Z",
      "updated": "2026-01-05T10:46:40Z",
      "artifacts": [],
      "prior": null,
      "blocked_reason": null,
      "lease": null,
      "session_id": "sess_1767610000_aaaaaa"
    }
  ]
}
`

	doc, err := w.r.Doc(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	want = strings.Replace(want, "LINEAGE", doc.Lineage, 1)
	want = strings.Replace(want, "grosse", statefile.Slug("Größe"), 1)
	if diff := cmp.Diff(want, w.read("state.json")); diff != "" {
		t.Errorf("state.json (-want +got):\n%s", diff)
	}

	w.healthy()
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Fix the parser":          "fix_the_parser",
		"  --Add  é, ﬁ and Å--":   "add_e_fi_and_a",
		"":                        "task",
		"日本語":                     "task",
		"don't stop":              "dont_stop",
		"../../etc/passwd":        "etc_passwd",
		strings.Repeat("x", 99):   strings.Repeat("x", 60),
		strings.Repeat("ab ", 40): strings.TrimSuffix(strings.Repeat("ab_", 20), "_"),
		"v1.2 (beta)":             "v1_2_beta",
	} {
		if got := statefile.Slug(in); got != want {
			t.Errorf("Slug(%q) = %q, want %q", in, got, want)
		}
		if got := statefile.Slug(statefile.Slug(in)); got != statefile.Slug(in) {
			t.Errorf("Slug(Slug(%q)) = %q, want %q", in, got, statefile.Slug(in))
		}
	}
}

// TestRefusals holds that every wrong operation is refused with its type and code and leaves no
// trace.
func TestRefusals(t *testing.T) {
	t.Parallel()

	status := func(to formats.TaskStatus) state.Op {
		return state.UpdateStatus{Tasks: []int{1}, To: to}
	}

	for _, tt := range []struct {
		name string
		from formats.TaskStatus // of task 1; empty: not_started
		ops  []state.Op
		code formats.Code
		want string // in the message
	}{
		{name: "no operation", code: formats.CodeValidationFailed, want: "at least one operation"},
		{
			name: "no title",
			ops:  []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: " "}}}},
			code: formats.CodeValidationFailed,
			want: "title",
		},
		{
			name: "title of two lines",
			ops:  []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "a\nb"}}}},
			code: formats.CodeValidationFailed,
			want: "control",
		},
		{
			name: "title not UTF-8",
			ops:  []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "a\xff"}}}},
			code: formats.CodeValidationFailed,
			want: "UTF-8",
		},
		{
			name: "reason not UTF-8",
			ops: []state.Op{state.UpdateStatus{
				Tasks:  []int{1},
				To:     formats.Blocked,
				Reason: "a\xff",
			}},
			code: formats.CodeValidationFailed,
			want: "UTF-8",
		},
		{
			name: "summary not UTF-8",
			ops: []state.Op{state.LinkArtifacts{
				Task: 1,
				Artifacts: []formats.Artifact{{
					Type:    formats.ArtifactImplementation,
					Path:    "x",
					Summary: "\xed\xa0\x80",
				}},
			}},
			code: formats.CodeValidationFailed,
			want: "UTF-8",
		},
		{
			name: "bad slug",
			ops:  []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "a", Slug: "../x"}}}},
			code: formats.CodeValidationFailed,
			want: "slug",
		},
		{
			name: "no tasks",
			ops:  []state.Op{state.CreateTasks{}},
			code: formats.CodeValidationFailed,
			want: "at least one task",
		},
		{
			name: "unknown dependency",
			ops: []state.Op{state.CreateTasks{Tasks: []state.NewTask{{
				Title:        "a",
				Dependencies: []int{99},
			}}}},
			code: formats.CodeValidationFailed,
			want: "dependency 99 does not exist",
		},
		{
			name: "unknown parent",
			ops:  []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "a", Parent: 99}}}},
			code: formats.CodeValidationFailed,
			want: "parent 99",
		},
		{
			name: "unknown task",
			ops:  []state.Op{state.UpdateStatus{Tasks: []int{9}, To: formats.Planning}},
			code: formats.CodeNotFound,
			want: "task 9 does not exist",
		},
		{
			name: "no target",
			ops:  []state.Op{state.UpdateStatus{Tasks: []int{1}}},
			code: formats.CodeValidationFailed,
			want: "status or back",
		},
		{
			name: "unknown status",
			ops:  []state.Op{status("planing")},
			code: formats.CodeUsage,
			want: `got "planing"`,
		},
		{
			name: "jump",
			ops:  []state.Op{status(formats.Completed)},
			code: formats.CodeIllegalTransition,
			want: "from not_started to completed",
		},
		{
			name: "no prior",
			ops:  []state.Op{state.UpdateStatus{Tasks: []int{1}, Back: true}},
			code: formats.CodeIllegalTransition,
			want: "no prior status",
		},
		{
			name: "blocked without reason",
			ops:  []state.Op{status(formats.Blocked)},
			code: formats.CodeIllegalTransition,
			want: "a reason",
		},
		{
			name: "abandoned without reason",
			ops: []state.Op{state.UpdateStatus{
				Tasks:  []int{1},
				To:     formats.Abandoned,
				Reason: "  ",
			}},
			code: formats.CodeIllegalTransition,
			want: "a reason",
		},
		{
			name: "back to research without reason",
			from: formats.Planned,
			ops:  []state.Op{status(formats.Researching)},
			code: formats.CodeIllegalTransition,
			want: "a reason",
		},
		{
			name: "recover by status",
			from: formats.Abandoned,
			ops:  []state.Op{status(formats.NotStarted)},
			code: formats.CodeIllegalTransition,
			want: "the recover operation",
		},
		{
			name: "recover completed without reason",
			from: formats.Completed,
			ops:  []state.Op{state.UpdateStatus{Tasks: []int{1}, Recover: true}},
			code: formats.CodeIllegalTransition,
			want: "a reason",
		},
		{
			name: "completed is the end",
			from: formats.Completed,
			ops:  []state.Op{status(formats.Planning)},
			code: formats.CodeIllegalTransition,
			want: "from completed to planning",
		},
		{
			name: "researched without report",
			from: formats.Researching,
			ops:  []state.Op{status(formats.Researched)},
			code: formats.CodePrecondition,
			want: "no artifact of type report",
		},
		{
			name: "report not on disk",
			from: formats.Researching,
			ops: []state.Op{state.UpdateStatus{
				Tasks: []int{1},
				To:    formats.Researched,
				Artifacts: []formats.Artifact{{
					Type: formats.ArtifactReport,
					Path: ".tercet/none.md",
				}},
			}},
			code: formats.CodePrecondition,
			want: "does not exist",
		},
		{
			name: "empty report",
			from: formats.Researching,
			ops: []state.Op{state.UpdateStatus{
				Tasks: []int{1},
				To:    formats.Researched,
				Artifacts: []formats.Artifact{{
					Type: formats.ArtifactReport,
					Path: ".tercet/empty.md",
				}},
			}},
			code: formats.CodePrecondition,
			want: "is empty",
		},
		{
			name: "report is a folder",
			from: formats.Researching,
			ops: []state.Op{state.UpdateStatus{
				Tasks:     []int{1},
				To:        formats.Researched,
				Artifacts: []formats.Artifact{{Type: formats.ArtifactReport, Path: ".tercet"}},
			}},
			code: formats.CodePrecondition,
			want: "no regular file",
		},
		{
			name: "artifact outside",
			ops: []state.Op{state.LinkArtifacts{
				Task:      1,
				Artifacts: []formats.Artifact{{Type: formats.ArtifactImplementation, Path: "../x"}},
			}},
			code: formats.CodeValidationFailed,
			want: "outside",
		},
		{
			name: "artifact absolute",
			ops: []state.Op{state.LinkArtifacts{
				Task: 1,
				Artifacts: []formats.Artifact{{
					Type: formats.ArtifactImplementation,
					Path: "/etc/passwd",
				}},
			}},
			code: formats.CodeValidationFailed,
			want: "absolute",
		},
		{
			name: "artifact type",
			ops: []state.Op{state.LinkArtifacts{
				Task:      1,
				Artifacts: []formats.Artifact{{Type: "poem", Path: "x"}},
			}},
			code: formats.CodeValidationFailed,
			want: "poem",
		},
		{
			name: "no artifact",
			ops:  []state.Op{state.LinkArtifacts{Task: 1}},
			code: formats.CodeValidationFailed,
			want: "at least one",
		},
		{
			name: "unknown field",
			ops:  []state.Op{state.UpdateMetadata{Task: 1, Fields: map[string]any{"titel": "x"}}},
			code: formats.CodeValidationFailed,
			want: `got "titel"`,
		},
		{
			name: "field of the engine",
			ops: []state.Op{state.UpdateMetadata{
				Task:   1,
				Fields: map[string]any{"status": "planned"},
			}},
			code: formats.CodeValidationFailed,
			want: `got "status"`,
		},
		{
			name: "field type",
			ops:  []state.Op{state.UpdateMetadata{Task: 1, Fields: map[string]any{"title": 3}}},
			code: formats.CodeValidationFailed,
			want: "expected text",
		},
		{
			name: "dependencies type",
			ops: []state.Op{state.UpdateMetadata{
				Task:   1,
				Fields: map[string]any{"dependencies": "2"},
			}},
			code: formats.CodeValidationFailed,
			want: "expected list",
		},
		{
			name: "depends on itself",
			ops: []state.Op{state.UpdateMetadata{
				Task:   1,
				Fields: map[string]any{"dependencies": []int{1}},
			}},
			code: formats.CodeValidationFailed,
			want: "1 -> 1",
		},
		{
			name: "cycle",
			ops: []state.Op{
				state.UpdateMetadata{Task: 1, Fields: map[string]any{"dependencies": []any{2.0}}},
				state.UpdateMetadata{Task: 2, Fields: map[string]any{"dependencies": []int{1}}},
			},
			code: formats.CodeValidationFailed,
			want: "1 -> 2 -> 1",
		},
		{
			name: "own ancestor",
			ops: []state.Op{
				state.UpdateMetadata{Task: 1, Fields: map[string]any{"parent": 2}},
				state.UpdateMetadata{Task: 2, Fields: map[string]any{"parent": 1}},
			},
			code: formats.CodeValidationFailed,
			want: "a part of itself: 1 -> 2 -> 1",
		},
		{
			name: "archive an open task",
			ops:  []state.Op{state.ArchiveTasks{Tasks: []int{1}}},
			code: formats.CodeValidationFailed,
			want: "completed or abandoned",
		},
		{
			name: "archive with another",
			ops:  []state.Op{state.ArchiveTasks{Tasks: []int{1}}, status(formats.Planning)},
			code: formats.CodeValidationFailed,
			want: "alone",
		},
		{
			name: "unarchive what is not there",
			ops:  []state.Op{state.UnarchiveTasks{Tasks: []int{7}}},
			code: formats.CodeNotFound,
			want: "task 7",
		},
		{
			name: "divide into nothing",
			ops:  []state.Op{state.DivideTask{Task: 1}},
			code: formats.CodeValidationFailed,
			want: "at least one part",
		},
		{
			name: "divide what is done",
			from: formats.Completed,
			ops:  []state.Op{state.DivideTask{Task: 1, Parts: []state.NewTask{{Title: "a"}}}},
			code: formats.CodeIllegalTransition,
			want: "expanded",
		},
		{
			name: "phase without plan",
			ops: []state.Op{state.SetPhase{
				Task:   1,
				Phase:  1,
				Status: documents.PhaseCompleted,
			}},
			code: formats.CodePrecondition,
			want: "plan",
		},
		{
			name: "phase status",
			ops: []state.Op{state.SetPhase{
				Task:   1,
				Phase:  1,
				Status: "done",
			}},
			code: formats.CodeValidationFailed,
			want: `got "done"`,
		},
		{
			name: "lease of an idle task",
			ops:  []state.Op{state.SetLease{Tasks: []int{1}}},
			code: formats.CodeValidationFailed,
			want: "in progress",
		},
		{
			name: "sync with another",
			ops:  []state.Op{state.SyncTasks{}, status(formats.Planning)},
			code: formats.CodeValidationFailed,
			want: "alone",
		},
		{
			name: "renumber to a number that was given",
			ops:  []state.Op{state.Renumber{Task: 1, To: 2}},
			code: formats.CodeValidationFailed,
			want: "expected a number from 3, got 2",
		},
		{
			name: "renumber what is not there",
			ops:  []state.Op{state.Renumber{Task: 9}},
			code: formats.CodeNotFound,
			want: "task 9",
		},
		{
			name: "claim for an idle status",
			ops:  []state.Op{state.ClaimTask{Task: 1, To: formats.Planned}},
			code: formats.CodeValidationFailed,
			want: "in progress",
		},
		{
			name: "claim what is done",
			from: formats.Completed,
			ops:  []state.Op{state.ClaimTask{Task: 1}},
			code: formats.CodePrecondition,
			want: "no next work",
		},
		{
			name: "layout",
			ops:  []state.Op{state.SetLayout{To: "wide"}},
			code: formats.CodeValidationFailed,
			want: `got "wide"`,
		},
		{
			name: "import nothing",
			ops:  []state.Op{state.ImportTasks{}},
			code: formats.CodeValidationFailed,
			want: "got none",
		},
		{
			name: "one bad of two",
			ops:  []state.Op{state.UpdateStatus{Tasks: []int{2, 9}, To: formats.Planning}},
			code: formats.CodeNotFound,
			want: "task 9",
		},
		{
			name: "second operation bad",
			ops: []state.Op{
				status(formats.Planning),
				state.UpdateStatus{Tasks: []int{2}, To: formats.Planned},
			},
			code: formats.CodeIllegalTransition,
			want: "task 2",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.add("first", "second")

			w.write("empty.md", "")
			if tt.from != "" {
				w.force(1, tt.from)
			}

			before := w.read("state.json")
			audit := w.read("audit.jsonl")

			_, err := w.try(tt.ops...)
			if err == nil {
				t.Fatalf("Apply = nil, want %s", tt.code)
			}

			got := formats.CodeOf(err)
			if got != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Apply = %s: %v, want %s with %q", got, err, tt.code, tt.want)
			}

			if got := w.read("state.json"); got != before {
				t.Errorf("a refused transaction changed state.json (-want +got):\n%s",
					cmp.Diff(before, got))
			}
			if got := w.read("audit.jsonl"); got != audit {
				t.Errorf("a refused transaction changed the audit log (-want +got):\n%s",
					cmp.Diff(audit, got))
			}
		})
	}
}

// TestTransitionTable tries every pair of statuses and holds the manager to the table of formats.
func TestTransitionTable(t *testing.T) {
	t.Parallel()
	for _, from := range formats.TaskStatuses() {
		w := quickWorkspace(t) // of its own: a file of all pairs would be read hundreds of times
		docs := []formats.Artifact{
			w.document(formats.ArtifactReport, "r.md", "x"),
			w.document(formats.ArtifactPlan, "p.md", "x"),
			w.document(formats.ArtifactSummary, "s.md", "x"),
		}
		for _, to := range formats.TaskStatuses() {
			n := w.add("t")[0]
			w.do(state.LinkArtifacts{Task: n, Artifacts: docs})
			if from != formats.NotStarted {
				w.force(n, from)
			}
			prior := w.stored(n).Prior
			_, err := w.try(state.UpdateStatus{
				Tasks:  []int{n},
				To:     to,
				Reason: "because",
			})
			want := formats.CanMove(from, to) || from == to || prior == to && from.KeepsPrior()
			if (err == nil) != want {
				t.Errorf("%s to %s = %v, want legal: %v", from, to, err, want)
			}
			if err == nil && w.stored(n).Status != to {
				t.Errorf("%s to %s left %s", from, to, w.stored(n).Status)
			}
		}
	}
}

func TestPriorAndBack(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	n := w.add("t")[0]
	to := func(s formats.TaskStatus) state.Op {
		return state.UpdateStatus{
			Tasks:  []int{n},
			To:     s,
			Reason: "why",
		}
	}
	back := state.UpdateStatus{Tasks: []int{n}, Back: true}
	docs := 0
	again := func(s formats.TaskStatus, kind formats.ArtifactType) state.Op {
		docs++
		return state.UpdateStatus{
			Tasks:     []int{n},
			To:        s,
			Artifacts: []formats.Artifact{w.document(kind, "d"+strconv.Itoa(docs)+".md", "x")},
		}
	}
	for i, step := range []struct {
		op            state.Op
		status, prior formats.TaskStatus
		lease         bool
		blocked       string
	}{
		{to(formats.Planning), formats.Planning, formats.NotStarted, true, ""},
		{to(formats.Blocked), formats.Blocked, formats.NotStarted, false, "why"},
		{to(formats.Implementing), formats.Implementing, formats.NotStarted, true, ""},
		{back, formats.NotStarted, "", false, ""},
		{to(formats.OnHold), formats.OnHold, formats.NotStarted, false, ""},
		{to(formats.NotStarted), formats.NotStarted, "", false, ""},
		{to(formats.Implementing), formats.Implementing, formats.NotStarted, true, ""},
		{to(formats.Partial), formats.Partial, "", false, ""},
		{to(formats.Implementing), formats.Implementing, formats.Partial, true, ""},
		{to(formats.Researching), formats.Researching, formats.Partial, true, ""},
		{back, formats.Partial, "", false, ""},
		// Work that is done once more takes back nothing that came after it, and its document is
		// linked.
		{to(formats.Researching), formats.Researching, formats.Partial, true, ""},
		{again(formats.Researched, formats.ArtifactReport), formats.Partial, "", false, ""},
		{to(formats.Revising), formats.Revising, formats.Partial, true, ""},
		{again(formats.Revised, formats.ArtifactPlan), formats.Partial, "", false, ""},
		{to(formats.Blocked), formats.Blocked, formats.Partial, false, "why"},
		{to(formats.Researching), formats.Researching, formats.Partial, true, ""},
		{again(formats.Researched, formats.ArtifactReport), formats.Partial, "", false, ""},
		{to(formats.Abandoned), formats.Abandoned, "", false, ""},
		{state.UpdateStatus{Tasks: []int{n}, Recover: true}, formats.NotStarted, "", false, ""},
	} {
		w.do(step.op)
		got := w.stored(n)
		if got.Status != step.status || got.Prior != step.prior ||
			(got.Lease != nil) != step.lease || got.BlockedReason != step.blocked {
			t.Errorf("step %d (%+v): status %s prior %q lease %v blocked %q, want %+v",
				i, step.op, got.Status, got.Prior, got.Lease, got.BlockedReason, step)
		}
	}

	if got := w.stored(n).Artifacts; len(got) != docs {
		t.Errorf("%d artifacts are linked, want %d", len(got), docs)
	}
	w.healthy()
}

func TestNoChangeNoWrite(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	n := w.add("t")[0]
	w.do(state.UpdateStatus{Tasks: []int{n}, To: formats.Planning})
	report := w.document(formats.ArtifactReport, "r.md", "x")
	w.do(state.LinkArtifacts{Task: n, Artifacts: []formats.Artifact{report}})

	before := w.read("state.json")
	serial := w.serial()
	audit := w.read("audit.jsonl")
	w.clock.advance(time.Hour)

	for _, op := range []state.Op{
		state.UpdateStatus{Tasks: []int{n}, To: formats.Planning},
		state.UpdateStatus{
			Tasks:     []int{n},
			To:        formats.Planning,
			Artifacts: []formats.Artifact{report},
		},
		state.UpdateMetadata{
			Task:   n,
			Fields: map[string]any{"title": "t", "dependencies": nil, "parent": nil},
		},
		state.LinkArtifacts{Task: n, Artifacts: []formats.Artifact{report}},
		state.SetLease{Tasks: []int{n}, Clear: true},
	} {
		res := w.do(op)
		if res.Changed || res.Serial != serial {
			t.Errorf("Apply(%+v) = %+v, want no change", op, res)
		}
	}

	if w.read("state.json") != before || w.read("audit.jsonl") != audit {
		t.Error("a change to what is there wrote something")
	}
	res := w.do(state.UpdateStatus{
		Tasks:     []int{n},
		To:        formats.Planning,
		Artifacts: []formats.Artifact{w.document(formats.ArtifactReport, "r2.md", "x")},
	})
	if !res.Changed || len(w.stored(n).Artifacts) != 2 {
		t.Errorf("an artifact given with no change of status was not linked: %+v",
			w.stored(n).Artifacts)
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	n := w.add("t")[0]
	w.do(state.UpdateStatus{Tasks: []int{n}, To: formats.Planning})
	w.do(state.UpdateStatus{
		Tasks:     []int{n},
		To:        formats.Planned,
		Artifacts: []formats.Artifact{w.document(formats.ArtifactPlan, "p.md", plan)},
	})
	w.do(state.UpdateStatus{Tasks: []int{n}, To: formats.Implementing})

	done := state.UpdateStatus{
		Tasks:     []int{n},
		To:        formats.Completed,
		Artifacts: []formats.Artifact{w.document(formats.ArtifactSummary, "s.md", "x")},
	}

	_, err := w.try(done)
	if formats.CodeOf(err) != formats.CodePhasesOpen ||
		!strings.HasSuffix(err.Error(), "p.md has open phases: phase 2 (second): not_started") {
		t.Fatalf("completing = %v, want PHASES_OPEN with phase 2 alone", err)
	}

	serial := w.serial()
	before := w.read("state.json")
	tx := state.Tx{
		ID:      "phase-2",
		Session: session,
		Ops: []state.Op{state.SetPhase{
			Task:   n,
			Phase:  2,
			Status: documents.PhaseCompleted,
		}},
	}

	res, err := w.m.Apply(t.Context(), tx)
	if err != nil || !res.Changed || res.Serial != serial {
		t.Fatalf("set_phase = %+v, %v", res, err)
	}

	marked := strings.NewReplacer(
		"[NOT STARTED]", "[COMPLETED]", "[IN PROGRESS]", "[COMPLETED]", "[ ] begin", "[x] begin",
	)
	got := w.read("p.md")
	want := marked.Replace(plan)
	if got != want {
		t.Errorf("plan (-want +got):\n%s", cmp.Diff(want, got))
	}

	if w.read("state.json") != before {
		t.Error("set_phase changed state.json")
	}

	edited := plan + "\nMore.\n"
	w.write("p.md", edited)
	res, err = w.m.Apply(t.Context(), tx)
	if err != nil || !res.Replayed || w.read("p.md") != edited {
		t.Errorf("the same transaction again = %+v, %v; want an answer from the audit log",
			res, err)
	}

	w.do(tx.Ops...)
	w.do(done)

	other := w.add("without a plan")[0]
	_, err = w.try(state.SetPhase{
		Task:   other,
		Phase:  1,
		Status: documents.PhaseCompleted,
	})
	if err == nil || !strings.HasSuffix(err.Error(), "has no artifact of type plan") {
		t.Errorf("set_phase without a plan = %v, want that there is no plan", err)
	}

	_, err = w.try(state.SetPhase{
		Task:   n,
		Phase:  7,
		Status: documents.PhaseCompleted,
	})
	if err == nil {
		t.Error("set_phase of phase 7 = nil, want an error")
	}

	w.healthy()
}

func TestDivide(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	n := w.do(state.CreateTasks{Tasks: []state.NewTask{{
		Title:    "big",
		Language: "go",
		Priority: "high",
	}}}).Numbers[0]

	parts := w.do(state.DivideTask{
		Task:  n,
		Parts: []state.NewTask{{Title: "a"}, {Title: "b", Priority: "low"}},
	}).Numbers
	if diff := cmp.Diff([]int{2, 3}, parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}

	a := w.stored(2)
	b := w.stored(3)
	if w.stored(n).Status != formats.Expanded || a.Parent == nil || *a.Parent != n ||
		a.Language != "go" || a.Priority != "high" || b.Priority != "low" {
		t.Errorf("divided into %+v and %+v", a, b)
	}

	complete := state.UpdateStatus{Tasks: []int{n}, To: formats.Completed}
	_, err := w.try(complete)
	if err == nil || !strings.Contains(err.Error(), "task 2 is not_started") {
		t.Errorf("completing with open children = %v, want a refusal that names task 2", err)
	}

	w.do(state.UpdateStatus{
		Tasks:  []int{2, 3},
		To:     formats.Abandoned,
		Reason: "no",
	})
	w.do(complete)

	w.healthy()
}

func TestLease(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)

	n := w.add("t")[0]
	w.do(state.UpdateStatus{
		Tasks: []int{n},
		To:    formats.Planning,
		Lease: &state.LeaseRequest{Timeout: time.Minute},
	})

	lease := w.stored(n).Lease
	want := &formats.Lease{
		Session:  session,
		Run:      "r1",
		Host:     "here",
		BootID:   "boot",
		PID:      os.Getpid(),
		PIDStart: "1",
		Taken:    "2026-01-05T10:46:40Z",
		Timeout:  60,
	}
	if diff := cmp.Diff(want, lease); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}

	foreign := func(force bool, op state.Op) (state.Result, error) {
		return w.m.Apply(t.Context(), state.Tx{
			Session: other,
			Run:     "r2",
			Ops:     []state.Op{op},
			Force:   force,
		})
	}

	for _, op := range []state.Op{
		state.UpdateStatus{Tasks: []int{n}, Back: true},
		state.UpdateStatus{Tasks: []int{n}, To: formats.Planning},
		state.UpdateMetadata{Task: n, Fields: map[string]any{"title": "x"}},
		state.ArchiveTasks{Tasks: []int{n}},
		state.SetLease{Tasks: []int{n}, Clear: true},
	} {
		_, err := foreign(false, op)
		if formats.CodeOf(err) != formats.CodeLeaseHeld ||
			!strings.Contains(err.Error(), "session "+session) {
			t.Errorf("Apply(%+v) by another session = %v, want LEASE_HELD", op, err)
		}
	}

	if res := w.do(state.SetLease{Tasks: []int{n}, Timeout: time.Hour}); !res.Changed ||
		w.stored(n).Lease.Timeout != 3600 {
		t.Errorf("renewed lease = %+v, want a timeout of an hour", w.stored(n).Lease)
	}

	status := func() formats.TaskStatus {
		task, err := w.r.Task(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}

		doc, _, err := w.r.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		shown := doc.(map[string]any)["tasks"].([]any)[0].(map[string]any)["status"]
		if shown != task.Status.String() {
			t.Errorf("Snapshot shows %v, Task %s", shown, task.Status)
		}

		return task.Status
	}
	if got := status(); got != formats.Planning {
		t.Errorf("status with a live lease = %s, want planning", got)
	}

	w.mu.Lock()
	w.dead[session] = true
	w.mu.Unlock()
	if got := status(); got != formats.NotStarted {
		t.Errorf("status with a dead process = %s, want not_started", got)
	}

	w.mu.Lock()
	w.dead[session] = false
	w.mu.Unlock()
	w.clock.advance(2 * time.Hour)
	if got := status(); got != formats.NotStarted {
		t.Errorf("status after the timeout = %s, want not_started", got)
	}

	res, err := foreign(false, state.UpdateStatus{Tasks: []int{n}, To: formats.Researching})
	if err != nil || len(res.Warnings) != 1 ||
		!strings.Contains(res.Warnings[0], "taken over from session "+session) {
		t.Fatalf("taking over = %+v, %v; want a warning that says so", res, err)
	}
	got := w.stored(n)
	if got.Prior != formats.NotStarted || got.Lease.Session != other || got.Lease.Run != "r2" {
		t.Errorf("after taking over: %+v", got)
	}

	w.mu.Lock()
	w.dead[other] = true
	w.mu.Unlock()
	w.do(state.SetLease{Tasks: []int{n}, Clear: true})
	if w.stored(n).Status != formats.NotStarted || w.stored(n).Lease != nil {
		t.Errorf("clearing a stale lease left %+v", w.stored(n))
	}

	w.do(state.UpdateStatus{Tasks: []int{n}, To: formats.Planning})
	if _, err := foreign(true, state.UpdateStatus{Tasks: []int{n}, Back: true}); err != nil {
		t.Errorf("with force = %v, want nil", err)
	}

	if !strings.Contains(w.read("audit.jsonl"), `"force":true`) {
		t.Error("the audit log does not say that force was used")
	}
	w.healthy()
}

func TestMetadata(t *testing.T) {
	t.Parallel()

	w := newWorkspace(t)
	w.add("a", "b")
	w.do(state.UpdateMetadata{
		Task: 1,
		Fields: map[string]any{
			"title":        "A",
			"description":  "d",
			"priority":     "low",
			"effort":       "1h",
			"language":     "rust",
			"dependencies": []any{float64(2)},
			"parent":       2,
		},
	})

	got := w.stored(1)
	if got.Title != "A" || got.Description != "d" || got.Priority != "low" || got.Effort != "1h" ||
		got.Language != "rust" ||
		!cmp.Equal(got.Dependencies, []int{2}) || got.Parent == nil || *got.Parent != 2 ||
		got.Slug != "a" {
		t.Errorf("after update_metadata: %+v", got)
	}

	w.do(state.UpdateMetadata{
		Task:   1,
		Fields: map[string]any{"dependencies": []int{}, "parent": nil},
	})

	if got := w.stored(1); len(got.Dependencies) != 0 || got.Parent != nil {
		t.Errorf("after clearing: %+v", got)
	}

	w.healthy()
}

func TestTransaction(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	tx := state.Tx{
		ID:      "txn-1",
		Session: session,
		Ops:     []state.Op{state.CreateTasks{Tasks: []state.NewTask{{Title: "a"}, {Title: "b"}}}},
	}
	first, err := w.m.Apply(t.Context(), tx)
	if err != nil {
		t.Fatal(err)
	}
	w.add("c")
	fresh, err := state.NewManager(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*state.Manager{"same": w.m, "fresh": fresh} {
		again, err := m.Apply(t.Context(), tx)
		if err != nil || !again.Replayed {
			t.Fatalf(
				"%s manager: the transaction again = %+v, %v; want an answer from the audit log",
				name, again, err,
			)
		}
		again.Replayed = false
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("%s manager: answer (-first +again):\n%s", name, diff)
		}
	}

	if got := w.serial(); got != 2 {
		t.Errorf("serial = %d, want 2", got)
	}
	old := uint64(1)
	_, err = w.m.Apply(t.Context(), state.Tx{
		Session:        session,
		ExpectedSerial: &old,
		Ops:            tx.Ops,
	})
	if formats.CodeOf(err) != formats.CodePrecondition ||
		err.Error() != "expected serial 1, got 2" {
		t.Errorf("with an old serial = %v, want PRECONDITION with both", err)
	}
	if _, err := w.m.Apply(t.Context(), state.Tx{ID: "with \"quotes\"", Ops: tx.Ops}); err == nil {
		t.Error("an id with quotes = nil, want an error")
	}
	w.healthy()
}

func TestTransitionsText(t *testing.T) {
	t.Parallel()
	got := state.TransitionsText()
	for _, want := range []string{
		"planned       planning, revising, researching (reason), implementing, blocked (reason), " +
			"abandoned (reason), on_hold, expanded\n",
		"completed     not_started (recover, reason)\n",
		"expanded      completed (every child completed or abandoned), abandoned (reason)\n",
		"on_hold       abandoned (reason), back to the prior status\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("TransitionsText() lacks %q:\n%s", want, got)
		}
	}
}
