package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"tercet/internal/proc"
)

// The bounds of a job beside its time. A query runs in this process, under its deadline. One whose single steps can
// take all time or memory (see risky), or that needs a large input in full, runs in a child that the system holds to
// its bounds.
const (
	maxMemory  = 1536 << 20 // beside what the inputs need
	perByte    = 16         // memory for each byte of the inputs, at most
	maxOutput  = 128 << 20  // of a child
	largeInput = 16 << 20
	grace      = 300 * time.Millisecond // for a query that does not end with its time
)

// BoundedVerb is the word behind which the program reads a call of its parent, for RunBounded.
const BoundedVerb = "__query"

// Source is an input by its name, or by its data if it is not a file that can be opened again.
type Source struct {
	Name  string
	State bool // it is the state of a workspace
	Open  bool
	Data  []byte
}

// Job is one call of `tercet query`.
type Job struct {
	Request CLIRequest // without its inputs
	Sources []Source
	Timeout time.Duration
	Memory  int64 // of a child; Run sets it
}

// File is a file that was opened.
type File interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// Host is what a call needs of the program around it.
type Host struct {
	Open    func(Source) (File, error)
	Starter *proc.Starter
	Self    string // this program; empty if it cannot be started again
}

// Run runs a call and gives the exit code. The error is one of RunCLI, of Open, or a *LimitError.
func (h Host) Run(ctx context.Context, c Job) (exit int, err error) {
	size, err := c.open(h.Open)
	if err != nil {
		return ExitInput, err
	}
	c.Memory = maxMemory + perByte*size
	r := newCLI(c.Request)
	if exit, err = r.prepare(); err != nil {
		return exit, err
	}
	if boundable && h.Self != "" && (r.code.risky || size > largeInput && r.plan == nil) {
		if exit, err, started := h.child(ctx, c); started {
			return exit, err
		}
	}
	return r.within(ctx, c)
}

// open opens the sources. The files are closed by the end of the process.
func (c *Job) open(open func(Source) (File, error)) (size int64, err error) {
	for _, s := range c.Sources {
		in := Input{Name: s.Name, Data: s.Data}
		if s.Open {
			f, err := open(s)
			if err != nil {
				return 0, err
			}
			info, err := f.Stat()
			if err != nil {
				return 0, err
			}
			in.File = f
			size += info.Size()
		}
		size += int64(len(s.Data))
		c.Request.Inputs = append(c.Request.Inputs, in)
	}
	return size, nil
}

// child runs a call in a process of its own. started is false if there could be none: then this process has to do.
func (h Host) child(ctx context.Context, c Job) (exit int, err error, started bool) {
	out, stderr := c.Request.Out, c.Request.Err
	c.Request.Inputs, c.Request.Out, c.Request.Err = nil, nil, nil
	text, err := json.Marshal(c)
	if err != nil {
		return exitRuntime, err, true
	}
	res, err := h.Starter.Run(ctx, proc.Command{
		Argv: []string{h.Self, BoundedVerb}, Stdin: text, Purpose: proc.PurposeQuery,
		Timeout:   proc.Timeout{Total: c.Timeout + grace},
		StdoutCap: maxOutput, StderrCap: 1 << 20, Limit: maxOutput,
	})
	if _, failed := errors.AsType[*proc.StartError](err); failed {
		return 0, nil, false
	}
	if _, werr := out.Write(res.Stdout); werr != nil && err == nil {
		err = werr
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return exitRuntime, err, true
	}
	switch {
	case res.Flooded:
		return exitRuntime, &LimitError{BoundOutput, maxOutput}, true
	case res.TimedOut != proc.TimeoutNone, res.Signal == "SIGXCPU":
		return exitRuntime, &LimitError{BoundTime, c.Timeout.Milliseconds()}, true
	case res.Signal == "SIGKILL", bytes.Contains(res.Stderr, []byte("fatal error: ")):
		// Without memory the runtime of Go ends the process with a message of its own, or the system does.
		return exitRuntime, &LimitError{BoundMemory, c.Memory}, true
	}
	_, err = stderr.Write(res.Stderr)
	return res.Exit, err, true
}

// RunBounded reads a call that Run handed over to a child, and runs it within its bounds.
func RunBounded(ctx context.Context, text []byte, open func(Source) (File, error), out, stderr io.Writer) (int, error) {
	var c Job
	if err := json.Unmarshal(text, &c); err != nil || c.Timeout <= 0 || c.Memory <= 0 {
		return ExitInput, errors.New("expected a query of 'tercet query'")
	}
	if err := boundProcess(c.Memory, c.Timeout); err != nil {
		return ExitInput, err
	}
	if _, err := c.open(open); err != nil {
		return ExitInput, err
	}
	c.Request.Out, c.Request.Err = out, stderr
	r := newCLI(c.Request)
	if exit, err := r.prepare(); err != nil {
		return exit, err
	}
	return r.within(ctx, c)
}

// within runs a compiled query for as long as it may take. It does not wait for one that goes on when its time is
// over, in the middle of a step: that one ends with the process.
func (r *cli) within(ctx context.Context, c Job) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, &LimitError{BoundTime, c.Timeout.Milliseconds()})
	defer cancel()
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(c.Memory / 4 * 3)
	ctx, stop := watchMemory(ctx, c.Memory)
	defer stop()
	type end struct {
		exit int
		err  error
	}
	done, late := make(chan end, 1), make(chan struct{})
	go func() {
		exit, err := r.run(ctx)
		done <- end{exit, err}
	}()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { close(late) }) })()
	select {
	case e := <-done:
		return e.exit, e.err
	case <-late:
		return exitRuntime, context.Cause(ctx)
	}
}

// watchMemory ends the context a little before the memory is used up, so that the message can be a good one.
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
				cancel(&LimitError{BoundMemory, limit})
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}
