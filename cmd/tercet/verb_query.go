package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tercet/formats"
	"tercet/internal/proc"
	"tercet/internal/query"
	"tercet/state"
)

// queryFlags are the flags of query whose values are not those of the request.
type queryFlags struct {
	pairs, jsonPairs, filePairs, rawPairs []string // NAME=VALUE; see jqWords
	positional                            []string // s:TEXT or j:JSON; see jqWords

	at, from string
	timeout  time.Duration
}

// queryVerb reads state.json, or the files named, with jq's flags and exit codes.
func (a *app) queryVerb() *cobra.Command {
	var q query.CLIRequest
	var flags queryFlags
	cmd := &cobra.Command{
		Use: "query [FLAGS] FILTER [FILE...]", Short: "read state.json with a jq filter",
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.from != "" {
				return nil
			}
			return words(1, -1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := flags.fill(&q, args)
			if err != nil {
				return err
			}
			inputs, err := a.inputs(args, q.NullInput)
			if flags.at != "" {
				inputs, err = a.inputAt(cmd.Context(), flags.at, args)
			}
			if err != nil {
				return err
			}
			return a.runQuery(cmd.Context(), query.Job{Request: q, Sources: inputs, Timeout: flags.timeout})
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&q.Raw, "raw-output", "r", false, "print strings without quotes")
	f.BoolVarP(&q.Compact, "compact-output", "c", false, "one line a result")
	f.BoolVarP(&q.ExitStatus, "exit-status", "e", false, "exit 1 if the last result is false or null, 4 if there is none")
	f.BoolVarP(&q.NullInput, "null-input", "n", false, "use null as the input")
	f.BoolVarP(&q.Slurp, "slurp", "s", false, "read all inputs into one array")
	f.BoolVarP(&q.RawInput, "raw-input", "R", false, "read lines as strings, with --slurp all of it as one string")
	f.BoolVarP(&q.Join, "join-output", "j", false, "print without line feeds")
	f.BoolVar(&q.Zero, "raw-output0", false, "print strings without quotes, with NUL behind each result")
	f.BoolVarP(&q.ASCII, "ascii-output", "a", false, "print escapes for what is not ASCII")
	f.BoolVarP(&q.Sort, "sort-keys", "S", false, "print every object sorted by key")
	f.BoolVar(&q.Tab, "tab", false, "indent with tabs")
	f.IntVar(&q.Indent, "indent", 2, "indent with `n` spaces, 0 to 7")
	f.StringVarP(&flags.from, "from-file", "f", "", "read the filter from this `file`")
	f.StringVar(&flags.at, "at", "",
		"read the state as it was with this `serial`; 'tercet state history' says which can be read")
	f.DurationVar(&flags.timeout, "timeout", 30*time.Second, "how long the query may take")
	f.StringArrayVar(&flags.pairs, "arg", nil, "NAME VALUE: $NAME is a string")
	f.StringArrayVar(&flags.jsonPairs, "argjson", nil, "NAME JSON: $NAME is a value")
	f.StringArrayVar(&flags.filePairs, "slurpfile", nil, "NAME FILE: $NAME is the array of the file's values")
	f.StringArrayVar(&flags.rawPairs, "rawfile", nil, "NAME FILE: $NAME is the file's text")
	f.StringArrayVar(&flags.positional, positionalFlag, nil, "--args WORD... and --jsonargs JSON...: $ARGS.positional")
	return cmd
}

// runQuery runs a call and gives the exit code.
func (a *app) runQuery(ctx context.Context, c query.Job) error {
	c.Request.Statuses = statusesOfReady()
	c.Request.Strict = len(c.Sources) == 1 && c.Sources[0].State
	c.Request.Out, c.Request.Err = a.term.screens()
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
		return &formats.Failure{Code: formats.CodeBug, Message: "query for a child", Err: err}
	}
	self, err := os.Executable()
	if err != nil {
		self = "" // without a child the call still runs, held to its time
	}
	exit, err := query.Host{Open: openSource, Starter: starter, Self: self}.Run(ctx, c)
	if exit == query.ExitInput && c.Request.Strict {
		// What the writers refuse is refused with their words and their code.
		w, werr := a.workspace(ctx)
		if werr != nil {
			return werr
		}
		if _, werr = w.reader.Doc(ctx); werr != nil {
			return werr
		}
	}
	return a.queried(exit, err)
}

