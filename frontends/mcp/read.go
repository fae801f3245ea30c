package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"tercet/formats"
	"tercet/project"
)

// noInput is the input of a tool that takes none.
type noInput struct{}

// session reads the commands and subagents of the project.
func (c *call) session() (*project.Session, error) {
	return c.project.Session(project.Options{TellsBroken: true})
}

// command is a command with the JSON schema of its arguments.
type command struct {
	formats.CommandInfo

	Schema map[string]any `json:"arguments_schema"`
}

// listCommands lists the commands.
func listCommands(_ context.Context, c *call, _ noInput) (fields, error) {
	s, err := c.session()
	if err != nil {
		return nil, err
	}
	var list []command
	for _, info := range s.Commands() {
		list = append(list, command{CommandInfo: info, Schema: info.Schema()})
	}
	return fields{"commands": list}, nil
}

// runsInput selects runs.
type runsInput struct {
	Unfinished bool `json:"unfinished,omitempty" jsonschema:"only runs that have not ended"`
	Most       int  `json:"most,omitempty" jsonschema:"how many of the newest, 1 to 200; 20 unless told"`
}

// How many runs are listed, and at most.
const (
	someRuns = 20
	maxRuns  = 200
)

// listRuns lists the newest runs.
func listRuns(_ context.Context, c *call, in runsInput) (fields, error) {
	if err := c.workspace(); err != nil {
		return nil, err
	}
	if in.Most == 0 {
		in.Most = someRuns
	}
	if in.Most < 1 || in.Most > maxRuns {
		return nil, formats.Fail(formats.CodeUsage, "query reads all runs",
			"expected most from 1 to %d, got %d", maxRuns, in.Most)
	}

	list, err := c.project.Runs(project.Filter{Unfinished: in.Unfinished, Most: in.Most})
	if list == nil {
		list = []project.RunInfo{}
	}
	return fields{"runs": list}, err
}

// tasksInput selects tasks.
type tasksInput struct {
	Status string `json:"status,omitempty" jsonschema:"only tasks with this status"`
}

// maxTasks is how many tasks are listed.
const maxTasks = 200

// listTasks lists tasks.
func listTasks(ctx context.Context, c *call, in tasksInput) (fields, error) {
	if err := c.workspace(); err != nil {
		return nil, err
	}
	list, err := c.project.Reader.Tasks(ctx)
	if err != nil {
		return nil, err
	}

	if in.Status != "" {
		status, err := formats.LooseTaskStatus(in.Status)
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(slices.Clone(list), func(t formats.Task) bool {
			return t.Status != status
		})
	}

	answer := fields{"tasks": append([]formats.Task{}, list[:min(len(list), maxTasks)]...)}
	if left := len(list) - maxTasks; left > 0 {
		answer["left_out"] = left
		c.notes.Note("query lists the others: .tasks[%d:]", maxTasks)
	}
	return answer, nil
}

// queryInput is a filter of jq.
type queryInput struct {
	Filter string `json:"filter" jsonschema:"a jq filter"`
	Runs   bool   `json:"runs,omitempty" jsonschema:"read .runs, with .run, .command, .steps, instead of .tasks"`
}

// Bounds of a query.
const (
	queryTime = 10 * time.Second
	maxResult = 256 << 10 // bytes
)

// queryProject reads tasks or runs by a filter.
func queryProject(ctx context.Context, c *call, in queryInput) (fields, error) {
	out, err := c.project.Query(ctx, project.Query{
		Filter: in.Filter,
		Runs:   in.Runs,
		Most:   queryTime,
	})
	if err != nil {
		return nil, err
	}
	if len(out) > maxResult {
		return nil, formats.Fail(formats.CodeLimit, "ask for less, such as [limit(20; .tasks[])]",
			"expected results of at most %d bytes, got %d", maxResult, len(out))
	}

	results := []json.RawMessage{}
	for line := range bytes.Lines(out) {
		results = append(results, bytes.TrimRight(line, "\n"))
	}
	return fields{"results": results}, nil
}

// explainInput is a line.
type explainInput struct {
	Line string `json:"line" jsonschema:"a line such as /plan 196, or only its command"`
}

// explainLine says what a line would do.
func explainLine(ctx context.Context, c *call, in explainInput) (fields, error) {
	s, err := c.session()
	if err != nil {
		return nil, err
	}
	o, err := s.Explain(ctx, project.Line{Raw: in.Line})
	if err != nil {
		return nil, err
	}
	return o.Record(), nil
}

// lintInput is the text of a file.
type lintInput struct {
	Text   string `json:"text" jsonschema:"the text of a command or subagent file"`
	Name   string `json:"name,omitempty" jsonschema:"the name of the file, such as triage.md"`
	Strict bool   `json:"strict,omitempty" jsonschema:"refuse warnings and plain sentences too"`
}

// lintText finds what is wrong with a text.
func lintText(_ context.Context, c *call, in lintInput) (fields, error) {
	if in.Name != "" && !filepath.IsLocal(in.Name) {
		return nil, formats.Fail(formats.CodeUsage, "leave it out, or say triage.md",
			"expected a name inside the project, got %q", in.Name)
	}
	s, err := c.session()
	if err != nil {
		return nil, err
	}
	d := s.Lint(in.Name, []byte(in.Text), in.Strict)
	return fields{"diagnostics": d.Records(), "errors": d.HasErrors()}, nil
}
