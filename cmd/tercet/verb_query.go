package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tercet/formats"
	"tercet/internal/query"
	"tercet/project"
)

// variable is a flag of jq's that sets a variable, from NAME=VALUE; see query.Words.
type variable struct {
	flag, usage string
	kind        query.ArgKind
	file        bool // the value is the name of a file
}

var variables = []variable{
	// query.Words knows the same names
	{"arg", "NAME VALUE: $NAME is a string", query.ArgText, false},
	{"argjson", "NAME JSON: $NAME is a value", query.ArgJSON, false},
	{"slurpfile", "NAME FILE: $NAME is the array of the file's values", query.ArgSlurp, true},
	{"rawfile", "NAME FILE: $NAME is the file's text", query.ArgText, true},
}

// parse gives the variable that NAME=VALUE sets.
func (v variable) parse(pair string) (_ query.Arg, err error) {
	name, text, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return query.Arg{}, usage("expected NAME VALUE for --%s, got %q", v.flag, pair)
	}
	data := []byte(text)
	if v.file {
		data, err = os.ReadFile(text)
		if err != nil {
			return query.Arg{}, broken(formats.CodeUsage, "--"+v.flag+" "+name, err)
		}
	}
	return query.Arg{
		Name: name,
		Kind: v.kind,
		Data: data,
	}, nil
}

const queryLong = `query reads state.json, or the files you name, with a jq filter, and takes jq's flags. After 'query',
-C and -M mean what they mean in jq: --color always and --color never. JQ_COLORS sets the colours on a terminal.`

// queryFlags are the flags of jq, and those that say what is read.
type queryFlags struct {
	request    query.CLIRequest
	filterFile string
	at         string // a serial or RUN:STEP
	ofRuns     bool
	variables  []*[]string // NAME=VALUE, for each of variables
	positional []string    // a:TEXT or j:JSON
}

// queryVerb reads state.json, or the files named, with jq's flags and exit codes.
func queryVerb(cmd *cobra.Command, _ *app) run {
	cmd.Long = queryLong
	flags := &queryFlags{}
	flags.addOutput(cmd.Flags())
	flags.addInput(cmd.Flags())
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if flags.filterFile != "" {
			return nil
		}
		return some(cmd, args)
	}
	return func(c call) error {
		q := flags.request
		files, err := flags.readFilter(&q, c.args)
		if err != nil {
			return err
		}
		q.Compact = q.Compact || q.Indent == 0
		if err := flags.addArguments(&q); err != nil {
			return err
		}

		switch {
		case !flags.ofRuns:
			q.Inputs, err = c.queryInputs(files, flags.at, q.NullInput)
		case flags.at != "" || len(files) > 0:
			err = usage("expected --runs, --at or files, got more than one of them")
		default:
			q.Inputs, err = c.runsInput()
		}
		if err != nil {
			return err
		}
		return c.runQuery(q)
	}
}

// addOutput adds the flags that say how the results are printed.
func (o *queryFlags) addOutput(f *pflag.FlagSet) {
	q := &o.request
	f.BoolVarP(&q.Raw, "raw-output", "r", false, "print strings without quotes")
	f.BoolVarP(&q.Compact, "compact-output", "c", false, "one line a result")
	f.BoolVarP(
		&q.ExitStatus,
		"exit-status",
		"e",
		false,
		"exit 1 if the last result is false or null, 4 if there is none",
	)
	f.BoolVarP(&q.Join, "join-output", "j", false, "print without line feeds")
	f.BoolVar(
		&q.Zero,
		"raw-output0",
		false,
		"print strings without quotes, with NUL after each result",
	)
	f.BoolVarP(&q.ASCII, "ascii-output", "a", false, "print escapes for what is not ASCII")
	f.BoolVarP(&q.Sort, "sort-keys", "S", false, "print every object sorted by key")
	f.BoolVar(&q.Tab, "tab", false, "indent with tabs")
	f.IntVar(&q.Indent, "indent", 2, "indent with `n` spaces, 0 to 7")
}

// addInput adds the flags that say what is read, and by which filter.
func (o *queryFlags) addInput(f *pflag.FlagSet) {
	q := &o.request
	f.BoolVarP(&q.NullInput, "null-input", "n", false, "use null as the input")
	f.BoolVarP(&q.Slurp, "slurp", "s", false, "read all inputs into one array")
	f.BoolVarP(
		&q.RawInput,
		"raw-input",
		"R",
		false,
		"read lines as strings, with --slurp all of it as one string",
	)
	f.StringVarP(&o.filterFile, "from-file", "f", "", "read the filter from this `file`")
	f.StringVar(
		&o.at, "at", "",
		"read the state as it was with this `serial`, or at RUN:STEP; 'tercet state history' "+
			"says which can be read",
	)
	f.BoolVar(
		&o.ofRuns, "runs", false,
		"read all runs as one document: {runs: [{run, command, status, steps, ...}]}",
	)
	f.DurationVar(&q.Timeout, "timeout", 30*time.Second, "how long the query may take")
	for _, v := range variables {
		o.variables = append(o.variables, f.StringArray(v.flag, nil, v.usage))
	}
	f.StringArrayVar(
		&o.positional,
		query.PositionalFlag,
		nil,
		"--args WORD... and --jsonargs JSON...: $ARGS.positional",
	)
}