// queried tells how a query ended, and of a bound how to move it.
func (a *app) queried(exit int, err error) error {
	if fail, ok := errors.AsType[*formats.Failure](err); ok {
		return fail
	}
	if err != nil {
		a.term.failure(err)
	}
	if limit, ok := errors.AsType[*query.LimitError](err); ok && limit.What == query.BoundTime {
		a.term.help("--timeout allows more")
	}
	if exit != 0 {
		return shown{exit}
	}
	return nil
}

// boundedQueryVerb is the hidden verb of a child.
func (a *app) boundedQueryVerb() *cobra.Command {
	return &cobra.Command{
		Use: query.BoundedVerb, Hidden: true, Args: words(0, 0),
		Short: "run a query that its parent hands over, within its bounds",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := io.ReadAll(a.in)
			if err != nil {
				return &formats.Failure{Code: formats.CodeIO, Message: "query of a parent", Err: err}
			}
			return a.queried(query.RunBounded(cmd.Context(), text, openSource, a.io.out, a.io.err))
		},
	}
}

// openSource opens a file that a query reads.
func openSource(s query.Source) (query.File, error) {
	if s.State {
		root, err := os.OpenRoot(filepath.Dir(filepath.Dir(s.Name)))
		if err != nil {
			return nil, err
		}
		defer root.Close() //nolint:errcheck // only read through
		return state.Open(root)
	}
	f, err := os.Open(s.Name)
	if err != nil {
		return nil, &formats.Failure{Code: formats.CodeUsage, Message: "input " + s.Name, Err: err}
	}
	return f, nil
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

// fill completes a request from the flags and gives the names of the files.
func (f *queryFlags) fill(q *query.CLIRequest, args []string) (files []string, err error) {
	if q.Indent < 0 || q.Indent > 7 {
		return nil, usage("expected --indent from 0 to 7, got %d", q.Indent)
	}
	if f.timeout <= 0 {
		return nil, usage("expected a positive --timeout, got %s", f.timeout)
	}
	q.Compact = q.Compact || q.Indent == 0
	if f.from == "" {
		q.Filter, args = args[0], args[1:]
	} else {
		text, err := os.ReadFile(f.from)
		if err != nil {
			return nil, &formats.Failure{Code: formats.CodeUsage, Message: "filter " + f.from, Err: err}
		}
		q.Filter = string(text)
	}
	for _, word := range f.positional {
		kind := query.ArgText
		if strings.HasPrefix(word, "j:") {
			kind = query.ArgJSON
		}
		q.Positional = append(q.Positional, query.Arg{Kind: kind, Data: []byte(word[2:])})
	}
	return args, f.named(q)
}

// named collects the variables that --arg, --argjson, --slurpfile and --rawfile set.
func (f *queryFlags) named(q *query.CLIRequest) error {
	for _, group := range []struct {
		kind  query.ArgKind
		flag  string
		pairs []string
		file  bool
	}{
		{query.ArgText, "--arg", f.pairs, false},
		{query.ArgJSON, "--argjson", f.jsonPairs, false},
		{query.ArgSlurp, "--slurpfile", f.filePairs, true},
		{query.ArgText, "--rawfile", f.rawPairs, true},
	} {
		for _, pair := range group.pairs {
			name, text, ok := strings.Cut(pair, "=")
			if !ok || name == "" {
				return usage("expected NAME VALUE for %s, got %q", group.flag, pair)
			}
			data := []byte(text)
			if group.file {
				var err error
				if data, err = os.ReadFile(text); err != nil {
					return &formats.Failure{Code: formats.CodeUsage, Message: group.flag + " " + name, Err: err}
				}
			}
			q.Args = append(q.Args, query.Arg{Name: name, Kind: group.kind, Data: data})
		}
	}
	return nil
}

// inputs names the files; without any it is the workspace's state. What cannot be read twice is read here.
func (a *app) inputs(files []string, null bool) ([]query.Source, error) {
	if null && len(files) == 0 {
		return nil, nil
	}
	if len(files) == 0 {
		root, err := a.findRoot()
		if err != nil {
			return nil, err
		}
		if root == "" {
			return nil, noWorkspace()
		}
		name := filepath.Join(root, formats.Workspace, "state.json")
		return []query.Source{{Name: name, State: true, Open: true}}, nil
	}
	var out []query.Source
	for _, name := range files {
		if info, err := os.Stat(name); name != "-" && err == nil && info.Mode().IsRegular() {
			out = append(out, query.Source{Name: name, Open: true})
			continue
		}
		data, err := readInput(a.io.in, name)
		if err != nil {
			return nil, &formats.Failure{Code: formats.CodeUsage, Message: "input " + name, Err: err}
		}
		out = append(out, query.Source{Name: name, Data: data})
	}
	return out, nil
}

func readInput(in io.Reader, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

func noWorkspace() error {
	return formats.Fail(formats.CodeNoWorkspace, "run 'tercet init'", "no workspace here or above")
}

// positionalFlag holds the words behind --args and --jsonargs.
const positionalFlag = "args"

// jqWords writes jq's flags that are not one word and its value as such: --arg NAME VALUE as --arg NAME=VALUE, and each
// word behind --args or --jsonargs as a flag of its own.
func jqWords(args []string) []string {
	verb := slices.Index(args, "query")
	if verb < 0 || slices.ContainsFunc(args[:verb], func(w string) bool { return strings.HasPrefix(w, "/") }) {
		return args
	}
	j := jqLine{out: slices.Clone(args[:verb+1])}
	for rest := args[verb+1:]; len(rest) > 0; {
		rest = rest[j.take(rest):]
	}
	return j.out
}

// jqLine is a command line of jq that is being rewritten.
type jqLine struct {
	out    []string
	filter bool   // there was the filter, or the file that holds it
	behind string // s: behind --args, j: behind --jsonargs
	plain  bool   // behind --
}

// valued are the flags whose value is the word behind them.
var valued = []string{"-f", "--from-file", "--indent", "--timeout", "--at", "-C", "--dir", "--color", "--lock-timeout"}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// take rewrites the first words of rest and gives how many they were.
func (j *jqLine) take(rest []string) int {
	word := rest[0]
	switch {
	case j.plain || !strings.HasPrefix(word, "-") || word == "-":
		if j.behind != "" && j.filter {
			j.out = append(j.out, "--"+positionalFlag+"="+j.behind+word)
			return 1
		}
		j.filter = true
	case !j.filter && len(word) > 1 && word[1] != '-' && !isLetter(word[1]):
		// No flag: a filter such as -1, which the parser of flags takes as one behind a space.
		j.filter = true
		word = " " + word
	case word == "--args":
		j.behind = "s:"
		return 1
	case word == "--jsonargs":
		j.behind = "j:"
		return 1
	case word == "--":
		// Flags that are made of the words behind it must still be flags.
		j.plain = true
		if j.behind != "" && j.filter {
			return 1
		}
	case slices.Contains([]string{"--arg", "--argjson", "--slurpfile", "--rawfile"}, word) && len(rest) > 2:
		j.out = append(j.out, word, rest[1]+"="+rest[2])
		return 3
	case slices.Contains(valued, word) && len(rest) > 1:
		j.filter = j.filter || word == "-f" || word == "--from-file"
		j.out = append(j.out, word, rest[1])
		return 2
	}
	j.out = append(j.out, word)
	return 1
}
