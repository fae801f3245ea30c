package query

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
)

// The exit codes of jq.
const (
	exitOK       = 0
	exitFalsy    = 1 // with ExitStatus: the last result was false or null
	exitInput    = 2
	exitCompile  = 3
	exitNoResult = 4 // with ExitStatus
	exitRuntime  = 5
)

// maxReported is how many errors of single inputs RunCLI keeps.
const maxReported = 10

// CLIRequest is what jq's command line says.
type CLIRequest struct {
	Filter string // an empty one is the identity

	Raw        bool // -r: strings without quotes
	Join       bool // -j: as Raw, without line breaks
	Compact    bool // -c, or --indent 0
	Tab        bool // --tab
	ExitStatus bool // -e
	NullInput  bool // -n
	Slurp      bool // -s
	Indent     int  // 1 to 7, or 0 for 2

	Args   []Arg
	Inputs []Input
	Out    io.Writer
	Err    io.Writer // for debug, stderr and halt_error; nil discards
}

// ArgKind says how the text of an argument becomes a value.
type ArgKind uint8

// The kinds of arguments.
const (
	ArgText  ArgKind = iota // --arg: a string
	ArgJSON                 // --argjson: one JSON value
	ArgSlurp                // --slurpfile: the array of all JSON values
)

// Arg sets the variable $Name, and $ARGS.named. Of two with one name the first counts.
type Arg struct {
	Name string // without $
	Kind ArgKind
	Data []byte
}

// Input is the content of a file, any number of JSON values.
type Input struct {
	Name string // for messages and input_filename
	Data []byte
}

// RunCLI runs a filter over its inputs as jq does, with jq's exit codes: 0; 1 and 4 of -e; 2 for an input that is not JSON, 3
// for a filter that does not compile, 5 for an error at run time. After such an error the next input is taken all the same,
// and the code is 5 in the end. The error says what is wrong: an *Error or Errors, an *InputError, one or several
// *RunError joined, an error of Out, or the cause of the cancelled ctx, which is the only bound. Environment, files and
// modules are denied. Objects that come from an input unchanged print in the order of their source, with its number literals.
func RunCLI(ctx context.Context, req CLIRequest) (exit int, err error) {
	r := &cli{req: req, out: bufio.NewWriterSize(req.Out, 1<<16), indent: indent(req), from: &origins{}}
	if r.req.Err == nil {
		r.req.Err = io.Discard
	}
	exit, err = r.run(ctx)
	if ferr := r.out.Flush(); ferr != nil && err == nil {
		return exitInput, ferr
	}
	return exit, err
}

func indent(req CLIRequest) string {
	switch {
	case req.Compact:
		return ""
	case req.Tab:
		return "\t"
	case req.Indent <= 0:
		return "  "
	}
	return "       "[:min(req.Indent, 7)]
}

// cli is one run of RunCLI.
type cli struct {
	req    CLIRequest
	out    *bufio.Writer
	indent string
	buf    []byte // of the compact form of a result
	pretty []byte
	from   *origins

	file   int           // index of the open input
	stream *jsonx.Stream // of it
	broken error         // why there is no further input

	last    any // the last result
	results int
	errs    []error
	more    int // errors beyond maxReported
}

func (r *cli) run(ctx context.Context) (int, error) {
	vars, values, err := r.arguments()
	if err != nil {
		return exitInput, err
	}
	c := compiler{src: r.req.Filter, vars: vars, bounds: looseBounds(), empty: true, extra: r.functions(), allowed: []string{"input_filename/0", "debug/0", "stderr/0"}}
	code, err := c.compile()
	if err != nil {
		return exitCompile, err
	}
	args := len(r.from.all)
	for first := true; ; first = false {
		r.from.reset(args)
		in, ok := any(nil), first
		if !r.req.NullInput {
			in, ok = r.input()
		}
		if !ok {
			break
		}
		exit, err := r.one(ctx, code, in, values)
		if exit >= 0 {
			return exit, err
		}
	}
	return r.status()
}

// one runs the filter for one input. The exit code is negative if the next input is to be taken.
func (r *cli) one(ctx context.Context, code *Code, in any, values []any) (int, error) {
	for v, err := range code.each(ctx, in, values) {
		if h, ok := errors.AsType[*halted](err); ok {
			return h.code, r.lastWords(h.value)
		}
		if err != nil && ctx.Err() != nil {
			return exitRuntime, err
		}
		if err != nil {
			// What input says of a broken input is said once, in the end.
			if r.broken == nil {
				r.report(err)
			}
			return -1, nil
		}
		if err := r.print(v); err != nil {
			return exitInput, err
		}
	}
	return -1, nil
}

func (r *cli) report(err error) {
	if len(r.errs) == maxReported {
		r.more++
		return
	}
	r.errs = append(r.errs, err)
}

func (r *cli) status() (int, error) {
	if r.broken != nil {
		return exitInput, errors.Join(append(r.errs, r.broken)...)
	}
	if r.more > 0 {
		r.errs = append(r.errs, fmt.Errorf("%d more errors", r.more))
	}
	switch {
	case len(r.errs) == 1:
		return exitRuntime, r.errs[0]
	case len(r.errs) > 1:
		return exitRuntime, errors.Join(r.errs...)
	case !r.req.ExitStatus:
		return exitOK, nil
	case r.results == 0:
		return exitNoResult, nil
	case !Truth(r.last):
		return exitFalsy, nil
	}
	return exitOK, nil
}

