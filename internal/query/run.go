package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
)

// The limits of Run and One.
const (
	MaxTime    = time.Second
	MaxResults = 10_000
	MaxOutput  = 8 << 20
)

// What each element of the input adds to these limits, so that work proportional to a long list can
// finish.
const (
	timePerElement   = 100 * time.Microsecond
	outputPerElement = 1 << 10
)

// runLimits are the limits of one run.
type runLimits struct {
	time   time.Duration
	output int
}

// limitsFor returns the limits for an input and the variables that the query uses.
func (c *Code) limitsFor(input any, vars map[string]any) runLimits {
	n := countElements(input)
	for _, name := range c.vars {
		if c.usesVar(name) {
			n += countElements(vars[name])
		}
	}
	return runLimits{
		time:   MaxTime + time.Duration(n)*timePerElement,
		output: MaxOutput + n*outputPerElement,
	}
}

// countElements counts the elements of an array, or of the arrays in an object.
func countElements(v any) int {
	switch v := v.(type) {
	case Prepared:
		return countElements(v.v)
	case []any:
		return len(v)
	case map[string]any:
		n := 0
		for _, member := range v {
			if list, ok := member.([]any); ok {
				n += len(list)
			}
		}
		return n
	}
	return 0
}

// Run returns all results for one input. vars are the values of Options.Vars by name with $; a
// missing one is null. Input and vars pass Normalize, unless Prepared. The error is a *LimitError,
// the cause of a canceled context, or the query's error as text; then there are no results.
func (c *Code) Run(ctx context.Context, input any, vars map[string]any) ([]any, error) {
	var out []any
	most := c.limitsFor(input, vars)
	budget := most.output

	for v, err := range c.iterTimed(ctx, input, vars, most.time) {
		if err != nil {
			return nil, err
		}
		if len(out) == MaxResults {
			return nil, &LimitError{BoundResults, MaxResults}
		}
		if budget = spendBudget(v, budget); budget < 0 {
			return nil, &LimitError{BoundOutput, int64(most.output)}
		}
		out = append(out, v)
	}
	return out, nil
}

// Lines returns all results for a JSON document, one a line: texts raw, other values as compact
// JSON. Errors are those of Run, and of parsing the document.
func (c *Code) Lines(ctx context.Context, doc []byte) ([]byte, error) {
	in, err := jsonx.Parse(doc, limits())
	if err != nil {
		return nil, err
	}
	results, err := c.Run(ctx, in, nil)
	var out []byte
	for _, v := range results {
		out = append(append(out, Text(v)...), '\n')
	}
	return out, err
}

// One returns the first result, nil if there is none. It does not compute further results, because
// jq's truth of a condition depends only on the first. The errors are those of Run.
func (c *Code) One(ctx context.Context, input any, vars map[string]any) (any, error) {
	most := c.limitsFor(input, vars)
	for v, err := range c.iterTimed(ctx, input, vars, most.time) {
		if err == nil && spendBudget(v, most.output) < 0 {
			return nil, &LimitError{BoundOutput, int64(most.output)}
		}
		return v, err
	}
	return nil, nil
}

// First returns the first result of a query without variables, or nil. Its time is not bounded: it
// is for small inputs and cheap functions.
func (c *Code) First(input any) (any, error) {
	in, _, err := c.values(input, nil)
	if err != nil {
		return nil, err
	}

	v, ok := nextRecovered(c.code.Run(in))
	if err, bad := v.(error); bad {
		return nil, err
	}
	if !ok {
		return nil, nil
	}
	return v, nil
}

// iterTimed is Iter with a time limit.
func (c *Code) iterTimed(parent context.Context, input any, vars map[string]any, most time.Duration,
) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		ctx, cancel := context.WithTimeout(parent, most)
		defer cancel()
		for v, err := range c.Iter(ctx, input, vars) {
			if errors.Is(err, context.DeadlineExceeded) && parent.Err() == nil {
				err = &LimitError{BoundTime, most.Milliseconds()}
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// Iter yields the results one by one, bounded only by ctx. An error is the last value.
func (c *Code) Iter(ctx context.Context, input any, vars map[string]any) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		in, values, err := c.values(input, vars)
		if err != nil {
			yield(nil, err)
			return
		}
		for v, err := range c.each(ctx, in, values) {
			if h, ok := errors.AsType[*halted](err); ok {
				if h.value == nil {
					return
				}
				err = thrownError(h.value)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// halted is the error of a query that ended itself with halt (value is nil) or halt_error.
type halted struct {
	value any
	code  int
}

func (h *halted) Error() string {
	return "halted"
}

// each runs the code on normalized values. Its errors are those of Iter, and *halted.
func (c *Code) each(ctx context.Context, in any, values []any) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		// gojq checks its context only from time to time.
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		taken := make([]any, 0, len(values))
		for i, v := range values {
			if c.mentionsVar(c.vars[i]) {
				taken = append(taken, v)
			}
		}

		it := c.code.RunWithContext(ctx, in, taken...)
		for {
			v, ok := nextRecovered(it)
			if !ok {
				return
			}
			if err, bad := v.(error); bad {
				yield(nil, wrapError(ctx, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// values returns the input and the values of the variables in order. Variables that the query does
// not use are not normalized.
func (c *Code) values(input any, vars map[string]any) (any, []any, error) {
	in, err := normalize(input, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("input: %w", err)
	}

	values := make([]any, len(c.vars))
	for i, name := range c.vars {
		if !c.usesVar(name) {
			continue
		}
		values[i], err = normalize(vars[name], 0)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return in, values, nil
}

// nextRecovered is it.Next with a panic of the interpreter turned into an error of the query.
func nextRecovered(it gojq.Iter) (v any, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			v = fmt.Errorf("query cannot be run: %v", r)
			ok = true
		}
	}()
	return it.Next()
}

// wrapError converts an error of gojq.
func wrapError(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	if h, ok := errors.AsType[*gojq.HaltError](err); ok {
		return &halted{value: h.Value(), code: h.ExitCode()}
	}
	if own, ok := errors.AsType[gojq.ValueError](err); ok {
		return thrownError(own.Value())
	}
	return &valueError{err.Error()} // no error of gojq leaves the package
}

// thrownError is the error for a value that the query passed to error or halt_error.
func thrownError(value any) error {
	msg := "value is too large to show"
	if spendBudget(value, maxShown) >= 0 {
		msg = Text(value)
	}
	return errors.New(msg)
}

// maxShown bounds a value in the message of an error, in bytes.
const maxShown = 64 << 10

// Vars returns the names of the declared variables that the query uses.
func (c *Code) Vars() []string {
	return slices.DeleteFunc(slices.Clone(c.vars), func(name string) bool {
		return !c.usesVar(name)
	})
}
