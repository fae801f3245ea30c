package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/query"
	"tercet/state"
)

// The bounds of `tercet query`. A filter that is linear in its input runs in this process, held to the time alone. Any other
// filter may take what there is, some of it in a single step that nothing can interrupt: it runs in a child of this
// process, which the system holds to its bounds.
const (
	queryTime   = 30 * time.Second // default of --timeout
	queryMemory = 1536 << 20       // of a child, beside what its inputs need
	queryOutput = 128 << 20        // of a child
	queryGrace  = 300 * time.Millisecond
	perByte     = 16 // memory for each byte of the inputs, at most
)

// queryCall is one call of `tercet query`, and what a child is given of it.
type queryCall struct {
	Request query.CLIRequest // without its inputs and streams
	Inputs  []queryInput
	Timeout time.Duration
	Memory  int64
	Strict  bool // nothing is used that an earlier query kept
}

// queryInput is an input by its name, or by its data if it is not a file that can be opened again.
type queryInput struct {
	Name string
	Open bool
	Data []byte
}

// openInputs opens what the inputs name. The files are closed by the end of the process.
func (c *queryCall) openInputs() (size int64, err error) {
	for _, in := range c.Inputs {
		if !in.Open {
			size += int64(len(in.Data))
			c.Request.Inputs = append(c.Request.Inputs, query.Input{Name: in.Name, Data: in.Data})
			continue
		}
		f, err := os.Open(in.Name)
		if err != nil {
			return 0, &formats.Failure{Code: formats.CodeUsage, Message: "input " + in.Name, Err: err}
		}
		info, err := f.Stat()
		if err != nil {
			return 0, &formats.Failure{Code: formats.CodeIO, Message: "input " + in.Name, Err: err}
		}
		size += info.Size()
		c.Request.Inputs = append(c.Request.Inputs, query.Input{Name: in.Name, File: f})
	}
	return size, nil
}

// runQuery runs a call in this process or in a child and gives the exit code.
func (a *app) runQuery(ctx context.Context, c queryCall) error {
	size, err := c.openInputs()
	if err != nil {
		return err
	}
	if !c.Strict {
		a.useMarks(c.Request.Inputs, time.Now())
	}
	c.Memory = queryMemory + perByte*size
	c.Request.Statuses = statusesOfReady()
	q := c.Request
	q.Out, q.Err = a.term.screens()
	ready, code, err := query.NewCommand(q)
	if err != nil {
		a.sayQuery(err)
		return shown{code}
	}
	debug.SetGCPercent(200)
	if !ready.Linear() && boundable {
		if ready.Counts() {
			counted := false
			err := a.finishQuery(ctx, c.Timeout, func(ctx context.Context) (code int, err error) {
				code, err, counted = ready.RunCounting(ctx)
				return code, err
			})
			if err != nil || counted {
				return err
			}
		}
		if done, err := a.boundedQuery(ctx, c); done {
			return err
		}
	}
	return a.finishQuery(ctx, c.Timeout, ready.Run)
}

// finishQuery runs a compiled call for as long as it may take.
func (a *app) finishQuery(ctx context.Context, timeout time.Duration, run func(context.Context) (int, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, &query.LimitError{What: query.BoundTime, Limit: timeout.Milliseconds()})
	defer cancel()
	code, err := runWithin(ctx, run)
	if fail, ok := errors.AsType[*formats.Failure](err); ok && fail.Code == formats.CodeCancelled {
		return fail
	}
	if err != nil {
		a.sayQuery(err)
	}
	if code != 0 {
		return shown{code}
	}
	return nil
}

// runWithin runs a query and does not wait for one that goes on when its time is over, in the middle of a large input: it
// ends with the process.
func runWithin(ctx context.Context, run func(context.Context) (int, error)) (int, error) {
	type end struct {
		code int
		err  error
	}
	done := make(chan end, 1)
	go func() {
		code, err := run(ctx)
		done <- end{code, err}
	}()
	late := make(chan struct{})
	defer context.AfterFunc(ctx, func() { time.AfterFunc(queryGrace, func() { close(late) }) })()
	select {
	case e := <-done:
		return e.code, e.err
	case <-late:
		return queryFailed, context.Cause(ctx)
	}
}

// statusesOfReady gives the rule of `tercet task ready` to the function ready.
func statusesOfReady() *query.Statuses {
	s := &query.Statuses{Done: formats.Completed.String()}
	for _, status := range formats.TaskStatuses() {
		if len(state.Ready([]formats.Task{{Number: 1, Status: status}})) > 0 {
			s.Waiting = append(s.Waiting, status.String())
		}
	}
	return s
}

// sayQuery prints what went wrong, and for a bound how to move it.
func (a *app) sayQuery(err error) {
	a.term.failure(err)
	if limit, ok := errors.AsType[*query.LimitError](err); ok && limit.What == query.BoundTime {
		a.term.help("--timeout allows more")
	}
}