// lastWords prints the value of halt_error.
func (r *cli) lastWords(v any) error {
	if v == nil {
		return nil
	}
	if s, ok := v.(string); ok {
		_, err := io.WriteString(r.req.Err, s)
		return err
	}
	_, err := r.req.Err.Write(append(appendValue(nil, v, r.from), '\n'))
	return err
}

func (r *cli) print(v any) error {
	r.last = v
	r.results++
	if s, ok := v.(string); ok && (r.req.Raw || r.req.Join) {
		if _, err := r.out.WriteString(s); err != nil {
			return err
		}
	} else {
		r.buf = appendValue(r.buf[:0], v, r.from)
		text := r.buf
		if r.indent != "" && len(text) > 2 && (text[0] == '{' || text[0] == '[') {
			r.pretty = jsonx.AppendIndent(r.pretty[:0], text, r.indent)
			text = r.pretty
		}
		if _, err := r.out.Write(text); err != nil {
			return err
		}
	}
	if r.req.Join {
		return nil
	}
	return r.out.WriteByte('\n')
}

// limits are those of texts that are only read: as deep as gojq goes, the last of two equal keys counts, as in jq.
func limits() jsonx.Limits {
	return jsonx.Limits{Depth: maxDepth, Bytes: math.MaxInt, Duplicates: true}
}

// arguments gives the variables with their values, $ARGS last.
func (r *cli) arguments() (vars []string, values []any, err error) {
	named := map[string]any{}
	for _, a := range r.req.Args {
		if _, ok := named[a.Name]; ok {
			continue
		}
		v, err := r.argument(a)
		if err != nil {
			return nil, nil, err
		}
		named[a.Name] = v
		vars, values = append(vars, "$"+a.Name), append(values, v)
	}
	return append(vars, "$ARGS"), append(values, map[string]any{"named": named, "positional": []any{}}), nil
}

func (r *cli) argument(a Arg) (any, error) {
	if a.Kind == ArgText {
		return string(a.Data), nil
	}
	var list []any
	s := jsonx.NewStream(a.Data, limits())
	for {
		v, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, inputError("$"+a.Name, err)
		}
		list = append(list, decode(v, r.from))
	}
	if a.Kind == ArgSlurp {
		if list == nil {
			list = []any{}
		}
		return list, nil
	}
	if len(list) != 1 {
		msg := fmt.Sprintf("expected one JSON value, got %d", len(list))
		return nil, &InputError{Name: "$" + a.Name, Err: &jsonx.SyntaxError{Line: 1, Col: 1, Msg: msg}}
	}
	return list[0], nil
}

func inputError(name string, err error) error {
	se, ok := errors.AsType[*jsonx.SyntaxError](err)
	if !ok {
		return err
	}
	return &InputError{Name: name, Err: se}
}

// input gives the next value of the inputs, with Slurp the array of all of them once.
func (r *cli) input() (any, bool) {
	if !r.req.Slurp {
		return r.value()
	}
	if r.file > len(r.req.Inputs) {
		return nil, false
	}
	all := []any{}
	for {
		v, ok := r.value()
		if !ok {
			break
		}
		all = append(all, v)
	}
	r.file = len(r.req.Inputs) + 1
	return all, r.broken == nil
}

func (r *cli) value() (any, bool) {
	for r.broken == nil && r.file < len(r.req.Inputs) {
		if r.stream == nil {
			r.stream = jsonx.NewStream(r.req.Inputs[r.file].Data, limits())
		}
		v, err := r.stream.Next()
		if err == nil {
			return decode(v, r.from), true
		}
		if !errors.Is(err, io.EOF) {
			r.broken = inputError(r.req.Inputs[r.file].Name, err)
			return nil, false
		}
		r.stream = nil
		r.file++
	}
	return nil, false
}

// Next makes the run the source of input and inputs.
func (r *cli) Next() (any, bool) {
	v, ok := r.input()
	if !ok && r.broken != nil {
		return r.broken, true
	}
	return v, ok
}

// functions gives what jq's command line adds to the language.
func (r *cli) functions() []gojq.CompilerOption {
	return []gojq.CompilerOption{
		gojq.WithInputIter(r),
		gojq.WithFunction("input_filename", 0, 0, func(any, []any) any {
			if r.file < len(r.req.Inputs) {
				return r.req.Inputs[r.file].Name
			}
			return nil
		}),
		gojq.WithFunction("debug", 0, 0, func(v any, _ []any) any {
			return r.tell(v, append(appendValue([]byte(`["DEBUG:",`), v, r.from), "]\n"...))
		}),
		gojq.WithFunction("stderr", 0, 0, func(v any, _ []any) any {
			return r.tell(v, appendValue(nil, v, r.from))
		}),
	}
}

func (r *cli) tell(v any, text []byte) any {
	if _, err := r.req.Err.Write(text); err != nil {
		return err
	}
	return v
}
