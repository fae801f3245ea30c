package query

import (
	"bytes"
	"context"
)

// The ways in which a query can be answered: as RunCLI does, without leaving out elements, and with the input in full.
const (
	Fast = wayFast
	Part = wayPart
	Slow = waySlow
)

// Ready is a request that can be run in any way, any number of times.
type Ready struct{ r *cli }

// NewReady compiles the filter of a request. The error is that of RunCLI.
func NewReady(req CLIRequest) (Ready, int, error) {
	r := newCLI(req, wayFast)
	exit, err := r.prepare()
	return Ready{r}, exit, err
}

// Run answers for an input. fast tells whether it was not decoded in full.
func (p Ready) Run(ctx context.Context, w way, in ...Input) (out string, exit int, fast bool, err error) {
	var buf bytes.Buffer
	r := p.r
	r.req.Inputs, r.way = in, w
	r.out.Reset(&buf)
	r.file, r.stream, r.broken, r.last, r.results, r.errs, r.more, r.fasted = 0, nil, nil, nil, 0, nil, 0, false
	r.from.reset(0)
	exit, err = r.answer(ctx)
	if ferr := r.out.Flush(); ferr != nil {
		return "", 0, false, ferr
	}
	return buf.String(), exit, r.fasted, err
}

// PlainCompile is the fast way of Compile alone; false if it leaves the query to gojq.
func PlainCompile(src string, opt Options) (*Code, bool) { return plainCompile(src, opt) }

// CompileFully is Compile without the fast way.
func CompileFully(src string, opt Options) (*Code, error) { return compileFully(src, opt) }

// PlainCalls tells whether a plain query may call a function.
func PlainCalls(name string, args int) bool {
	r := plainReader{}
	return r.known(name, args)
}

// Builtins gives the functions of gojq as name/arguments.
func Builtins() []string { return builtins() }

// Marks tells which variables the code refers to, and which it names.
func (c *Code) Marks() (used, named []bool) {
	for _, name := range c.vars {
		used, named = append(used, c.uses(name)), append(named, c.names(name))
	}
	return used, named
}
