package query

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"tercet/internal/jsonx"
	"tercet/internal/plain"
)

// The exit codes of jq.
const (
	exitOK       = 0
	exitFalsy    = 1 // with ExitStatus: the last result was false or null
	ExitInput    = 2 // an input is not JSON, or cannot be read
	exitCompile  = 3
	exitNoResult = 4 // with ExitStatus
	exitRuntime  = 5
)

// maxReported is how many errors of single inputs are kept.
const maxReported = 10

// CLIRequest is the input of jq's command line.
//
// The filter runs over its inputs as jq runs it, with jq's exit codes: 0, and 1 and 4 of -e. 2 is
// an input that is not JSON, 3 a filter that does not compile, 5 a run-time error. After such an
// error the run continues with the next input, and the code is that of the last input. Environment,
// files and modules are denied. Unchanged objects of an input print in source order, with their
// number literals.
//
// An input is not decoded in full where that cannot change a byte of the output. A File is then
// read in pieces, so an input of any size takes little memory.
type CLIRequest struct {
	Filter string // an empty one is the identity
	// PickTasks means that the input is a state, and that the filter is a condition of a task: the
	// results are the numbers of the tasks for which it is true.
	PickTasks bool

	Raw        bool // -r: strings without quotes
	Join       bool // -j: as Raw, without line breaks
	Zero       bool // --raw-output0: as Raw, with a NUL after each result
	ASCII      bool // -a: ASCII only, with escapes; strings keep their quotes
	Sort       bool // -S: objects sorted by key
	Compact    bool // -c, or --indent 0
	Tab        bool // --tab
	ExitStatus bool // -e
	NullInput  bool // -n
	Slurp      bool // -s
	RawInput   bool // -R: each line is a string, with Slurp the whole
	Strict     bool // an input is exactly one value without duplicate keys
	Indent     int  // 1 to 7, or 0 for 2
	// Palette colours the output; nil: no colours. Plain makes the output safe for a terminal,
	// before colouring.
	Palette *jsonx.Palette
	Plain   bool

	Statuses *Statuses // task statuses for the function ready, which needs them

	Args       []Arg
	Positional []Arg // --args and --jsonargs: $ARGS.positional; names are ignored
	Inputs     []Input
	Timeout    time.Duration
	Memory     int64     // memory limit of a child; Host.Run sets it
	Out        io.Writer `json:"-"`
	Err        io.Writer `json:"-"` // for debug, stderr and halt_error; nil discards
}

// ArgKind says how an argument's text becomes a value.
type ArgKind uint8

// The kinds of arguments.
const (
	ArgText  ArgKind = iota // --arg: a string
	ArgJSON                 // --argjson: one JSON value
	ArgSlurp                // --slurpfile: the array of all JSON values
)

// Arg sets the variable $Name, and $ARGS.named. The first of two with one name counts.
type Arg struct {
	Name string // without $
	Kind ArgKind
	Data []byte
}

// Input is the content of a file, any number of JSON values: Data, or the whole File if set.
type Input struct {
	Name  string // for messages and input_filename
	State bool   // it is the state of a workspace
	Open  bool   // Host opens it: a file that can be opened again
	Data  []byte
	File  io.ReaderAt `json:"-"`
}

// Palette reads the colours of JQ_COLORS. Of an invalid text it gives the usual ones.
func Palette(text string) (*jsonx.Palette, bool) {
	p, ok := jsonx.PaletteOf(text)
	return &p, ok
}

func newCLI(req CLIRequest) *cli {
	r := &cli{
		req:     req,
		out:     bufio.NewWriterSize(req.Out, 1<<16),
		indent:  indent(req),
		origins: &origins{},
	}

	if !req.Sort {
		r.printOrigins = r.origins
	}
	if r.req.Err == nil {
		r.req.Err = io.Discard
	}
	return r
}

