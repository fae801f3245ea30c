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
	"slices"
	"time"

	"tercet/internal/proc"
)

// The limits of a job besides its time. A query normally runs in this process, under its deadline.
// It runs in a child with system limits in two cases: single steps can take all time or memory (see
// risky), or it needs a large input in full.
const (
	maxMemory  = 1536 << 20 // beside what the inputs need
	perByte    = 16         // memory for each byte of the inputs, at most
	maxOutput  = 128 << 20  // of a child
	largeInput = 16 << 20
	calmMemory = 32 << 20
	grace      = 300 * time.Millisecond // for a query that does not end with its time
)

// BoundedVerb is the hidden verb that makes tercet call RunBounded in a child.
const BoundedVerb = "__query"

// File is an input that can be read at any offset.
type File interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// Host is what a call needs of its process.
type Host struct {
	Open    func(Input) (File, error)
	Starter *proc.Starter
	Self    string // path of this binary; empty if it cannot be started again
}

// Run runs a request and gives the exit code. The error is an *Error, Errors, several joined
// errors, an error of Out or Open, the cause of a cancelled ctx, or a *LimitError.
func (h Host) Run(ctx context.Context, req CLIRequest) (exit int, err error) {
	given := req
	size, err := req.open(h.Open)
	if err != nil {
		return ExitInput, err
	}
	req.Memory = maxMemory + perByte*size
	r := newCLI(req)
	if exit, err = r.prepare(); err != nil {
		return exit, err
	}
	if boundable && h.Self != "" && (r.code.risky || size > largeInput && r.plan == nil) {
		given.Memory = req.Memory
		if exit, err, started := h.child(ctx, given); started {
			return exit, err
		}
	}
	return r.within(ctx)
}

// open opens the inputs. The files are closed by the end of the process.
func (req *CLIRequest) open(open func(Input) (File, error)) (size int64, err error) {
	req.Inputs = slices.Clone(req.Inputs)
	for i := range req.Inputs {
		in := &req.Inputs[i]
		size += int64(len(in.Data))
		if !in.Open {
			continue
		}
		f, err := open(*in)
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
	return size, nil
}

// child runs a call in a process of its own. started is false if there could be none: then this
// process has to do.
func (h Host) child(ctx context.Context, c CLIRequest) (exit int, err error, started bool) {
	text, err := json.Marshal(c)
	if err != nil {
		return exitRuntime, err, true
	}

	res, err := h.Starter.Run(ctx, proc.Command{
		Argv:      []string{h.Self, BoundedVerb},
		Stdin:     text,
		Purpose:   proc.PurposeQuery,
		Timeout:   proc.Timeout{Total: c.Timeout + grace},
		StdoutCap: maxOutput,
		StderrCap: 1 << 20,
		Limit:     maxOutput,
	})
	if errors.Is(err, proc.ErrStart) {
		return 0, nil, false
	}

	if _, werr := c.Out.Write(res.Stdout); werr != nil && err == nil {
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
		// Without memory the runtime of Go ends the process with a message of its own, or the
		// system does.
		return exitRuntime, &LimitError{BoundMemory, c.Memory}, true
	}

	_, err = c.Err.Write(res.Stderr)
	return res.Exit, err, true
}

// RunBounded reads a request of Run's process and runs it within its limits. It starts no child.
func RunBounded(
	ctx context.Context,
	text []byte,
	open func(Input) (File, error),
	out, stderr io.Writer,
) (int, error) {
	req := CLIRequest{Out: out, Err: stderr}
	if err := json.Unmarshal(text, &req); err != nil || req.Timeout <= 0 || req.Memory <= 0 {
		return ExitInput, errors.New("expected a query of 'tercet query'")
	}
	if err := boundProcess(req.Memory, req.Timeout); err != nil {
		return ExitInput, err
	}
	return Host{Open: open}.Run(ctx, req)
}

// within runs a compiled query for as long as it may take. A query that goes on after its time, in
// the middle of a step, is not waited for: it ends with the process.
func (r *cli) within(ctx context.Context) (int, error) {
	c := r.req
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, &LimitError{
		BoundTime,
		c.Timeout.Milliseconds(),
	})
	defer cancel()
	// All input that was read stays alive to the end, and of a stream almost nothing does. Garbage
	// collection while memory grows took half of the time of a small query.
	debug.SetGCPercent(-1)
	ctx, stop := watchMemory(ctx, c.Memory, r.calm())
	defer stop()
	type end struct {
		exit int
		err  error
	}
	done := make(chan end, 1)
	late := make(chan struct{})
	go func() {
		exit, err := r.run(ctx)
		done <- end{exit, err}
	}()
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(grace, func() { close(late) })
	})()
	select {
	case e := <-done:
		return e.exit, e.err
	case <-late:
		return exitRuntime, context.Cause(ctx)
	}
}

// calm is how much memory a query may take before garbage is collected: what its inputs become if
// they are read whole.
func (r *cli) calm() int64 {
	if r.plan != nil {
		return calmMemory
	}
	return calmMemory + min((r.req.Memory-maxMemory), 12*calmMemory)
}

// watchMemory starts a garbage collection only above a bound, which begins at calm and grows with
// live memory. It ends the context a little before limit is used up, so the message can be a good
// one.
func watchMemory(parent context.Context, limit, calm int64) (ctx context.Context, stop func()) {
	debug.SetMemoryLimit(calm)
	ctx, cancel := context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		sample := []metrics.Sample{
			{Name: "/memory/classes/total:bytes"},
			{Name: "/memory/classes/heap/released:bytes"},
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			metrics.Read(sample)
			used := int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
			if used > limit/8*7 {
				cancel(&LimitError{BoundMemory, limit})
				return
			}
			if used > calm {
				calm = min(2*used, limit/4*3)
				debug.SetMemoryLimit(calm)
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}
