package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/state"
	"tercet/subagents/builtin"
)

type applierFunc func(context.Context, state.Tx) (state.Result, error)

func (f applierFunc) Apply(ctx context.Context, tx state.Tx) (state.Result, error) {
	return f(ctx, tx)
}

func sync(input map[string]any) formats.Request {
	return formats.Request{
		Agent:   "status-sync-manager",
		Input:   input,
		Session: "sess_1_aaaaaa",
		Run:     "r1",
		Txn:     "t1",
	}
}

func TestStatusSyncOperations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		input map[string]any
		want  state.Op
	}{
		{map[string]any{
			"operation": "create_tasks",
			"tasks": []any{
				map[string]any{
					"title":        "A",
					"description":  "d",
					"language":     "go",
					"priority":     "high",
					"effort":       "1h",
					"dependencies": []any{1.0},
					"parent":       2,
				},
				map[string]any{
					"level":         "error",
					"description":   "Crash on empty input. It panics.",
					"files":         []any{"a.go"},
					"line":          3.0,
					"suggested_fix": "check the length",
					"source":        "check",
				},
			},
		}, state.CreateTasks{Tasks: []state.NewTask{
			{
				Title:        "A",
				Description:  "d",
				Language:     "go",
				Priority:     "high",
				Effort:       "1h",
				Dependencies: []int{1},
				Parent:       2,
			},
			{
				Title:       "Crash on empty input",
				Description: "Crash on empty input. It panics.\n\na.go:3\n\ncheck the length",
			},
		}}},
		{map[string]any{
			"operation":   "update_status",
			"task_number": 7.0,
			"status":      "planned",
			"reason":      "r",
			"artifacts": []any{
				map[string]any{"type": "plan", "path": "p.md", "summary": "s"},
				map[string]any{"type": "implementation", "path": "x.go", "deleted": true},
			},
		}, state.UpdateStatus{
			Tasks:  []int{7},
			To:     formats.Planned,
			Reason: "r",
			Artifacts: []formats.Artifact{
				{Type: formats.ArtifactPlan, Path: "p.md", Summary: "s"},
				{Type: formats.ArtifactImplementation, Path: "x.go", Deleted: true},
			},
		}},
		{map[string]any{
			"operation":   "update_status",
			"task_number": 7,
			"artifacts":   []formats.Artifact{{Path: "p.md"}},
			"back":        true,
		}, state.UpdateStatus{
			Tasks:     []int{7},
			Back:      true,
			Artifacts: []formats.Artifact{{Path: "p.md"}},
		}},
		{map[string]any{
			"operation":    "update_status",
			"task_numbers": []any{1, 2},
			"status":       "not_started",
			"recover":      true,
		}, state.UpdateStatus{
			Tasks:   []int{1, 2},
			To:      formats.NotStarted,
			Recover: true,
		}},
		{map[string]any{
			"operation":   "update_metadata",
			"task_number": 7,
			"fields":      map[string]any{"title": "B"},
		}, state.UpdateMetadata{Task: 7, Fields: map[string]any{"title": "B"}}},
		{
			map[string]any{
				"operation":   "link_artifacts",
				"task_number": 7,
				"artifacts":   []any{map[string]any{"type": "review", "path": "r.md"}},
			},
			state.LinkArtifacts{
				Task:      7,
				Artifacts: []formats.Artifact{{Type: formats.ArtifactReview, Path: "r.md"}},
			},
		},
		{
			map[string]any{
				"operation":   "set_phase",
				"task_number": 7,
				"phase":       2.0,
				"status":      "completed",
				"plan":        nil,
			},
			state.SetPhase{
				Task:   7,
				Phase:  2,
				Status: documents.PhaseCompleted,
			},
		},
		{
			map[string]any{"operation": "archive_tasks", "task_numbers": []int{3}},
			state.ArchiveTasks{Tasks: []int{3}},
		},
		{
			map[string]any{"operation": "unarchive_tasks", "task_number": 3},
			state.UnarchiveTasks{Tasks: []int{3}},
		},
		{map[string]any{
			"operation":   "divide_task",
			"task_number": 3,
			"parts":       []any{map[string]any{"title": "P"}},
		}, state.DivideTask{Task: 3, Parts: []state.NewTask{{Title: "P"}}}},
		{map[string]any{"operation": "sync_tasks"}, state.SyncTasks{}},
	}
	for _, tt := range tests {
		var got state.Tx
		s := builtin.StatusSync{Manager: applierFunc(
			func(_ context.Context, tx state.Tx) (state.Result, error) {
				got = tx
				return state.Result{
					Serial:   5,
					Txn:      tx.ID,
					Numbers:  []int{8, 9},
					Changed:  true,
					Warnings: []string{"w"},
				}, nil
			},
		)}
		ret, err := s.Run(t.Context(), sync(tt.input))
		if err != nil || ret.Status != formats.StatusCompleted {
			t.Errorf("Run(%v) = %+v, %v", tt.input, ret, err)
			continue
		}
		diff := cmp.Diff(state.Tx{
			ID:      "t1",
			Session: "sess_1_aaaaaa",
			Run:     "r1",
			Ops:     []state.Op{tt.want},
		}, got, cmpopts.IgnoreUnexported(state.Tx{}))
		if diff != "" {
			t.Errorf("Run(%v) (-want +got):\n%s", tt.input, diff)
		}
		want := map[string]any{
			"serial":  5,
			"txn":     "t1",
			"changed": true,
			"numbers": []any{8, 9},
		}
		if tt.input["operation"] == "archive_tasks" {
			want["archived"] = []any{3}
		}
		if diff := cmp.Diff(want, ret.Fields); diff != "" {
			t.Errorf("fields of %v (-want +got):\n%s", tt.input, diff)
		}
		if !slices.Equal(ret.Warnings, []string{"w"}) {
			t.Errorf("warnings = %v", ret.Warnings)
		}
	}
}