func indent(req CLIRequest) string {
	switch {
	case req.Compact:
		return ""
	case req.Tab:
		return "\t"
	}
	return strings.Repeat(" ", cmp.Or(min(max(req.Indent, 0), 7), 2))
}

// cli is one run of a request.
type cli struct {
	req          CLIRequest
	out          *bufio.Writer
	indent       string
	buf          []byte // of the compact form of a result
	pretty       []byte
	painted      []byte
	origins      *origins
	printOrigins *origins // origins, or nil to print every object sorted

	code   *Code
	values []any // of its variables
	plan   *plan // nil if the inputs are decoded in full

	file     int // index of the open input
	next     func() (any, bool)
	inputErr error // why no further input can be read

	last       any  // the last result of an input without an error
	results    int  // number of results of such inputs
	failed     bool // the last input ended with an error
	errs       []error
	unreported int // errors beyond maxReported
}

// prepare reads the arguments and compiles the filter.
func (r *cli) prepare() (exit int, err error) {
	vars, values, err := r.readArguments()
	if err != nil {
		return ExitInput, err
	}

	c := compiler{
		src:     r.req.Filter,
		vars:    vars,
		bounds:  looseBounds,
		empty:   true,
		picks:   r.req.PickTasks,
		extra:   r.functions(),
		allowed: []string{"input_filename/0", "debug/0", "stderr/0"},
	}
	if r.req.Statuses != nil {
		c.allowed = append(c.allowed, readyName+"/0")
		c.extra = append(c.extra, readyFunction(r.req.Statuses))
	}
	r.code, err = c.compile()
	if err != nil {
		return exitCompile, err
	}

	r.values = values
	if r.req.NullInput || r.req.Slurp || r.req.RawInput || r.req.PickTasks ||
		len(r.req.Inputs) == 0 {
		return 0, nil
	}
	if q, err := gojq.Parse(r.req.Filter); err == nil && r.req.Filter != "" {
		globals := make(map[string]any, len(vars))
		for i, name := range vars {
			globals[name] = values[i]
		}
		r.plan = newPlan(q, globals)
	}
	return 0, nil
}

// run runs the filter over the inputs.
func (r *cli) run(ctx context.Context) (exit int, err error) {
	done := false
	if r.plan != nil {
		exit, err, done = r.runStreamed(ctx)
	}
	if !done {
		exit, err = r.runDecoded(ctx)
	}

	if ferr := r.out.Flush(); ferr != nil && err == nil {
		return ExitInput, ferr
	}
	return exit, err
}

// runDecoded runs the filter over the inputs and decodes each in full.
func (r *cli) runDecoded(ctx context.Context) (int, error) {
	args := len(r.origins.all)
	next, stop := iter.Pull(r.eachInput)
	defer stop()
	r.next = next

	for first := true; ; first = false {
		r.origins.reset(args)
		in := any(nil)
		ok := first
		if !r.req.NullInput {
			in, ok = r.next()
		}
		if !ok {
			return r.exitStatus()
		}

		exit, err := r.runInput(ctx, in)
		if exit >= 0 {
			return exit, err
		}
	}
}

// runInput runs the filter for one input. The exit code is negative if the next input follows.
func (r *cli) runInput(ctx context.Context, in any) (int, error) {
	results := r.results
	last := r.last
	failed := func(err error) int {
		r.results = results
		r.last = last
		r.failed = true
		// An error of a broken input is reported once, at the end.
		if r.inputErr == nil {
			r.report(err)
		}
		return -1
	}

	for v, err := range r.code.each(ctx, in, r.values) {
		if h, ok := errors.AsType[*halted](err); ok {
			return h.code, r.printHalt(h.value)
		}
		if err != nil && ctx.Err() != nil {
			return exitRuntime, err
		}
		if err != nil {
			return failed(err), nil
		}
		if err := r.print(v); errors.Is(err, errNUL) {
			return failed(err), nil
		} else if err != nil {
			return ExitInput, err
		}
	}

	r.failed = false
	return -1, nil
}

