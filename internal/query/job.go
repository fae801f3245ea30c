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
// It runs in a child with system limits in two cases: a single step can take all time or memory
// (see risky), or it needs a large input in full.
const (
	maxMemory  = 1536 << 20 // in addition to the needs of the inputs
	perByte    = 16         // maximum memory for each byte of the inputs
	maxOutput  = 128 << 20  // of a child
	largeInput = 16 << 20
	calmMemory = 32 << 20
	graceTime  = 300 * time.Millisecond // for a query that does not stop at its deadline
)

// BoundedVerb is the hidden verb that makes tercet call RunBounded in a child.
const BoundedVerb = "__query"

// File is an input that can be read at any offset.
type File interface {
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// Host is the environment of a call.
type Host struct {
	Open    func(Input) (File, error)
	Starter *proc.Starter
	Self    string // path of this binary; empty if it cannot be started again
	// Shared means that this process has other work: a query in it leaves alone how the process
	// collects garbage.
	Shared bool
}

// Run runs a request and returns the exit code. The error is an *Error, Errors, several joined
// errors, an error of Out or Open, the cause of a canceled ctx, or a *LimitError.
func (h Host) Run(ctx context.Context, req CLIRequest) (exit int, err error) {
	given := req
	size, err := req.open(h.Open)
	if err != nil {
		return ExitInput, err
	}

	req.Memory = maxMemory + perByte*size
	r := newCLI(req)
	exit, err = r.prepare()
	if err != nil {
		return exit, err
	}

	if canBoundProcess && h.Self != "" && (r.code.risky || size > largeInput && r.plan == nil) {
		given.Memory = req.Memory
		if exit, err, started := h.runChild(ctx, given); started {
			return exit, err
		}
	}
	return r.runTimed(ctx, h.Shared)
}

// open opens the inputs. They stay open until the process ends.
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

// runChild runs a call in a child process. started is false if there could be none: then this
// process must run it.
func (h Host) runChild(ctx context.Context, c CLIRequest) (exit int, err error, started bool) {
	text, err := json.Marshal(c)
	if err != nil {
		return exitRuntime, err, true
	}

	res, err := h.Starter.Run(ctx, proc.Command{
		Argv:      []string{h.Self, BoundedVerb},
		Stdin:     text,
		Purpose:   proc.PurposeQuery,
		Timeout:   proc.Timeout{Total: c.Timeout + graceTime},
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
		// Out of memory, the Go runtime or the system ends the process with its own message.
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

// runTimed runs a compiled query up to its deadline. A query that continues past it, in the middle
// of a step, is not waited for: it ends with the process.
func (r *cli) runTimed(ctx context.Context, shared bool) (int, error) {
	c := r.req
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, &LimitError{
		BoundTime,
		c.Timeout.Milliseconds(),
	})
	defer cancel()

	threshold := int64(0)
	if !shared {
		// All input stays alive to the end, and of a stream almost nothing does. Garbage collection
		// while memory grows took half of the time of a small query.
		debug.SetGCPercent(-1)
		threshold = r.gcThreshold()
	}
	ctx, stop := watchMemory(ctx, c.Memory, threshold)
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
		time.AfterFunc(graceTime, func() { close(late) })
	})()

	select {
	case e := <-done:
		return e.exit, e.err
	case <-late:
		return exitRuntime, context.Cause(ctx)
	}
}

// gcThreshold is the memory that a query may use before garbage is collected: the size of its
// decoded inputs.
func (r *cli) gcThreshold() int64 {
	if r.plan != nil {
		return calmMemory
	}
	return calmMemory + min((r.req.Memory-maxMemory), 12*calmMemory)
}

// watchMemory collects garbage only above a threshold, which begins at calm and grows with live
// memory; with 0 it leaves that to the runtime. It cancels the context shortly before limit is
// reached, so that the message can be a good one.
func watchMemory(parent context.Context, limit, calm int64) (ctx context.Context, stop func()) {
	if calm > 0 {
		debug.SetMemoryLimit(calm)
	}

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
			if calm > 0 && used > calm {
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