// readFilter gives the query its filter, from a file or the first word, and returns the other
// words, which name files.
func (o *queryFlags) readFilter(q *query.CLIRequest, words []string) (files []string, err error) {
	switch {
	case q.Indent < 0 || q.Indent > 7:
		return nil, usage("expected --indent from 0 to 7, got %d", q.Indent)
	case q.Timeout <= 0:
		return nil, usage("expected a positive --timeout, got %s", q.Timeout)
	case o.filterFile == "":
		q.Filter = words[0]
		return words[1:], nil
	}

	text, err := os.ReadFile(o.filterFile)
	if err != nil {
		return nil, broken(formats.CodeUsage, "filter "+o.filterFile, err)
	}
	q.Filter = string(formats.WithoutBOM(text))
	return words, nil
}

// addArguments gives the query the values of $ARGS and of the variables that flags set.
func (o *queryFlags) addArguments(q *query.CLIRequest) error {
	kinds := map[string]query.ArgKind{"a": query.ArgText, "j": query.ArgJSON}
	for _, word := range o.positional {
		how, text, _ := strings.Cut(word, ":")
		q.Positional = append(q.Positional, query.Arg{Kind: kinds[how], Data: []byte(text)})
	}
	for i, v := range variables {
		for _, pair := range *o.variables[i] {
			arg, err := v.parse(pair)
			if err != nil {
				return err
			}
			q.Args = append(q.Args, arg)
		}
	}
	return nil
}

// runQuery runs a query and gives the exit code.
func (c call) runQuery(r query.CLIRequest) error {
	r.Out, r.Err = c.app.term.Screens()
	results := &countingWriter{}
	if c.app.term.Sheet(c.app.term.OutTTY).Colour {
		p, ok := query.Palette(c.app.env("JQ_COLORS"))
		if !ok {
			c.app.term.Note(
				"warning: JQ_COLORS holds more than numbers, ';' and ':'; it is left out",
			)
		}
		r.Out = c.app.term.Out
		r.Palette = p
		r.Plain = c.app.term.OutTTY
	}
	results.Writer = r.Out
	r.Out = results

	h := c.app.host()
	exit, err := h.RunQuery(c.ctx, r)
	if exit == query.ExitInput && len(r.Inputs) == 1 && r.Inputs[0].State {
		// What the writers refuse is refused with their words and their code.
		w, stateErr := c.app.workspace(c.ctx)
		if stateErr == nil {
			_, stateErr = w.Reader.Doc(c.ctx)
		}
		if stateErr != nil {
			return stateErr
		}
	}

	if err != nil && results.bytes == 0 && c.app.flags.json {
		failed := formats.Fail(formats.CodeUsage, query.Advice(err), "%s", err)
		c.app.printReturn(formats.Failed(failed))
	}
	return c.finishQuery(exit, err)
}

// countingWriter counts what is written.
type countingWriter struct {
	io.Writer
	bytes int
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += n
	return n, err
}

// finishQuery prints the error of a query, and how to raise a limit that it met. Its own error has
// the exit code.
func (c call) finishQuery(exit int, err error) error {
	if fail, ok := errors.AsType[*formats.Failure](err); ok {
		return fail
	}
	if err != nil {
		c.app.term.Failure(err)
		c.app.term.Help(query.Advice(err))
	}
	if limit, ok := errors.AsType[*query.LimitError](err); ok && limit.What == query.BoundTime {
		c.app.term.Help("--timeout allows more")
	}
	if exit != 0 {
		return shownError{exit}
	}
	return nil
}

// boundedQueryVerb is the hidden verb of a child.
func boundedQueryVerb(cmd *cobra.Command, _ *app) run {
	cmd.Hidden = true
	return func(c call) error {
		text, err := io.ReadAll(c.app.in)
		if err != nil {
			return broken(formats.CodeIO, "query of a parent", err)
		}
		return c.finishQuery(project.RunBoundedQuery(c.ctx, text, c.app.term.Out, c.app.term.Err))
	}
}

// queryInputs names the files, or the state of a serial; without any it is the workspace's state.
// What cannot be read twice is read here.
func (c call) queryInputs(files []string, at string, null bool) ([]query.Input, error) {
	switch {
	case at != "":
		return c.stateInput(at, files)
	case len(files) == 0 && null:
		return nil, nil
	case len(files) == 0:
		root, has, err := c.app.projectDir()
		if err == nil && !has {
			err = project.NoWorkspace()
		}
		if err != nil {
			return nil, err
		}
		h := c.app.host()
		return []query.Input{h.StateInput(c.ctx, root)}, nil
	}

	var out []query.Input
	for _, name := range files {
		if info, err := os.Stat(name); name != "-" && err == nil && info.Mode().IsRegular() {
			out = append(out, query.Input{Name: name, Open: true})
			continue
		}
		data, err := readInput(c.app.in, name)
		if err != nil {
			return nil, broken(formats.CodeUsage, "input "+name, err)
		}
		out = append(out, query.Input{Name: name, Data: data})
	}

	return out, nil
}

func readInput(in io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}