func TestStatusSyncWrongInput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		input map[string]any
		want  string
	}{
		{
			nil,
			"expected one of create_tasks, update_status, update_metadata, link_artifacts, " +
				"set_phase, archive_tasks, unarchive_tasks, divide_task, sync_tasks, set_lease " +
				"as operation, got nothing",
		},
		{
			map[string]any{"operation": "updat_status"},
			"expected one of create_tasks, update_status, update_metadata, link_artifacts, " +
				"set_phase, archive_tasks, unarchive_tasks, divide_task, sync_tasks, set_lease " +
				"as operation, got \"updat_status\"; did you mean 'update_status'?",
		},
		{
			map[string]any{
				"operation": "create_tasks",
				"tasks":     []any{map[string]any{"titel": "A", "title": "B"}},
			},
			"expected title, slug, description, language, priority, effort, issue_url, " +
				"dependencies, parent, level, files, line, suggested_fix, source, got " +
				"tasks[0].titel, did you mean 'title'?",
		},
		{
			map[string]any{"operation": "create_tasks", "tasks": []any{map[string]any{}}},
			"expected a title or a description as tasks[0].title, got nothing",
		},
		{
			map[string]any{"operation": "create_tasks", "tasks": []any{}},
			"expected at least one task as tasks, got a list of 0",
		},
		{
			map[string]any{"operation": "create_tasks", "tasks": "A"},
			`expected a list of objects as tasks, got "A"`,
		},
		{
			map[string]any{"operation": "update_status", "task_number": 1.5, "status": "done"},
			`expected a whole number from 1 as task_number, got 1.5; expected a task status as status, got "done"`,
		},
		{
			map[string]any{"operation": "update_status", "task_number": 1},
			"expected a task status, or back as status, got nothing",
		},
		{
			map[string]any{
				"operation":   "update_status",
				"task_number": 1,
				"status":      "planned",
				"back":        true,
			},
			"expected either status, back or recover as back, got true",
		},
		{map[string]any{
			"operation":    "update_status",
			"task_number":  1,
			"task_numbers": []any{1},
			"back":         true,
		}, "expected either task_number or task_numbers as task_number, got 1"},
		{map[string]any{
			"operation":    "update_status",
			"task_numbers": []any{1, "x"},
			"back":         true,
		}, "expected whole numbers from 1 as task_numbers, got a list of 2"},
		{
			map[string]any{"operation": "update_status", "status": "planned"},
			"expected at least one number of a task as task_numbers, got nothing",
		},
		{
			map[string]any{"operation": "update_status", "task_number": 1, "back": "yes"},
			`expected true or false as back, got "yes"; expected a task status, or back as status, got nothing`,
		},
		{
			map[string]any{
				"operation":   "update_metadata",
				"task_number": 1,
				"fields":      []any{},
			},
			"expected an object as fields, got a list of 0; expected at least one field as " +
				"fields, got a list of 0",
		},
		{map[string]any{
			"operation":   "link_artifacts",
			"task_number": 1,
			"artifacts":   []any{map[string]any{"type": "plan"}},
		}, "expected a path as artifacts[0].path, got nothing"},
		{
			map[string]any{
				"operation":   "set_phase",
				"task_number": 1,
				"phase":       0,
				"status":      "done",
			},
			`expected a phase status as status, got "done"; expected a whole number from 1 as phase, got 0`,
		},
		{
			map[string]any{"operation": "sync_tasks", "task_number": 1},
			"expected operation, got task_number",
		},
	}
	s := builtin.StatusSync{Manager: applierFunc(
		func(_ context.Context, tx state.Tx) (state.Result, error) {
			return state.Result{}, fmt.Errorf("applied %+v", tx)
		},
	)}
	for _, tt := range tests {
		ret, err := s.Run(t.Context(), sync(tt.input))
		if err != nil || len(ret.Errors) != 1 ||
			ret.Errors[0].Code != formats.CodeValidationFailed {
			t.Errorf("Run(%v) = %+v, %v, want VALIDATION_FAILED", tt.input, ret, err)
			continue
		}
		got := strings.TrimPrefix(ret.Errors[0].Message, "input of status-sync-manager: ")
		if got != tt.want {
			t.Errorf("Run(%v) = %s\nwant %s", tt.input, got, tt.want)
		}
	}
}