func (r *cli) report(err error) {
	if len(r.errs) == maxReported {
		r.unreported++
		return
	}
	r.errs = append(r.errs, err)
}

func (r *cli) exitStatus() (int, error) {
	if r.inputErr != nil {
		return ExitInput, errors.Join(append(r.errs, r.inputErr)...)
	}
	if r.unreported > 0 {
		r.errs = append(r.errs, fmt.Errorf("%d more errors", r.unreported))
	}

	exit := exitOK
	switch {
	case r.failed:
		exit = exitRuntime
	case !r.req.ExitStatus:
	case r.results == 0:
		exit = exitNoResult
	case !Truth(r.last):
		exit = exitFalsy
	}

	if len(r.errs) == 1 {
		return exit, r.errs[0]
	}
	return exit, errors.Join(r.errs...)
}

// printHalt prints the value of halt_error.
func (r *cli) printHalt(v any) error {
	if v == nil {
		return nil
	}
	if s, ok := v.(string); ok {
		_, err := io.WriteString(r.req.Err, s)
		return err
	}
	_, err := r.req.Err.Write(append(appendValue(nil, v, r.origins), '\n'))
	return err
}

func (r *cli) print(v any) error {
	r.last = v
	r.results++
	if err := r.writeResult(v); err != nil {
		return err
	}

	switch {
	case r.req.Zero:
		return r.out.WriteByte(0)
	case r.req.Join:
		return nil
	}
	return r.out.WriteByte('\n')
}

// writeResult writes one result without its terminator.
func (r *cli) writeResult(v any) error {
	s, isText := v.(string)
	if isText && !r.req.ASCII && (r.req.Raw || r.req.Join || r.req.Zero) {
		if r.req.Zero && strings.IndexByte(s, 0) >= 0 {
			return errNUL
		}
		if r.req.Plain {
			s = plain.Text(s)
		}
		_, err := r.out.WriteString(s)
		return err
	}

	r.buf = appendValue(r.buf[:0], v, r.printOrigins)
	text := r.buf
	if r.indent != "" && len(text) > 2 && (text[0] == '{' || text[0] == '[') {
		r.pretty = jsonx.AppendIndent(r.pretty[:0], text, r.indent)
		text = r.pretty
	}
	if r.req.ASCII {
		text = escapeASCII(text)
	}
	if r.req.Plain {
		text = plain.JSON(text)
	}
	if r.req.Palette != nil {
		r.painted = r.req.Palette.AppendJSON(r.painted[:0], text)
		text = r.painted
	}
	_, err := r.out.Write(text)
	return err
}

// escapeASCII escapes everything but ASCII.
func escapeASCII(text []byte) []byte {
	var out []byte
	for _, c := range string(text) {
		switch {
		case c < utf8.RuneSelf:
			out = append(out, byte(c))
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			out = fmt.Appendf(out, "\\u%04x\\u%04x", high, low)
		default:
			out = fmt.Appendf(out, "\\u%04x", c)
		}
	}
	return out
}

// limits are the limits of inputs: as deep as gojq allows, and the last of two equal keys counts,
// as in jq.
func limits() jsonx.Limits {
	return jsonx.Limits{
		Depth:      maxDepth,
		Bytes:      math.MaxInt,
		Duplicates: true,
	}
}

// functions returns the functions of jq's command line.
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
			line := appendValue([]byte(`["DEBUG:",`), v, r.origins)
			return r.writeDebug(v, append(line, "]\n"...))
		}),
		gojq.WithFunction("stderr", 0, 0, func(v any, _ []any) any {
			return r.writeDebug(v, appendValue(nil, v, r.origins))
		}),
	}
}

func (r *cli) writeDebug(v any, text []byte) any {
	if _, err := r.req.Err.Write(text); err != nil {
		return err
	}
	return v
}
