package query

import (
	"bytes"
	"context"
)

// RunCLI runs a request in this process, bounded by nothing but ctx.
func RunCLI(ctx context.Context, req CLIRequest) (exit int, err error) {
	r := newCLI(req)
	exit, err = r.prepare()
	if err != nil {
		return exit, err
	}
	return r.run(ctx)
}

// Ready is a request that can be run any number of times.
type Ready struct{ r *cli }

// NewReady compiles the filter of a request. The error is that of RunCLI.
func NewReady(req CLIRequest) (Ready, int, error) {
	req.Inputs = []Input{{}} // those of Run come later
	r := newCLI(req)
	exit, err := r.prepare()
	return Ready{r}, exit, err
}

// Run answers for an input, as RunCLI does or with the input decoded in full. fast tells whether it
// was not.
func (p Ready) Run(
	ctx context.Context,
	whole bool,
	in ...Input,
) (out string, exit int, fast bool, err error) {
	var buf bytes.Buffer

	r := p.r
	r.req.Inputs = in

	r.out.Reset(&buf)
	r.file = 0
	r.inputErr = nil
	r.last = nil
	r.results = 0
	r.failed = false
	r.errs = nil
	r.unreported = 0
	r.origins.reset(0)

	if r.plan != nil && !whole {
		exit, err, fast = r.runStreamed(ctx)
	}
	if !fast {
		exit, err = r.runDecoded(ctx)
	}

	if ferr := r.out.Flush(); ferr != nil {
		return "", 0, false, ferr
	}

	return buf.String(), exit, fast, err
}

// Risky tells whether a query runs in a child.
func Risky(c *Code) bool {
	return c.risky
}