// boundedQuery runs a call in a child. done is false if no child could be started: then this process has to do.
func (a *app) boundedQuery(ctx context.Context, c queryCall) (done bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, nil //nolint:nilerr // without a child the call still runs, held to its time
	}
	c.Request.Inputs, c.Request.Out, c.Request.Err = nil, nil, nil
	text, err := json.Marshal(c)
	if err != nil {
		return true, &formats.Failure{Code: formats.CodeBug, Message: "query for a child", Err: err}
	}
	var env []string
	for _, name := range []string{"TZ", "GOCOVERDIR"} {
		if v := a.env(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	starter, err := proc.NewStarter(proc.Starter{
		// The child is this very program, and the person named the query.
		Allow: func(context.Context, proc.Command) error { return nil }, Env: env, Now: time.Now,
		Grace: proc.Grace{Interrupt: 50 * time.Millisecond, Terminate: 50 * time.Millisecond},
	})
	if err != nil {
		return true, &formats.Failure{Code: formats.CodeBug, Message: "query for a child", Err: err}
	}
	res, err := starter.Run(ctx, proc.Command{
		Argv: []string{self, boundedVerb}, Stdin: text, Purpose: proc.PurposeQuery, Timeout: proc.Timeout{Total: c.Timeout + queryGrace},
		StdoutCap: queryOutput, StderrCap: 1 << 20, Limit: queryOutput,
	})
	if _, ok := errors.AsType[*proc.StartError](err); ok {
		return false, nil
	}
	a.term.raw(res.Stdout)
	if ctx.Err() != nil {
		return true, context.Cause(ctx)
	}
	if err != nil {
		return true, err
	}
	if limit := exceeded(c, res); limit != nil {
		a.sayQuery(limit)
		return true, shown{queryFailed}
	}
	a.term.rawErr(res.Stderr)
	if res.Exit != 0 {
		return true, shown{res.Exit}
	}
	return true, nil
}

// queryFailed is jq's exit code of a query that ended with an error.
const queryFailed = 5

// exceeded tells which bound ended a child, if one did.
func exceeded(c queryCall, res proc.Result) *query.LimitError {
	switch {
	case res.Flooded:
		return &query.LimitError{What: query.BoundOutput, Limit: queryOutput}
	case res.TimedOut != proc.TimeoutNone, res.Signal == "SIGXCPU":
		return &query.LimitError{What: query.BoundTime, Limit: c.Timeout.Milliseconds()}
	case res.Signal == "SIGKILL", bytes.Contains(res.Stderr, []byte("fatal error: ")):
		// Without memory the runtime of Go ends the process with a message of its own, or the system does.
		return &query.LimitError{What: query.BoundMemory, Limit: c.Memory}
	}
	return nil
}

// boundedVerb is the hidden verb of the child.
const boundedVerb = "__query"

func (a *app) boundedQueryVerb() *cobra.Command {
	return &cobra.Command{
		Use: boundedVerb, Hidden: true, Args: words(0, 0), Short: "run a query that its parent hands over, within its bounds",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := io.ReadAll(a.in)
			if err != nil {
				return &formats.Failure{Code: formats.CodeIO, Message: "query of a parent", Err: err}
			}
			var c queryCall
			if err := json.Unmarshal(text, &c); err != nil || c.Timeout <= 0 || c.Memory <= 0 {
				return usage("expected a query of 'tercet query'")
			}
			if err := boundProcess(c.Memory, c.Timeout); err != nil {
				return &formats.Failure{Code: formats.CodeIO, Message: "bounds of a query", Err: err}
			}
			if _, err := c.openInputs(); err != nil {
				return err
			}
			c.Request.Out, c.Request.Err = a.io.out, a.io.err
			ready, code, err := query.NewCommand(c.Request)
			if err != nil {
				a.sayQuery(err)
				return shown{code}
			}
			debug.SetMemoryLimit(c.Memory / 4 * 3)
			ctx, stop := watchMemory(cmd.Context(), c.Memory)
			defer stop()
			return a.finishQuery(ctx, c.Timeout, ready.Run)
		},
	}
}

// watchMemory ends the context a little before the memory is used up, so that the message can be a good one. A step that
// takes too much at once is ended by the system.
func watchMemory(parent context.Context, limit int64) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			metrics.Read(sample)
			if used := sample[0].Value.Uint64() - sample[1].Value.Uint64(); used > uint64(limit/8*7) {
				cancel(&query.LimitError{What: query.BoundMemory, Limit: limit})
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// cpuTime is what a child may take of the processors: the kill of last resort, if its parent is gone.
func cpuTime(timeout time.Duration) uint64 {
	return uint64(timeout.Seconds())*uint64(runtime.NumCPU()) + 2
}
