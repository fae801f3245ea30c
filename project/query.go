package project

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/query"
	"tercet/state"
)

// Query is a question about the tasks or the runs of a project.
type Query struct {
	Filter string // of jq
	Runs   bool   // the input is {runs: [...]} of RunsWithSteps, not the state
	// PickTasks means that the filter is a condition of a task. The results are the numbers of the
	// tasks for which it is true.
	PickTasks bool
	Most      time.Duration // that it may take
}

// Query gives the results of a filter, one compact JSON value a line. A filter that can take all
// memory or time runs in a process of its own, within bounds.
func (p *Project) Query(ctx context.Context, q Query) ([]byte, error) {
	input, err := p.queryInput(ctx, q.Runs)
	if err != nil {
		return nil, err
	}

	var out, said bytes.Buffer
	exit, err := p.Host.runQuery(ctx, query.CLIRequest{
		Filter:    q.Filter,
		PickTasks: q.PickTasks,
		Compact:   true,
		Inputs:    []query.Input{input},
		Timeout:   q.Most,
		Out:       &out,
		Err:       &said,
	}, true)

	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, formats.Fail(formats.CodeUsage, "", "%s", err)
	case exit != 0:
		return nil, formats.Fail(formats.CodeUsage, "", "the filter ended with %d: %s", exit,
			strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}

// RunQuery runs a filter of jq over files and states for a program that ends with it, and gives the
// exit code of jq.
func (h *Host) RunQuery(ctx context.Context, r query.CLIRequest) (int, error) {
	return h.runQuery(ctx, r, false)
}

// runQuery runs a query in this process, or in a child where it could take all memory or time.
// Shared is query.Host.Shared.
func (h *Host) runQuery(ctx context.Context, r query.CLIRequest, shared bool) (int, error) {
	r.Statuses = state.ReadyStatuses()
	r.Strict = len(r.Inputs) == 1 && r.Inputs[0].State
	starter, err := proc.NewStarter(proc.Starter{
		// The child is this program, and it only reads its request.
		Allow: func(context.Context, proc.Command) error { return nil },
		Env:   proc.LookupVars(h.LookupEnv, "TZ", "GOCOVERDIR"),
		Now:   h.Clock.Now,
		Grace: proc.Grace{Interrupt: 50 * time.Millisecond, Terminate: 50 * time.Millisecond},
	})
	if err != nil {
		return 0, formats.Broken(formats.CodeBug, "query for a child", err)
	}

	host := query.Host{Open: openInput, Starter: starter, Shared: shared}
	if len(h.Supervisor) > 0 { // without a child the query still runs, held to its time
		host.Self = h.Supervisor[0]
	}
	return host.Run(ctx, r)
}

// RunBoundedQuery is the work of the child of a query. It gets its request as a text.
func RunBoundedQuery(ctx context.Context, text []byte, out, said io.Writer) (int, error) {
	return query.RunBounded(ctx, text, openInput, out, said)
}

// openInput opens a file that a query reads.
func openInput(in query.Input) (query.File, error) {
	if in.State {
		root, err := os.OpenRoot(filepath.Dir(filepath.Dir(in.Name)))
		if err != nil {
			return nil, err
		}
		defer root.Close() //nolint:errcheck // only read through
		return state.Open(root)
	}

	f, err := os.Open(in.Name)
	if err != nil {
		return nil, formats.Broken(formats.CodeUsage, "input "+in.Name, err)
	}
	return f, nil
}

// StateInput is the state of the workspace of a folder as the input of a query, with the effective
// statuses: a status whose worker is gone is not told. It opens no project. What is wrong with the
// file is said by who reads it.
func (h *Host) StateInput(ctx context.Context, dir string) query.Input {
	in := query.Input{
		Name:  filepath.Join(dir, formats.Workspace, "state.json"),
		State: true,
		Open:  true,
	}

	root, err := os.OpenRoot(dir)
	if err != nil {
		return in
	}
	defer root.Close() //nolint:errcheck // only read through

	reader, err := state.NewReader(h.StateConfig(root, dir, 0, nil))
	if err != nil {
		return in
	}
	if data, err := reader.Current(ctx); err == nil && data != nil {
		in.Open = false
		in.Data = data
	}
	return in
}

// queryInput is the state with the effective statuses, or the runs.
func (p *Project) queryInput(ctx context.Context, runs bool) (query.Input, error) {
	if p.Reader == nil {
		return query.Input{}, NoWorkspace()
	}
	if runs {
		list, err := p.RunsWithSteps()
		if err != nil {
			return query.Input{}, err
		}
		data, err := json.Marshal(map[string]any{"schema": "tercet.runs/1", "runs": list})
		return query.Input{Name: "runs", Data: data}, err
	}

	const name = formats.Workspace + "/state.json"
	data, err := p.Reader.Current(ctx)
	if err == nil && data == nil {
		data, err = p.stateText()
	}
	return query.Input{Name: name, State: true, Data: data}, err
}

// stateText reads the state as it is written.
func (p *Project) stateText() ([]byte, error) {
	f, err := state.Open(p.Root)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read

	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
}