func TestStatusSyncErrors(t *testing.T) {
	t.Parallel()
	input := map[string]any{"operation": "archive_tasks", "task_number": 1}
	for _, tt := range []struct {
		err  error
		want formats.Code
	}{
		{
			formats.Fail(
				formats.CodeIllegalTransition,
				"",
				"task 1 may not go from completed to planning",
			),
			formats.CodeIllegalTransition,
		},
		{formats.Fail(formats.CodeLocked, "", "state.lock is held"), formats.CodeLocked},
		{formats.Fail(formats.CodeNotFound, "", "task 1 does not exist"), formats.CodeNotFound},
	} {
		s := builtin.StatusSync{Manager: applierFunc(
			func(context.Context, state.Tx) (state.Result, error) {
				return state.Result{Warnings: []string{"w"}}, tt.err
			},
		)}
		ret, err := s.Run(t.Context(), sync(input))
		if err != nil || len(ret.Errors) != 1 || ret.Errors[0].Code != tt.want ||
			!slices.Equal(ret.Warnings, []string{"w"}) {
			t.Errorf("Run with %v = %+v, %v, want %s", tt.err, ret, err, tt.want)
		}
	}

	// a run that is resumed does this again; the state knows the transaction by its id
	for _, code := range []formats.Code{formats.CodeIO, formats.CodeNotDurable} {
		s := builtin.StatusSync{Manager: applierFunc(
			func(context.Context, state.Tx) (state.Result, error) {
				return state.Result{}, formats.Fail(code, "", "state.json cannot be written")
			},
		)}
		if ret, err := s.Run(t.Context(), sync(input)); formats.CodeOf(err) != code {
			t.Errorf("Run with %s = %+v, %v, want the error", code, ret, err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := builtin.StatusSync{
		Manager: applierFunc(func(ctx context.Context, _ state.Tx) (state.Result, error) {
			return state.Result{}, ctx.Err()
		}),
	}
	if _, err := s.Run(ctx, sync(input)); !errors.Is(err, context.Canceled) {
		t.Errorf("Run that is cancelled = %v", err)
	}
}

// TestStatusSyncOnState runs one task through the real state.
func TestStatusSyncOnState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	ids := 0
	m, err := state.NewManager(state.Config{
		Root:  root,
		Dir:   dir,
		Clock: clock{},
		Alive: func(formats.Lease) bool { return true },
		Self: func(session, run string) formats.Lease {
			return formats.Lease{
				Session:  session,
				Run:      run,
				Host:     "h",
				BootID:   "b",
				PID:      1,
				PIDStart: "1",
			}
		},
		NewID: func() string {
			ids++
			return fmt.Sprintf("id-%d", ids)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Init(t.Context(), state.InitOptions{NextNumber: 7}); err != nil {
		t.Fatal(err)
	}
	report := ".tercet/specs/007_fix_it/reports/research-001.md"
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, report)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, report), []byte("# R\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := builtin.StatusSync{Manager: m}
	steps := []struct {
		input map[string]any
		want  string // summary, or the code of the failure
	}{
		{
			map[string]any{
				"operation": "create_tasks",
				"tasks":     []any{map[string]any{"title": "Fix it", "description": "d"}},
			},
			"task 7 created: Fix it",
		},
		{
			map[string]any{"operation": "update_status", "task_number": 7, "status": "researching"},
			"task 7: not_started to researching",
		},
		{map[string]any{
			"operation":   "update_status",
			"task_number": 7,
			"status":      "researched",
			"artifacts":   []any{map[string]any{"type": "report", "path": report}},
		}, "task 7: researching to researched"},
		{
			map[string]any{"operation": "update_status", "task_number": 7, "status": "completed"},
			"ILLEGAL_TRANSITION",
		},
		{
			map[string]any{"operation": "update_status", "task_number": 7, "status": "planned"},
			"ILLEGAL_TRANSITION",
		},
		{
			map[string]any{"operation": "update_status", "task_number": 8, "status": "planning"},
			"NOT_FOUND",
		},
		{
			map[string]any{
				"operation":   "update_status",
				"task_number": 7,
				"status":      "abandoned",
				"reason":      "not needed",
			},
			"task 7: researched to abandoned",
		},
		{map[string]any{"operation": "archive_tasks", "task_numbers": []any{7}}, "task 7 archived"},
	}
	for i, step := range steps {
		r := sync(step.input)
		r.Txn = fmt.Sprintf("t%d", i)
		ret, err := s.Run(t.Context(), r)
		got := ret.Summary
		if len(ret.Errors) > 0 {
			got = ret.Errors[0].Code.String()
		}
		if err != nil || got != step.want {
			t.Errorf("Run(%v) = %s, %v, want %s", step.input, ret.Summary, err, step.want)
		}
	}

	r := sync(steps[0].input)
	r.Txn = "t0"
	ret, err := s.Run(t.Context(), r)
	if err != nil || !slices.Equal(ret.Fields["numbers"].([]any), []any{7}) {
		t.Errorf("the same transaction again = %+v, %v, want number 7 again", ret, err)
	}
}

type clock struct{}

func (clock) Now() time.Time {
	return time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
}
