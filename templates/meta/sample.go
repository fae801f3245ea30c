package meta

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"tercet/formats"
)

// sampleFiles are the documents of the sample's task.
//
//go:embed sample
var sampleFiles embed.FS

// Sample is a state with documents for dry runs: a generated command needs a task, and must not see
// the user's. It implements the readers of state and documents.
type Sample struct {
	// Planned gives the task a report and a plan with one open phase.
	Planned bool
}

// SampleTask is the number of a Sample's only task.
const SampleTask = 1

const (
	sampleReport = formats.Workspace + "/specs/001_sample/reports/research-001.md"
	samplePlan   = formats.Workspace + "/specs/001_sample/plans/implementation-001.md"
)

// Snapshot returns the state.
func (s Sample) Snapshot(context.Context) (doc any, serial uint64, err error) {
	task := map[string]any{
		"number":       SampleTask,
		"title":        "Sample",
		"slug":         "sample",
		"status":       formats.NotStarted.String(),
		"description":  "A task to try a command on.",
		"dependencies": []any{},
		"parent":       nil,
		"created":      "2000-01-01T00:00:00Z",
		"updated":      "2000-01-01T00:00:00Z",
		"artifacts":    []any{},
	}

	if s.Planned {
		task["status"] = formats.Planned.String()
		task["artifacts"] = []any{
			map[string]any{"type": string(formats.ArtifactReport), "path": sampleReport},
			map[string]any{"type": string(formats.ArtifactPlan), "path": samplePlan},
		}
	}
	return map[string]any{
		"version":     1,
		"serial":      1,
		"next_number": SampleTask + 1,
		"tasks":       []any{task},
	}, 1, nil
}

// HasTask knows only that task.
func (Sample) HasTask(_ context.Context, number int) (bool, error) {
	return number == SampleTask, nil
}

// Open returns the plan or the report; no other file exists.
func (s Sample) Open(_ context.Context, path string) ([]byte, error) {
	switch {
	case s.Planned && path == samplePlan:
		return sampleFiles.ReadFile("sample/plan.md")
	case s.Planned && path == sampleReport:
		return sampleFiles.ReadFile("sample/report.md")
	}

	return nil, &formats.Failure{
		Code:    formats.CodeFileNotFound,
		Message: fmt.Sprintf("%s is not part of the sample", path),
		Err:     fs.ErrNotExist,
	}
}

// Exists reports whether Open has the file.
func (s Sample) Exists(ctx context.Context, path string) (bool, error) {
	_, err := s.Open(ctx, path)
	return err == nil, nil
}

// Sum is the hash of the content of Open.
func (s Sample) Sum(ctx context.Context, path string) (string, error) {
	text, err := s.Open(ctx, path)
	return formats.Sum(text), err
}

// Glob finds nothing.
func (Sample) Glob(context.Context, []string) ([]string, error) {
	return nil, nil
}
